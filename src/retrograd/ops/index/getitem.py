"""Indexing: `x[...]` and `x[...] = value` in all of PyTorch's forms.

Note [How an index is read]
~~~~~~~~~~~~~~~~~~~~~~~~~~~
An index is read from left to right. Integers, slices and None become views, one op each: Select, Slice, Unsqueeze.
Index arrays and masks are only collected on the way, as constants: they are the key. What the views leave is then
indexed by all of them at once, by one Index. Assignment reads the index in the same way and writes into the view that
it arrives at, or into those of its elements that the key names; see Note [Views and in-place] for what that does to the
history.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, ClassVar, Final

import numpy as np

from retrograd.backends.base import Backend, backend_of, is_array, stands_for_many
from retrograd.backends.dtypes import SCALAR_NAMES, is_differentiable
from retrograd.backends.kernels.along_axis import WHOLE, is_index, lonely_axis
from retrograd.core.apply import apply1, apply_n
from retrograd.core.families import Linear, View
from retrograd.core.inplace import check_writable, write_back
from retrograd.core.modes import FORWARD, current
from retrograd.core.op import CONSTANTS, Op, Variadic
from retrograd.core.places import warn
from retrograd.core.saved import SavedConstant, constant_of, freed_graph
from retrograd.core.tensor import Tensor
from retrograd.core.views import is_stretched, overlap_error
from retrograd.errors import DtypeError, ShapeError, check_depth, sizes, type_name
from retrograd.ops.common import beside, zeros_beside
from retrograd.ops.inplace.fill import copy_, fill_
from retrograd.ops.shape.reshape import (
    SIZES,
    Alias,
    Expand,
    Reshape,
    Unsqueeze,
    broadcasts_together,
    expanded_shape,
    integer,
)
from retrograd.ops.shape.split import END, Select, Slice
from retrograd.ops.tensor.data import check_fits, narrowed, number_for, supported
from retrograd.values import Array, DType, Shape

ndarray: Final[Any] = np.ndarray
LARGEST: Final = 2**63 - 1  # of the integers that PyTorch takes as an index


ALL_OF_IT: Final = SavedConstant(WHOLE)  # stands in a key for a dimension that is not indexed

Key = tuple[SavedConstant, ...]


def arrays_of(key: Key) -> tuple[Any, ...]:
    """A key as NumPy takes it."""
    return (key[0].array,) if len(key) == 1 else tuple([i.array for i in key])


def key_of(op: Op) -> Key:
    """The key of an op that indexes: its constants."""
    constants = op.constants
    if constants is None:
        raise freed_graph(op)
    return constants


class LinearByKey(Linear):
    """A Linear op at the elements that a key points at."""

    params: ClassVar[tuple[str, ...]] = ("key",)
    shown: ClassVar[dict[str, str]] = {"indices": CONSTANTS}

    def __init__(self, key: Key) -> None:
        self.constants = key

    @property
    def key(self) -> Key:
        """What points at the elements: index arrays and masks."""
        return key_of(self)


class Index(LinearByKey):
    """the elements that index arrays and masks point at"""

    index_error: ClassVar[bool] = True
    shown: ClassVar[dict[str, str]] = {**SIZES, **LinearByKey.shown}

    def forward(self, xp: Backend, x: Array) -> Array:
        self.in_shape = x.shape
        key = arrays_of(self.key)
        axis = lonely_axis(key)
        try:
            # With one index array `take` is the faster, and NumPy may lay the result of others out of order.
            if axis >= 0:
                return xp.take(x, key[axis], axis)
            return xp.ascontiguousarray(x[key])
        except IndexError:
            check_key(key, x.shape)  # says what is wrong in PyTorch's words
            raise

    def transpose(self, g: Any) -> Any:
        return IndexPutImpl(self.in_shape, self.key).on(g)


class IndexPutImpl(LinearByKey):
    """zeros of some shape with x added at index arrays: the adjoint of Index"""

    params: ClassVar[tuple[str, ...]] = ("size", "key")

    def __init__(self, size: Shape, key: Key) -> None:
        super().__init__(key)
        self.size = size

    def forward(self, xp: Backend, x: Array) -> Array:
        return xp.add_at(xp.zeros(self.size, x.dtype), arrays_of(self.key), x)

    def transpose(self, g: Any) -> Any:
        return Index(self.key).on(g)


class Cleared(LinearByKey):
    """x with zeros at index arrays and masks; its own adjoint"""

    def forward(self, xp: Backend, x: Array) -> Array:
        out = x.copy()
        out[arrays_of(self.key)] = 0
        return out

    def transpose(self, g: Any) -> Any:
        return Cleared(self.key).on(g)


class IndexPut(Variadic):
    """x with a value written to the elements that index arrays and masks point at"""

    params: ClassVar[tuple[str, ...]] = ("key",)
    index_error: ClassVar[bool] = True
    accumulate: bool = False
    shown: ClassVar[dict[str, str]] = {"accumulate": "accumulate", "indices": CONSTANTS}

    def __init__(self, key: Key) -> None:
        self.constants = key

    @property
    def key(self) -> Key:
        """What points at the elements: index arrays and masks."""
        return key_of(self)

    def forward(self, xp: Backend, xs: Sequence[Any]) -> Any:
        x, value = xs
        self.shapes = x.shape, value.shape
        out = x.copy()
        put(out, arrays_of(self.key), beside(value, out))
        return out

    def vjp(self, gs: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Sequence[Any]:
        g = gs[0]
        kept = Cleared(self.key).on(g) if self.needs(0) else None
        return [kept, Index(self.key).on(g) if self.needs(1) else None]

    def jvp(self, ts: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Any:
        return self.fresh().on(*filled(ts, self.shapes))


def filled(ts: Sequence[Any], shapes: Sequence[Shape]) -> list[Any]:
    """Tangents, with zeros for those that are missing."""
    given = next(t for t in ts if t is not None)
    return [zeros_beside(given, shape) if t is None else t for t, shape in zip(ts, shapes, strict=True)]


# -- reading an index ----------------------------------------------------------------------------------------------


# What an index means: views to take, then index arrays and masks. No named tuple, which takes longer than a view.
IndexPlan = tuple[list[View], Key]


def read_index(x: Array, index: tuple[Any, ...]) -> IndexPlan:
    """The plan of `x[index]`. See Note [How an index is read]."""
    shape = x.shape
    items = [i if i is None or type(i) in (int, slice, bool) or i is Ellipsis else as_index(i) for i in index]
    rest = len(shape) - sum([_consumed(i) for i in items])
    if rest < 0:
        raise IndexError(f"too many indices for tensor of dimension {len(shape)}")
    steps: list[View] = []
    key: list[SavedConstant] = []
    dim = at = 0  # the next dimension of the tensor, and of what the views have made of it
    for item in items:
        if item is None or isinstance(item, bool):
            steps.append(Unsqueeze(at))
            key.append(
                ALL_OF_IT if item is None else SavedConstant(beside(np.zeros(1 if item else 0, np.int64), x))
            )
            at += 1
            continue
        used = rest if item is Ellipsis else _consumed(item)
        if item is Ellipsis:
            key.extend([ALL_OF_IT] * rest)
        elif type(item) is int:
            steps.append(select_step(at, item, dim, shape[dim]))
            at -= 1
        elif isinstance(item, slice):
            step = slice_step(at, item)
            if step.start or step.step != 1 or step.end < shape[dim]:
                steps.append(step)
            key.append(ALL_OF_IT)
        else:
            _check_mask(item.array, shape, dim)
            there = beside(item.array, x)
            key.append(item if there is item.array else item.like(there))
        dim += used
        at += used
    while key and key[-1] is ALL_OF_IT:
        key.pop()
    return steps, tuple(key)


def check_key(key: tuple[Any, ...], shape: Shape) -> None:
    """Index arrays must broadcast together, and point into their dimensions of an array of `shape`."""
    chosen = [_chosen_shape(i) for i in key if i is not WHOLE]
    if not all(broadcasts_together(s, t) for s, t in combinations(chosen, 2)):
        raise IndexError(
            "shape mismatch: indexing tensors could not be broadcast together with shapes "
            + ", ".join([sizes(s) for s in chosen])
        )
    if any(0 in s for s in chosen):
        return  # nothing is chosen, so nothing is out of bounds
    dim = 0
    for i in key:
        if i is WHOLE or i.dtype.kind == "b":
            dim += 1 if i is WHOLE else i.ndim
            continue
        wrong = backend_of(i).outside(i, -shape[dim], shape[dim])
        if wrong is not None and shape[dim] == 0:
            raise IndexError(
                f"index is out of bounds for dimension with size 0: index {wrong} for dimension {dim}"
            )
        if wrong is not None:
            raise IndexError(f"index {wrong} is out of bounds for dimension {dim} with size {shape[dim]}")
        dim += 1


def check_beforehand(key: Key, x: Array) -> None:
    """`check_key` for arrays that take any index without a word. NumPy's look at it while they are read."""
    if type(x) is not ndarray:
        check_key(arrays_of(key), x.shape)


