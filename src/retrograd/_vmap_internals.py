"""`torch._vmap_internals`: `vmap` by its first name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from retrograd.core.places import warn
from retrograd.func.mapping import vmap as _map


def vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0) -> Callable[..., Any]:
    """`torch.vmap`; says that this name is old."""
    warn("Please use `torch.vmap` instead of `torch._vmap_internals.vmap`.", FutureWarning)
    return _map(func, in_dims, out_dims)


def _vmap(
    func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, allow_none_pass_through: bool = False
) -> Callable[..., Any]:
    """`torch.vmap`, whose function may return None among its results if that is allowed.

    >>> import retrograd as rg
    >>> _vmap(lambda x: (x + 1, None), allow_none_pass_through=True)(rg.zeros(2))
    (tensor([1., 1.]), None)
    """
    if not allow_none_pass_through:
        return _map(func, in_dims, out_dims)

    def over_a_batch(*args: Any) -> Any:
        missing: list[bool] = []

        def present(*args: Any) -> Any:
            found = func(*args)
            results = found if isinstance(found, tuple) else (found,)
            missing[:] = [r is None for r in results]
            return tuple([r for r in results if r is not None])

        found = iter(_map(present, in_dims, out_dims)(*args))
        results = tuple([None if m else next(found) for m in missing])
        return results if len(results) > 1 else results[0]

    return over_a_batch
