"""Views by strides: any pattern of elements of a tensor's memory, windows among them; and memory exchanged or resized.

Note [Storage]
~~~~~~~~~~~~~~
What PyTorch calls a tensor's storage is here the memory of the NumPy array that owns it: `as_strided` may show any part
of it, also parts that the tensor itself does not. The gradient of what lies outside of the tensor is dropped.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from retrograd.backends.base import Backend, backend_of, extent_of, owner_of, stands_for_many, whole
from retrograd.backends.memory_format import (
    check_format,
    contiguous_format,
    copied_in,
    format_of,
    preserve_format,
)
from retrograd.backends.memory_format import memory_format as MemoryFormat
from retrograd.backends.mirror import behind, bits_of, mirrored
from retrograd.backends.shortage import SHORTAGE_TOLD, made
from retrograd.core.apply import apply1, apply_n
from retrograd.core.families import Linear, View
from retrograd.core.inplace import check_not_inference, check_recordable
from retrograd.core.link import gradient_edge
from retrograd.core.modes import current
from retrograd.core.node import Edge, Grads, Node
from retrograd.core.op import Variadic
from retrograd.core.places import warn
from retrograd.core.tangent import tangent_of
from retrograd.core.tensor import Tensor
from retrograd.core.variant import variant
from retrograd.core.views import AsStrided, Placed, Region, is_stretched
from retrograd.errors import DtypeError, GradientError, ShapeError, operand_error, sizes
from retrograd.ops.common import as_value, deliver, plain, require_tensor, wrap_dim
from retrograd.ops.inplace.shape import move_in_place
from retrograd.ops.register import public
from retrograd.ops.shape.reshape import SIZES, Reshape, integer, listed, sizes_of
from retrograd.ops.tensor.convert import contiguous
from retrograd.ops.tensor.typed_storage import TypedStorage
from retrograd.ops.tensor.untyped_storage import UntypedStorage
from retrograd.ops.tensor.unwritten import marked
from retrograd.values import Array, Shape

GEOMETRY: dict[str, str] = {"size": "size", "stride": "stride", "storage_offset": "storage_offset"}


# -- memory --------------------------------------------------------------------------------------------------------


def over(array: Array, size: Shape, steps: Shape, address: int) -> Array:
    """An array over the memory of another, with strides in bytes; of a batch, over that of each sample."""
    owner = owner_of(array)
    _, low, high = extent_of(owner)
    if high - low != owner.nbytes:
        raise ShapeError(
            "the memory of this tensor has gaps: it was lent by another library. clone() the tensor first."
        )
    xp, wide = backend_of(array), whole(array)
    lead = len(xp.lead)
    shape, strides = (*wide.shape[:lead], *size), (*wide.strides[:lead], *steps)
    found = xp.inner.at_address(wide, address, array.dtype, shape, strides)
    if not xp.is_writable(array) or is_stretched(found):
        xp.inner.set_writable(found, False)  # its dimensions share memory, as those that `expand` makes
    return xp.of_whole(found)


def _address(array: Array) -> int:
    """Where the first element lies; of a batch, that of the first sample."""
    return extent_of(array)[0]


def dense_strides(size: Shape) -> Shape:
    """The strides, in elements, of a tensor in row-major order."""
    steps = [1]
    for n in size[:0:-1]:
        steps.append(steps[-1] * max(n, 1))
    return tuple(reversed(steps[: len(size)]))


def strided(array: Array, size: Shape, stride: Shape, offset: int | None) -> Array:
    """Elements of the memory that `array` lies in; the offset counts from the start of that memory."""
    owner = backend_of(array).sample(array) if stands_for_many(array) else owner_of(array)
    _, low, high = extent_of(owner) if owner.size else (0, 0, 0)
    start = _address(array)
    if offset is None:
        offset = (start - low) // array.itemsize if owner.size else 0
    needed = (offset + sum((n - 1) * s for n, s in zip(size, stride, strict=True)) + 1) * array.itemsize
    if 0 in size:
        return backend_of(array).empty(size, array.dtype)
    if needed > high - low:
        raise ShapeError(
            f"setStorage: sizes {sizes(size)}, strides {sizes(stride)}, storage offset {offset}, and itemsize "
            f"{array.itemsize} requiring a storage size of {needed} are out of bounds for storage of size {high - low}"
        )
    with SHORTAGE_TOLD:  # of a view with steps of 0
        return over(array, size, tuple([n * array.itemsize for n in stride]), low + offset * array.itemsize)


def check_geometry(function: str, size: Shape, stride: Shape, offset: int | None) -> None:
    """Complains about sizes, strides and offsets that no tensor has."""
    if len(size) != len(stride):
        raise ShapeError(
            f"mismatch in length of strides and shape: {function} got {len(stride)} strides for {len(size)} sizes"
        )
    if any(s < 0 for s in stride):
        raise ShapeError(
            f"as_strided: Negative strides are not supported at the moment, got strides: {sizes(stride)}"
        )
    if any(n < 0 for n in size):
        raise ShapeError(
            f"Storage size calculation overflowed with sizes={sizes(size)} and strides={sizes(stride)}"
        )
    if offset is not None and offset < 0:
        raise ShapeError(f"Tensor: invalid storage offset {offset}")


# -- ops -----------------------------------------------------------------------------------------------------------


class StridedView(AsStrided):
    """any pattern of elements of the memory of x"""

    node_name = "AsStridedBackward0"
    params: ClassVar[tuple[str, ...]] = ("size", "stride", "storage_offset")
    shown: ClassVar[dict[str, str]] = GEOMETRY
    is_view: ClassVar[bool] = True

    def __init__(self, size: Shape, stride: Shape, storage_offset: int | None) -> None:
        self.size = size
        self.stride = stride
        self.storage_offset = storage_offset

    def forward(self, xp: Backend, x: Array) -> Array:
        found = strided(x, self.size, self.stride, self.storage_offset)
        self.region = Region(found, x)
        return found


StridedInPlace = variant(
    StridedView,
    "AsStridedBackward1",
    "any pattern of elements of the memory of x, where it stands",
    is_view=False,
    moves_memory=True,
)


class StridedCopy(StridedView):
    """a copy of any pattern of elements of the memory of x"""

    node_name = "AsStridedBackward0_copy"
    is_view: ClassVar[bool] = False

    def forward(self, xp: Backend, x: Array) -> Array:
        return super().forward(xp, x).copy()


class AsStridedScatter(Variadic):
    """x with y written to a pattern of elements of its memory"""

    params: ClassVar[tuple[str, ...]] = ("size", "stride", "storage_offset")
    shown: ClassVar[dict[str, str]] = GEOMETRY

    def __init__(self, size: Shape, stride: Shape, storage_offset: int | None) -> None:
        self.size = size
        self.stride = stride
        self.storage_offset = storage_offset

    def forward(self, xp: Backend, xs: Any) -> Any:
        x, y = xs
        part = strided(x, self.size, self.stride, self.storage_offset)
        if part.shape != y.shape:
            raise ShapeError(
                f"expected src to have a size equal to the slice of self. src size = {sizes(y.shape)}, slice size = "
                f"{sizes(part.shape)}"
            )
        self.region = Region(part, x)
        out, hole = self.region.laid_out(x)
        hole[...] = y
        return out

    def vjp(self, gs: Any, xs: Any, outs: Any) -> Any:
        g = gs[0]
        return [self._outside(g) if self.needs(0) else None, self._part(g) if self.needs(1) else None]

    def jvp(self, ts: Any, xs: Any, outs: Any) -> Any:
        x, y = ts
        if x is None:
            return Placed(self.region).on(y)
        rest = self._outside(x)
        return rest if y is None else rest + Placed(self.region).on(y)

    def _part(self, g: Any) -> Any:
        return AsStrided(self.region).on(g)

    def _outside(self, g: Any) -> Any:
        xp = backend_of(plain(g))
        written = Placed(self.region).forward(xp, xp.ones(self.region.view.shape, plain(g).dtype))
        return g * as_value((written == 0).astype(plain(g).dtype), g)


class Unfold(View):
    """all windows of some size along a dimension; what lies in a window is the last dimension"""

    params: ClassVar[tuple[str, ...]] = ("dim", "size", "step")
    shown: ClassVar[dict[str, str]] = {"dimension": "dim", "size": "size", "step": "step", **SIZES}

    def __init__(self, dim: int, size: int, step: int) -> None:
        self.dim = dim
        self.size = size
        self.step = step

    def forward(self, xp: Backend, x: Array) -> Array:
        self.in_shape = x.shape
        if not x.ndim:
            return x.reshape(1)[: self.size]
        count = (x.shape[self.dim] - self.size) // self.step + 1
        shape = (*x.shape[: self.dim], count, *x.shape[self.dim + 1 :], self.size)
        if 0 in shape:
            return xp.empty(shape, x.dtype)
        along = x.strides[self.dim]
        ahead = along * self.step if count > 1 else along
        steps = (*x.strides[: self.dim], ahead, *x.strides[self.dim + 1 :], along)
        return over(x, shape, steps, _address(x))

    def transpose(self, g: Any) -> Any:
        return UnfoldBackward(self.in_shape, self.dim, self.size, self.step).on(g)


class UnfoldBackward(Linear):
    """windows laid over each other and summed: the adjoint of Unfold"""

    node_name = "UnfoldBackwardBackward0"
    params: ClassVar[tuple[str, ...]] = ("in_shape", "dim", "size", "step")
    shown: ClassVar[dict[str, str]] = {"dim": "dim", "size": "size", "step": "step"}

    def __init__(self, in_shape: Shape, dim: int, size: int, step: int) -> None:
        self.in_shape = in_shape
        self.dim = dim
        self.size = size
        self.step = step

    def forward(self, xp: Backend, x: Array) -> Array:
        out = xp.zeros(self.in_shape, x.dtype)
        if not self.in_shape:
            return x.reshape(-1)[0] if x.size else out
        count = x.shape[self.dim]
        before = (slice(None),) * self.dim
        if self.size <= count:
            for k in range(self.size):  # one place of all windows at a time
                out[(*before, slice(k, k + self.step * (count - 1) + 1, self.step))] += x[..., k]
            return out
        for i in range(count):  # one window at a time
            window = xp.moveaxis(x[(*before, i)], -1, self.dim)
            out[(*before, slice(i * self.step, i * self.step + self.size))] += window
        return out

    def transpose(self, g: Any) -> Any:
        return Unfold(self.dim, self.size, self.step).on(g)


class Underivable(Node):
    """A write that no gradient can follow."""

    def __init__(self, function: str, operands: list[Tensor], array: Array) -> None:
        self.function = function
        self.set_next_edges([gradient_edge(t) if t.requires_grad else Edge(None, 0) for t in operands])
        self.sequence_nr = current().next_sequence_nr()
        self.add_input(array)

    def apply(self, grads: Grads, tensors: bool, owned: int) -> Grads:
        raise NotImplementedError(
            f"derivative for {self.function} is not implemented: it exchanges memory, which no gradient can follow"
        )

    def name(self) -> str:
        return "torch::autograd::NotImplemented"


# -- functions -----------------------------------------------------------------------------------------------------


def _geometry(function: str, size: Any, stride: Any, offset: Any) -> tuple[Shape, Shape, int | None]:
    """The arguments of `as_strided`, checked."""
    shape, steps = listed(function, "size", size), listed(function, "stride", stride)
    start = None if offset is None else integer(offset)
    check_geometry(function, shape, steps, start)
    return shape, steps, start


@public("as_strided", method=True)
def as_strided(
    input: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Tensor:
    """A view of any elements of the memory of `input`: element (i, j) lies `i * stride[0] + j * stride[1]` elements on.

    Elements may overlap; their gradients are summed. `storage_offset` counts from the start of the memory that `input`
    is itself a part of; left out, the view begins where `input` does. Writing to a view whose elements overlap is not
    defined. Where another view will do, prefer that one.

    >>> import retrograd as rg
    >>> rg.as_strided(rg.arange(5), (3, 3), (1, 1))
    tensor([[0, 1, 2],
            [1, 2, 3],
            [2, 3, 4]])
    """
    x = require_tensor("as_strided", "input", 1, input)
    found: Tensor = apply1(StridedView(*_geometry("as_strided", size, stride, storage_offset)), x)
    return found


@public("as_strided_", method=True)
def as_strided_(
    self: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Tensor:
    """`as_strided`, in place: the tensor shows other elements of its memory."""
    x = require_tensor("as_strided_", "input", 1, self)
    return move_in_place(x, StridedInPlace(*_geometry("as_strided_", size, stride, storage_offset)))


@public("as_strided_copy")
def as_strided_copy(
    input: Tensor,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """`as_strided` that copies."""
    x = require_tensor("as_strided_copy", "input", 1, input)
    if type(x.array) is not np.ndarray:  # the memory around it would be lost on the way to numbers
        return deliver(
            as_strided(x, size, stride, storage_offset).clone(memory_format=contiguous_format), out
        )
    return deliver(apply1(StridedCopy(*_geometry("as_strided_copy", size, stride, storage_offset)), x), out)


@public("as_strided_scatter", method=True)
def as_strided_scatter(
    input: Tensor, src: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Tensor:
    """A copy of `input` with `src` in the place of what `as_strided` would show."""
    x = require_tensor("as_strided_scatter", "input", 1, input)
    y = require_tensor("as_strided_scatter", "src", 2, src)
    found: Tensor = apply_n(
        AsStridedScatter(*_geometry("as_strided_scatter", size, stride, storage_offset)), (x, y)
    )
    return found


@public("Tensor.unfold")
def unfold(input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """A view of all windows of `size` elements along `dimension`, each `step` further on than the one before.

    >>> import retrograd as rg
    >>> rg.arange(5).unfold(0, 2, 1)
    tensor([[0, 1],
            [1, 2],
            [2, 3],
            [3, 4]])
    """
    x = require_tensor("unfold", "input", 1, input)
    dim, length, distance = wrap_dim(dimension, x.array.ndim), integer(size), integer(step)
    n = x.array.shape[dim] if x.array.ndim else 1
    if length < 0:
        raise ShapeError(f"size is {length} but must be >= 0")
    if length > n:
        raise ShapeError(f"maximum size for tensor at dimension {dim} is {n} but size is {length}")
    if distance <= 0:
        raise ShapeError(f"step is {distance} but must be > 0")
    found: Tensor = apply1(Unfold(dim, length, distance), x)
    return found


# -- other memory --------------------------------------------------------------------------------------------------


@public("Tensor.set_")
def set_(
    self: Tensor,
    source: Tensor | TypedStorage | UntypedStorage | None = None,
    storage_offset: int = 0,
    size: Sequence[int] | None = None,
    stride: Sequence[int] | None = None,
) -> Tensor:
    """Makes this tensor one of the memory of `source`, a tensor or a storage, or of no elements at all.

    With `size`, of those elements of its memory that `as_strided` would show. No gradient passes: backward raises.

    >>> import retrograd as rg
    >>> t, memory = rg.ones(3), rg.zeros(2)
    >>> t.set_(memory).add_(1); memory
    tensor([1., 1.])
    tensor([1., 1.])
    """
    x = require_tensor("set_", "input", 1, self)
    if isinstance(source, (TypedStorage, UntypedStorage)):
        source = Tensor(source.elements(x.dtype), share=True)
    if source is None:
        array = backend_of(x.array).inner.empty((0,), x.array.dtype)
    elif not isinstance(source, Tensor):
        raise operand_error("set_", "source", 1, source)
    else:
        array = behind(source.array)
    if array.dtype != x.array.dtype:
        raise DtypeError(f"Could not set tensor of type {array.dtype} to a tensor of type {x.array.dtype}")
    operands = [x] if source is None else [x, source]
    tracked = _is_recorded(x, operands)
    if size is not None:
        shape = sizes_of("set_", "size", (size,))
        steps = dense_strides(shape) if stride is None else sizes_of("set_", "stride", (stride,))
        check_geometry("set_", shape, steps, integer(storage_offset))
        array = strided(array, shape, steps, integer(storage_offset))
    node = Underivable("aten::set_", operands, array) if tracked else None
    x.array = array
    x._accumulator = None  # graphs that hold it expect gradients of the old shape
    x._bump_version()
    if node is not None:
        x._move_to(node, 0)
    return x


def _is_recorded(x: Tensor, operands: list[Tensor]) -> bool:
    """Whether other memory for `x` is a step of a graph; complains where it cannot be."""
    if any(tangent_of(t, current()) is not None for t in operands):
        raise NotImplementedError(
            "Trying to use forward AD with set_ that does not support it because it has not been implemented yet. Use "
            "copy_() instead."
        )
    check_not_inference(x)
    if not current().grad_enabled or not any(t.requires_grad for t in operands):
        return False
    check_recordable(x)
    if x._base is not None:
        raise GradientError(
            "derivative for aten::set_ is not implemented: a view that has a history cannot leave its base. Use "
            "copy_(), or set_() under no_grad()."
        )
    return True


@public("Tensor.resize_")
def resize_(
    self: Tensor,
    *given: int | Sequence[int],
    size: Sequence[int] | None = None,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    """Gives this tensor another shape; elements that are new have any value.

    The elements are those that lie first in its memory, in row-major order. Where that memory is too small, the tensor
    gets memory of its own.
    """
    x = require_tensor("resize_", "input", 1, self)
    size = sizes_of("resize_", "size", given if size is None else (size,))
    order = check_format("resize_", memory_format)
    if any(n < 0 for n in size):
        raise ShapeError(f"Trying to create tensor with negative dimension: resize_ got {sizes(size)}")
    if x.requires_grad:
        raise GradientError("cannot resize variables that require grad. Use view(), reshape() or a clone().")
    if tangent_of(x, current()) is not None:
        raise GradientError(
            "cannot resize variables that has a forward grad. Use view(), reshape() or a clone()."
        )
    check_not_inference(x)
    if size == x.array.shape:
        return x
    memory = behind(x.array)
    try:
        array = strided(memory, size, dense_strides(size), None)
    except ShapeError:
        array = marked(made(backend_of(memory).inner.zeros, size, memory.dtype))
        flat = strided(memory, (_room(memory),), (1,), None)
        array.reshape(-1)[: flat.size] = flat
    array = mirrored(array, *bits_of(x.array))
    x.array = array
    if order is not None and order.rank:
        x.array = copied_in(
            backend_of(array), array, order
        )  # elements are promised to no place in this order
    x._bump_version()
    return x


Resize = variant(Reshape, "ResizeBackward", "the same elements in another shape, by an old name")


@public("Tensor.resize")
def resize(self: Tensor, *given: int | Sequence[int]) -> Tensor:
    """The old name of `reshape`."""
    x = require_tensor("resize", "input", 1, self)
    size = sizes_of("resize", "size", given)
    warn("non-inplace resize is deprecated: use reshape()", UserWarning)
    wanted, there = math.prod(size), math.prod(x.array.shape)
    if wanted != there:
        raise ShapeError(
            f"requested resize to {'x'.join(map(str, size))} ({wanted} elements in total), but the given tensor has a "
            f"size of {'x'.join(map(str, x.array.shape))} ({there} elements). autograd's resize can only change the "
            "shape of a given tensor, while preserving the number of elements."
        )
    found: Tensor = apply1(Resize(size), contiguous(x))
    return found


@public("Tensor.resize_as")
def resize_as(self: Tensor, tensor: Tensor) -> Tensor:
    """The old name of `reshape` to the shape of another tensor."""
    return resize(self, require_tensor("resize_as", "tensor", 1, tensor).array.shape)


def _room(array: Array) -> int:
    """How many elements there are from the first element of an array to the end of its memory."""
    owner = owner_of(array)
    return (extent_of(owner)[2] - extent_of(array)[0]) // int(array.itemsize) if owner.size else 0


@public("resize_as_", method=True)
def resize_as_(self: Tensor, the_template: Tensor, *, memory_format: MemoryFormat | None = None) -> Tensor:
    """`resize_` to the shape of another tensor, and to its memory format if that is to be preserved."""
    array = require_tensor("resize_as_", "the_template", 1, the_template).array
    order = check_format("resize_as_", memory_format)
    return resize_(self, array.shape, memory_format=format_of(array) if order is preserve_format else order)


# What gives a tensor other memory, and is no operation on its values.
