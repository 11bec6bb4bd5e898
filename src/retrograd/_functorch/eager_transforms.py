"""`torch._functorch.eager_transforms`."""

from __future__ import annotations

from typing import Any

from retrograd.autograd.forward_ad import set_fwd_grad_enabled
from retrograd.func import functionalize, hessian, jacfwd, jacrev, jvp, linearize, vjp
from retrograd.func.transform import picked

__all__ = [
    "functionalize",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "set_fwd_grad_enabled",
    "vjp",
]


def _slice_argnums(args: tuple[Any, ...], argnums: Any, as_tuple: bool = True) -> Any:
    """The arguments that `argnums` names.

    >>> _slice_argnums(("a", "b", "c"), (0, -1)), _slice_argnums(("a", "b", "c"), 1)
    (('a', 'c'), ('b',))
    """
    found = picked(args, argnums)
    return (found,) if as_tuple and not isinstance(argnums, tuple) else found
