"""BatchedArray: an array that looks like one sample and holds all samples of a batch.

Note [Batched arrays]
~~~~~~~~~~~~~~~~~~~~~
`vmap` runs a function once, on tensors whose arrays are of this class. Shape, strides and indices are those of one
sample; `value` has one more dimension in front, the batch. NumPy hands every function that meets such an array to
`__array_ufunc__` or `__array_function__`, where a rule per family of functions (the other files of this package) does
for all samples what was asked for one. So nothing above the array library knows of batches: ops, gradients, tangents
and in-place writes are what they are without.

A dimension in front of size 1 stands for all samples alike; broadcasting takes care of it. `value` may itself be
batched, on an older level: rules call NumPy with it, and so come back here for that level.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from retrograd.backends.base import BACKENDS, backend_of, is_array
from retrograd.backends.batch.level import RULES, Level
from retrograd.backends.batch.methods import CONTROL_FLOW, NUMPY, ArrayMethods
from retrograd.backends.batch.served import SERVED, summed
from retrograd.backends.batch.shape import BatchedShape, Unbatchable
from retrograd.backends.casts import cast
from retrograd.backends.pack import PACK
from retrograd.errors import check_depth

__all__ = ["CONTROL_FLOW", "RULES", "Level"]  # what is looked for here and defined elsewhere

WHOLE = slice(None)
ndarray: Final[Any] = np.ndarray

IN_PLACE = (
    "vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args "
    "that has more elements than `self`. This happened due to `other` being vmapped over but `self` not being vmapped "
    "over in a vmap. Use an out-of-place operation, or write into a tensor made from a vmapped one, as by zeros_like()."
)


class BatchedArray(ArrayMethods):
    """See Note [Batched arrays]."""

    def __init__(self, value: Any, level: Level) -> None:
        self.value = value  # [batch, *shape]
        self.level = level
        self._shape: Any = None  # a BatchedShape, when somebody has asked for it
        self.axis: int = 0  # where the samples lay before, in what was given to vmap

    # -- what it says about itself: all of one sample -------------------------------------------------------------

    @property
    def shape(self) -> Any:
        """The shape of one sample."""
        made = self._shape
        if made is None:
            made = self._shape = _shape_of(self.value, self.level)
        return made

    @shape.setter
    def shape(self, shape: Any) -> None:
        self.value.shape = (*self.value.shape[:1], *shape)
        self._shape = None

    @property
    def ndim(self) -> int:
        """The number of dimensions of one sample."""
        count: int = self.value.ndim
        return count - 1

    @property
    def dtype(self) -> Any:
        return self.value.dtype

    @property
    def itemsize(self) -> int:
        count: int = self.value.itemsize
        return count

    @property
    def size(self) -> int:
        """The number of elements of one sample."""
        count = 1
        for n in self.value.shape[1:]:
            count *= n
        return count

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    @property
    def strides(self) -> Any:
        return tuple(self.value.strides[1:])

    @property
    def flags(self) -> Any:
        return self.value.flags

    @property
    def base(self) -> Any:
        """Never None: nobody may write into it unasked."""
        return self

    @property
    def real(self) -> Any:
        return BatchedArray(self.value.real, self.level)

    @real.setter
    def real(self, values: Any) -> None:
        self.real[...] = values

    @property
    def imag(self) -> Any:
        return BatchedArray(self.value.imag, self.level)

    @imag.setter
    def imag(self, values: Any) -> None:
        self.imag[...] = values

    def fits(self, shape: Any, dtype: Any) -> bool:
        """Whether it has a shape, levels included, and a dtype. May say no in rare cases where it has."""
        return shape is self.shape and self.value.dtype is dtype

    def __len__(self) -> int:
        if self.ndim == 0:
            raise TypeError("len() of unsized object")
        return int(self.value.shape[1])

    def __repr__(self) -> str:
        return f"BatchedArray(lvl={self.level.number}, bdim=0, value=\n    {self.value!r}\n)"

    # -- NumPy's protocols -----------------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method == "__call__" and not kwargs and ufunc.signature is None:
            found = _quick(ufunc, inputs)
            if found is not None:
                return found
        for x in inputs:
            if isinstance(x, (BatchedArray, ndarray, np.generic)) or type(x) in BACKENDS.foreign:
                continue
            if hasattr(x, "__array_ufunc__"):
                return NotImplemented
        return RULES.methods[method](ufunc, _level_of_call(inputs, kwargs), inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        rule = RULES.functions.get(function)
        if rule is None:
            raise Unbatchable(f"vmap: there is no rule for {getattr(function, '__name__', function)}")
        return rule(function, _level_of_call(args, kwargs), args, kwargs)

    def __getitem__(self, key: Any) -> Any:
        return RULES.getitem(self, key)

    def __setitem__(self, key: Any, values: Any) -> None:
        RULES.setitem(self, key, values)

    def __iter__(self) -> Any:
        return iter([self[i] for i in range(len(self))])

    # -- what formulas do most, on the shortest way ------------------------------------------------------------------

    def __add__(self, other: Any) -> Any:
        return _of_two(np.add, self, other, other)

    def __radd__(self, other: Any) -> Any:
        return _of_two(np.add, other, self, other)

    def __sub__(self, other: Any) -> Any:
        return _of_two(np.subtract, self, other, other)

    def __rsub__(self, other: Any) -> Any:
        return _of_two(np.subtract, other, self, other)

    def __mul__(self, other: Any) -> Any:
        return _of_two(np.multiply, self, other, other)

    def __rmul__(self, other: Any) -> Any:
        return _of_two(np.multiply, other, self, other)

    def __truediv__(self, other: Any) -> Any:
        return _of_two(np.true_divide, self, other, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _of_two(np.true_divide, other, self, other)

    def __matmul__(self, other: Any) -> Any:
        level = self.level
        if isinstance(other, BatchedArray):
            if other.level.number > level.number:
                level = other.level
        elif not is_array(other):
            return NotImplemented
        return RULES.functions[np.matmul](np.matmul, level, (self, other), {})

    def __rmatmul__(self, other: Any) -> Any:
        if not is_array(other):
            return NotImplemented
        return RULES.functions[np.matmul](np.matmul, self.level, (other, self), {})

    def reshape(self, *shape: Any, order: Any = "C", copy: Any = None) -> Any:
        value = self.value
        if type(value) is not ndarray or order != "C" or value.size == 0:
            return NUMPY.reshape(self, shape[0] if len(shape) == 1 else shape, order=order, copy=copy)
        first = shape[0] if len(shape) == 1 else shape
        sizes = value.shape[:1] + (tuple(first) if isinstance(first, (tuple, list)) else (first,))
        made = value.reshape(sizes) if copy is None else value.reshape(sizes, copy=copy)
        return BatchedArray(made, self.level)

    def swapaxes(self, axis1: int, axis2: int) -> Any:
        value = self.value
        n: int = value.ndim - 1
        return BatchedArray(value.swapaxes(in_front(axis1, n), in_front(axis2, n)), self.level)

    @property
    def T(self) -> Any:
        value = self.value
        if value.ndim == 3:
            return BatchedArray(value.swapaxes(1, 2), self.level)
        return BatchedArray(value.transpose((0, *range(value.ndim - 1, 0, -1))), self.level)

    # -- copies and conversions; what else NumPy has as methods is in methods.py -------------------------------------

    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> Any:
        value = cast(self.value, dtype, *args, **kwargs)
        return self if value is self.value else BatchedArray(value, self.level)

    def copy(self, order: Any = "C") -> Any:
        """A copy, with room for every sample."""
        return BatchedArray(spread(self.value, self.level.size).copy(order), self.level)

    def view(self, dtype: Any = None) -> Any:
        if dtype is None:
            return BatchedArray(self.value.view(), self.level)
        return BatchedArray(self.value.view(dtype), self.level)

    def fill(self, number: Any) -> None:
        self[...] = number

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        if out is not None:
            return np.sum(self, axis, dtype, out, keepdims)
        return BatchedArray(
            summed(self.value, all_axes(axis, self.value.ndim - 1), dtype, keepdims), self.level
        )

    def conj(self) -> Any:
        return BatchedArray(self.value.conj(), self.level)

    def conjugate(self) -> Any:
        return BatchedArray(self.value.conj(), self.level)

    def sort(self, axis: int = -1, kind: Any = None) -> None:
        self.value.sort(axis=in_front(axis, self.ndim), kind=kind)


def _shape_of(value: Any, level: Level) -> Any:
    """The shape of one sample, one object for all arrays of one level."""
    shape = value.shape
    if isinstance(value, BatchedArray):
        made = BatchedShape(shape[1:])
        made.levels = (level, *shape.levels)
        return made
    key = shape[1:]
    found = level.shapes.get(key)
    if found is None:
        found = level.shapes[key] = BatchedShape(key)
        found.levels = (level,)
    return found


def _quick(ufunc: Any, inputs: tuple[Any, ...]) -> Any:
    """A ufunc of arrays and numbers that are batched on one level or not at all; None if they are anything else."""
    level: Level | None = None
    ndim = 0
    for x in inputs:
        n: int = 0
        if isinstance(x, BatchedArray):
            if level is not None and x.level is not level:
                return None
            level = x.level
            n = x.value.ndim - 1
        elif type(x) is ndarray:
            n = x.ndim
        elif not isinstance(x, (int, float, complex, np.generic)):
            return None
        if n > ndim:
            ndim = n
    if level is None:
        return None
    values = [widened(x.value, ndim) if isinstance(x, BatchedArray) else x for x in inputs]
    if BACKENDS.foreign:
        return None
    result = SERVED.get(ufunc, ufunc)(*values)
    return wrapped(result, level) if type(result) is tuple else BatchedArray(result, level)


def _of_two(ufunc: Any, x: Any, y: Any, other: Any) -> Any:
    """An operator's ufunc, of a batched array and `other`, in either order."""
    found = _quick(ufunc, (x, y))
    if found is not None:
        return found
    if type(other) in BACKENDS.foreign:
        return RULES.methods["__call__"](ufunc, _level_of_call((x, y), {}), (x, y), {})
    return NotImplemented if getattr(other, "__array_ufunc__", ufunc) is None else ufunc(x, y)