def _chosen_shape(index: Array) -> Shape:
    """The shape of what an index array chooses; a mask chooses a line of elements."""
    if index.dtype.kind != "b":
        return tuple(index.shape)
    # How many a mask chooses may differ from sample to sample: that is refused where it is used.
    return (int(index.sum()),) if backend_of(index).dynamic_shapes else (1,)


def _consumed(item: Any) -> int:
    """How many dimensions an item of an index uses up."""
    if type(item) is int or type(item) is slice:
        return 1
    if item is None or item is Ellipsis or isinstance(item, bool):
        return 0
    return int(item.array.ndim) if item.array.dtype.kind == "b" else 1


def as_index(item: Any) -> Any:
    """A tensor, array or sequence as an int, a bool or a constant of integers or booleans."""
    if isinstance(item, Tensor):
        array = _index_array(item.array)
        if array is item.array:
            return constant_of(item)
        return constant_of(item).like(array) if is_array(array) else array
    if isinstance(item, (list, tuple, range, np.ndarray)):
        found = np.asarray(item if isinstance(item, (range, np.ndarray)) else _numbers(item))
        if found.dtype.kind == "U" and found.size:
            raise TypeError(f"new(): invalid data type 'str': an index of this kind cannot be used: {item!r}")
        if found.dtype.kind not in "bfiu" and found.size:
            raise TypeError(f"an index of this kind cannot be used: {item!r}")
        if found.dtype == np.uint64 and found.size and found.max() > LARGEST:
            raise overflow_error()
        array = _index_array(found if found.dtype.kind == "b" else found.astype(np.int64))
        return SavedConstant(array) if is_array(array) else array
    if isinstance(item, str):
        raise TypeError(
            f"new(): invalid data type 'str': an index is made of integers, slices, masks or None, not of {item!r}"
        )
    if not isinstance(item, (float, complex, np.inexact, np.bool_)) and hasattr(item, "__index__"):
        return integer(item)
    raise IndexError(
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got "
        f"{type_name(item)})"
    )


