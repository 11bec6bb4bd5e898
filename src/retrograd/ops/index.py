"""Indexing: `x[...]` and `x[...] = value` in all of PyTorch's forms.

Note [How an index is read]
~~~~~~~~~~~~~~~~~~~~~~~~~~~
An index is read from left to right. Integers, slices and None become views, one op each: Select, Slice, Unsqueeze.
Index arrays and masks are only collected on the way; what the views leave is then indexed by all of them at once, by
one Index. Assignment reads the index in the same way and writes through the views into the tensor's memory; if it is
to be recorded, it is computed out of place first, see Note [In-place is out of place plus a move].
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from retrograd.backends.dtypes import SCALAR_NAMES, is_differentiable
from retrograd.core.apply import apply1, apply_n
from retrograd.core.inplace import check_writable, write_back
from retrograd.core.modes import current
from retrograd.core.op import Linear, Variadic, View
from retrograd.core.tensor import Tensor
from retrograd.errors import DtypeError, ShapeError, sizes, type_name
from retrograd.ops.common import as_value
from retrograd.ops.shape import SIZES, Alias, Expand, Reshape, Unsqueeze, expanded_shape
from retrograd.ops.split import END, WHOLE, Select, Slice
from retrograd.values import Array, Shape


class Index(Linear):
    """the elements that index arrays and masks point at"""

    params = ("key",)
    shown = SIZES

    def __init__(self, key: tuple[Any, ...]) -> None:
        self.key = key

    def forward(self, xp: Any, x: Array) -> Array:
        self.in_shape = x.shape
        last = len(self.key) - 1
        try:
            # With one index array `take` is the faster, and NumPy may lay the result of others out of order.
            if self.key[last].dtype.kind != "b" and all(i is WHOLE for i in self.key[:last]):
                return xp.take(x, self.key[last], last)
            return xp.ascontiguousarray(x[self.key])
        except IndexError as error:
            raise index_error(error, self.key) from None

    def transpose(self, g: Any) -> Any:
        return IndexPutImpl(self.in_shape, self.key).on(g)

    @property
    def _saved_indices(self) -> tuple[Tensor | None, ...]:
        return tuple([None if i is WHOLE else Tensor(i) for i in self.key])


class IndexPutImpl(Linear):
    """zeros of some shape with x added at index arrays: the adjoint of Index"""

    params = ("size", "key")

    def __init__(self, size: Shape, key: tuple[Any, ...]) -> None:
        self.size = size
        self.key = key

    def forward(self, xp: Any, x: Array) -> Array:
        return added_at(xp, xp.zeros(self.size, x.dtype), self.key, x)

    def transpose(self, g: Any) -> Any:
        return Index(self.key).on(g)


class Cleared(Linear):
    """x with zeros in the part that an index names; its own adjoint"""

    params = ("steps", "key")

    def __init__(self, steps: Sequence[View], key: tuple[Any, ...]) -> None:
        self.steps = steps
        self.key = key

    def forward(self, xp: Any, x: Array) -> Array:
        out = x.copy()
        through(self.steps, out)[self.key or ...] = 0
        return out

    def transpose(self, g: Any) -> Any:
        return Cleared(self.steps, self.key).on(g)


class CopySlices(Variadic):
    """x with a value written into the part that an index names"""

    node_name = "CopySlices"
    params = ("steps", "key")

    def __init__(self, steps: Sequence[View], key: tuple[Any, ...]) -> None:
        self.steps = steps
        self.key = key

    def forward(self, xp: Any, xs: Sequence[Any]) -> Any:
        x, value = xs
        out = x.copy()
        write(out, self.steps, self.key, value)
        return out

    def vjp(self, gs: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Sequence[Any]:
        g = part = gs[0]
        if self.needs(1):
            for step in self.steps:
                part = step.fresh().on(part)
            part = Index(self.key).on(part) if self.key else part
        return [
            Cleared(self.steps, self.key).on(g) if self.needs(0) else None,
            part if self.needs(1) else None,
        ]

    def jvp(self, ts: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Any:
        tx, tv = ts
        if tv is None:
            return Cleared(self.steps, self.key).on(tx)
        return self.fresh().on(as_value(np.zeros(self.shape, self.dtype), tv) if tx is None else tx, tv)

    def name(self) -> str:
        return f"torch::autograd::{type(self).__name__}"


class CopyBackwards(CopySlices):
    """x with all of it overwritten by a tensor"""

    node_name = "CopyBackwards"


class Fill(CopySlices):
    """x with all of it overwritten by a number"""

    node_name = "FillBackward3"

    def name(self) -> str:
        return type(self).__name__


class IndexPut(CopySlices):
    """x with a value written to the elements that index arrays and masks point at"""

    node_name = "IndexPutBackward0"

    def name(self) -> str:
        return type(self).__name__


def through(steps: Sequence[View], array: Array) -> Array:
    """The part of an array that views lead to."""
    for step in steps:
        array = step.forward(np, array)
    return array


def added_at(xp: Any, out: Array, key: tuple[Any, ...], x: Array) -> Array:
    """Adds `x` to the elements of a contiguous `out` that `key` points at; one that comes twice gets both."""
    arrays = [i for i in key if i is not WHOLE]
    if len(arrays) == 1 and arrays[0].dtype.kind == "b":
        out[key] += x  # a mask names no element twice
        return out
    if x.size <= 256:
        xp.add.at(out, key, x)
        return out
    # `add.at` is many times faster on one dimension.
    if len(key) == 1:
        width = out[:1].size
        rows = xp.where(key[0] < 0, key[0] + len(out), key[0]).reshape(-1, 1)
        where = rows * width + xp.arange(width)
    else:
        where = xp.arange(out.size).reshape(out.shape)[key]
    xp.add.at(out.reshape(-1), where.reshape(-1), x.reshape(-1))
    return out


def index_error(error: IndexError, key: tuple[Any, ...]) -> IndexError:
    """NumPy's complaint about an index in PyTorch's words."""
    text = str(error)
    if "broadcast" in text:
        shapes = [i.nonzero()[0].shape if i.dtype.kind == "b" else i.shape for i in key if i is not WHOLE]
        return IndexError(
            "shape mismatch: indexing tensors could not be broadcast together with shapes "
            + ", ".join([sizes(s) for s in shapes])
        )
    return IndexError(text.replace("for axis", "for dimension"))


# -- reading an index ----------------------------------------------------------------------------------------------


class Plan(NamedTuple):
    """What an index means: views to take, then index arrays and masks (WHOLE where a dimension has none)."""

    steps: list[View]
    key: tuple[Any, ...]


def read_index(shape: Shape, index: tuple[Any, ...]) -> Plan:
    """The plan of an index for a tensor of `shape`. See Note [How an index is read]."""
    items = [i if i is None or type(i) in (int, slice, bool) or i is Ellipsis else as_index(i) for i in index]
    rest = len(shape) - sum([_consumed(i) for i in items])
    if rest < 0:
        raise IndexError(f"too many indices for tensor of dimension {len(shape)}")
    steps: list[View] = []
    key: list[Any] = []
    dim = 0  # how many of the tensor's dimensions have been read
    for item in items:
        if item is None:
            steps.append(Unsqueeze(len(key)))
            key.append(WHOLE)
        elif item is Ellipsis:
            key.extend([WHOLE] * rest)
            dim += rest
        elif isinstance(item, bool):
            steps.append(Unsqueeze(len(key)))
            key.append(np.zeros(1 if item else 0, np.int64))
        elif isinstance(item, int):
            steps.append(select_step(len(key), item, dim, shape[dim]))
            dim += 1
        elif isinstance(item, slice):
            step = slice_step(len(key), item)
            if step.start or step.step != 1 or step.end < shape[dim]:
                steps.append(step)
            key.append(WHOLE)
            dim += 1
        else:
            _check_mask(item, shape, dim)
            key.append(item)
            dim += _consumed(item)
    while key and key[-1] is WHOLE:
        key.pop()
    return Plan(steps, tuple(key))


def _consumed(item: Any) -> int:
    """How many dimensions an item of an index uses up."""
    if item is None or item is Ellipsis or isinstance(item, bool):
        return 0
    if isinstance(item, (int, slice)):
        return 1
    return int(item.ndim) if item.dtype.kind == "b" else 1


def as_index(item: Any) -> Any:
    """A tensor, array or sequence as an int, a bool or an array of integers or booleans."""
    if isinstance(item, Tensor):
        return _index_array(item.array)
    if isinstance(item, (list, tuple, range, np.ndarray)):
        found = np.asarray(item if isinstance(item, (range, np.ndarray)) else _numbers(item))
        if found.dtype.kind not in "bfiu" and found.size:
            raise TypeError(f"an index of this kind cannot be used: {item!r}")
        return _index_array(found if found.dtype.kind == "b" else found.astype(np.int64))
    if isinstance(item, str):
        raise TypeError(f"an index must be made of integers, slices, masks or None, not str: {item!r}")
    if not isinstance(item, (float, complex, np.inexact, np.bool_)) and hasattr(item, "__index__"):
        return operator.index(item)
    raise IndexError(
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got "
        f"{type_name(item)})"
    )


def _index_array(a: Array) -> Any:
    """An index array, checked; one of no dimensions is an int or a bool."""
    if a.dtype == np.uint8 and a.ndim:
        warnings.warn(
            "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.",
            UserWarning,
            stacklevel=2,
        )
    if a.dtype.kind == "b" or a.dtype == np.uint8:
        return a.astype(bool, copy=False) if a.ndim else bool(a)
    if a.dtype.kind in "iu" and a.ndim == 0:
        return int(a)
    if a.dtype not in (np.int64, np.int32):
        raise IndexError(
            f"tensors used as indices must be long, int, byte or bool tensors, not {a.dtype}. Convert it with .long()."
        )
    return a


def _numbers(items: Any) -> Any:
    """Nested sequences of numbers, with the tensors in them as numbers."""
    if isinstance(items, Tensor):
        return items.array
    return [_numbers(i) for i in items] if isinstance(items, (list, tuple)) else items


def _check_mask(item: Array, shape: Shape, dim: int) -> None:
    """A mask must have the sizes of the dimensions it selects from."""
    if item.dtype.kind != "b":
        return
    for i, n in enumerate(item.shape):
        if n != shape[dim + i]:
            raise IndexError(
                f"The shape of the mask {sizes(item.shape)} at index {i} does not match the shape of the indexed "
                f"tensor {sizes(shape)} at index {dim + i}"
            )


def select_step(dim: int, index: int, named: int, size: int) -> Select:
    """One element of dimension `dim`, which messages call `named`."""
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of bounds for dimension {named} with size {size}")
    return Select(dim, index)


def slice_step(dim: int, item: slice) -> Slice:
    """A slice, which PyTorch only takes forwards."""
    start, end, step = (None if n is None else _slice_index(n) for n in (item.start, item.stop, item.step))
    if step == 0:
        raise ValueError("slice step cannot be zero")
    if step is not None and step < 0:
        raise ValueError("step must be greater than zero. To reverse a dimension, use flip().")
    return Slice(dim, 0 if start is None else start, END if end is None else end, 1 if step is None else step)


def _slice_index(n: Any) -> int:
    try:
        return operator.index(n)
    except TypeError:
        raise TypeError(
            f"slice indices must be integers or None or have an __index__ method, not {type_name(n)}"
        ) from None


def as_tuple(index: Any) -> tuple[Any, ...]:
    """An index as a tuple; a list that holds more than numbers counts as one, as it once did in NumPy."""
    if isinstance(index, tuple):
        return index
    if isinstance(index, list) and len(index) < 32:
        several = (Tensor, np.ndarray, list, tuple, range, slice)
        if any(isinstance(i, several) or i is None or i is Ellipsis for i in index):
            warnings.warn(
                "Using a non-tuple sequence for multidimensional indexing is deprecated; use x[tuple(seq)] instead of "
                "x[seq].",
                UserWarning,
                stacklevel=5,
            )
            return tuple(index)
    return (index,)


def zero_dim_error() -> IndexError:
    """A number has no elements to choose from."""
    return IndexError(
        "invalid index of a 0-dim tensor. Use `tensor.item()` to convert a 0-dim tensor to a Python number"
    )


def plan(x: Array, index: Any) -> Plan:
    """The plan of `x[index]`."""
    if type(index) is int:
        if x.ndim == 0:
            raise zero_dim_error()
        return Plan([select_step(0, index, 0, x.shape[0])], ())
    if type(index) is slice:
        if x.ndim == 0:
            raise IndexError("slice() cannot be applied to a 0-dim tensor.")
        return Plan([slice_step(0, index)], ())
    return read_index(x.shape, as_tuple(index))


# -- functions -----------------------------------------------------------------------------------------------------


def getitem(x: Any, index: Any) -> Any:
    """`x[index]`: a view for integers, slices and None, a copy where arrays or masks take part."""
    steps, key = plan(x.array, index)
    if not steps and not key:
        return apply1(Alias(), x)
    for step in steps:
        x = apply1(step, x)
    return apply1(Index(key), x) if key else x


# -- writing -------------------------------------------------------------------------------------------------------


def setitem(x: Tensor, index: Any, value: Any) -> None:
    """`x[index] = value`, in place; the value is broadcast to the part it is written to."""
    steps, key = plan(x.array, (index,) if isinstance(index, slice) else index)
    source = _source(x, value, key)
    check_writable(x)
    tracked = current().grad_enabled and is_differentiable(x.array.dtype)
    if not (tracked and (x._requires or source._requires)):
        write(x.array, steps, key, source.array)
        x.bump_version()
        return
    kind = CopySlices if steps else IndexPut if key else CopyBackwards if isinstance(value, Tensor) else Fill
    part = through(steps, x.array)
    write_back(x, apply_n(kind(steps, key), (x, _fitted(source, part, key))))


def write(array: Array, steps: Sequence[View], key: tuple[Any, ...], value: Array) -> None:
    """Writes a value through views and index arrays into an array."""
    part = through(steps, array)
    if value.dtype.kind == "c" and part.dtype.kind != "c":
        warnings.warn("Casting complex values to real discards the imaginary part", UserWarning, stacklevel=4)
        value = value.real
    if not key:
        if value.ndim and value.shape != part.shape:
            expanded_shape(trimmed(value, part.ndim), part.shape)  # complains in PyTorch's words
        part[...] = value
        return
    try:
        part[key] = value
    except IndexError as error:
        raise index_error(error, key) from None
    except ValueError:
        raise ShapeError(
            f"shape mismatch: value tensor of shape {sizes(value.shape)} cannot be broadcast to indexing result of "
            f"shape {sizes(part[key].shape)}"
        ) from None


def trimmed(value: Any, ndim: int) -> Any:
    """A value without those leading dimensions of size 1 that are too many."""
    shape = tuple(value.shape)
    while len(shape) > ndim and shape[0] == 1:
        shape = shape[1:]
    return value if len(shape) == value.ndim else value.reshape(shape)


def _source(x: Tensor, value: Any, key: tuple[Any, ...]) -> Tensor:
    """What is assigned, as a tensor."""
    if isinstance(value, np.ndarray):
        return Tensor(value)
    if not isinstance(value, Tensor):
        return Tensor(number_for(value, x.array.dtype))
    if key and value.array.dtype != x.array.dtype:
        masked = len(key) == 1 and key[0].dtype.kind == "b"
        if value.array.ndim or not masked:
            raise DtypeError(
                "Index put requires the source and destination dtypes match, got "
                f"{SCALAR_NAMES[x.array.dtype]} for the destination and {SCALAR_NAMES[value.array.dtype]} for the "
                "source. Convert the source with .to(dtype)."
            )
    return value


def _fitted(source: Tensor, part: Array, key: tuple[Any, ...]) -> Any:
    """A source that will be recorded, in the shape of the part it is written to; numbers stay as they are."""
    shape = source.array.shape
    if key:
        return trimmed(source, part[key].ndim) if shape[:1] == (1,) else source
    if not shape or shape == part.shape:
        return source
    while shape and shape[0] == 1:
        shape = shape[1:]
    found = apply1(Reshape(shape), source)
    return apply1(Expand(expanded_shape(found.array, part.shape)), found)


def number_for(value: Any, dtype: Any) -> Array:
    """A number as an array of a dtype that can hold it."""
    number = value.item() if isinstance(value, np.generic) else value
    if not isinstance(number, (bool, int, float, complex)):
        raise TypeError(f"can't assign a {type_name(value)} to a torch.{SCALAR_NAMES[dtype]}Tensor")
    if isinstance(number, complex) and dtype.kind != "c":
        if number.imag:
            raise _overflow(number, dtype)
        number = number.real
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        if not (limits.min or -limits.max) <= number <= limits.max:
            raise _overflow(number, dtype)
        return np.asarray(int(number)).astype(dtype)
    if dtype.kind == "f" and np.isfinite(number) and abs(number) > np.finfo(dtype).max:
        raise _overflow(number, dtype)
    return np.asarray(number).astype(dtype)


def _overflow(number: Any, dtype: Any) -> DtypeError:
    name = {"float32": "float", "float64": "double"}.get(dtype.name, f"{dtype.name}_t")
    return DtypeError(f"value cannot be converted to type {name} without overflow: {number}")


FUNCTIONS: tuple[Any, ...] = ()
