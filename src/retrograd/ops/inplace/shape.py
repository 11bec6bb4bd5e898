"""Another shape, where the tensor stands: `t.t_()`, `t.squeeze_()`."""

from __future__ import annotations

from retrograd.core.apply import apply1
from retrograd.core.families import Linear
from retrograd.core.inplace import check_writable
from retrograd.core.tensor import Tensor
from retrograd.core.variant import variant
from retrograd.errors import ShapeError
from retrograd.ops.common import wrap_dim, wrap_dims
from retrograd.ops.register import public
from retrograd.ops.shape.reshape import Dims, Squeeze, SqueezeDim, SqueezeDims, Unsqueeze
from retrograd.ops.shape.transpose import T, Transpose

TInPlace = variant(
    T, "TBackward1", "a matrix turned round, where it stands", is_view=False, moves_memory=True
)


TransposeInPlace = variant(
    Transpose,
    "TransposeBackward1",
    "two dimensions swapped, where they stand",
    is_view=False,
    moves_memory=True,
)


SqueezeInPlace = variant(
    Squeeze,
    "SqueezeBackward3",
    "x without its dimensions of size 1, where it stands",
    is_view=False,
    moves_memory=True,
)


SqueezeDimInPlace = variant(
    SqueezeDim,
    "SqueezeBackward4",
    "x without one dimension, where it stands",
    is_view=False,
    moves_memory=True,
)


SqueezeDimsInPlace = variant(
    SqueezeDims,
    "SqueezeBackward5",
    "x without some dimensions, where it stands",
    is_view=False,
    moves_memory=True,
)


UnsqueezeInPlace = variant(
    Unsqueeze,
    "UnsqueezeBackward1",
    "x with one more dimension, where it stands",
    is_view=False,
    moves_memory=True,
)


def move_in_place(x: Tensor, op: Linear) -> Tensor:
    """Gives `x` the shape and the history of the op's result; the memory stays."""
    check_writable(x, stretched=True)
    result: Tensor = apply1(op, x)
    if result._tangent is not None:
        result._tangent.move(x, result.array)
    x.array = result.array
    x._bump_version()
    if result._node is not None:
        # A retained gradient stays where it was asked for, as in PyTorch: `_move_to` would take it along.
        x._node, x.output_nr, x._requires = result._node, result.output_nr, True
        x._view_version = x._version_counter().version
    return x


@public("Tensor.t_")
def t_(self: Tensor) -> Tensor:
    """`t()`, in place."""
    if self.array.ndim > 2:
        raise ShapeError(f"t_() expects a tensor with <= 2 dimensions, but self is {self.array.ndim}D")
    return move_in_place(self, TInPlace())


@public("Tensor.swapaxes_")
def swapaxes_(self: Tensor, axis0: int, axis1: int) -> Tensor:
    """`transpose_`, by NumPy's names."""
    return transpose_(self, axis0, axis1)


@public("Tensor.transpose_", "Tensor.swapdims_")
def transpose_(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """`transpose(dim0, dim1)`, in place."""
    ndim = self.array.ndim
    return move_in_place(self, TransposeInPlace(wrap_dim(dim0, ndim), wrap_dim(dim1, ndim)))


@public("Tensor.squeeze_")
def squeeze_(self: Tensor, dim: Dims = None, *dims: int, axis: Dims = None) -> Tensor:
    """`squeeze(dim)`, in place; dimensions as a tuple or one by one."""
    dim = axis if dim is None else dim
    if dims:
        dim = (dim, *dims)  # type: ignore[arg-type]  # a sequence among them is refused below
    if dim is None:
        return move_in_place(self, SqueezeInPlace())
    if isinstance(dim, (tuple, list)):
        axes = wrap_dims(dim, self.array.ndim)
        return move_in_place(self, SqueezeDimsInPlace(axes if isinstance(axes, tuple) else ()))
    return move_in_place(self, SqueezeDimInPlace(wrap_dim(dim, self.array.ndim)))


@public("Tensor.unsqueeze_")
def unsqueeze_(self: Tensor, dim: int) -> Tensor:
    """`unsqueeze(dim)`, in place."""
    return move_in_place(self, UnsqueezeInPlace(wrap_dim(dim, self.array.ndim + 1)))