def _index_array(a: Array) -> Any:
    """An index array, checked; one of no dimensions is an int or a bool."""
    if is_index(a) and a.ndim:
        return a
    if a.dtype == np.uint8 and a.ndim:
        warn(
            "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.",
            UserWarning,
        )
    if a.dtype.kind == "b" or a.dtype == np.uint8:
        return a.astype(bool, copy=False) if a.ndim else bool(a)
    if a.dtype.kind in "iu" and a.ndim == 0 and not stands_for_many(a):
        return int(a)
    if not is_index(a):
        raise IndexError(
            f"tensors used as indices must be long, int, byte or bool tensors, not {a.dtype}. Convert it with .long()."
        )
    return a


def _numbers(items: Any, depth: int = 0) -> Any:
    """Nested sequences of numbers, with the tensors in them as numbers."""
    check_depth(depth)
    if isinstance(items, Tensor):
        return items.array
    return [_numbers(i, depth + 1) for i in items] if isinstance(items, (list, tuple)) else items


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
        if not -LARGEST - 1 <= index <= LARGEST:
            raise overflow_error()
        raise IndexError(f"index {index} is out of bounds for dimension {named} with size {size}")
    return Select(dim, index)


def slice_step(dim: int, item: slice) -> Slice:
    """A slice, which PyTorch only takes forwards."""
    start = 0 if item.start is None else _slice_index(item.start)
    end = END if item.stop is None else _slice_index(item.stop)
    step = 1 if item.step is None else _slice_index(item.step)
    if step == 0:
        raise ValueError("slice step cannot be zero")
    if step < 0:
        raise ValueError("step must be greater than zero. To reverse a dimension, use flip().")
    return Slice(dim, start, end, step)


