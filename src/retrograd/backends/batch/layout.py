"""Rules for functions that rearrange: shapes, axes, triangles, parts, joins, and new arrays like others."""

from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.backends.batch.array import (
    RULES,
    BatchedArray,
    Level,
    in_front,
    lead,
    spread_all,
    stretched,
    widened,
    wrapped,
)
from retrograd.backends.batch.library import lib, on
from retrograd.backends.batch.shape import Unbatchable

# -- shapes and axes -----------------------------------------------------------------------------------------------


def reshape(function: Any, level: Level, args: Any, kwargs: Any) -> Any:
    """`reshape(x, shape)`."""
    x, shape = args[0], args[1] if len(args) > 1 else kwargs["shape"]
    if kwargs.get("order", "C") != "C":
        raise Unbatchable("vmap: reshape in another order than C")
    sizes = (shape,) if isinstance(shape, int) or hasattr(shape, "__index__") else tuple(shape)
    value = lead(x, level)
    if value.size == 0 and -1 in sizes:
        sizes = _resolved(sizes, x.size)
    if isinstance(value, BatchedArray):
        return wrapped(value.reshape(value.shape[0], *sizes, copy=kwargs.get("copy")), level)
    return wrapped(value.reshape((value.shape[0], *sizes), copy=kwargs.get("copy")), level)