class Verdict(BatchedArray):
    """Whether something holds for any element of a sample, or for all of them.

    Our own code asks this to choose a path that serves every sample, or to refuse bad arguments; so as a condition it
    is true if it is so in any sample, or in all. A user's `if` asks a Tensor, whose number there is none of.
    """

    def __init__(self, value: Any, level: Level, every: bool) -> None:
        super().__init__(value, level)
        self.every = every

    def __bool__(self) -> bool:
        found = self.value.all() if self.every else self.value.any()
        return bool(found)


# -- levels --------------------------------------------------------------------------------------------------------


def levels_of(array: Any) -> tuple[Any, ...]:
    """The levels on which an array is batched, the newest first."""
    if not isinstance(array, BatchedArray):
        return ()
    found: tuple[Any, ...] = array.shape.levels
    return found


def levels_among(values: Any) -> tuple[Level, ...]:
    """All levels on which arrays in nested tuples and lists are batched, the newest first."""
    found: tuple[Level, ...] = ()
    waiting = [values]
    while waiting:
        value = waiting.pop()
        if isinstance(value, BatchedArray):
            levels = value.shape.levels
            if levels != found:
                found = tuple(sorted({*found, *levels}, key=_number, reverse=True)) if found else levels
        elif isinstance(value, (tuple, list)):
            waiting.extend(value)
    return found


