"""Losses with a margin, of likelihoods and of alignments: values, derivatives, bad input."""

from __future__ import annotations

from typing import Any

from .derivatives import derivatives, first_order, heads
from .harness import attempt, program

ROWS = [[1.0, -2.0, 0.5], [0.25, 1.5, -1.0]]
OTHERS = [[0.0, 1.0, 3.0], [-1.0, 2.0, 0.75]]
REDUCTIONS = ("mean", "sum", "none")


@program()
def multi_margin_loss(torch: Any) -> Any:
    f, t, w = (
        torch.nn.functional.multi_margin_loss,
        torch.tensor([2, 0]),
        torch.tensor([1.0, 2.0, 0.5]).double(),
    )
    return [
        [
            first_order(torch, lambda x, p=p, r=r: f(x, t, p, 0.7, reduction=r), ROWS)
            for p in (1, 2)
            for r in REDUCTIONS
        ],
        first_order(torch, lambda x: f(x, t, weight=w), ROWS),
        first_order(torch, lambda x: f(x, t[0]), ROWS[0]),
        f(torch.ones(3), torch.tensor([1]), reduction="none"),
        attempt("only p == 1 and p == 2", f, torch.ones(2, 3), t, p=3),
        attempt("target out of range", f, torch.ones(2, 3), t + 1),
        attempt("inconsistent weight size", f, torch.ones(2, 3), t, weight=torch.ones(2)),
        attempt("expected scalar type Long", f, torch.ones(2, 3), t.float()),
    ]


@program()
def multi_margin_loss_at_the_margin(torch: Any) -> Any:
    return first_order(
        torch, lambda x: torch.nn.functional.multi_margin_loss(x, torch.tensor([0])), [[1.0, 0.0, 0.5]]
    )


@program()
def multilabel_margin_loss(torch: Any) -> Any:
    f, t = torch.nn.functional.multilabel_margin_loss, torch.tensor([[2, 0, -1], [-1, 1, 1]])
    return [
        [first_order(torch, lambda x, r=r: f(x, t, reduction=r), ROWS) for r in REDUCTIONS],
        first_order(torch, lambda x: f(x, torch.tensor([1, 1, 1])), ROWS[0]),
        attempt("inconsistent target size", f, torch.ones(2, 3), t[:, :2]),
        attempt("is out of range", f, torch.ones(2, 3), t + 2),
    ]


@program()
def soft_margin_losses(torch: Any) -> Any:
    f, t = torch.nn.functional, torch.tensor([[1.0, -1.0, 1.0], [-1.0, 1.0, 1.0]], dtype=torch.float64)
    w = torch.tensor([1.0, 2.0, 0.5], dtype=torch.float64)
    return [
        [derivatives(torch, lambda x, r=r: f.soft_margin_loss(x, t, reduction=r), ROWS) for r in REDUCTIONS],
        derivatives(torch, lambda x: f.multilabel_soft_margin_loss(x, (t + 1) / 2, w), ROWS),
        attempt("not differentiable", f.soft_margin_loss, torch.ones(2), torch.ones(2, requires_grad=True)),
    ]


@program()
def losses_of_pairs(torch: Any) -> Any:
    f, t = torch.nn.functional, torch.tensor([[1.0, -1.0, 1.0], [-1.0, 0.0, 1.0]], dtype=torch.float64)
    signs = torch.tensor([1, -1])
    return [
        [derivatives(torch, lambda x, r=r: f.hinge_embedding_loss(x, t, reduction=r), ROWS) for r in REDUCTIONS],
        [derivatives(torch, lambda x, y, r=r: f.margin_ranking_loss(x, y, t, 0.5, reduction=r), ROWS, OTHERS)
         for r in REDUCTIONS],
        [derivatives(torch, lambda x, y, r=r: f.cosine_embedding_loss(x, y, signs, 0.1, reduction=r), ROWS, OTHERS)
         for r in REDUCTIONS],
        torch.hinge_embedding_loss(torch.ones(2), torch.ones(2), 1.0, 2),
        attempt("should have same dimension", f.margin_ranking_loss, torch.ones(2), torch.ones(2, 2), torch.ones(2)),
        attempt("multi-target not supported", f.cosine_embedding_loss, *(torch.ones(2, 3),) * 3),
        attempt("expects 1D input", f.cosine_embedding_loss, torch.ones(2, 3), torch.ones(2, 3), torch.tensor(1)),
    ]  # fmt: skip


@program()
def triplet_losses(torch: Any) -> Any:
    f = torch.nn.functional
    data = (ROWS, OTHERS, [[0.5, 1.0, 0.0], [2.0, -1.0, 0.25]])
    return [
        [derivatives(torch, lambda a, p, n, s=s, q=q: f.triplet_margin_loss(a, p, n, p=q, swap=s), *data)
         for s in (True, False) for q in (2, 3)],
        derivatives(torch, lambda a, p, n: f.triplet_margin_with_distance_loss(a, p, n, reduction="none"), *data),
        derivatives(torch, lambda a, p, n: f.triplet_margin_with_distance_loss(
            a, p, n, distance_function=lambda x, y: ((x - y) ** 2).sum(-1), swap=True), *data),
        attempt("margin must be greater than 0", f.triplet_margin_loss, *(torch.ones(2, 3),) * 3, margin=0.0),
        attempt("same number of dimensions", f.triplet_margin_loss, torch.ones(2, 3), torch.ones(3), torch.ones(3)),
    ]  # fmt: skip


