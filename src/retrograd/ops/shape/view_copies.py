"""Views that copy: `expand_copy` gives what `expand` would show, in memory of its own. And views that hide that they
share it: `unsafe_split`, whose pieces may be written to without a check.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from retrograd.backends.base import Backend
from retrograd.backends.dtype_class import dtype as dtype_class
from retrograd.backends.dtypes import as_dtype
from retrograd.core.apply import apply1, apply_n
from retrograd.core.modes import INFERENCE, current
from retrograd.core.tensor import Tensor
from retrograd.core.variant import variant
from retrograd.errors import ShapeError
from retrograd.ops.common import deliver, require_tensor, wrap_dim
from retrograd.ops.elementwise.complex_numbers import ViewAsComplex, ViewAsReal, view_as_complex, view_as_real
from retrograd.ops.nn.pad import constant_border
from retrograd.ops.register import public
from retrograd.ops.shape.diagonals import DiagonalCopy, diagonal
from retrograd.ops.shape.reshape import (
    Alias,
    Dims,
    Expand,
    Reshape,
    Squeeze,
    SqueezeDim,
    SqueezeDims,
    Unsqueeze,
    expanded_shape,
    inferred_shape,
    integer,
    listed,
    squeeze,
    view,
)
from retrograd.ops.shape.split import (
    Select,
    Slice,
    Split,
    SplitWithSizes,
    Unbind,
    chunk,
    narrow,
    select,
    split,
    split_with_sizes,
    unbind,
)
from retrograd.ops.shape.strided import Unfold, unfold
from retrograd.ops.shape.transpose import Permute, T, Transpose, permute, t
from retrograd.ops.shape.view_scatters import slice_of
from retrograd.ops.tensor.convert import Clone, clone
from retrograd.values import Array, DType, Number, Shape

# -- ops -----------------------------------------------------------------------------------------------------------


class AliasCopy(Alias):
    """a copy of x"""

    node_name = "AliasBackward0_copy"
    is_view: ClassVar[bool] = False

    def forward(self, xp: Backend, x: Array) -> Array:
        return x.copy()


class ExpandCopy(Expand):
    """x repeated to a larger shape"""

    node_name = "ExpandBackward0_copy"
    is_view: ClassVar[bool] = False

    def forward(self, xp: Backend, x: Array) -> Array:
        return super().forward(xp, x).copy()


class ViewCopy(Reshape):
    """a copy of x in another shape"""

    node_name = "ViewBackward0_copy"
    is_view: ClassVar[bool] = False

    def forward(self, xp: Backend, x: Array) -> Array:
        return super().forward(xp, x.copy())


class SqueezeCopy(Squeeze):
    """a copy of x without its dimensions of size 1"""

    node_name = "SqueezeBackward0_copy"
    is_view: ClassVar[bool] = False

    def forward(self, xp: Backend, x: Array) -> Array:
        return super().forward(xp, x).copy()


class SqueezeDimCopy(SqueezeDim):
    """a copy of x without one dimension, if its size is 1"""

    node_name = "SqueezeBackward1_copy"
    is_view: ClassVar[bool] = False

    def forward(self, xp: Backend, x: Array) -> Array:
        return super().forward(xp, x).copy()


class SqueezeDimsCopy(SqueezeDims):
    """a copy of x without those of some dimensions whose size is 1"""

    node_name = "SqueezeBackward2_copy"
    is_view: ClassVar[bool] = False

    def forward(self, xp: Backend, x: Array) -> Array:
        return super().forward(xp, x).copy()


class UnsqueezeCopy(Unsqueeze):
    """a copy of x with a dimension of size 1 put in"""

    node_name = "UnsqueezeBackward0_copy"
    is_view: ClassVar[bool] = False

    def forward(self, xp: Backend, x: Array) -> Array:
        return super().forward(xp, x).copy()


class TCopy(T):
    """a copy of a matrix turned round"""

    node_name = "TBackward0_copy"
    is_view: ClassVar[bool] = False

    def forward(self, xp: Backend, x: Array) -> Array:
        return super().forward(xp, x).copy()


class TransposeCopy(Transpose):
    """a copy of x with two dimensions swapped"""

    node_name = "TransposeBackward0_copy"
    is_view: ClassVar[bool] = False

    def forward(self, xp: Backend, x: Array) -> Array:
        return super().forward(xp, x).copy()


class PermuteCopy(Permute):
    """a copy of x with its dimensions in another order"""

    node_name = "PermuteBackward0_copy"
    is_view: ClassVar[bool] = False

    def forward(self, xp: Backend, x: Array) -> Array:
        return super().forward(xp, x).copy()


class SelectCopy(Select):
    """a copy of one element of a dimension"""

    node_name = "SelectBackward0_copy"
    is_view: ClassVar[bool] = False

    def forward(self, xp: Backend, x: Array) -> Array:
        return super().forward(xp, x).copy()


class SliceCopy(Slice):
    """a copy of a range of a dimension"""

    node_name = "SliceBackward0_copy"
    is_view: ClassVar[bool] = False

    def forward(self, xp: Backend, x: Array) -> Array:
        return super().forward(xp, x).copy()


class NarrowCopy(SliceCopy):
    """a copy of so many elements of a dimension"""

    node_name = "NarrowCopyBackward0"
    shown: ClassVar[dict[str, str]] = {
        "dim": "dim", "start": "start", "length": "length", "self_sym_sizes": "in_shape",
    }  # fmt: skip

    def __init__(self, dim: int, start: int, length: int) -> None:
        super().__init__(dim, start, start + length)
        self.length = length

    def fresh(self) -> NarrowCopy:
        return NarrowCopy(self.dim, self.start, self.length)


class UnfoldCopy(Unfold):
    """a copy of all windows of some size along a dimension"""

    node_name = "UnfoldBackward0_copy"
    is_view: ClassVar[bool] = False

    def forward(self, xp: Backend, x: Array) -> Array:
        return super().forward(xp, x).copy()


class ViewAsRealCopy(ViewAsReal):
    """complex numbers as pairs of real ones, in memory of their own"""

    node_name = "ViewAsRealBackward0_copy"
    is_view: ClassVar[bool] = False

    def forward(self, xp: Backend, x: Array) -> Array:
        return super().forward(xp, x).copy()


class ViewAsComplexCopy(ViewAsComplex):
    """pairs of real numbers as complex ones, in memory of their own"""

    node_name = "ViewAsComplexBackward0_copy"
    is_view: ClassVar[bool] = False

    def forward(self, xp: Backend, x: Array) -> Array:
        return super().forward(xp, x).copy()


class SplitCopy(Split):
    """copies of pieces of one size"""

    node_name = "SplitBackward0_copy"
    is_view: ClassVar[bool] = False

    def forward(self, xp: Backend, xs: Sequence[Any]) -> Any:
        return tuple([piece.copy() for piece in super().forward(xp, xs)])


class SplitWithSizesCopy(SplitWithSizes):
    """copies of pieces of given sizes"""

    node_name = "SplitWithSizesBackward0_copy"
    is_view: ClassVar[bool] = False

    def forward(self, xp: Backend, xs: Sequence[Any]) -> Any:
        return tuple([piece.copy() for piece in super().forward(xp, xs)])


class UnbindCopy(Unbind):
    """copies of all elements of a dimension"""

    node_name = "UnbindBackward0_copy"
    is_view: ClassVar[bool] = False

    def forward(self, xp: Backend, xs: Sequence[Any]) -> Any:
        return tuple([piece.copy() for piece in super().forward(xp, xs)])


UnsafeSplit = variant(
    Split,
    "UnsafeSplitBackward0",
    "pieces of one size that are not known to share memory",
    is_view=False,
    copies=True,
)


UnsafeSplitWithSizes = variant(
    SplitWithSizes,
    "UnsafeSplitWithSizesBackward0",
    "pieces of given sizes that are not known to share memory",
    is_view=False,
    copies=True,
)


# -- functions: each lets its view complain about the arguments ----------------------------------------------------


@public("alias_copy")
def alias_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A copy of `input`."""
    return deliver(apply1(AliasCopy(), require_tensor("alias_copy", "input", 1, input)), out)


