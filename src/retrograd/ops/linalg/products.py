"""The ops behind `linalg`: products of matrices and vectors, and sums with such products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from retrograd.backends.products import (
    COLUMNS_0,
    COLUMNS_1,
    LENGTH_SHIFT,
    added_product,
    layout_of,
    matrix_product,
    product,
    times_turned,
    turned_times,
)
from retrograd.core.batching import batching_rule
from retrograd.core.op import Bilinear, Linear, Variadic, X, added, conjugate, scaled
from retrograd.core.tensor import Tensor
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
        return product(xp, x, y)

    def note(self, x: Array, y: Array) -> None:
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
        return product(xp, x.conj(), y)

    def transpose(self, i: int, g: Any, x: Any, y: Any) -> Any:
        return _conjugated(g) * y if i == 0 else g * x


class Mv(Product):
    """a matrix times a vector"""

    second = "vec"

    def transpose(self, i: int, g: Any, x: Any, y: Any) -> Any:
        if i == 0:
            return g.reshape((g.shape[0], 1)) * _conjugated(y)
        found = turned_times(x, g) if type(g) is ndarray else None
        return Mv().on(adjoint(x), g) if found is None else found


class Mm(Product):
    """a matrix times a matrix

    A gradient comes out in the memory order of its operand: that of `weight.t()` turned round once more is then
    contiguous, and lands in `weight.grad` without a copy.
    """

    shown: ClassVar[dict[str, str]] = {"self_sym_sizes": "sizes0", "mat2_sym_sizes": "sizes1"}
    layout: int = 0  # how x and y lie, once known; see backends/products.py

    def forward(self, xp: Any, x: Array, y: Array) -> Array:
        self.note(x, y)
        return product(xp, x, y)

    def forward_kernel(self, x: Any, y: Any) -> Any:
        """The product of small matrices, NotImplemented for others. See `Traits.forward`."""
        self.note(x, y)
        return matrix_product(x, y)

    def note(self, x: Array, y: Array) -> None:
        if not self.layout:
            self.layout = layout_of(x, y)

    @property
    def sizes0(self) -> Shape:
        """The shape of x."""
        return (self.out_shape[0], self.layout >> LENGTH_SHIFT)

    @property
    def sizes1(self) -> Shape:
        """The shape of y."""
        return (self.layout >> LENGTH_SHIFT, self.out_shape[1])

    def transpose(self, i: int, g: Any, x: Any, y: Any) -> Any:
        found = None if isinstance(g, Tensor) else self.plain_gradient(i, g, x, y)
        if found is not None:
            return found
        if i == 0:
            if self.layout & COLUMNS_0:
                return Mm().on(_conjugated(y), g.swapaxes(0, 1)).swapaxes(0, 1)
            return Mm().on(g, adjoint(y))
        if self.layout & COLUMNS_1:
            return Mm().on(g.swapaxes(0, 1), _conjugated(x)).swapaxes(0, 1)
        return Mm().on(adjoint(x), g)

    def plain_gradient(self, i: int, g: Array, x: Any, y: Any) -> Array | None:
        """The gradient on bare arrays, None where only the general formula serves."""
        turned = self.layout & (COLUMNS_1 if i else COLUMNS_0)
        if i == 0:
            found = times_turned(y, g) if turned else times_turned(g, y)
        else:
            found = turned_times(g, x) if turned else turned_times(x, g)
        return found.swapaxes(0, 1) if turned and found is not None else found


class Bmm(Product):
    """matrices times matrices, pair by pair"""

    def transpose(self, i: int, g: Any, x: Any, y: Any) -> Any:
        if type(g) is ndarray:
            found = times_turned(g, y) if i == 0 else turned_times(x, g)
            if found is not None:
                return found
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
        products = product(xp, x, y)
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
        x, y, z = xs
        out = self.inner.forward(xp, y, z)
        if self.alpha != 1:
            xp.multiply(out, self.alpha, out=out, casting="unsafe")
        if self.beta == 0:  # then x is not looked at: it may hold NaN
            return out
        xp.add(out, x if self.beta == 1 else xp.multiply(x, self.beta), out=out, casting="unsafe")
        return out

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


@batching_rule(AddProduct)
def _sum_and_product(op: Any, level: Any, xs: Sequence[Any]) -> Any:
    """The same out of place: a product that all samples share has no room for their sums."""
    x, y, z = xs
    out = op.inner.on(y, z)
    if op.alpha != 1:
        out = (out * op.alpha).astype(out.dtype, copy=False)
    if op.beta == 0:
        return out
    return (out + (x if op.beta == 1 else x * op.beta)).astype(out.dtype, copy=False)


class Addmm(AddProduct):
    """beta * x + alpha * (matrix @ matrix)"""

    shown: ClassVar[dict[str, str]] = {"beta": "beta", "alpha": "alpha", "mat1": "x:1", "mat2": "x:2"}

    def make_inner(self) -> Product:
        return Mm()

    def forward(self, xp: Any, xs: Any) -> Any:
        x, y, z = xs
        out = added_product(xp, x, y, z) if self.alpha == 1 and self.beta == 1 else None
        if out is None:
            return super().forward(xp, xs)
        self.inner.note(y, z)
        return out


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