@program()
def likelihoods(torch: Any) -> Any:
    f = torch.nn.functional
    counts, variances = [[0.0, 2.0, 5.0], [1.0, 3.0, 0.5]], [[0.5, 1.0, 2.0], [1e-9, 0.25, 1.0]]
    target = torch.tensor(counts, dtype=torch.float64)
    return [
        derivatives(torch, lambda x: f.poisson_nll_loss(x, target), ROWS),
        derivatives(torch, lambda x: f.poisson_nll_loss(x.abs(), target, log_input=False, full=True), ROWS),
        derivatives(torch, lambda x, y, v: f.gaussian_nll_loss(x, y, v, full=True, eps=1e-3), ROWS, counts, variances),
        derivatives(torch, lambda x, y, v: f.gaussian_nll_loss(x, y, v, reduction="sum"), ROWS, counts, [0.5, 2.0]),
        f.gaussian_nll_loss(torch.ones(2, 3), torch.zeros(2, 3), 0.5),
        attempt("negative entry", f.gaussian_nll_loss, torch.ones(2), torch.ones(2), -torch.ones(2)),
        attempt("incorrect size", f.gaussian_nll_loss, torch.ones(2, 3), torch.ones(2, 3), torch.ones(4)),
        torch.poisson_nll_loss(torch.ones(2), torch.ones(2), True, False, 1e-8, 2),
        torch.kl_div(torch.zeros(2), torch.ones(2), 2), torch.kl_div(torch.zeros(2), torch.ones(2), 0, log_target=True),
    ]  # fmt: skip


@program()
def linear_cross_entropy(torch: Any) -> Any:
    f, t = torch.nn.functional.linear_cross_entropy, torch.tensor([3, 0])
    w, deep = heads(torch, 4, 3).tolist(), heads(torch, 4, 2, 3).tolist()
    return [
        derivatives(torch, lambda x, w: f(x, w, t), ROWS, w),
        derivatives(torch, lambda x, w: f(x, w, torch.tensor([[0, 1], [3, 2]]), reduction="sum"), ROWS, deep),
        derivatives(
            torch, lambda x, w, b: f(x, w, t, linear_bias=b, ignore_index=3), ROWS, w, [0.5, 0.0, 1.0, 2.0]
        ),
    ]


@program()
def ctc_loss(torch: Any) -> Any:
    f, targets = torch.nn.functional.ctc_loss, torch.tensor([[1, 2, 2], [3, 3, 1]])
    logits = heads(torch, 6, 2, 4).tolist()
    found = [
        first_order(torch, lambda x, r=r: f(x.log_softmax(2), targets, (6, 5), (3, 2), reduction=r), logits)
        for r in REDUCTIONS
    ]
    raw = first_order(
        torch, lambda x: f(x, targets, torch.tensor([6, 4]), torch.tensor([0, 2]), blank=0), logits
    )
    flat = f(torch.tensor(logits).log_softmax(2), torch.tensor([1, 2, 2, 3, 3]), (6, 5), (3, 2))
    single = f(torch.tensor(logits)[:, 0].log_softmax(1), targets[0], (6,), (3,), reduction="none")
    return found, raw, flat, single


@program()
def ctc_loss_of_targets_that_do_not_fit(torch: Any) -> Any:
    f, targets = torch.nn.functional.ctc_loss, torch.tensor([[1, 1, 1], [3, 0, 0]])
    found = []
    for zero_infinity in (False, True):
        x = heads(torch, 4, 2, 4).requires_grad_()
        out = f(x.log_softmax(2), targets, (4, 4), (3, 1), reduction="none", zero_infinity=zero_infinity)
        found.append((out, torch.autograd.grad(out.sum(), x)))
    empty = f(heads(torch, 4, 2, 4), targets, (0, 0), (0, 1), reduction="none")
    return found, empty


@program()
def ctc_loss_errors(torch: Any) -> Any:
    f, logs, t = torch.nn.functional.ctc_loss, torch.zeros(5, 2, 4), torch.tensor([[1, 2], [1, 1]])
    return [
        attempt("input_lengths to have value at most 5", f, logs, t, (6, 5), (2, 2)),
        attempt("input_lengths to have value at least 0", f, logs, t, (-1, 5), (2, 2)),
        attempt("to have size at least 3 at dimension 1", f, logs, t, (5, 5), (3, 2)),
        attempt("input_lengths must be of size batch_size", f, logs, t, (5,), (2, 2)),
        attempt("blank must be in label range", f, logs, t, (5, 5), (2, 2), blank=4),
        attempt("must be integral", f, logs, t, torch.ones(2), torch.tensor([2, 2])),
        attempt("not implemented for 'Long'", f, logs.long(), t, (5, 5), (2, 2)),
        attempt("must not be empty", f, logs[:, :0], t[:0], (), ()),
    ]


@program(warns="size_average and reduce args will be deprecated")
def old_arguments_of_losses(torch: Any) -> Any:
    f, x, t = torch.nn.functional, torch.tensor(ROWS), torch.ones(2, 3)
    names = ("hinge_embedding_loss", "soft_margin_loss", "multilabel_soft_margin_loss", "poisson_nll_loss")
    return [
        getattr(f, name)(x, t, size_average=mean, reduce=reduce)
        for name in names
        for mean, reduce in ((True, None), (False, None), (None, False), (None, True))
    ]


@program(phrase="worst is not a valid value for reduction")
def losses_with_an_unknown_reduction(torch: Any) -> Any:
    torch.nn.functional.hinge_embedding_loss(torch.ones(2), torch.ones(2), reduction="worst")