def batches(levels: Sequence[Level]) -> tuple[int, ...]:
    """The sizes of levels, the newest first, in the order in which they lie in memory: the oldest comes first."""
    return tuple([level.size for level in reversed(levels)])


def is_batched(x: Any) -> bool:
    """Whether an array holds a batch."""
    return isinstance(x, BatchedArray)


def is_on(x: Any, level: Level) -> bool:
    """Whether `level` is the newest level of an array."""
    return isinstance(x, BatchedArray) and x.level is level


def newest_level(values: Any) -> Level:
    """The newest level among arrays in nested tuples, lists, dicts and slices."""
    found = newest_among(values, None)
    assert found is not None
    return found


# Classes of values that hold no array: most arguments and parameters.
NEVER_BATCHED = frozenset((np.ndarray, int, float, bool, str, slice, type(None), np.dtype))


def newest_among(values: Any, found: Level | None = None, depth: int = 0) -> Level | None:
    """The same; None if there is none."""
    if isinstance(values, BatchedArray):
        return values.level if found is None or values.level.number > found.number else found
    if type(values) is ndarray:
        return found
    check_depth(depth)
    if isinstance(values, (tuple, list)):
        for v in values:
            if type(v) not in NEVER_BATCHED:
                found = newest_among(v, found, depth + 1)
    elif isinstance(values, dict):
        for v in values.values():
            found = newest_among(v, found, depth + 1)
    return found


