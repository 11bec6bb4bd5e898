"""Losses, dropout and their options: value, gradient and second-order gradient, bad input."""

from __future__ import annotations

from typing import Any

from .derivatives import derivatives
from .harness import attempt, program

LOGITS = [[1.0, -2.0, 0.5], [0.25, 1.5, -1.0]]


@program()
def mse_loss(torch: Any) -> Any:
    f = torch.nn.functional.mse_loss
    target = [[0.5, 0.0, 1.0], [1.0, -1.0, 2.0]]
    return [
        derivatives(torch, lambda x, y, r=r: f(x, y, reduction=r), LOGITS, target)
        for r in ("mean", "sum", "none")
    ]


@program(warns="Using a target size .* that is different to the input size")
def mse_loss_broadcasts_with_a_warning(torch: Any) -> Any:
    return torch.nn.functional.mse_loss(torch.ones(2, 3), torch.zeros(3))


@program()
def cross_entropy_with_classes(torch: Any) -> Any:
    f, target = torch.nn.functional.cross_entropy, torch.tensor([2, 0])
    return [
        derivatives(torch, lambda x, r=r: f(x, target, reduction=r), LOGITS) for r in ("mean", "sum", "none")
    ]


@program()
def cross_entropy_with_probabilities(torch: Any) -> Any:
    f = torch.nn.functional.cross_entropy
    return derivatives(torch, f, LOGITS, [[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]])


@program()
def cross_entropy_with_weights_and_ignored_classes(torch: Any) -> Any:
    f = torch.nn.functional.cross_entropy
    weight = torch.tensor([1.0, 2.0, 0.5], dtype=torch.float64)
    target, ignored = torch.tensor([2, 0]), torch.tensor([-100, 1])
    return [
        derivatives(torch, lambda x: f(x, target, weight=weight), LOGITS),
        derivatives(torch, lambda x: f(x, ignored), LOGITS),
        derivatives(torch, lambda x: f(x, target, ignore_index=2), LOGITS),
    ]


@program()
def cross_entropy_with_label_smoothing(torch: Any) -> Any:
    f, target = torch.nn.functional.cross_entropy, torch.tensor([2, 0])
    return derivatives(torch, lambda x: f(x, target, label_smoothing=0.1), LOGITS)


@program()
def cross_entropy_of_one_sample_and_of_images(torch: Any) -> Any:
    f = torch.nn.functional.cross_entropy
    image_target = torch.tensor([[0, 1]])
    return [
        derivatives(torch, lambda x: f(x, torch.tensor(1)), LOGITS[0]),
        derivatives(torch, lambda x: f(x.t().unsqueeze(0), image_target), LOGITS),
    ]


@program()
def cross_entropy_is_stable(torch: Any) -> Any:
    x = torch.tensor([[1000.0, 0.0], [-1000.0, 0.0]], requires_grad=True)
    loss = torch.nn.functional.cross_entropy(x, torch.tensor([1, 1]))
    loss.backward()
    return loss.detach(), x.grad


@program()
def nll_loss(torch: Any) -> Any:
    f, target = torch.nn.functional.nll_loss, torch.tensor([2, 0])
    weight = torch.tensor([1.0, 2.0, 0.5], dtype=torch.float64)
    return [
        *(
            derivatives(torch, lambda x, r=r: f(x, target, reduction=r), LOGITS)
            for r in ("mean", "sum", "none")
        ),
        derivatives(torch, lambda x: f(x, target, weight=weight), LOGITS),
        derivatives(torch, lambda x: f(x, target, ignore_index=0), LOGITS),
    ]


@program()
def cross_entropy_equals_its_parts(torch: Any) -> Any:
    f = torch.nn.functional
    x, target = torch.tensor(LOGITS), torch.tensor([2, 0])
    return f.cross_entropy(x, target), f.nll_loss(f.log_softmax(x, dim=1), target)


@program()
def bad_class_targets(torch: Any) -> Any:
    f, x = torch.nn.functional, torch.tensor(LOGITS)
    return [
        attempt("Target 3 is out of bounds", f.cross_entropy, x, torch.tensor([3, 0])),
        attempt("Target -1 is out of bounds", f.nll_loss, x, torch.tensor([-1, 0])),
        attempt(
            "Expected input batch_size .2. to match target batch_size .3.",
            f.cross_entropy,
            x,
            torch.tensor([0, 1, 2]),
        ),
        attempt(
            "is not a valid value for reduction",
            f.cross_entropy,
            x,
            torch.tensor([0, 1]),
            reduction="average",
        ),
        attempt("", f.nll_loss, x, torch.tensor([0.0, 1.0])),
    ]


@program()
def dropout_that_does_nothing(torch: Any) -> Any:
    f = torch.nn.functional.dropout
    return derivatives(torch, lambda x: f(x, 0.5, training=False) * x, LOGITS), derivatives(
        torch, lambda x: f(x, 0.0) * x, LOGITS
    )


@program()
def dropout_that_drops_all(torch: Any) -> Any:
    return derivatives(torch, lambda x: torch.nn.functional.dropout(x, 1.0), LOGITS)


@program()
def dropout_scales_what_it_keeps(torch: Any) -> Any:
    torch.manual_seed(0)
    x = torch.ones(4000, requires_grad=True)
    y = torch.nn.functional.dropout(x, 0.25)
    y.sum().backward()
    kept = (y > 0).float().mean().item()
    return sorted({round(v, 5) for v in y.tolist()}), 0.7 < kept < 0.8, torch.equal(x.grad, y.detach())


@program()
def dropout_with_bad_probability(torch: Any) -> Any:
    f = torch.nn.functional.dropout
    return [
        attempt("dropout probability has to be between 0 and 1", f, torch.ones(2), p) for p in (-0.1, 1.5)
    ]


@program()
def functional_activations(torch: Any) -> Any:
    f = torch.nn.functional
    return [derivatives(torch, g, LOGITS) for g in (f.relu, torch.sigmoid, torch.tanh)]


@program(warns="deprecated")
def reductions_as_they_were_said_once(torch: Any) -> Any:
    f, x, y = torch.nn.functional, torch.tensor([1.0, 2.0]), torch.tensor([0.5, 0.0])
    old = torch.nn._reduction
    return [
        f.mse_loss(x, y, reduction="elementwise_mean"),
        torch.nn.L1Loss(size_average=False).reduction,
        [old.get_enum(name) for name in ("none", "mean", "elementwise_mean", "sum")],
        [old.legacy_get_enum(a, b) for a in (None, True, False) for b in (None, True, False)],
        old.legacy_get_string(False, None, emit_warning=False),
        attempt("not a valid value for reduction", old.get_enum, "most"),
    ]