@public("detach_copy")
def detach_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A copy of `input`, cut off from the graph."""
    x = require_tensor("detach_copy", "input", 1, input).detach()
    return deliver(apply1(Clone("C"), x), out)


@public("diagonal_copy")
def diagonal_copy(
    input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1, *, out: Tensor | None = None
) -> Tensor:
    """`diagonal` that copies."""
    x = require_tensor("diagonal_copy", "input", 1, input)
    diagonal(x.detach(), offset, dim1, dim2)
    ndim = x.array.ndim
    return deliver(apply1(DiagonalCopy(integer(offset), wrap_dim(dim1, ndim), wrap_dim(dim2, ndim)), x), out)


@public("expand_copy")
def expand_copy(
    input: Tensor, size: Sequence[int], *, implicit: bool = False, out: Tensor | None = None
) -> Tensor:
    """`expand` that copies."""
    x = require_tensor("expand_copy", "input", 1, input)
    return deliver(apply1(ExpandCopy(expanded_shape(x.array, listed("expand_copy", "size", size))), x), out)


@public("view_copy")
def view_copy(
    input: Tensor,
    size: Sequence[int] | DType | None = None,
    *,
    dtype: DType | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """`view` that copies."""
    x = require_tensor("view_copy", "input", 1, input)
    if dtype is not None or isinstance(size, (dtype_class, np.dtype, type)):
        return deliver(clone(view(x.detach(), as_dtype(size if dtype is None else dtype))), out)
    shape = inferred_shape(listed("view_copy", "size", size), x.array.size)
    return deliver(apply1(ViewCopy(shape), x), out)


@public("squeeze_copy")
def squeeze_copy(input: Tensor, dim: Dims = None, *, out: Tensor | None = None) -> Tensor:
    """`squeeze` that copies."""
    x = require_tensor("squeeze_copy", "input", 1, input)
    squeeze(x.detach(), dim=dim)
    if dim is None:
        return deliver(apply1(SqueezeCopy(), x), out)
    ndim = x.array.ndim
    if isinstance(dim, (tuple, list)):
        return deliver(apply1(SqueezeDimsCopy(tuple([wrap_dim(d, ndim) for d in dim])), x), out)
    return deliver(apply1(SqueezeDimCopy(wrap_dim(dim, ndim)), x), out)


@public("unsqueeze_copy")
def unsqueeze_copy(input: Tensor, dim: int, *, out: Tensor | None = None) -> Tensor:
    """`unsqueeze` that copies."""
    x = require_tensor("unsqueeze_copy", "input", 1, input)
    return deliver(apply1(UnsqueezeCopy(wrap_dim(dim, x.array.ndim + 1)), x), out)


@public("t_copy")
def t_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`t` that copies."""
    x = require_tensor("t_copy", "input", 1, input)
    t(x.detach())
    return deliver(apply1(TCopy(), x), out)