def _slice_index(n: Any) -> int:
    if type(n) is int:
        return n
    try:
        return integer(n)
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
            warn(
                "Using a non-tuple sequence for multidimensional indexing is deprecated; use x[tuple(seq)] instead of "
                "x[seq].",
                UserWarning,
            )
            return tuple(index)
    return (index,)


def overflow_error() -> ValueError:
    """An index that no integer of 64 bits holds."""
    return ValueError("Overflow when unpacking long long: an index does not fit into 64 bits")


def zero_dim_error(index: int) -> Exception:
    """A number has no elements to choose from."""
    if not -LARGEST - 1 <= index <= LARGEST:
        return overflow_error()
    if index:
        return IndexError(f"index {index} is out of bounds for dimension 0 with size 0")
    return IndexError(
        "invalid index of a 0-dim tensor. Use `tensor.item()` in Python to convert a 0-dim tensor to a number"
    )


def plan(x: Array, index: Any) -> IndexPlan:
    """The plan of `x[index]`."""
    if type(index) is int:
        if x.ndim == 0:
            raise zero_dim_error(index)
        return [select_step(0, index, 0, x.shape[0])], ()
    if type(index) is slice:
        step = slice_step(0, index)
        if x.ndim == 0:
            raise IndexError("slice() cannot be applied to a 0-dim tensor.")
        return [step], ()
    return read_index(x, as_tuple(index))


# -- functions -----------------------------------------------------------------------------------------------------


def getitem(x: Any, index: Any) -> Any:
    """`x[index]`: a view for integers, slices and None, a copy where arrays or masks take part."""
    if type(index) is int and x.array.ndim:
        return apply1(select_step(0, index, 0, x.array.shape[0]), x)
    if type(index) is slice and x.array.ndim:
        return apply1(slice_step(0, index), x)
    steps, key = plan(x.array, index)
    if not steps and not key:
        return apply1(Alias(), x)
    for step in steps:
        x = apply1(step, x)
    if not key:
        return x
    check_beforehand(key, x.array)
    return apply1(Index(key), x)


# -- writing -------------------------------------------------------------------------------------------------------


def setitem(x: Tensor, index: Any, value: Any) -> None:
    """`x[index] = value`, in place; the value is broadcast to the part it is written to."""
    try:
        steps, key = plan(x.array, (index,) if isinstance(index, slice) and x.array.ndim else index)
    except IndexError:
        if isinstance(value, (int, float, complex)):
            _source(x, value, ())  # a number that does not fit is told first
        raise
    source = _source(x, value, () if isinstance(index, bool) else key)
    if index is False:
        return  # nothing is written
    state = current()
    tracked = state.grad_enabled and (x.requires_grad or source.requires_grad)
    if (tracked or state.special & FORWARD) and is_differentiable(x.array.dtype):
        part: Any = x
        for step in steps:
            part = apply1(step, part)
        _write_recorded(part, key, source, as_whole=not steps and part.array.ndim == 0)
        return
    check_writable(x, stretched=True)
    array = x.array
    for step in steps:
        array = step.forward(backend_of(array), array)
    _check_expanded(array, key)
    put(array, arrays_of(key), beside(source.array, array))
    x._bump_version()


def _write_recorded(part: Tensor, key: Key, source: Tensor, as_whole: bool) -> None:
    """Writes into a view, or into a single number as a whole, in a way that autograd sees."""
    if key:
        check_writable(part, stretched=True)
        _check_expanded(part.array, key)
        write_back(part, apply_n(IndexPut(key), (part, _broadcast_source(source, part.array, key))))
    elif source.array.ndim == 0 and not as_whole:
        fill_(part, source)
    else:
        copy_(part, _broadcast_source(source, part.array, key))