def _level_of_call(args: Any, kwargs: Any) -> Level:
    """The newest level among the arguments of a function."""
    found: Level | None = None
    for v in args:
        if isinstance(v, BatchedArray):
            if found is None or v.level.number > found.number:
                found = v.level
        elif type(v) not in NEVER_BATCHED:
            found = newest_among(v, found)
    if kwargs:
        found = newest_among(kwargs, found)
    assert found is not None
    return found


def has_batched(values: Any) -> bool:
    """Whether there is a batched array among nested values."""
    return newest_among(values, None) is not None


def getitem_of(x: Any, key: tuple[Any, ...]) -> Any:
    """`x[key]`, also where only the key is batched: an array of NumPy's own does not know what to do with that."""
    if isinstance(x, BatchedArray) or not has_batched(key):
        return x[key]
    return RULES.getitem(BatchedArray(x[None], newest_level(key)), key)


# -- values with their batch in front ------------------------------------------------------------------------------


def lead(x: Any, level: Level) -> Any:
    """`x` with the batch of `level` as its first dimension, of size 1 if it is the same for all samples."""
    if isinstance(x, BatchedArray):
        return x.value if x.level is level else x[None]
    return x[None] if is_array(x) else np.asarray(x)[None]


def aligned(xs: Iterable[Any], level: Level) -> list[Any]:
    """Operands as they broadcast against each other with the batch in front; numbers stay numbers."""
    given = list(xs)
    ndim = 0
    for x in given:
        if is_array(x):
            ndim = max(ndim, x.ndim)
    return [widened(x.value, ndim) if isinstance(x, BatchedArray) and x.level is level else x for x in given]


def widened(value: Any, ndim: int) -> Any:
    """A value with its batch in front, its samples of `ndim` dimensions."""
    missing: int = ndim + 1 - value.ndim
    if missing <= 0:
        return value
    return value[:, None] if missing == 1 else value[(WHOLE, *[None] * missing)]


def spread(value: Any, size: int) -> Any:
    """A value whose batch is written out, if it was 1 for all samples."""
    if value.shape[0] == size:
        return value
    return stretched(value, (size, *value.shape[1:]))


def stretched(value: Any, shape: tuple[int, ...]) -> Any:
    """`broadcast_to`, which takes NumPy many times as long to set up."""
    view = NotImplemented if PACK is None or type(value) is not ndarray else PACK.stretched(value, shape)
    return backend_of(value).broadcast_to(value, shape) if view is NotImplemented else view


def spread_all(values: Iterable[Any]) -> list[Any]:
    """Values that all have the batch that the largest of them has."""
    given = list(values)
    size = max([v.shape[0] for v in given], default=1)
    return [spread(v, size) for v in given]


def wrapped(result: Any, level: Level) -> Any:
    """A result, or each of several, as batched."""
    if type(result) is ndarray:
        return BatchedArray(result, level)
    if isinstance(result, (tuple, list)):
        parts = [wrapped(r, level) for r in result]
        if type(result) in (tuple, list):
            return type(result)(parts)
        return type(result)(*parts)  # a named tuple, as numpy.linalg has them
    return BatchedArray(result if is_array(result) else np.asanyarray(result), level)