@public("transpose_copy")
def transpose_copy(input: Tensor, dim0: int, dim1: int, *, out: Tensor | None = None) -> Tensor:
    """`transpose` that copies."""
    x = require_tensor("transpose_copy", "input", 1, input)
    ndim = x.array.ndim
    return deliver(apply1(TransposeCopy(wrap_dim(dim0, ndim), wrap_dim(dim1, ndim)), x), out)


@public("permute_copy")
def permute_copy(input: Tensor, dims: Sequence[int], *, out: Tensor | None = None) -> Tensor:
    """`permute` that copies."""
    x = require_tensor("permute_copy", "input", 1, input)
    permute(x.detach(), dims)
    return deliver(apply1(PermuteCopy(tuple([wrap_dim(d, x.array.ndim) for d in dims])), x), out)


@public("select_copy")
def select_copy(input: Tensor, dim: int, index: int, *, out: Tensor | None = None) -> Tensor:
    """`select` that copies."""
    x = require_tensor("select_copy", "input", 1, input)
    select(x.detach(), dim, index)
    return deliver(apply1(SelectCopy(wrap_dim(dim, x.array.ndim), integer(index)), x), out)


@public("slice_copy")
def slice_copy(
    input: Tensor,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The elements from `start` to `end` of a dimension, copied."""
    x = require_tensor("slice_copy", "input", 1, input)
    first, last, by = slice_of(start, end, step)
    return deliver(apply1(SliceCopy(wrap_dim(dim, x.array.ndim), first, last, by), x), out)


@public("narrow_copy", method=True)
def narrow_copy(input: Tensor, dim: int, start: int, length: int, *, out: Tensor | None = None) -> Tensor:
    """`narrow` that copies."""
    x = require_tensor("narrow_copy", "input", 1, input)
    ndim, count = x.array.ndim, integer(length)
    if 0 < ndim <= integer(dim):
        raise ShapeError(
            f"Expected dim < static_cast<int64_t>(self_sizes.size()) to be true, but got false. (dim is {dim} "
            f"of {ndim} dimensions)"
        )
    narrow(x.detach(), dim, start, max(count, 0))
    d, first = wrap_dim(dim, x.array.ndim), integer(start)
    first = first + x.array.shape[d] if first < 0 else first
    if count < 0:
        raise ShapeError(f"start ({first}) + length ({count}) exceeds dimension size ({x.array.shape[d]}).")
    return deliver(apply1(NarrowCopy(d, first, count), x), out)


@public("unfold_copy")
def unfold_copy(input: Tensor, dimension: int, size: int, step: int, *, out: Tensor | None = None) -> Tensor:
    """`unfold` that copies."""
    x = require_tensor("unfold_copy", "input", 1, input)
    unfold(x.detach(), dimension, size, step)
    return deliver(
        apply1(UnfoldCopy(wrap_dim(dimension, x.array.ndim), integer(size), integer(step)), x), out
    )


@public("view_as_real_copy")
def view_as_real_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`view_as_real` that copies."""
    x = require_tensor("view_as_real_copy", "input", 1, input)
    view_as_real(x.detach().resolve_conj())
    return deliver(apply1(ViewAsRealCopy(), x), out)


@public("view_as_complex_copy")
def view_as_complex_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`view_as_complex` that copies."""
    x = require_tensor("view_as_complex_copy", "input", 1, input)
    view_as_complex(x.detach())
    return deliver(apply1(ViewAsComplexCopy(), x), out)


def _delivered(pieces: Sequence[Tensor], out: Any) -> tuple[Tensor, ...] | None:
    """Several results, each written into its `out` if those were given."""
    if out is None:
        return tuple(pieces)
    for piece, target in zip(pieces, out, strict=True):
        deliver(piece, target)
    return None


@public("split_copy")
def split_copy(
    input: Tensor, split_size: int, dim: int = 0, *, out: Sequence[Tensor] | None = None
) -> tuple[Tensor, ...] | None:
    """`split` into pieces of one size that copies."""
    x = require_tensor("split_copy", "input", 1, input)
    split(x.detach(), split_size, dim)
    return _delivered(apply_n(SplitCopy(integer(split_size), wrap_dim(dim, x.array.ndim)), (x,)), out)


@public("split_with_sizes_copy")
def split_with_sizes_copy(
    input: Tensor, split_sizes: Sequence[int], dim: int = 0, *, out: Sequence[Tensor] | None = None
) -> tuple[Tensor, ...] | None:
    """`split_with_sizes` that copies."""
    x = require_tensor("split_with_sizes_copy", "input", 1, input)
    split_with_sizes(x.detach(), split_sizes, dim)
    parts: Shape = tuple([integer(n) for n in split_sizes])
    return _delivered(apply_n(SplitWithSizesCopy(parts, wrap_dim(dim, x.array.ndim)), (x,)), out)


@public("unbind_copy")
def unbind_copy(
    input: Tensor, dim: int = 0, *, out: Sequence[Tensor] | None = None
) -> tuple[Tensor, ...] | None:
    """`unbind` that copies."""
    x = require_tensor("unbind_copy", "input", 1, input)
    unbind(x.detach(), dim)
    return _delivered(apply_n(UnbindCopy(wrap_dim(dim, x.array.ndim)), (x,)), out)


# -- views without a check -----------------------------------------------------------------------------------------


@public("unsafe_split", method=True)
def unsafe_split(input: Tensor, split_size: int, dim: int = 0) -> tuple[Tensor, ...]:
    """`split` whose pieces count as tensors of their own: writes to one of them are not seen by the graph of another.

    Use it where `split`'s check of in-place writes is in the way, and only if no element is used twice.
    """
    x = require_tensor("unsafe_split", "input", 1, input)
    if current().special & INFERENCE and not x.is_inference():
        return split(x, split_size, dim)  # nothing is recorded, and the pieces are no inference tensors
    split(x.detach(), split_size, dim)
    found: tuple[Tensor, ...] = apply_n(UnsafeSplit(integer(split_size), wrap_dim(dim, x.array.ndim)), (x,))
    return found


@public("unsafe_split_with_sizes", method=True)
def unsafe_split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """`split_with_sizes` whose pieces count as tensors of their own: see `unsafe_split`."""
    x = require_tensor("unsafe_split_with_sizes", "input", 1, input)
    if current().special & INFERENCE and not x.is_inference():
        return split_with_sizes(x, split_sizes, dim)
    split_with_sizes(x.detach(), split_sizes, dim)
    sizes: Shape = tuple([integer(n) for n in split_sizes])
    found: tuple[Tensor, ...] = apply_n(UnsafeSplitWithSizes(sizes, wrap_dim(dim, x.array.ndim)), (x,))
    return found


@public("unsafe_chunk", method=True)
def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """`chunk` whose pieces count as tensors of their own: see `unsafe_split`."""
    x = require_tensor("unsafe_chunk", "input", 1, input)
    first = chunk(x.detach(), chunks, dim)[0].array.shape[wrap_dim(dim, x.array.ndim)]
    if first == 0:
        return unsafe_split_with_sizes(x, (0,) * integer(chunks), dim)
    return unsafe_split(x, first, dim)


@public("constant_pad_nd")
def constant_pad_nd(input: Tensor, pad: Sequence[int], value: Number = 0) -> Tensor:
    """`input` with a border of one number; see `nn.functional.pad`."""
    return constant_border(require_tensor("constant_pad_nd", "input", 1, input), pad, value)
