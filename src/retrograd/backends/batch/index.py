"""Rules for indices: reading, writing, taking along axes, adding at places.

Note [Batched indices]
~~~~~~~~~~~~~~~~~~~~~~
Integers, slices and None mean the same with the batch in front. Index arrays are joined by one more, which names the
sample: `value[samples, key...]`. NumPy then puts the dimensions of the index arrays first, behind the batch, wherever
they stood in the key; they are moved to where they belong.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from retrograd.backends.base import backend_of, is_array
from retrograd.backends.batch.array import (
    IN_PLACE,
    RULES,
    WHOLE,
    BatchedArray,
    Level,
    all_samples,
    getitem_of,
    in_front,
    is_on,
    lead,
    newest_level,
    spread,
    widened,
    wrapped,
)
from retrograd.backends.batch.elementwise import store
from retrograd.backends.batch.library import lib, on
from retrograd.backends.batch.shape import DynamicShape, Unbatchable

DYNAMIC = (
    "vmap: We do not support batching operators that can output dynamic shape: {}. How many elements there are may "
    "differ between samples. Use where(mask, x, 0), or do this outside of vmap."
)


class Key(NamedTuple):
    """An index with arrays in it, ready for a value with its batch in front."""

    parts: tuple[Any, ...]
    ndim: int  # of what the index arrays broadcast to
    place: int  # where those dimensions stand in the result
    batched: bool  # whether the index differs between samples
    result: int  # the number of dimensions of the result


def getitem(x: BatchedArray, key: Any) -> Any:
    """`x[key]`."""
    level = newest_level((x, key))
    items = key if isinstance(key, tuple) else (key,)
    if not any(_is_array(i) for i in items):
        return BatchedArray(lead(x, level)[(WHOLE, *items)], level)
    if len(items) == 1 and is_on(items[0], level) and items[0].dtype.kind == "b":
        raise DynamicShape(DYNAMIC.format("an index by a mask that differs between samples"))
    plan = _plan(items, x.ndim, level)
    value = lead(x, level)
    found = getitem_of(value, (_samples(value, plan), *plan.parts))
    return BatchedArray(_moved(found, plan, back=False), level)


def setitem(x: BatchedArray, key: Any, values: Any) -> None:
    """`x[key] = values`."""
    level = newest_level((x, key, values))
    items = key if isinstance(key, tuple) else (key,)
    if not is_on(x, level):
        raise Unbatchable(IN_PLACE)
    if not any(_is_array(i) for i in items):
        part = x.value[(WHOLE, *items)]
        if _is_array(values):
            store(BatchedArray(part, level), values, level)
        else:
            part[...] = values
        return
    if len(items) == 1 and items[0].dtype.kind == "b" and isinstance(items[0], BatchedArray):
        _set_masked(x, items[0], values, level)
        return
    plan = _plan(items, x.ndim, level)
    if (plan.batched or is_on(values, level)) and x.value.shape[0] != level.size:
        raise Unbatchable(IN_PLACE)
    target = (_samples(x.value, plan), *plan.parts)
    x.value[target] = _given(values, x, plan, level) if _is_array(values) else values


def _set_masked(x: BatchedArray, mask: BatchedArray, values: Any, level: Level) -> None:
    """`x[mask] = values`, for a mask that differs between samples and values that do not."""
    if np.ndim(values) > 0 and lib.size(values) > 1:
        raise Unbatchable(
            DYNAMIC.format("writing several values where a mask says, which differs between samples")
        )
    wide = mask[(..., *[None] * (x.ndim - mask.ndim))]
    number = values.reshape(()) if _is_array(values) else values
    store(x, lib.where(wide, number, x), level)


def _given(values: Any, x: BatchedArray, plan: Key, level: Level) -> Any:
    """Values to be written, laid out as NumPy's indexing wants them: see Note [Batched indices]."""
    value = lead(values, level)
    return _moved(widened(value, plan.result), plan, back=True)