def _resolved(sizes: tuple[int, ...], size: int) -> tuple[int, ...]:
    """A shape without its -1."""
    known = 1
    for n in sizes:
        known *= n if n != -1 else 1
    return tuple([size // max(known, 1) if n == -1 else n for n in sizes])


def ravel(function: Any, level: Level, args: Any, kwargs: Any) -> Any:
    return args[0].reshape(-1)


def transpose(function: Any, level: Level, args: Any, kwargs: Any) -> Any:
    """`transpose(x, axes)`."""
    x = args[0]
    axes = args[1] if len(args) > 1 else kwargs.get("axes")
    order = range(x.ndim, 0, -1) if axes is None else in_front(tuple(axes), x.ndim)
    return wrapped(lead(x, level).transpose((0, *order)), level)


def matrix_transpose(function: Any, level: Level, args: Any, kwargs: Any) -> Any:
    return wrapped(lib.swapaxes(lead(args[0], level), -1, -2), level)


def moveaxis(function: Any, level: Level, args: Any, kwargs: Any) -> Any:
    """`moveaxis(x, source, destination)`, `swapaxes(x, axis1, axis2)`."""
    x = args[0]
    a, b = args[1:] if len(args) == 3 else list(kwargs.values())
    return wrapped(on(function)(lead(x, level), in_front(a, x.ndim), in_front(b, x.ndim)), level)


def expand_dims(function: Any, level: Level, args: Any, kwargs: Any) -> Any:
    """`expand_dims(x, axis)`, whose axes are those of the result."""
    x, axis = args[0], args[1] if len(args) > 1 else kwargs["axis"]
    more = len(axis) if isinstance(axis, (tuple, list)) else 1
    return wrapped(on(function)(lead(x, level), in_front(axis, x.ndim + more)), level)


def squeeze(function: Any, level: Level, args: Any, kwargs: Any) -> Any:
    """`squeeze(x, axis)`."""
    x = args[0]
    axis = args[1] if len(args) > 1 else kwargs.get("axis")
    if axis is None:
        axis = tuple([i for i, n in enumerate(x.shape) if n == 1])
    return wrapped(on(function)(lead(x, level), in_front(axis, x.ndim)), level)


def broadcast_to(function: Any, level: Level, args: Any, kwargs: Any) -> Any:
    """`broadcast_to(x, shape)`."""
    x, shape = args[0], args[1] if len(args) > 1 else kwargs["shape"]
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    value = widened(lead(x, level), len(sizes))
    return wrapped(stretched(value, (value.shape[0], *sizes)), level)


def broadcast_arrays(function: Any, level: Level, args: Any, kwargs: Any) -> Any:
    shape = np.broadcast_shapes(*[a.shape for a in args])
    return tuple([lib.broadcast_to(a, shape) for a in args])


#: How many dimensions each of them promises.
AT_LEAST: dict[Any, int] = {np.atleast_1d: 1, np.atleast_2d: 2, np.atleast_3d: 3}


def atleast(function: Any, level: Level, args: Any, kwargs: Any) -> Any:
    """`atleast_1d`, `atleast_2d`, `atleast_3d`."""
    wanted = AT_LEAST[function]
    found = []
    for x in args:
        behind = 1 if wanted == 3 and x.ndim in (1, 2) else 0
        front = max(wanted - x.ndim - behind, 0)
        found.append(x[(*[None] * front, ..., *[None] * behind)] if x.ndim < wanted else x)
    return found[0] if len(found) == 1 else tuple(found)


def tile(function: Any, level: Level, args: Any, kwargs: Any) -> Any:
    """`tile(x, reps)`."""
    x, reps = args
    times = (reps,) if isinstance(reps, int) else tuple(reps)
    times = (1,) * (x.ndim - len(times)) + times
    return wrapped(on(function)(widened(lead(x, level), len(times)), (1, *times)), level)


def triangle(function: Any, level: Level, args: Any, kwargs: Any) -> Any:
    """`tril(x, k)` and `triu(x, k)`, of the last two dimensions."""
    return wrapped(on(function)(lead(args[0], level), *args[1:], **kwargs), level)


def diagonal(function: Any, level: Level, args: Any, kwargs: Any) -> Any:
    """`diagonal(x, offset, axis1, axis2)` and `trace`."""
    x, *rest = args
    options = {
        "axis1": 0,
        "axis2": 1,
        **dict(zip(("offset", "axis1", "axis2"), rest, strict=False)),
        **kwargs,
    }
    for name in ("axis1", "axis2"):
        options[name] = in_front(options[name], x.ndim)
    return wrapped(on(function)(lead(x, level), **options), level)


def split(function: Any, level: Level, args: Any, kwargs: Any) -> Any:
    """`split(x, parts, axis)` and `array_split`."""
    x, parts, *rest = args
    axis = rest[0] if rest else kwargs.get("axis", 0)
    return wrapped(on(function)(lead(x, level), parts, in_front(axis, x.ndim)), level)


def as_strided(function: Any, level: Level, args: Any, kwargs: Any) -> Any:
    """`as_strided(x, shape, strides)`: the same of every sample."""
    x, *rest = args
    options = {**dict(zip(("shape", "strides", "subok", "writeable"), rest, strict=False)), **kwargs}
    value = lead(x, level)
    if options.get("shape") is not None:
        options["shape"] = (value.shape[0], *options["shape"])
    if options.get("strides") is not None:
        options["strides"] = (value.strides[0], *options["strides"])
    return wrapped(on(function)(value, **options), level)


# -- joins ---------------------------------------------------------------------------------------------------------


def concatenate(function: Any, level: Level, args: Any, kwargs: Any) -> Any:
    """`concatenate(arrays, axis)`."""
    arrays = list(args[0])
    axis = args[1] if len(args) > 1 else kwargs.pop("axis", 0)
    values = spread_all([lead(a, level) for a in arrays])
    if axis is None:
        return wrapped(on(function)([v.reshape(v.shape[0], -1) for v in values], axis=1, **kwargs), level)
    return wrapped(on(function)(values, axis=in_front(axis, arrays[0].ndim), **kwargs), level)


def stack(function: Any, level: Level, args: Any, kwargs: Any) -> Any:
    """`stack(arrays, axis)`."""
    arrays = list(args[0])
    axis = args[1] if len(args) > 1 else kwargs.pop("axis", 0)
    values = spread_all([lead(a, level) for a in arrays])
    return wrapped(on(function)(values, axis=in_front(axis, np.ndim(arrays[0]) + 1), **kwargs), level)


def append(function: Any, level: Level, args: Any, kwargs: Any) -> Any:
    """`append(x, values, axis)`."""
    axis = args[2] if len(args) > 2 else kwargs.get("axis")
    return lib.concatenate(args[:2], axis=axis)


# -- arrays like others --------------------------------------------------------------------------------------------


def like(function: Any, level: Level, args: Any, kwargs: Any) -> Any:
    """`zeros_like(x)` and its kin: room for every sample."""
    x, *rest = args
    options = dict(kwargs)
    if options.get("shape") is not None:
        options["shape"] = (level.size, *options["shape"])
    if rest and isinstance(rest[0], BatchedArray):  # full_like(x, number of each sample)
        made = lib.empty_like(x, *rest[1:], **options)
        made[...] = rest[0]
        return made
    value = lead(x, level)
    if value.shape[0] != level.size and options.get("shape") is None:
        options["shape"] = (level.size, *value.shape[1:])
    return wrapped(on(function)(value, *rest, **options), level)


def copy(function: Any, level: Level, args: Any, kwargs: Any) -> Any:
    return args[0].copy()


RULES.functions.update(
    {
        np.reshape: reshape, np.ravel: ravel, np.transpose: transpose, np.matrix_transpose: matrix_transpose,
        np.moveaxis: moveaxis, np.swapaxes: moveaxis, np.expand_dims: expand_dims, np.squeeze: squeeze,
        np.broadcast_to: broadcast_to, np.broadcast_arrays: broadcast_arrays, np.tile: tile, np.diagonal: diagonal,
        np.trace: diagonal, np.split: split, np.array_split: split, np.concatenate: concatenate, np.stack: stack,
        np.append: append, np.copy: copy, np.lib.stride_tricks.as_strided: as_strided,
        **dict.fromkeys(AT_LEAST, atleast),
        **dict.fromkeys((np.tril, np.triu), triangle),
        **dict.fromkeys((np.zeros_like, np.ones_like, np.empty_like, np.full_like), like),
    }
)  # fmt: skip
