"""Weights of losses in another dtype than what they weigh."""

from __future__ import annotations

from typing import Any

from .harness import attempt, program

DTYPES = ("float64", "float16", "int64")


@program()
def weights_of_binary_cross_entropy(torch: Any) -> Any:
    found: list[Any] = []
    for name in DTYPES:
        weight = torch.tensor([1, 2, 0, 3]).to(getattr(torch, name))
        for reduction in ("none", "mean", "sum"):
            x = torch.full((3, 4), 0.3, requires_grad=True)
            loss = torch.nn.functional.binary_cross_entropy(
                x, torch.full((3, 4), 0.4), weight, reduction=reduction
            )
            loss.sum().backward()
            found += [loss, loss.dtype, x.grad]
    return found


@program()
def targets_of_binary_cross_entropy(torch: Any) -> Any:
    x = torch.full((3,), 0.3)
    call = torch.nn.functional.binary_cross_entropy
    return [
        attempt("Found dtype Double but expected Float", call, x, x.double()),
        attempt("", call, x, x, weight=torch.ones(2)),
    ]


@program()
def weights_of_multi_margin_loss(torch: Any) -> Any:
    found: list[Any] = []
    for name in DTYPES:
        weight = torch.tensor([1, 2, 0, 3]).to(getattr(torch, name))
        call = torch.nn.functional.multi_margin_loss
        found += [
            attempt(
                "expected scalar type Float but found",
                call,
                torch.ones(3, 4),
                torch.tensor([0, 1, 3]),
                weight=weight,
            ),
            attempt(
                "expected scalar type Float but found", call, torch.ones(4), torch.tensor(1), weight=weight
            ),
            call(torch.ones(0, 4), torch.ones(0, dtype=torch.int64), weight=weight).dtype,
        ]
    return found