def _moved(value: Any, plan: Key, back: bool) -> Any:
    """Puts the dimensions of index arrays where they belong, from behind the batch; or back there."""
    if not plan.place or not plan.ndim:
        return value
    front = tuple(range(1, 1 + plan.ndim))
    there = tuple(range(1 + plan.place, 1 + plan.place + plan.ndim))
    return lib.moveaxis(value, there, front) if back else lib.moveaxis(value, front, there)


def _is_array(x: Any) -> bool:
    return is_array(x) or isinstance(x, list)


def _plan(items: tuple[Any, ...], ndim: int, level: Level) -> Key:
    """The index with arrays of integers in the place of masks, aligned with each other."""
    flat: list[Any] = []
    for item in items:
        array = lib.asarray(item) if isinstance(item, list) else item
        if _is_array(array) and array.dtype.kind == "b":
            if isinstance(array, BatchedArray):
                raise DynamicShape(DYNAMIC.format("an index by a mask that differs between samples"))
            flat.extend(array.nonzero())
        else:
            flat.append(array)
    arrays = [i for i in flat if _is_array(i)]
    width = max([a.ndim for a in arrays], default=0)
    parts = tuple([_part(i, width, level) for i in flat])
    used = len([i for i in flat if _is_array(i) or _is_int(i)])
    result = ndim - used + _new_axes(flat) + width
    return Key(parts, width, _place(flat, ndim), any(is_on(a, level) for a in arrays), result)


def _new_axes(items: list[Any]) -> int:
    """How often None is among the items of an index."""
    count = 0
    for item in items:
        count += item is None
    return count


def _part(item: Any, width: int, level: Level) -> Any:
    """An item of an index; an array of a sample's own stands behind the batch."""
    if is_on(item, level):
        return widened(item.value, width)
    return item


def _place(items: list[Any], ndim: int) -> int:
    """Where in the result NumPy puts the dimensions of the index arrays: see Note [Batched indices]."""
    kinds = [_is_array(i) or _is_int(i) for i in items]
    first, last = kinds.index(True), len(kinds) - 1 - kinds[::-1].index(True)
    if not all(kinds[first : last + 1]):
        return 0
    place = 0
    used = len([i for i in items if i is not None and i is not Ellipsis])
    for item in items[:first]:
        place += ndim - used if item is Ellipsis else 1
    return place


def _is_int(item: Any) -> bool:
    return isinstance(item, (int, np.integer)) and not isinstance(item, bool)


def _samples(value: Any, plan: Key) -> Any:
    """The index that names the sample."""
    count = value.shape[0]
    if count == 1 and plan.batched:
        return 0
    return backend_of(value).inner.arange(count).reshape((count,) + (1,) * plan.ndim)


RULES.getitem, RULES.setitem = getitem, setitem


# -- functions -----------------------------------------------------------------------------------------------------


def take(function: Any, level: Level, args: Any, kwargs: Any) -> Any:
    """`take(x, indices, axis)`."""
    x, indices, *rest = args
    axis = rest[0] if rest else kwargs.get("axis")
    if axis is None:
        x, axis = x.reshape(-1), 0
    place = in_front(axis, x.ndim) - 1
    return getitem_of(x, (*[WHOLE] * place, indices))


def take_along_axis(function: Any, level: Level, args: Any, kwargs: Any) -> Any:
    """`take_along_axis(x, indices, axis)`."""
    x, indices = args[:2]
    axis = args[2] if len(args) > 2 else kwargs.get("axis", -1)
    value, places = lead(x, level), lead(indices, level)
    if axis is None:
        value, axis = value.reshape(value.shape[0], -1), 0
    return wrapped(on(function)(value, places, axis=in_front(axis, value.ndim - 1)), level)


