"""The order of dimensions and elements: transposing, permuting, flipping, rolling, turning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from retrograd.backends.base import Backend
from retrograd.core.apply import apply1
from retrograd.core.families import Linear, View
from retrograd.core.places import warn
from retrograd.core.tensor import Tensor
from retrograd.errors import DimensionError, ShapeError, sizes
from retrograd.ops.common import memory_order, require_sequence, require_tensor, wrap_dim, wrap_dims
from retrograd.ops.elementwise.conjugate import conj
from retrograd.ops.register import public, public_property
from retrograd.ops.shape.reshape import Alias, Dims, integer, listed, sizes_of
from retrograd.values import Array, Shape


class Transpose(View):
    """x with two dimensions swapped"""

    params: ClassVar[tuple[str, ...]] = ("dim0", "dim1")
    shown: ClassVar[dict[str, str]] = {"dim0": "dim0", "dim1": "dim1"}

    def __init__(self, dim0: int, dim1: int) -> None:
        self.dim0 = dim0
        self.dim1 = dim1

    def forward(self, xp: Backend, x: Array) -> Array:
        return x.swapaxes(self.dim0, self.dim1) if x.ndim else x[...]

    def transpose(self, g: Any) -> Any:
        return Transpose(self.dim0, self.dim1).on(g)


class T(View):
    """a matrix transposed; a vector or a number as it is"""

    def forward(self, xp: Backend, x: Array) -> Array:
        return x.T

    def transpose(self, g: Any) -> Any:
        return T().on(g)


class Permute(View):
    """x with its dimensions in another order"""

    params: ClassVar[tuple[str, ...]] = ("dims",)
    shown: ClassVar[dict[str, str]] = {"dims": "dims"}

    def __init__(self, dims: Shape) -> None:
        self.dims = dims

    def forward(self, xp: Backend, x: Array) -> Array:
        return x.transpose(self.dims)

    def transpose(self, g: Any) -> Any:
        inverse = sorted(range(len(self.dims)), key=self.dims.__getitem__)
        return Permute(tuple(inverse)).on(g)


class Flip(Linear):
    """x with the order of elements reversed in some dimensions"""

    params: ClassVar[tuple[str, ...]] = ("dims",)
    shown: ClassVar[dict[str, str]] = {"dims": "dims"}

    def __init__(self, dims: Shape) -> None:
        self.dims = dims

    def forward(self, xp: Backend, x: Array) -> Array:
        return xp.flip(x, self.dims).copy(memory_order(xp, x)) if x.ndim else x.copy()

    def transpose(self, g: Any) -> Any:
        return Flip(self.dims).on(g)


class Roll(Linear):
    """x with its elements moved along some dimensions, around the end"""

    in_rows: ClassVar[bool] = True
    params: ClassVar[tuple[str, ...]] = ("shifts", "dims")
    shown: ClassVar[dict[str, str]] = {"shifts": "shifts", "dims": "dims"}

    def __init__(self, shifts: Shape, dims: Shape) -> None:
        self.shifts = shifts
        self.dims = dims

    def forward(self, xp: Backend, x: Array) -> Array:
        return xp.roll(x, self.shifts, self.dims) if self.dims else xp.roll(x, self.shifts[0])

    def transpose(self, g: Any) -> Any:
        return Roll(tuple([-n for n in self.shifts]), self.dims).on(g)


class Rot90(Linear):
    """x turned by k right angles in the plane of two dimensions"""

    params: ClassVar[tuple[str, ...]] = ("k", "dims")
    shown: ClassVar[dict[str, str]] = {"k": "k", "dims": "dims"}

    def __init__(self, k: int, dims: Shape) -> None:
        self.k = k
        self.dims = dims

    def forward(self, xp: Backend, x: Array) -> Array:
        order = memory_order(xp, x) if self.k % 4 else "C"
        return xp.rot90(x, self.k, self.dims).copy(order=order)

    def transpose(self, g: Any) -> Any:
        return Rot90(-self.k, self.dims).on(g)


# -- functions -----------------------------------------------------------------------------------------------------


@public("transpose", "swapdims", method=True)
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """A view with two dimensions swapped."""
    x = require_tensor("transpose", "input", 1, input)
    found: Tensor = apply1(Transpose(wrap_dim(dim0, x.array.ndim), wrap_dim(dim1, x.array.ndim)), x)
    return found


@public("swapaxes", method=True)
def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """A view with two dimensions swapped: NumPy's name for `transpose`."""
    return transpose(input, axis0, axis1)


@public("t", method=True)
def t(input: Tensor) -> Tensor:
    """A matrix transposed; tensors of fewer dimensions as they are."""
    x = require_tensor("t", "input", 1, input)
    if x.array.ndim > 2:
        raise ShapeError(
            f"t() expects a tensor with <= 2 dimensions, but self is {x.array.ndim}D. Use transpose(dim0, dim1) or mT."
        )
    found: Tensor = apply1(T(), x)
    return found


