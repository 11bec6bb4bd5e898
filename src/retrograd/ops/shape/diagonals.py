"""Triangles and diagonals of matrices."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from retrograd.backends.base import Backend, backend_of, check_device, is_writable, placed
from retrograd.backends.dtypes import SCALAR_NAMES, as_dtype
from retrograd.backends.shortage import SHORTAGE_TOLD
from retrograd.core.apply import apply1
from retrograd.core.autocast import autocasting_on_cpu, in_float32
from retrograd.core.families import Linear, View
from retrograd.core.tensor import Tensor
from retrograd.errors import OperandError, ShapeError, dimension_error, type_name, unsupported_dtype
from retrograd.ops.common import deliver_exact, plain, require_tensor, tensor_of, wrap_dim
from retrograd.ops.elementwise.choose import Where
from retrograd.ops.register import public
from retrograd.ops.shape.reshape import SIZES, integer, reshape
from retrograd.ops.tensor.convert import DeviceLike
from retrograd.values import Array, DType, Shape


def _inside(offset: int, x: Array) -> int:
    """An offset that the array library takes: all that lie outside of a matrix are alike."""
    return offset if -FAR < offset < FAR else max(-x.shape[-2], min(offset, x.shape[-1]))


FAR = 1 << 30


class Tril(Linear):
    """the lower triangle, zeros above"""

    in_rows: ClassVar[bool] = True
    params: ClassVar[tuple[str, ...]] = ("offset",)
    shown: ClassVar[dict[str, str]] = {"diagonal": "offset"}

    def __init__(self, offset: int) -> None:
        self.offset = offset

    def forward(self, xp: Backend, x: Array) -> Array:
        return xp.tril(x, _inside(self.offset, x))

    def transpose(self, g: Any) -> Any:
        return self.fresh().on(g)  # a choice of elements is its own adjoint


class Triu(Tril):
    """the upper triangle, zeros below"""

    node_name = "TriuBackward0"

    def forward(self, xp: Backend, x: Array) -> Array:
        return xp.triu(x, _inside(self.offset, x))


class Diagonal(View):
    """a diagonal of two dimensions, as the last dimension"""

    params: ClassVar[tuple[str, ...]] = ("offset", "dim1", "dim2")
    shown: ClassVar[dict[str, str]] = {"offset": "offset", "dim1": "dim1", "dim2": "dim2", **SIZES}

    def __init__(self, offset: int, dim1: int, dim2: int) -> None:
        self.offset = offset
        self.dim1 = dim1
        self.dim2 = dim2

    def forward(self, xp: Backend, x: Array) -> Array:
        self.in_shape = x.shape
        return diagonal_view(x, self.offset, self.dim1, self.dim2)

    def transpose(self, g: Any) -> Any:
        return DiagonalPlace(self.offset, self.dim1, self.dim2, self.in_shape).on(g)


class DiagonalCopy(Linear):
    """a copy of a diagonal of a matrix"""

    node_name = "DiagonalBackward0_copy"
    params: ClassVar[tuple[str, ...]] = ("offset", "dim1", "dim2")
    shown: ClassVar[dict[str, str]] = {"offset": "offset", "dim1": "dim1", "dim2": "dim2", **SIZES}

    def __init__(self, offset: int, dim1: int, dim2: int) -> None:
        self.offset = offset
        self.dim1 = dim1
        self.dim2 = dim2

    def forward(self, xp: Backend, x: Array) -> Array:
        self.in_shape = x.shape
        return diagonal_view(x, self.offset, self.dim1, self.dim2).copy()

    def transpose(self, g: Any) -> Any:
        return DiagonalPlace(self.offset, self.dim1, self.dim2, self.in_shape).on(g)


class DiagonalPlace(Linear):
    """zeros of some shape with x on a diagonal"""

    node_name = "DiagonalBackwardBackward0"
    params: ClassVar[tuple[str, ...]] = ("offset", "dim1", "dim2", "size")
    shown: ClassVar[dict[str, str]] = {"offset": "offset", "dim1": "dim1", "dim2": "dim2"}

    def __init__(self, offset: int, dim1: int, dim2: int, size: Shape) -> None:
        self.offset = offset
        self.dim1 = dim1
        self.dim2 = dim2
        self.size = size

    def forward(self, xp: Backend, x: Array) -> Array:
        out = xp.zeros(self.size, x.dtype)
        diagonal_view(out, self.offset, self.dim1, self.dim2)[...] = x
        return out

    def transpose(self, g: Any) -> Any:
        return Diagonal(self.offset, self.dim1, self.dim2).on(g)


class DiagEmbed(Linear):
    """zeros with the last dimension of x on a diagonal of two new ones"""

    params: ClassVar[tuple[str, ...]] = ("offset", "dim1", "dim2")
    shown: ClassVar[dict[str, str]] = {"offset": "offset", "dim1": "dim1", "dim2": "dim2"}

    def __init__(self, offset: int, dim1: int, dim2: int) -> None:
        self.offset = offset
        self.dim1 = dim1
        self.dim2 = dim2

    def forward(self, xp: Backend, x: Array) -> Array:
        side = x.shape[-1] + abs(self.offset)
        shape = list(x.shape[:-1])
        for d in sorted((self.dim1, self.dim2)):
            shape.insert(d, side)
        out = xp.zeros(tuple(shape), x.dtype)
        diagonal_view(out, self.offset, self.dim1, self.dim2)[...] = x
        return out

    def transpose(self, g: Any) -> Any:
        return Diagonal(self.offset, self.dim1, self.dim2).on(g)


class Trace(Linear):
    """the sum of the diagonal"""

    shown: ClassVar[dict[str, str]] = SIZES

    def forward(self, xp: Backend, x: Array) -> Array:
        self.in_shape = x.shape
        return xp.trace(x, dtype=np.int64 if x.dtype.kind in "biu" else x.dtype)

    def transpose(self, g: Any) -> Any:
        return Where().on(backend_of(plain(g)).eye(*self.in_shape, dtype=bool), g, 0.0)


def diagonal_view(x: Array, offset: int, dim1: int, dim2: int) -> Array:
    """A diagonal as a view that can be written to wherever `x` can."""
    inside = max(-x.shape[dim1], min(offset, x.shape[dim2]))  # all that lie outside are empty
    view = x.diagonal(inside, dim1, dim2)
    if is_writable(x):
        backend_of(view).set_writable(
            view, True
        )  # NumPy hands out diagonals read-only, for reasons of its history
    return view


# -- functions -----------------------------------------------------------------------------------------------------


def _offset(function: str, offset: Any) -> int:
    if isinstance(offset, float) or not hasattr(offset, "__index__"):
        raise TypeError(f"{function}(): argument 'diagonal' must be int, not {type(offset).__name__}")
    return integer(offset)


def _matrices(function: str, input: Any) -> Tensor:
    x = require_tensor(function, "input", 1, input)
    if x.array.ndim < 2:
        raise ShapeError(f"{function}: input tensor must have at least 2 dimensions, but has {x.array.ndim}")
    return x


@public("tril", "Tensor.tril_", method=True)
def tril(input: Tensor, diagonal: int = 0, *, out: Tensor | None = None) -> Tensor:
    """The lower triangle of a matrix or a batch of them, zeros elsewhere; `diagonal` moves its edge up.

    >>> import retrograd as rg
    >>> rg.ones(2, 2).tril()
    tensor([[1., 0.],
            [1., 1.]])
    """
    return deliver_exact(apply1(Tril(_offset("tril", diagonal)), _matrices("tril", input)), out)


@public("triu", "Tensor.triu_", method=True)
def triu(input: Tensor, diagonal: int = 0, *, out: Tensor | None = None) -> Tensor:
    """The upper triangle of a matrix or a batch of them, zeros elsewhere; `diagonal` moves its edge up.

    >>> import retrograd as rg
    >>> rg.triu(rg.ones(2, 3), diagonal=1)
    tensor([[0., 1., 1.],
            [0., 0., 1.]])
    """
    return deliver_exact(apply1(Triu(_offset("triu", diagonal)), _matrices("triu", input)), out)


def _two_dims(dim1: Any, dim2: Any, ndim: int) -> tuple[int, int]:
    for i, d in enumerate((dim1, dim2)):
        if not hasattr(d, "__index__"):
            raise OperandError(f"diagonal(): argument 'dim{i + 1}' must be int, not {type_name(d)}")
        if not -ndim <= d < ndim:
            raise dimension_error(d, ndim)
    first, second = wrap_dim(dim1, ndim), wrap_dim(dim2, ndim)
    if first == second:
        raise ShapeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return first, second


@public("diagonal", method=True)
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A view of a diagonal of two dimensions, as the last dimension; `offset` moves it up.

    >>> import retrograd as rg
    >>> rg.diagonal(rg.arange(9).reshape(3, 3), offset=1)
    tensor([1, 5])
    """
    x = require_tensor("diagonal", "input", 1, input)
    first, second = _two_dims(dim1, dim2, x.array.ndim)
    found: Tensor = apply1(Diagonal(integer(offset), first, second), x)
    return found


