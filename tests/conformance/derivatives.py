"""The value of a function with its first and second derivatives, the way a user would take them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def derivatives(torch: Any, function: Callable[..., Any], *data: Any, dtype: str = "float64") -> Any:
    """Value, gradients, and the gradients of the gradients with respect to the inputs and to the seed.

    How a gradient was computed is the library's own affair, so gradients are returned without their history.
    """
    inputs = [torch.tensor(d, dtype=getattr(torch, dtype), requires_grad=True) for d in data]
    out = function(*inputs)
    seed = ramp(torch, out).requires_grad_()
    first = torch.autograd.grad(out, inputs, seed, create_graph=True)
    again = [g for g in first if g.requires_grad]
    seeds = [ramp(torch, g) for g in again]
    second = torch.autograd.grad(again, [*inputs, seed], seeds, materialize_grads=True) if again else None
    return {
        "value": out.detach(),
        "first": [g.detach() for g in first],
        "second": second or [torch.zeros_like(t) for t in (*inputs, seed)],
    }


def ramp(torch: Any, like: Any) -> Any:
    """A seed in which no two entries are equal, so that no entry can be taken for another."""
    entries = [(0.5 + 0.25 * k) * (1 - 0.5j if like.is_complex() else 1) for k in range(like.numel())]
    return torch.tensor(entries, dtype=like.dtype).reshape(like.shape)


def first_order(torch: Any, function: Any, *data: Any) -> Any:
    """Value and gradients alone, for what PyTorch cannot differentiate twice."""
    inputs = [torch.tensor(d, dtype=torch.float64, requires_grad=True) for d in data]
    out = function(*inputs)
    return out, torch.autograd.grad(out, inputs, ramp(torch, out))


def heads(torch: Any, *shape: int) -> Any:
    """Numbers of some shape, none like the other."""
    count = 1
    for n in shape:
        count *= n
    return torch.sin(torch.arange(count, dtype=torch.float64) * 1.7 + count).reshape(shape)