def put_along_axis(function: Any, level: Level, args: Any, kwargs: Any) -> None:
    """`put_along_axis(x, indices, values, axis)`."""
    x, indices, values, axis = args
    if not is_on(x, level) or x.value.shape[0] != level.size:
        raise Unbatchable(IN_PLACE)
    places = spread(lead(indices, level), level.size)
    given = lead(values, level) if _is_array(values) else values
    on(function)(x.value, places, given, in_front(axis, x.ndim))


def add_at(ufunc: Any, level: Level, inputs: Any, kwargs: Any) -> None:
    """`ufunc.at(x, key, values)`."""
    x, key, *rest = inputs
    items = key if isinstance(key, tuple) else (key,)
    if not is_on(x, level) or x.value.shape[0] != level.size:
        raise Unbatchable(IN_PLACE)
    if not any(_is_array(i) for i in items):
        on(ufunc).at(x.value, (WHOLE, *items), *[lead(v, level) if _is_array(v) else v for v in rest])
        return
    plan = _plan(items, x.ndim, level)
    given = [_given(v, x, plan, level) if _is_array(v) else v for v in rest]
    on(ufunc).at(x.value, (_samples(x.value, plan), *plan.parts), *given)


def searchsorted(function: Any, level: Level, args: Any, kwargs: Any) -> Any:
    """`searchsorted(a, v, side)`: how many elements of a stand before each of v."""
    a, v, *rest = args
    options = {**dict(zip(("side", "sorter"), rest, strict=False)), **kwargs}
    if options.get("sorter") is not None:
        a = lib.take_along_axis(a, options["sorter"], -1)
    if not isinstance(a, BatchedArray):
        return wrapped(on(function)(a, lead(v, level), side=options.get("side", "left")), level)
    v = v if isinstance(v, BatchedArray) else lib.asarray(v)
    before = a <= v[..., None] if options.get("side", "left") == "right" else a < v[..., None]
    return before.sum(axis=-1)


def isin(function: Any, level: Level, args: Any, kwargs: Any) -> Any:
    """`isin(x, elements)`."""
    x, elements = args[:2]
    if not isinstance(elements, BatchedArray):
        return wrapped(on(function)(lead(x, level), *args[1:], **kwargs), level)
    found = (
        lib.asarray(x)[..., None] if not isinstance(x, BatchedArray) else x[..., None]
    ) == elements.reshape(-1)
    found = found.any(axis=-1)
    return ~found if kwargs.get("invert", False) else found


def bincount(function: Any, level: Level, args: Any, kwargs: Any) -> Any:
    """`bincount(x, weights, minlength)`, whose length is the same in every sample."""
    x, *rest = args
    options = {**dict(zip(("weights", "minlength"), rest, strict=False)), **kwargs}
    length, weights = options.get("minlength", 0), options.get("weights")
    if x.size and (x >= length).any():
        lengths = lib.maximum(all_samples(x.max(axis=0)) + 1, length)
        if lengths.min() != lengths.max():
            raise DynamicShape(DYNAMIC.format("bincount without a minlength that holds all numbers"))
        length = int(lengths.max())
    dtype = np.int64 if weights is None else np.float64
    counts: Any = lib.zeros_like(x, dtype=dtype, shape=(length,))
    np.add.at(counts, x, 1 if weights is None else weights)
    return counts


def dynamic(function: Any, level: Level, args: Any, kwargs: Any) -> Any:
    """Functions whose result's size depends on the values."""
    raise DynamicShape(DYNAMIC.format(function.__name__))


COUNTED: tuple[Any, ...] = (np.nonzero, np.flatnonzero, np.argwhere, np.unique, np.compress, np.extract)
RULES.methods["at"] = add_at
RULES.functions.update(
    {
        np.take: take, np.take_along_axis: take_along_axis, np.put_along_axis: put_along_axis,
        np.searchsorted: searchsorted, np.isin: isin, np.bincount: bincount,
        **dict.fromkeys(COUNTED, dynamic),
    }
)  # fmt: skip
