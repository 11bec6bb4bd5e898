"""The ops behind `linalg`: products of matrices and vectors, and sums with such products."""

from __future__ import annotations

from typing import Any, ClassVar

from retrograd.core.op import Bilinear, Linear, Variadic, X, added, conjugate, scaled
from retrograd.values import Array, Shape


def product(xp: Any, x: Array, y: Array) -> Array:
    """`x @ y` on arrays; half precision is summed in single, as PyTorch does."""
    if x.dtype.char == "e":
        return xp.matmul(x.astype("float32"), y.astype("float32")).astype(x.dtype)
    return xp.matmul(x, y)


def adjoint(v: Any) -> Any:
    """The matrix (or each matrix of a batch) transposed and conjugated."""
    turned = v.swapaxes(-2, -1)
    return turned.conj() if v.dtype.kind == "c" else turned


def _conjugated(v: Any) -> Any:
    return v.conj() if v.dtype.kind == "c" else v


class Product(Bilinear):
    """A product whose second operand PyTorch shows under a name of its own."""

    second: ClassVar[str] = "mat2"
    effort: ClassVar[int] = 32

    def saved_value(self, name: str) -> Any:
        return super().saved_value("other" if name == self.second else name)

    def forward(self, xp: Any, x: Array, y: Array) -> Array:
        return product(xp, x, y)


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
        return Mv().on(adjoint(x), g)


class Mm(Product):
    """a matrix times a matrix

    A gradient comes out in the memory order of its operand: that of `weight.t()` turned round once more is then
    contiguous, and lands in `weight.grad` without a copy.
    """

    shown: ClassVar[dict[str, str]] = {"self_sym_sizes": "sizes0", "mat2_sym_sizes": "sizes1"}
    columns0: bool = False  # whether x lies in memory column by column
    columns1: bool = False
    sizes0: Shape = ()
    sizes1: Shape = ()

    def forward(self, xp: Any, x: Array, y: Array) -> Array:
        self.sizes0, self.sizes1 = x.shape, y.shape
        self.columns0 = x.flags.f_contiguous and not x.flags.c_contiguous
        self.columns1 = y.flags.f_contiguous and not y.flags.c_contiguous
        return product(xp, x, y)

    def transpose(self, i: int, g: Any, x: Any, y: Any) -> Any:
        if i == 0:
            if self.columns0:
                return Mm().on(_conjugated(y), g.swapaxes(0, 1)).swapaxes(0, 1)
            return Mm().on(g, adjoint(y))
        if self.columns1:
            return Mm().on(g.swapaxes(0, 1), _conjugated(x)).swapaxes(0, 1)
        return Mm().on(adjoint(x), g)


class Bmm(Product):
    """matrices times matrices, pair by pair"""

    def transpose(self, i: int, g: Any, x: Any, y: Any) -> Any:
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
    effort: ClassVar[int] = 32

    def __init__(self, beta: Any, alpha: Any) -> None:
        self.beta = beta
        self.alpha = alpha
        self.inner = self.make_inner()

    def make_inner(self) -> Any:
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


class Addmm(AddProduct):
    """beta * x + alpha * (matrix @ matrix)"""

    shown: ClassVar[dict[str, str]] = {"beta": "beta", "alpha": "alpha", "mat1": "x:1", "mat2": "x:2"}

    def make_inner(self) -> Any:
        return Mm()


class Addmv(AddProduct):
    """beta * x + alpha * (matrix @ vector)"""

    shown: ClassVar[dict[str, str]] = {"beta": "beta", "alpha": "alpha", "mat": "x:1", "vec": "x:2"}

    def make_inner(self) -> Any:
        return Mv()


class Addr(AddProduct):
    """beta * x + alpha * (vector times vector)"""

    shown: ClassVar[dict[str, str]] = {"beta": "beta", "alpha": "alpha", "vec1": "x:1", "vec2": "x:2"}

    def make_inner(self) -> Any:
        return Ger()


class Baddbmm(AddProduct):
    """beta * x + alpha * (matrices @ matrices)"""

    shown: ClassVar[dict[str, str]] = {"beta": "beta", "alpha": "alpha", "batch1": "x:1", "batch2": "x:2"}

    def make_inner(self) -> Any:
        return Bmm()


class Addbmm(Baddbmm):
    """beta * x + alpha * sum(matrices @ matrices)"""

    def make_inner(self) -> Any:
        return BmmSum()
