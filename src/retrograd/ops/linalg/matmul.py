"""Products of vectors and matrices: dot, mv, mm, bmm, matmul."""

from __future__ import annotations

from typing import Any, ClassVar, Final

import numpy as np

from retrograd.backends.base import Backend, backend_of, common_backend
from retrograd.backends.kernels.products import COLUMNS_0, COLUMNS_1, LENGTH_SHIFT
from retrograd.backends.native import CPU_BACKEND, quick_layout, small_product
from retrograd.core.apply import apply1, apply2
from retrograd.core.autocast import autocasting, autocasting_on_gpu, lowered, widest
from retrograd.core.families import Bilinear, Linear
from retrograd.core.modes import current
from retrograd.core.tensor import Tensor
from retrograd.errors import ShapeError, broadcast_error
from retrograd.ops.common import deliver_exact, joint_shape
from retrograd.ops.linalg.product_arguments import (
    check_bmm,
    check_dot,
    check_mm,
    check_mv,
    element_count,
    tensor_pair,
)
from retrograd.ops.register import public
from retrograd.ops.shape.reshape import UnsafeView
from retrograd.values import Array, Shape

# -- ops -----------------------------------------------------------------------------------------------------------


ndarray = np.ndarray


def adjoint(v: Any) -> Any:
    """The matrix (or each matrix of a batch) transposed and conjugated."""
    turned = v.swapaxes(-2, -1)
    return turned.conj() if v.dtype.kind == "c" else turned


def conjugated(v: Any) -> Any:
    return v.conj() if v.dtype.kind == "c" else v


class Product(Bilinear):
    """A product whose second operand PyTorch shows under a name of its own."""

    shown: ClassVar[dict[str, str]] = {"mat2": "y"}
    multiplies: ClassVar[bool] = True
    layout: int = 0  # how two matrices lie, once known; see backends/kernels/products.py

    def forward(self, xp: Backend, x: Array, y: Array) -> Array:
        return xp.product(x, y)

    def note(self, xp: Backend, x: Array, y: Array) -> None:
        """Remembers what the gradients need to know of the operands."""


class Dot(Product):
    """the sum of x * y, of two vectors"""

    shown: ClassVar[dict[str, str]] = {"tensor": "y"}

    def transpose(self, i: int, g: Any, x: Any, y: Any) -> Any:
        return g * conjugated(y if i == 0 else x)


class Vdot(Product):
    """the sum of conj(x) * y, of two vectors"""

    shown: ClassVar[dict[str, str]] = {}

    def forward(self, xp: Backend, x: Array, y: Array) -> Array:
        return xp.product(x.conj(), y)

    def transpose(self, i: int, g: Any, x: Any, y: Any) -> Any:
        return conjugated(g) * y if i == 0 else g * x


class Mv(Product):
    """a matrix times a vector"""

    shown: ClassVar[dict[str, str]] = {"vec": "y"}

    def transpose(self, i: int, g: Any, x: Any, y: Any) -> Any:
        if i == 0:
            return g.reshape((g.shape[0], 1)) * conjugated(y)
        return backend_of(g).mv_backward(self, g, x)

    def formula(self, i: int, g: Any, x: Any, y: Any) -> Any:
        """The gradient of the vector."""
        return Mv().on(adjoint(x), g)


class Mm(Product):
    """a matrix times a matrix

    A gradient comes out in the memory order of its operand: that of `weight.t()` turned round once more is then
    contiguous, and lands in `weight.grad` without a copy.
    """

    shown: ClassVar[dict[str, str]] = {"self_sym_sizes": "sizes0", "mat2_sym_sizes": "sizes1", "mat2": "y"}

    def forward(self, xp: Backend, x: Array, y: Array) -> Array:
        self.note(xp, x, y)
        return xp.product(x, y)

    def forward_kernel(self, x: Any, y: Any) -> Any:
        """The product of small matrices, NotImplemented for others. See `Traits.forward`."""
        if type(x) is not ndarray:
            return NotImplemented
        self.note(CPU_BACKEND, x, y)
        return small_product(x, y)

    def note(self, xp: Backend, x: Array, y: Array) -> None:
        if not self.layout:
            self.layout = xp.layout_of(x, y)

    @property
    def sizes0(self) -> Shape:
        """The shape of x."""
        return (self.out_shape[0], self.layout >> LENGTH_SHIFT)

    @property
    def sizes1(self) -> Shape:
        """The shape of y."""
        return (self.layout >> LENGTH_SHIFT, self.out_shape[1])

    def turned(self, i: int) -> bool:
        """Whether operand `i` lies column by column: so does its gradient."""
        return self.layout & (COLUMNS_1 if i else COLUMNS_0) != 0

    def transpose(self, i: int, g: Any, x: Any, y: Any) -> Any:
        other = y if i == 0 else x
        xp = backend_of(g) if type(other) is ndarray else common_backend((g, other))
        return xp.mm_backward(self, i, self.turned(i), g, x, y)

    def formula(self, i: int, g: Any, x: Any, y: Any) -> Any:
        """The gradient of operand `i`."""
        if i == 0:
            if self.turned(0):
                return Mm().on(conjugated(y), g.swapaxes(0, 1)).swapaxes(0, 1)
            return Mm().on(g, adjoint(y))
        if self.turned(1):
            return Mm().on(g.swapaxes(0, 1), conjugated(x)).swapaxes(0, 1)
        return Mm().on(adjoint(x), g)


