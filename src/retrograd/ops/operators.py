"""Python's operators, plugged into the socket of `core.operators`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from retrograd.backends.dtypes import check_element
from retrograd.core.apply import apply1, apply2
from retrograd.core.inplace import check_writable, write_back
from retrograd.core.operators import Operators
from retrograd.core.places import OPERATOR
from retrograd.core.tensor import Tensor
from retrograd.core.upward import UPWARD
from retrograd.errors import OperandError
from retrograd.hints import mypyc_attr
from retrograd.ops.elementwise import compare
from retrograd.ops.elementwise.arithmetic import (
    Add,
    Div,
    FloorDivide,
    Mul,
    Neg,
    Reciprocal,
    Remainder,
    Sub,
    modulo,
    positive,
    refuse_bools,
    rsub,
)
from retrograd.ops.elementwise.power import power
from retrograd.ops.elementwise.sign import abs as absolute
from retrograd.ops.index.getitem import getitem, setitem
from retrograd.ops.inplace.fill import clone_like
from retrograd.ops.linalg.matmul import matmul
from retrograd.ops.reduce.sums import sum_to
from retrograd.ops.shape.split import unbind
from retrograd.ops.tensor.convert import ToCopy, clone


def _operand(y: Any) -> Any:
    """The left operand of a reflected operator as a tensor."""
    if isinstance(y, Tensor):
        return y
    if isinstance(y, (np.generic, np.ndarray)):
        check_element(y.dtype)
    elif not isinstance(y, (bool, int, float, complex)):
        raise OperandError(f"unsupported operand type: {type(y).__name__}")
    return Tensor(np.asarray(y), share=True)


def _matrix(y: Any) -> Tensor:
    """The other operand of `@`, which numbers cannot be."""
    if isinstance(y, Tensor):
        return y
    if isinstance(y, np.ndarray):
        check_element(y.dtype)
        return Tensor(y, share=True)
    raise OperandError(f"unsupported operand type for @: {type(y).__name__}")


def _written(x: Tensor, operator: Callable[[Any, Any], Any], y: Any) -> Tensor:
    """An augmented assignment: checked before it computes, then written into `x`."""
    check_writable(x)
    return write_back(x, operator(x, y))


@mypyc_attr(allow_interpreted_subclasses=True)
class TensorArithmetic(Operators):
    """What each operator does."""

    def add(self, x: Any, y: Any, /) -> Any:
        return apply2(Add(), x, y, OPERATOR)

    def sub(self, x: Any, y: Any, /) -> Any:
        refuse_bools(x, y)
        return apply2(Sub(), x, y, OPERATOR)

    def rsub(self, x: Any, y: Any, /) -> Any:
        return rsub(x, y if isinstance(y, (int, float, complex)) else _operand(y))

    def mul(self, x: Any, y: Any, /) -> Any:
        return apply2(Mul(), x, y, OPERATOR)

    def div(self, x: Any, y: Any, /) -> Any:
        return apply2(Div(), x, y, OPERATOR)

    def rdiv(self, x: Any, y: Any, /) -> Any:
        if isinstance(y, np.ndarray):
            return apply2(Div(), Tensor(y, share=True), x)
        return apply2(Mul(), apply1(Reciprocal(), x), y)

    def floordiv(self, x: Any, y: Any, /) -> Any:
        return apply2(FloorDivide(), x, y)

    def rfloordiv(self, x: Any, y: Any, /) -> Any:
        return apply2(FloorDivide(), y, x)

    def mod(self, x: Any, y: Any, /) -> Any:
        return modulo(x, y)

    def rmod(self, x: Any, y: Any, /) -> Any:
        return apply2(Remainder(), y, x)

    def pow(self, x: Any, y: Any, /) -> Any:
        return power(x, y)

    def rpow(self, x: Any, y: Any, /) -> Any:
        return power(y, x)

    def matmul(self, x: Any, y: Any, /) -> Any:
        return matmul(x, _matrix(y))

    def rmatmul(self, x: Any, y: Any, /) -> Any:
        return matmul(_matrix(y), x)

    def neg(self, x: Any, /) -> Any:
        return apply1(Neg(), x)

    def pos(self, x: Any, /) -> Any:
        return positive(x)

    def abs(self, x: Any, /) -> Any:
        return absolute(x)

    def invert(self, x: Any, /) -> Any:
        if x.array.dtype.kind not in "biu":
            raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
        return compare.bitwise_not(x)

    def eq(self, x: Any, y: Any, /) -> Any:
        return compare.eq(x, y)

    def ne(self, x: Any, y: Any, /) -> Any:
        return compare.ne(x, y)

    def lt(self, x: Any, y: Any, /) -> Any:
        return compare.lt(x, y)

    def le(self, x: Any, y: Any, /) -> Any:
        return compare.le(x, y)

    def gt(self, x: Any, y: Any, /) -> Any:
        return compare.gt(x, y)

    def ge(self, x: Any, y: Any, /) -> Any:
        return compare.ge(x, y)

    def and_(self, x: Any, y: Any, /) -> Any:
        return compare.bitwise_and(x, y)

    def or_(self, x: Any, y: Any, /) -> Any:
        return compare.bitwise_or(x, y)

    def xor(self, x: Any, y: Any, /) -> Any:
        return compare.bitwise_xor(x, y)

    def lshift(self, x: Any, y: Any, /) -> Any:
        return compare.bitwise_left_shift(x, y)

    def rshift(self, x: Any, y: Any, /) -> Any:
        return compare.bitwise_right_shift(x, y)

    def rlshift(self, x: Any, y: Any, /) -> Any:
        return compare.bitwise_left_shift(y, x)

    def rrshift(self, x: Any, y: Any, /) -> Any:
        return compare.bitwise_right_shift(y, x)

    def iadd(self, x: Any, y: Any, /) -> Any:
        return _written(x, self.add, y)

    def isub(self, x: Any, y: Any, /) -> Any:
        return _written(x, self.sub, y)

    def imul(self, x: Any, y: Any, /) -> Any:
        return _written(x, self.mul, y)

    def idiv(self, x: Any, y: Any, /) -> Any:
        return _written(x, self.div, y)

    def ifloordiv(self, x: Any, y: Any, /) -> Any:
        return _written(x, self.floordiv, y)

    def imod(self, x: Any, y: Any, /) -> Any:
        return _written(x, self.mod, y)

    def ipow(self, x: Any, y: Any, /) -> Any:
        return _written(x, self.pow, y)

    def iand(self, x: Any, y: Any, /) -> Any:
        return _written(x, self.and_, y)

    def ior(self, x: Any, y: Any, /) -> Any:
        return _written(x, self.or_, y)

    def ixor(self, x: Any, y: Any, /) -> Any:
        return _written(x, self.xor, y)

    def ilshift(self, x: Any, y: Any, /) -> Any:
        return _written(x, self.lshift, y)

    def irshift(self, x: Any, y: Any, /) -> Any:
        return _written(x, self.rshift, y)

    def getitem(self, x: Any, index: Any, /) -> Any:
        return getitem(x, index)

    def setitem(self, x: Any, index: Any, value: Any, /) -> None:
        setitem(x, index, value)

    def unbind(self, x: Any, /) -> Any:
        return unbind(x)

    def clone(self, x: Any, /) -> Any:
        return clone(x)

    def clone_like(self, x: Any, other: Any, /) -> Any:
        return clone_like(x, other)

    def sum_to(self, x: Any, shape: Any, /) -> Any:
        return sum_to(x, shape)

    def cast(self, x: Any, dtype: Any, /) -> Any:
        return ToCopy(dtype).on(x)


def plug_in() -> None:
    """Makes Tensor's operators work."""
    UPWARD.operators = TensorArithmetic()