@public("permute")
def permute(input: Tensor, dims: Sequence[int]) -> Tensor:
    """A view with the dimensions in another order.

    >>> import retrograd as rg
    >>> rg.permute(rg.ones(2, 3, 4), (2, 0, 1)).shape
    torch.Size([4, 2, 3])
    """
    return permute_dims(input, require_sequence("permute", "dims", 2, dims))


@public("Tensor.permute")
def permute_dims(self: Tensor, *order: int | Sequence[int], dims: Sequence[int] | None = None) -> Tensor:
    """`permute`, whose dimensions may be given one by one.

    >>> import retrograd as rg
    >>> rg.ones(2, 3, 4).permute(2, 0, 1).shape
    torch.Size([4, 2, 3])
    """
    x = require_tensor("permute", "input", 1, self)
    given = sizes_of("permute", "dims", order or (dims,))
    ndim = x.array.ndim
    if len(given) != ndim:
        raise ShapeError(
            "permute(): number of dimensions in the tensor input does not match the length of the desired ordering of "
            f"dimensions i.e. input.dim() = {ndim} is not equal to len(dims) = {len(given)}"
        )
    axes = tuple([wrap_dim(d, ndim) for d in given])
    if len(set(axes)) != ndim:
        raise ShapeError("permute(): duplicate dims are not allowed.")
    found: Tensor = apply1(Permute(axes), x)
    return found


@public("movedim", "moveaxis", method=True)
def movedim(input: Tensor, source: int | Sequence[int], destination: int | Sequence[int]) -> Tensor:
    """A view with some dimensions moved to other places; the rest keep their order.

    >>> import retrograd as rg
    >>> rg.movedim(rg.zeros(2, 3, 5), 0, -1).shape
    torch.Size([3, 5, 2])
    """
    x = require_tensor("movedim", "input", 1, input)
    if isinstance(source, (tuple, list)) != isinstance(destination, (tuple, list)):
        raise TypeError(
            "movedim() received an invalid combination of arguments: source and destination are two numbers, or two "
            "tuples"
        )
    old, new = (tuple(d) if isinstance(d, (tuple, list)) else (d,) for d in (source, destination))
    if len(old) != len(new):
        raise ShapeError(
            f"movedim: Invalid source or destination dims: source ({sizes(old)} dims) should contain the same number "
            f"of dims as destination ({sizes(new)} dims)"
        )
    ndim = x.array.ndim
    src, dst = [wrap_dim(d, ndim) for d in old], [wrap_dim(d, ndim) for d in new]
    for name, wrapped, given in (("source", src, old), ("destination", dst, new)):
        if len(set(wrapped)) != len(wrapped):
            raise ShapeError(f"movedim: repeated dim in `{name}` ({sizes(given)})")
    if ndim == 0:
        found: Tensor = apply1(Alias(), x)
        return found
    placed = dict(zip(dst, src, strict=True))
    rest = iter(d for d in range(ndim) if d not in src)
    found = apply1(Permute(tuple([placed[d] if d in placed else next(rest) for d in range(ndim)])), x)
    return found


@public("flip")
def flip(input: Tensor, dims: Sequence[int]) -> Tensor:
    """A copy with the order of elements reversed in the dimensions `dims`.

    >>> import retrograd as rg
    >>> rg.tensor([1, 2, 3]).flip(0)
    tensor([3, 2, 1])
    """
    x = require_tensor("flip", "input", 1, input)
    axes = listed("flip", "dims", dims)
    wrap_dims(axes, x.array.ndim)  # complains about repeated ones
    found: Tensor = apply1(Flip(tuple([wrap_dim(d, x.array.ndim) for d in axes])), x)
    return found


@public("Tensor.flip")
def flip_dims(self: Tensor, *given: int | Sequence[int], dims: Sequence[int] | None = None) -> Tensor:
    """`flip`, whose dimensions may be given one by one."""
    return flip(self, sizes_of("flip", "dims", given or (dims,)))


@public("fliplr", method=True)
def fliplr(input: Tensor) -> Tensor:
    """A copy with the columns in reverse order.

    >>> import retrograd as rg
    >>> rg.fliplr(rg.tensor([[1, 2], [3, 4]]))
    tensor([[2, 1],
            [4, 3]])
    """
    if require_tensor("fliplr", "input", 1, input).array.ndim < 2:
        raise ShapeError("Input must be >= 2-d.")
    return flip(input, (1,))


@public("flipud", method=True)
def flipud(input: Tensor) -> Tensor:
    """A copy with the rows in reverse order.

    >>> import retrograd as rg
    >>> rg.flipud(rg.tensor([[1, 2], [3, 4]]))
    tensor([[3, 4],
            [1, 2]])
    """
    if require_tensor("flipud", "input", 1, input).array.ndim < 1:
        raise ShapeError("Input must be >= 1-d.")
    return flip(input, (0,))