@public("diag", method=True)
def diag(input: Tensor, diagonal: int = 0, *, out: Tensor | None = None) -> Tensor:
    """A copy of a diagonal of a matrix; of a vector, the matrix with it on its diagonal.

    >>> import retrograd as rg
    >>> rg.diag(rg.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    x = require_tensor("diag", "input", 1, input)
    offset = _offset("diag", diagonal)
    if x.array.ndim not in (1, 2):
        raise ShapeError(f"diag(): Supports 1D or 2D tensors. Got {x.array.ndim}D")
    op = DiagEmbed(offset, 0, 1) if x.array.ndim == 1 else DiagonalCopy(offset, 0, 1)
    return deliver_exact(apply1(op, x), out)


@public("diag_embed", method=True)
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Zeros with the last dimension of `input` on a diagonal of two new dimensions.

    >>> import retrograd as rg
    >>> rg.diag_embed(rg.tensor([[1, 2], [3, 4]])).shape
    torch.Size([2, 2, 2])
    """
    x = require_tensor("diag_embed", "input", 1, input)
    first, second = _two_dims(dim1, dim2, x.array.ndim + 1)
    found: Tensor = apply1(DiagEmbed(integer(offset), first, second), x)
    return found


@public("diagflat", method=True)
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """The matrix with all elements of `input` on its diagonal.

    >>> import retrograd as rg
    >>> rg.diagflat(rg.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    return diag(reshape(input, -1), offset)


@public("trace", method=True)
def trace(input: Tensor) -> Tensor:
    """The sum of the diagonal of a matrix.

    >>> import retrograd as rg
    >>> rg.trace(rg.tensor([[1, 2], [3, 4]]))
    tensor(5)
    """
    if autocasting_on_cpu():
        return in_float32(trace, input)
    x = require_tensor("trace", "input", 1, input)
    if x.array.dtype.kind == "b":
        raise unsupported_dtype("trace", x.array.dtype)
    if x.array.ndim != 2:
        raise ShapeError(f"trace: expected a matrix, but got tensor with dim {x.array.ndim}")
    found: Tensor = apply1(Trace(), x)
    return found


@public("tril_indices")
def tril_indices(
    row: int, col: int, offset: int = 0, *, dtype: DType | None = None, device: DeviceLike = None,
    layout: str | None = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The row and column numbers of the lower triangle of a matrix, as two rows.

    >>> import retrograd as rg
    >>> rg.tril_indices(2, 2)
    tensor([[0, 1, 1],
            [0, 0, 1]])
    """
    with SHORTAGE_TOLD:
        height, width = _side("row", row), _side("col", col)
        reach = max(-height, min(integer(offset), width))
        inside = np.arange(width) <= np.arange(reach, height + reach)[:, None]
        return _pairs("tril_indices", inside, dtype, device, requires_grad)


@public("triu_indices")
def triu_indices(
    row: int, col: int, offset: int = 0, *, dtype: DType | None = None, device: DeviceLike = None,
    layout: str | None = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The row and column numbers of the upper triangle of a matrix, as two rows."""
    with SHORTAGE_TOLD:
        height, width = _side("row", row), _side("col", col)
        reach = max(-height, min(integer(offset), width))
        inside = np.arange(width) >= np.arange(reach, height + reach)[:, None]
        return _pairs("triu_indices", inside, dtype, device, requires_grad)


def _side(name: str, n: Any) -> int:
    side = integer(n)
    if side < 0:
        raise ShapeError(f"{name} must be non-negative, got {side}")
    return side


def _pairs(function: str, inside: Array, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
    """The places in a matrix where `inside` holds."""
    if requires_grad:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    where = check_device(device)
    wanted = np.dtype("int64") if dtype is None else as_dtype(dtype)
    if wanted.kind not in "iu":
        raise NotImplementedError(f"\"{function}\" not implemented for '{SCALAR_NAMES[wanted]}'")
    return tensor_of(placed(np.array(inside.nonzero(), wanted), where))
