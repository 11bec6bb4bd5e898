"""A custom Function inside of vmap: its own `vmap`, or its `forward` as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from retrograd.backends.batch.array import BatchedArray, Level, newest_level
from retrograd.core.modes import current
from retrograd.core.tensor import Tensor
from retrograd.core.tree import flatten, kind_of, spread_over, unflatten
from retrograd.errors import check_depth
from retrograd.func.levels import entered
from retrograd.ops.common import wrap_dim


class VmapInfo(NamedTuple):
    """What the `vmap` of a custom Function is told about the batch."""

    batch_size: int
    randomness: str


def by_own_rule(cls: Any, args: Sequence[Any], named: Mapping[str, Any] = MappingProxyType({})) -> Any:
    """What `forward` would return, from the Function's `vmap`; keyword arguments go to that as they are."""
    level = newest_level(tuple([a.array for a in flatten(args)[0] if isinstance(a, Tensor)]))
    given, dims = [], []
    for arg in args:
        value, dim = _taken_apart(arg, level)
        given.append(value)
        dims.append(dim)
    state = current()
    outer = state.batch_levels
    state.batch_levels = tuple([other for other in outer if other is not level])
    try:
        found = cls.vmap(VmapInfo(level.size, level.randomness), tuple(dims), *given, **named)
    finally:
        state.batch_levels = outer
    if not (isinstance(found, tuple) and len(found) == 2):
        raise RuntimeError(
            "Expected the vmap staticmethod to have two returns, an output and out_dims with pytree structure "
            f"compatible with the output. Got a {type(found)} instead from {cls.__name__}.vmap"
        )
    output, out_dims = found
    leaves, form = flatten(output)
    places = spread_over(out_dims, form)
    if places is None:
        raise RuntimeError(
            "The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) tuple. Expected "
            f"out_dims={out_dims} to be compatible with the structure of `output`. out_dims has structure "
            f"{flatten(out_dims)[1]} but output has structure {form}: look at what {cls.__name__}.vmap returns."
        )
    # An argument that comes back as it was given is the argument itself, which may have been written in place.
    same = {(id(g), d): a for a, g, d in zip(args, given, dims, strict=True) if isinstance(g, Tensor)}
    put_back = [
        same[id(o), d] if (id(o), d) in same else _put_back(o, d, level)
        for o, d in zip(leaves, places, strict=True)
    ]
    return unflatten(put_back, form)


def _taken_apart(arg: Any, level: Level, depth: int = 0) -> tuple[Any, Any]:
    """An argument with all its samples, and along which dimension they lie; for a container, the same of its items."""
    check_depth(depth)
    if type(arg) in (list, tuple):
        pairs = [_taken_apart(a, level, depth + 1) for a in arg]
        return type(arg)([v for v, _ in pairs]), type(arg)([d for _, d in pairs])
    if kind_of(arg) is dict:
        found = {k: _taken_apart(v, level, depth + 1) for k, v in arg.items()}
        return {k: v for k, (v, _) in found.items()}, {k: d for k, (_, d) in found.items()}
    if not isinstance(arg, Tensor):
        return arg, None
    array: Any = arg.array
    if not isinstance(array, BatchedArray) or array.level is not level:
        return arg, None
    if array.value.shape[0] != level.size:
        return Tensor(array.value[0], share=True), None
    return Tensor(
        np.moveaxis(array.value, 0, array.axis) if array.axis else array.value, share=True
    ), array.axis


def _put_back(output: Any, dim: Any, level: Level) -> Any:
    """An output as one sample sees it."""
    if dim is None or not isinstance(output, Tensor):
        return output
    return entered(output, wrap_dim(dim, output.ndim), level)