def in_front(axis: Any, ndim: int) -> Any:
    """Axes of a sample as axes of a value with its batch in front; None stays."""
    if axis is None:
        return None
    if type(axis) is int and -ndim <= axis < ndim:
        return axis + 1 if axis >= 0 else axis + ndim + 1
    if isinstance(axis, (tuple, list)):
        return tuple([in_front(a, ndim) for a in axis])
    return normalize_axis_index(axis.__index__(), ndim) + 1


def all_axes(axis: Any, ndim: int) -> Any:
    """The same, where None means all axes of a sample."""
    return tuple([i + 1 for i in range(ndim)]) if axis is None else in_front(axis, ndim)


# -- in and out of a level -----------------------------------------------------------------------------------------


def packed(array: Any, axis: int, level: Level) -> Any:
    """The array whose samples lie along `axis`, as batched on `level`."""
    if isinstance(array, BatchedArray) and array.level.number > level.number:
        return BatchedArray(packed(array.value, axis + 1, level), array.level)
    made = BatchedArray(backend_of(array).moveaxis(array, axis, 0) if axis else array, level)
    made.axis = axis
    return made


def unpacked(array: Any, level: Level) -> Any:
    """An array with the batch of `level` as its first dimension, written out."""
    if isinstance(array, BatchedArray) and array.level.number > level.number:
        inner = unpacked(array.value, level)
        return BatchedArray(inner.swapaxes(0, 1), array.level)
    return spread(lead(array, level), level.size)


def sample(array: Any, level: Level, i: int) -> Any:
    """Sample number `i`; the array itself if it is not batched on `level`."""
    if not isinstance(array, BatchedArray) or level not in levels_of(array):
        return array
    if array.level is not level:
        return BatchedArray(sample(array.value, level, i), array.level)
    return array.value[i if array.value.shape[0] > 1 else 0, ...]


def all_samples(array: Any) -> Any:
    """The array in which all samples lie, of every level."""
    while isinstance(array, BatchedArray):
        array = array.value
    return array


def one_sample(array: Any) -> Any:
    """The first sample of every level, in the memory where it lies; of no samples, one that lies nowhere."""
    while isinstance(array, BatchedArray):
        value = array.value
        array = value[0, ...] if value.shape[0] else backend_of(value).zeros(value.shape[1:], value.dtype)
    return array


def on_levels(value: Any, levels: Sequence[Level]) -> Any:
    """A value with the batches of these levels, the newest first, as its first dimensions. See `batches`."""
    for level in reversed(levels):
        value = BatchedArray(value, level)
    return value


def constant(array: Any, levels: tuple[Level, ...]) -> Any:
    """The array as batched on all of `levels`: the same for all samples of those where it was not."""
    if len(levels) == 1 and type(array) is ndarray:
        return BatchedArray(array[None], levels[0])
    for level in sorted(levels, key=_number):
        if level not in levels_of(array):
            array = _constant(array, level)
    return array


def _number(level: Level) -> int:
    return level.number


def _constant(array: Any, level: Level) -> Any:
    if isinstance(array, BatchedArray) and array.level.number > level.number:
        return BatchedArray(_constant(array.value, level), array.level)
    return BatchedArray(array[None], level)


def alike(value: Any) -> bool:
    """Whether all samples of a value with its batch in front are the same; NaN is the same as NaN."""
    if value.shape[0] <= 1:
        return True
    first = value[:1]
    xp = backend_of(value)
    same = (value == first) | (xp.isnan(value) & xp.isnan(first))
    return bool(all_samples(same).all())


def summed_over(array: Any, level: Level) -> Any:
    """The sum over all samples; of an array that is the same for all, that many times as much."""
    if isinstance(array, BatchedArray) and array.level.number > level.number:
        return BatchedArray(summed_over(array.value, level), array.level)
    value = lead(array, level)
    found = value[0] * level.size if value.shape[0] != level.size else value.sum(axis=0)
    return found if is_array(found) else np.asarray(found)