_LAID: Final[dict[int, Mm]] = {}


def laid_out(layout: int) -> Mm:
    """A product of matrices that lie so, for its formulas, which ask for nothing else; one serves all that lie so."""
    lie = layout & (COLUMNS_0 | COLUMNS_1)
    found = _LAID.get(lie) if layout else None
    if found is None:
        found = Mm()
        found.layout = layout
        if layout:
            _LAID[lie] = found
    return found


class Bmm(Product):
    """matrices times matrices, pair by pair"""

    def transpose(self, i: int, g: Any, x: Any, y: Any) -> Any:
        return backend_of(g).bmm_backward(self, i, g, x, y)

    def formula(self, i: int, g: Any, x: Any, y: Any) -> Any:
        """The gradient of operand `i`."""
        return Bmm().on(g, adjoint(y)) if i == 0 else Bmm().on(adjoint(x), g)


class Squeezed(Linear):
    """a matrix of one row as a vector"""

    node_name = "SqueezeBackward4"

    def forward(self, xp: Backend, x: Array) -> Array:
        return x.reshape(x.shape[1])

    def transpose(self, g: Any) -> Any:
        return g.reshape((1, g.shape[0]))


# -- functions -----------------------------------------------------------------------------------------------------


@public("dot", method=True)
def dot(input: Tensor, tensor: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sum of the products of two vectors' elements.

    >>> import retrograd as rg
    >>> rg.dot(rg.tensor([1.0, 2.0]), rg.tensor([3.0, 4.0]))
    tensor(11.)
    """
    if autocasting_on_gpu(input):
        return widest(dot, input, tensor, out=out)
    x, y = tensor_pair("dot", input, tensor, "tensor")
    check_dot(x, y)
    return deliver_exact(apply2(Dot(), x, y), out, "result dtype {given} does not match input dtype {wanted}")


@public("vdot", method=True)
def vdot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`dot` with the first vector conjugated.

    >>> import retrograd as rg
    >>> rg.vdot(rg.tensor([1j, 1.0]), rg.tensor([1j, 2.0]))
    tensor(3.+0.j)
    """
    if autocasting_on_gpu(input):
        return widest(vdot, input, other, out=out)
    x, y = tensor_pair("vdot", input, other, "other")
    check_dot(x, y)
    return deliver_exact(
        apply2(Vdot(), x, y), out, "result dtype {given} does not match input dtype {wanted}"
    )


@public("mv", method=True)
def mv(input: Tensor, vec: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A matrix times a vector."""
    if autocasting_on_gpu(input):
        return lowered(mv, input, vec, out=out)
    x, y = tensor_pair("mv", input, vec, "vec")
    check_mv(x, y, x.array.shape[0] if x.array.ndim else 1)
    return deliver_exact(apply2(Mv(), x, y), out)


@public("mm", method=True)
def mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A matrix times a matrix."""
    if autocasting():
        return lowered(mm, input, mat2, out=out)
    x, y = tensor_pair("mm", input, mat2, "mat2")
    op = Mm()
    op.layout = check_mm(x, y)
    return deliver_exact(apply2(op, x, y), out)


@public("bmm", method=True)
def bmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Matrices times matrices: the first dimension numbers the pairs.

    >>> import retrograd as rg
    >>> rg.bmm(rg.ones(2, 1, 3), rg.ones(2, 3, 1)).flatten()
    tensor([3., 3.])
    """
    if autocasting():
        return lowered(bmm, input, mat2, out=out)
    x, y = tensor_pair("bmm", input, mat2, "mat2")
    check_bmm(x, y)
    return deliver_exact(apply2(Bmm(), x, y), out)


@public("matmul", "linalg.matmul", method=True)
def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product `input @ other` of vectors, matrices, and batches of matrices, which broadcast.

    >>> import retrograd as rg
    >>> rg.matmul(rg.ones(4, 2, 3), rg.ones(3)).shape
    torch.Size([4, 2])
    """
    if autocasting():
        return lowered(matmul, input, other, out=out)
    x, y = tensor_pair("matmul", input, other, "other")
    return deliver_exact(matmul_of(x, y), out)


def matmul_of(x: Any, y: Any) -> Any:
    layout = quick_layout(x.array, y.array)
    if layout:
        op = Mm()
        op.layout = layout
        return apply2(op, x, y)
    m, n = x.array.ndim, y.array.ndim
    if m == 2 and n == 2:
        return mm(x, y)
    if m == 0 or n == 0:
        raise ShapeError(f"both arguments to matmul need to be at least 1D, but they are {m}D and {n}D")
    if m == 1 and n == 1:
        return dot(x, y)
    if m == 2 and n == 1:
        return mv(x, y)
    if m == 1 and n == 2:
        return apply1(Squeezed(), mm(x.unsqueeze(0), y))
    if m == 3 and n == 3 and (x.array.shape[0] == 1) != (y.array.shape[0] == 1):
        # One matrix against many is a fold, below, and not a batch of copies.
        x, y = (x.squeeze(0), y) if x.array.shape[0] == 1 else (x, y.squeeze(0))
        m, n = x.array.ndim, y.array.ndim
    if n <= 2 and (y.requires_grad or _rows_in_step(x.array)):
        return _folded(x, y)
    if m <= 2 and (x.requires_grad or (m == 1 and _rows_in_step(y.array.swapaxes(-2, -1)))):
        return _folded_right(x, y)
    return _batched(x, y)


def _rows_in_step(a: Array) -> bool:
    """Whether all rows of a batch can be seen as the rows of one matrix, without a copy."""
    return not a.size or all(a.strides[i] == a.strides[i + 1] * a.shape[i + 1] for i in range(a.ndim - 2))


def _folded(x: Any, y: Any) -> Any:
    """A batch of matrices times one matrix (or vector): all their rows are the rows of one large matrix."""
    shape = x.array.shape
    rows = x.reshape((element_count(shape[:-1]), shape[-1]))
    if y.array.ndim == 1:
        return apply1(UnsafeView(shape[:-1]), mv(rows, y))
    return apply1(UnsafeView((*shape[:-1], y.array.shape[1])), mm(rows, y))


def _folded_right(x: Any, y: Any) -> Any:
    """One matrix (or vector) times a batch of matrices: the same, transposed."""
    product = _folded(y.transpose(-1, -2), x if x.array.ndim == 1 else x.t())
    return product if x.array.ndim == 1 else product.transpose(-1, -2).contiguous()


def _are_paired(a: Array, b: Array) -> bool:
    """Whether two batches have one dimension in front of their matrices, of the same size."""
    return a.ndim == 3 and b.ndim == 3 and len(a) == len(b)


def _is_seen(x: Tensor, y: Tensor) -> bool:
    """Whether anybody sees which operations a product is made of: a graph, a recorder, a mode."""
    state = current()
    return state.special != 0 or (state.grad_enabled and (x.requires_grad or y.requires_grad))


def _batched(x: Any, y: Any) -> Any:
    """A batch of matrices times a batch of matrices, their batch dimensions broadcast."""
    if _are_paired(x.array, y.array) and not _is_seen(x, y):
        return bmm(x, y)
    rows, columns = x.array.shape[-2:-1], y.array.shape[-1:]
    if x.array.ndim == 1:
        x = x.unsqueeze(0)
    if y.array.ndim == 1:
        y, columns = y.unsqueeze(1), ()
    a, b = x.array.shape, y.array.shape
    try:
        batch = joint_shape(a[:-2], b[:-2])
    except ValueError:
        raise broadcast_error(a[:-2], b[:-2]) from None
    count = element_count(batch)
    left = x.expand((*batch, *a[-2:])).reshape((count, *a[-2:]))
    right = y.expand((*batch, *b[-2:])).reshape((count, *b[-2:]))
    return apply1(UnsafeView((*batch, *rows, *columns)), bmm(left, right))
