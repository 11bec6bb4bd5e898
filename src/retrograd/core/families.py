"""The families: ops whose vjp and jvp follow from one formula. No mathematics here; that is in `ops/`."""

from __future__ import annotations

from typing import Any, ClassVar

from retrograd.core.op import Binary, Unary, X, Y
from retrograd.hints import mypyc_attr


def scaled(v: Any, s: Any) -> Any:
    """`v * s`, where a slope of plain 1 or -1 costs no product."""
    if type(s) is int:
        if s == 1:
            return v
        if s == -1:
            return -v
    return v * s


def added(a: Any, b: Any) -> Any:
    """The sum of two contributions of which either may be missing."""
    if a is None:
        return b
    return a if b is None else a + b


def conjugate(v: Any) -> Any:
    """The complex conjugate of a value or a Python number."""
    if type(v) is int or type(v) is float:
        return v
    return v.conjugate() if isinstance(v, (int, float, complex)) else v.conj()


@mypyc_attr(allow_interpreted_subclasses=True)
class ElementwiseUnary(Unary):
    """Owes one `slope`, d out / d x, where both are numbers: vjp and jvp are products with it."""

    elementwise: ClassVar[bool] = True
    any_shape: ClassVar[bool] = True

    def slope(self, x: Any, out: Any) -> Any:
        """The derivative at each element; plain 1, -1 or another number where it is constant."""
        raise NotImplementedError(f"{self.name()} has no slope()")

    def vjp(self, g: Any, x: Any, out: Any) -> Any:
        s = self.slope(x, out)
        if type(s) is int:
            return scaled(g, s)
        return g * (conjugate(s) if self.out_dtype.kind == "c" else s)

    def jvp(self, t: Any, x: Any, out: Any) -> Any:
        return scaled(t, self.slope(x, out))


@mypyc_attr(allow_interpreted_subclasses=True)
class ElementwiseBinary(Binary):
    """Owes one `slope` per operand. The engine sums the gradient over broadcast dimensions."""

    elementwise: ClassVar[bool] = True
    any_shape: ClassVar[bool] = True

    def slope(self, i: int, x: Any, y: Any, out: Any) -> Any:
        """The derivative with respect to operand `i` at each element."""
        raise NotImplementedError(f"{self.name()} has no slope()")

    def vjp(self, i: int, g: Any, x: Any, y: Any, out: Any) -> Any:
        s = self.slope(i, x, y, out)
        if type(s) is int:
            return scaled(g, s)
        return g * (conjugate(s) if self.out_dtype.kind == "c" else s)

    def jvp(self, tx: Any, ty: Any, x: Any, y: Any, out: Any) -> Any:
        a = None if tx is None else scaled(tx, self.slope(0, x, y, out))
        b = None if ty is None else scaled(ty, self.slope(1, x, y, out))
        return added(a, b)


@mypyc_attr(allow_interpreted_subclasses=True)
class Linear(Unary):
    """Owes `transpose`, the adjoint of `forward`. Its jvp is itself."""

    def transpose(self, g: Any) -> Any:
        """The adjoint map: what `forward` would do to cotangents, backwards."""
        raise NotImplementedError(f"{self.name()} has no transpose()")

    def vjp(self, g: Any, x: Any, out: Any) -> Any:
        return self.transpose(g)

    def jvp(self, t: Any, x: Any, out: Any) -> Any:
        return self.fresh().on(t)


@mypyc_attr(allow_interpreted_subclasses=True)
class View(Linear):
    """A Linear op whose result shares memory with its input."""

    is_view: ClassVar[bool] = True


@mypyc_attr(allow_interpreted_subclasses=True)
class Bilinear(Binary):
    """Linear in each operand. Owes `transpose(i, g, x, y)`; the product rule gives the jvp."""

    keeps0: ClassVar[int] = Y
    keeps1: ClassVar[int] = X

    def transpose(self, i: int, g: Any, x: Any, y: Any) -> Any:
        """The adjoint with respect to operand `i`, complex conjugation included; the other operand is given."""
        raise NotImplementedError(f"{self.name()} has no transpose()")

    def vjp(self, i: int, g: Any, x: Any, y: Any, out: Any) -> Any:
        return self.transpose(i, g, x, y)

    def jvp(self, tx: Any, ty: Any, x: Any, y: Any, out: Any) -> Any:
        a = None if tx is None else self.fresh().on(tx, y)
        b = None if ty is None else self.fresh().on(x, ty)
        return added(a, b)


@mypyc_attr(allow_interpreted_subclasses=True)
class Symmetric(Unary):
    """An op whose Jacobian is symmetric: one `product` serves vjp and jvp."""

    def product(self, v: Any, x: Any, out: Any) -> Any:
        """The Jacobian times `v`."""
        raise NotImplementedError(f"{self.name()} has no product()")

    def vjp(self, g: Any, x: Any, out: Any) -> Any:
        return self.product(g, x, out)

    def jvp(self, t: Any, x: Any, out: Any) -> Any:
        return self.product(t, x, out)
