"""The ops behind `linalg`: products of matrices and vectors, and sums with such products."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from retrograd.backends.base import backend_of, common_backend
from retrograd.backends.kernels.products import COLUMNS_0, COLUMNS_1, LENGTH_SHIFT
from retrograd.backends.native import CPU_BACKEND, small_product
from retrograd.core.op import Bilinear, Linear, Variadic, X, added, conjugate, scaled
from retrograd.values import Array, Shape

ndarray = np.ndarray


def adjoint(v: Any) -> Any:
    """The matrix (or each matrix of a batch) transposed and conjugated."""
    turned = v.swapaxes(-2, -1)
    return turned.conj() if v.dtype.kind == "c" else turned


def _conjugated(v: Any) -> Any:
    return v.conj() if v.dtype.kind == "c" else v


class Product(Bilinear):
    """A product whose second operand PyTorch shows under a name of its own."""

    second: ClassVar[str] = "mat2"
    multiplies: ClassVar[bool] = True

    def saved_value(self, name: str) -> Any:
        return super().saved_value("other" if name == self.second else name)

    def forward(self, xp: Any, x: Array, y: Array) -> Array:
        return xp.product(x, y)

    def note(self, xp: Any, x: Array, y: Array) -> None:
        """Remembers what the gradients need to know of the operands."""


class Dot(Product):
    """the sum of x * y, of two vectors"""

    second = "tensor"

    def transpose(self, i: int, g: Any, x: Any, y: Any) -> Any:
        return g * _conjugated(y if i == 0 else x)


class Vdot(Product):
    """the sum of conj(x) * y, of two vectors"""

    second = "other"

    def forward(self, xp: Any, x: Array, y: Array) -> Array:
        return xp.product(x.conj(), y)

    def transpose(self, i: int, g: Any, x: Any, y: Any) -> Any:
        return _conjugated(g) * y if i == 0 else g * x


class Mv(Product):
    """a matrix times a vector"""

    second = "vec"

    def transpose(self, i: int, g: Any, x: Any, y: Any) -> Any:
        if i == 0:
            return g.reshape((g.shape[0], 1)) * _conjugated(y)
        return backend_of(g).mv_backward(self, g, x)

    def formula(self, i: int, g: Any, x: Any, y: Any) -> Any:
        """The gradient of the vector."""
        return Mv().on(adjoint(x), g)


class Mm(Product):
    """a matrix times a matrix

    A gradient comes out in the memory order of its operand: that of `weight.t()` turned round once more is then
    contiguous, and lands in `weight.grad` without a copy.
    """

    shown: ClassVar[dict[str, str]] = {"self_sym_sizes": "sizes0", "mat2_sym_sizes": "sizes1"}
    layout: int = 0  # how x and y lie, once known; see backends/kernels/products.py

    def forward(self, xp: Any, x: Array, y: Array) -> Array:
        self.note(xp, x, y)
        return xp.product(x, y)

    def forward_kernel(self, x: Any, y: Any) -> Any:
        """The product of small matrices, NotImplemented for others. See `Traits.forward`."""
        self.note(CPU_BACKEND, x, y)
        return small_product(x, y)

    def note(self, xp: Any, x: Array, y: Array) -> None:
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

    def turned(self, i: int) -> int:
        """Whether operand `i` lies column by column: so does its gradient."""
        return self.layout & (COLUMNS_1 if i else COLUMNS_0)

    def transpose(self, i: int, g: Any, x: Any, y: Any) -> Any:
        return common_backend((g, x, y)).mm_backward(self, i, g, x, y)

    def formula(self, i: int, g: Any, x: Any, y: Any) -> Any:
        """The gradient of operand `i`."""
        if i == 0:
            if self.turned(0):
                return Mm().on(_conjugated(y), g.swapaxes(0, 1)).swapaxes(0, 1)
            return Mm().on(g, adjoint(y))
        if self.turned(1):
            return Mm().on(g.swapaxes(0, 1), _conjugated(x)).swapaxes(0, 1)
        return Mm().on(adjoint(x), g)


class Bmm(Product):
    """matrices times matrices, pair by pair"""

    def transpose(self, i: int, g: Any, x: Any, y: Any) -> Any:
        return backend_of(g).bmm_backward(self, i, g, x, y)

    def formula(self, i: int, g: Any, x: Any, y: Any) -> Any:
        """The gradient of operand `i`."""
        return Bmm().on(g, adjoint(y)) if i == 0 else Bmm().on(adjoint(x), g)


class Ger(Product):
    """the products of all elements of x with all of y"""

    second = "vec2"

    def forward(self, xp: Any, x: Array, y: Array) -> Array:
        return xp.multiply(x.reshape(-1, 1), y)

    def transpose(self, i: int, g: Any, x: Any, y: Any) -> Any:
        return Mv().on(g, _conjugated(y)) if i == 0 else Mv().on(g.swapaxes(0, 1), _conjugated(x))


class BmmSum(Bmm):
    """matrices times matrices, pair by pair, all added up"""

    def forward(self, xp: Any, x: Array, y: Array) -> Array:
        products = xp.product(x, y)
        return products.sum(axis=0, dtype=products.dtype)

    def transpose(self, i: int, g: Any, x: Any, y: Any) -> Any:
        return g @ adjoint(y) if i == 0 else adjoint(x) @ g


class Squeezed(Linear):
    """a matrix of one row as a vector"""

    node_name = "SqueezeBackward4"

    def forward(self, xp: Any, x: Array) -> Array:
        return x.reshape(x.shape[1])

    def transpose(self, g: Any) -> Any:
        return g.reshape((1, g.shape[0]))


class AddProduct(Variadic):
    """beta * x + alpha * (y @ z), where `inner` is the product"""

    params = ("beta", "alpha")
    keeps: ClassVar[int] = X
    multiplies: ClassVar[bool] = True

    def __init__(self, beta: Any, alpha: Any) -> None:
        self.beta = beta
        self.alpha = alpha
        self.inner: Product = self.make_inner()

    def make_inner(self) -> Product:
        """The product's own op; its transposes are this op's, too."""
        raise NotImplementedError

    def keeps_input(self, i: int) -> bool:
        return i > 0 and self.needs(3 - i)

    def forward(self, xp: Any, xs: Any) -> Any:
        return self.computed(xp, xs[0], xs[1], xs[2])

    def computed(self, xp: Any, x: Array, y: Array, z: Array) -> Array:
        """The result by the array library."""
        out = self.inner.forward(xp, y, z)
        if self.alpha != 1:
            out = (out * self.alpha).astype(out.dtype, copy=False)
        if self.beta == 0:  # then x is not looked at: it may hold NaN
            return out
        part = x if self.beta == 1 else x * self.beta
        return (
            xp.add_into(out, part) if part.dtype == out.dtype else (out + part).astype(out.dtype, copy=False)
        )

    def vjp(self, gs: Any, xs: Any, outs: Any) -> Any:
        g = gs[0]
        grads: list[Any] = [scaled(g, conjugate(self.beta)) if self.needs(0) else None, None, None]
        part = scaled(g, conjugate(self.alpha)) if self.needs(1) or self.needs(2) else None
        for i in (1, 2):
            if self.needs(i):
                grads[i] = self.inner.transpose(i - 1, part, xs[1], xs[2])
        return grads

    def jvp(self, ts: Any, xs: Any, outs: Any) -> Any:
        a = None if ts[0] is None else scaled(ts[0], self.beta)
        b = None if ts[1] is None else scaled(self.make_inner().on(ts[1], xs[2]), self.alpha)
        c = None if ts[2] is None else scaled(self.make_inner().on(xs[1], ts[2]), self.alpha)
        return added(added(a, b), c)


class Addmm(AddProduct):
    """beta * x + alpha * (matrix @ matrix)"""

    shown: ClassVar[dict[str, str]] = {"beta": "beta", "alpha": "alpha", "mat1": "x:1", "mat2": "x:2"}

    def make_inner(self) -> Product:
        return Mm()

    def forward(self, xp: Any, xs: Any) -> Any:
        x, y, z = xs
        if self.alpha != 1 or self.beta != 1:
            return self.computed(xp, x, y, z)
        self.inner.note(xp, y, z)
        return xp.addmm(self, x, y, z)


class Addmv(AddProduct):
    """beta * x + alpha * (matrix @ vector)"""

    shown: ClassVar[dict[str, str]] = {"beta": "beta", "alpha": "alpha", "mat": "x:1", "vec": "x:2"}

    def make_inner(self) -> Product:
        return Mv()


class Addr(AddProduct):
    """beta * x + alpha * (vector times vector)"""

    shown: ClassVar[dict[str, str]] = {"beta": "beta", "alpha": "alpha", "vec1": "x:1", "vec2": "x:2"}

    def make_inner(self) -> Product:
        return Ger()


class Baddbmm(AddProduct):
    """beta * x + alpha * (matrices @ matrices)"""

    shown: ClassVar[dict[str, str]] = {"beta": "beta", "alpha": "alpha", "batch1": "x:1", "batch2": "x:2"}

    def make_inner(self) -> Product:
        return Bmm()


class Addbmm(Baddbmm):
    """beta * x + alpha * sum(matrices @ matrices)"""

    def make_inner(self) -> Product:
        return BmmSum()