@public("roll", method=True)
def roll(input: Tensor, shifts: int | Sequence[int], dims: Dims = None) -> Tensor:
    """A copy with the elements moved by `shifts` along `dims`, around the end; without `dims`, as if flattened.

    >>> import retrograd as rg
    >>> rg.tensor([1, 2, 3]).roll(1)
    tensor([3, 1, 2])
    """
    x = require_tensor("roll", "input", 1, input)
    given = shifts if isinstance(shifts, (tuple, list)) else (shifts,)
    moves = tuple([integer(n) for n in given])
    axes = () if dims is None else tuple(dims) if isinstance(dims, (tuple, list)) else (dims,)
    if not moves:
        raise ShapeError("`shifts` required")
    if len(moves) != len(axes) and (axes or len(moves) != 1):
        raise ShapeError(f"shifts and dimensions must align. shifts: {len(moves)}, dims:{len(axes)}")
    if axes and x.array.ndim == 0:
        raise DimensionError(f"Dimension specified as {axes[0]} but tensor has no dimensions")
    found: Tensor = apply1(Roll(moves, tuple([wrap_dim(d, x.array.ndim) for d in axes])), x)
    return found


@public("rot90", method=True)
def rot90(input: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """A copy turned by `k` right angles, from the first of two dimensions towards the second.

    >>> import retrograd as rg
    >>> rg.rot90(rg.tensor([[1, 2], [3, 4]]))
    tensor([[2, 4],
            [1, 3]])
    """
    x = require_tensor("rot90", "input", 1, input)
    ndim = x.array.ndim
    if len(require_sequence("rot90", "dims", 3, dims)) != 2:
        raise ShapeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if ndim < 2:
        raise ShapeError(f"expected total dims >= 2, but got total dims = {ndim}")
    first, second = wrap_dim(dims[0], ndim), wrap_dim(dims[1], ndim)
    if first == second:
        raise ShapeError(
            f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}"
        )
    found: Tensor = apply1(Rot90(integer(k), (first, second)), x)
    return found


# -- attributes ----------------------------------------------------------------------------------------------------


@public_property("Tensor.T")
def _reversed(input: Tensor) -> Tensor:
    """The dimensions in reverse order: a matrix transposed."""
    ndim = input.array.ndim
    if ndim == 0:
        _deprecated("Tensor.T is deprecated on 0-D tensors. This function is the identity in these cases.")
    elif ndim != 2:
        _deprecated(
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will "
            "throw an error in a future release. Consider `x.mT` to transpose batches of matrices or "
            "`x.permute(*range(x.ndim - 1, -1, -1))` to reverse the dimensions of a tensor."
        )
    found: Tensor = apply1(Permute(tuple(range(ndim - 1, -1, -1))), input)
    return found


def _deprecated(message: str) -> None:
    warn(message, UserWarning)


@public_property("Tensor.mT")
def _matrices(input: Tensor) -> Tensor:
    """The last two dimensions swapped: a batch of matrices transposed."""
    ndim = input.array.ndim
    if ndim == 0:
        _deprecated("Tensor.mT is deprecated on 0-D tensors. This function is the identity in these cases.")
        return input
    if ndim == 1:
        raise ShapeError("tensor.mT is only supported on matrices or batches of matrices. Got 1-D tensor.")
    return transpose(input, -2, -1)


@public_property("Tensor.H")
def _matrix_adjoint(input: Tensor) -> Tensor:
    """A matrix transposed and conjugated."""
    ndim = input.array.ndim
    if ndim == 0:
        _deprecated("Tensor.H is deprecated on 0-D tensors. Consider using x.conj().")
    elif ndim != 2:
        hint = " For batches of matrices, consider using tensor.mH" if ndim > 2 else ""
        raise ShapeError(f"tensor.H is only supported on matrices (2-D tensors). Got {ndim}-D tensor.{hint}")
    found: Tensor = conj(input if ndim == 0 else transpose(input, -2, -1))
    return found


@public_property("Tensor.mH")
def _batch_adjoint(input: Tensor) -> Tensor:
    """The last two dimensions swapped and conjugated: a batch of matrices."""
    ndim = input.array.ndim
    if ndim == 0:
        _deprecated("Tensor.mH is deprecated on 0-D tensors. Consider using x.conj().")
    elif ndim == 1:
        raise ShapeError("tensor.mH is only supported on matrices or batches of matrices. Got 1-D tensor.")
    found: Tensor = conj(input if ndim == 0 else transpose(input, -2, -1))
    return found


@public("adjoint", method=True)
def adjoint(input: Tensor) -> Tensor:
    """The last two dimensions swapped and conjugated."""
    return _batch_adjoint(require_tensor("adjoint", "input", 1, input))