def _check_expanded(array: Array, key: Key) -> None:
    """Expanded memory is refused, except by index arrays and masks, as PyTorch has it."""
    if array.flags.c_contiguous or not is_stretched(array):
        return
    if not key:
        raise overlap_error()
    warn(
        "Use of index_put_ on expanded tensors is deprecated: elements that share memory change together. clone() the "
        "tensor first.",
        UserWarning,
    )


def put(array: Array, key: tuple[Any, ...], value: Array) -> None:
    """Writes a value into an array: into all of it, or where index arrays and masks point."""
    if value.dtype.kind == "c" and array.dtype.kind != "c":
        if array.dtype.kind != "b":
            warn("Casting complex values to real discards the imaginary part", UserWarning)
        value = value != 0 if array.dtype.kind == "b" else value.real
    backend_of(value).check_room(array)
    if type(array) is not ndarray:
        check_key(key, array.shape)
    if not key:
        if value.ndim and value.shape != array.shape:
            expanded_shape(trimmed(value, array.ndim), array.shape)  # complains in PyTorch's words
        array[...] = value
        return
    try:
        masked = len(key) == 1 and isinstance(key[0], ndarray) and key[0].dtype.kind == "b"
        array[key] = trimmed(value, 1) if masked else value
    except IndexError:
        check_key(key, array.shape)  # says what is wrong in PyTorch's words
        raise
    except (ValueError, TypeError):
        first = tuple(
            [i if i is WHOLE or i.dtype.kind == "b" else i * 0 for i in key]
        )  # it may point outside
        raise ShapeError(
            f"shape mismatch: value tensor of shape {sizes(value.shape)} cannot be broadcast to indexing result of "
            f"shape {sizes(array[first].shape)}"
        ) from None


def trimmed(value: Any, ndim: int) -> Any:
    """A value without those leading dimensions of size 1 that are too many."""
    shape = tuple(value.shape)
    while len(shape) > ndim and shape[0] == 1:
        shape = shape[1:]
    return value if len(shape) == value.ndim else value.reshape(shape)


def _source(x: Tensor, value: Any, key: Key) -> Tensor:
    """What is assigned, as a tensor."""
    if isinstance(value, np.ndarray):
        return Tensor(value if value.dtype is x.array.dtype else supported(value), share=True)
    if not isinstance(value, Tensor):
        return Tensor(_assigned(value, x.array.dtype), share=True)
    if key and value.array.dtype != x.array.dtype:
        masked = len(key) == 1 and key[0].array.dtype.kind == "b"
        if value.array.size != 1 or not masked or not key[0].array.ndim:
            raise DtypeError(
                "Index put requires the source and destination dtypes match, got "
                f"{SCALAR_NAMES[x.array.dtype]} for the destination and {SCALAR_NAMES[value.array.dtype]} for the "
                "source. Convert the source with .to(dtype)."
            )
        check_fits(value, x.array.dtype)
        if value.array.dtype.kind == "c" and not value.requires_grad and backend_of(value.array).is_plain:
            return Tensor(
                number_for(value.array.item(), x.array.dtype), share=True
            )  # no warning, nothing is lost
    return value


def _assigned(number: Any, dtype: DType) -> Array:
    """A number as an array of a dtype: what is too large for it is infinite in halves, and refused in others."""
    if dtype.itemsize == 2 and dtype.kind == "f" and isinstance(number, (int, float)):
        return narrowed(np.array(float(number)), dtype)
    return number_for(number, dtype)


def _broadcast_source(source: Tensor, part: Array, key: Key) -> Any:
    """A source that will be recorded, in the shape of the part it is written to; numbers stay as they are."""
    shape = source.array.shape
    if not shape or (not key and shape == part.shape):
        return source
    rest = shape
    while rest and rest[0] == 1:
        rest = rest[1:]
    if key:
        return source if rest == shape else apply1(Reshape(rest), source)
    found = apply1(Reshape(rest), source)
    return found if rest == part.shape else apply1(Expand(expanded_shape(found.array, part.shape)), found)
