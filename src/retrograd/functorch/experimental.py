"""`functorch.experimental`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from retrograd.core.tensor import Tensor
from retrograd.core.tree import flatten
from retrograd.func import functionalize, hessian, jacfwd, jvp, replace_all_batch_norm_modules_, vmap

__all__ = ["chunk_vmap", "functionalize", "hessian", "jacfwd", "jvp", "replace_all_batch_norm_modules_"]


def chunk_vmap(
    func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", chunks: int = 2
) -> Callable[..., Any]:
    """`vmap` over a batch in this many parts, one after the other.

    >>> import retrograd as rg
    >>> chunk_vmap(rg.sin, chunks=2)(rg.zeros(3))
    tensor([0., 0., 0.])
    """
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")

    def call(*args: Any, **named: Any) -> Any:
        dims = in_dims if isinstance(in_dims, tuple) else (in_dims,) * len(args)
        sizes = [
            leaf.shape[dim]
            for arg, dim in zip(args, dims, strict=True)
            if isinstance(dim, int)
            for leaf in flatten(arg)[0]
            if isinstance(leaf, Tensor)
        ]
        size = -(-sizes[0] // chunks) if sizes else None
        return vmap(func, in_dims, out_dims, randomness, chunk_size=size)(*args, **named)

    return call
