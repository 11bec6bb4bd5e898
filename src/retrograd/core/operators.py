"""Python's operators on Tensors: `Tensor.__mul__` calls `UPWARD.operators.mul`, which `ops/operators.py` has filled in.

See Note [Upward calls].
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import EllipsisType
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, overload

from retrograd.core.conversions import TensorConversions
from retrograd.core.upward import UPWARD
from retrograd.errors import OperandError
from retrograd.hints import mypyc_attr
from retrograd.values import Number, NumPy

if TYPE_CHECKING:
    from retrograd.core.tensor import Tensor

# What may stand between the brackets of `x[...]`.
Index: TypeAlias = "Tensor | NumPy | int | slice | EllipsisType | Sequence[Any] | None"


@mypyc_attr(allow_interpreted_subclasses=True)
class Operators:
    """What operators do to Tensors. Implemented in `ops/operators.py`."""

    def add(self, x: Any, y: Any, /) -> Any: ...
    def sub(self, x: Any, y: Any, /) -> Any: ...
    def mul(self, x: Any, y: Any, /) -> Any: ...
    def div(self, x: Any, y: Any, /) -> Any: ...
    def floordiv(self, x: Any, y: Any, /) -> Any: ...
    def mod(self, x: Any, y: Any, /) -> Any: ...
    def pow(self, x: Any, y: Any, /) -> Any: ...
    def matmul(self, x: Any, y: Any, /) -> Any: ...
    def eq(self, x: Any, y: Any, /) -> Any: ...
    def ne(self, x: Any, y: Any, /) -> Any: ...
    def lt(self, x: Any, y: Any, /) -> Any: ...
    def le(self, x: Any, y: Any, /) -> Any: ...
    def gt(self, x: Any, y: Any, /) -> Any: ...
    def ge(self, x: Any, y: Any, /) -> Any: ...
    def and_(self, x: Any, y: Any, /) -> Any: ...
    def or_(self, x: Any, y: Any, /) -> Any: ...
    def xor(self, x: Any, y: Any, /) -> Any: ...
    def lshift(self, x: Any, y: Any, /) -> Any: ...
    def rshift(self, x: Any, y: Any, /) -> Any: ...
    def rsub(self, x: Any, y: Any, /) -> Any: ...
    def rdiv(self, x: Any, y: Any, /) -> Any: ...
    def rfloordiv(self, x: Any, y: Any, /) -> Any: ...
    def rmod(self, x: Any, y: Any, /) -> Any: ...
    def rpow(self, x: Any, y: Any, /) -> Any: ...
    def rmatmul(self, x: Any, y: Any, /) -> Any: ...
    def rlshift(self, x: Any, y: Any, /) -> Any: ...
    def rrshift(self, x: Any, y: Any, /) -> Any: ...
    def iadd(self, x: Any, y: Any, /) -> Any: ...
    def isub(self, x: Any, y: Any, /) -> Any: ...
    def imul(self, x: Any, y: Any, /) -> Any: ...
    def idiv(self, x: Any, y: Any, /) -> Any: ...
    def ifloordiv(self, x: Any, y: Any, /) -> Any: ...
    def imod(self, x: Any, y: Any, /) -> Any: ...
    def ipow(self, x: Any, y: Any, /) -> Any: ...
    def iand(self, x: Any, y: Any, /) -> Any: ...
    def ior(self, x: Any, y: Any, /) -> Any: ...
    def ixor(self, x: Any, y: Any, /) -> Any: ...
    def ilshift(self, x: Any, y: Any, /) -> Any: ...
    def irshift(self, x: Any, y: Any, /) -> Any: ...
    def neg(self, x: Any, /) -> Any: ...
    def pos(self, x: Any, /) -> Any: ...
    def abs(self, x: Any, /) -> Any: ...
    def invert(self, x: Any, /) -> Any: ...
    def unbind(self, x: Any, /) -> Any: ...
    def getitem(self, x: Any, index: Any, /) -> Any: ...
    def setitem(self, x: Any, index: Any, value: Any, /) -> None: ...
    def clone(self, x: Any, /) -> Any: ...
    def clone_like(self, x: Any, other: Any, /) -> Any: ...
    def sum_to(self, x: Any, shape: Any, /) -> Any: ...
    def cast(self, x: Any, dtype: Any, /) -> Any: ...


@mypyc_attr(allow_interpreted_subclasses=True)
class TensorOperators(TensorConversions):
    """The operator half of a Tensor. An operand of a foreign type gives Python's turn to that type.

    The signatures that people see are overloads: a compiled method that is declared to return a Tensor could not return
    NotImplemented. mypy wants an in-place operator to be like the other one, and does not compare overloads well.
    """

    __array_priority__: ClassVar[int] = 1000  # `array + tensor` is the tensor's affair, not NumPy's

    @overload
    def __add__(self, other: Tensor | Number) -> Tensor: ...
    @overload
    def __add__(self, other: NumPy) -> Tensor: ...
    def __add__(self, other: Any) -> Any:
        try:
            return UPWARD.operators.add(self, other)
        except OperandError:
            return NotImplemented

    @overload
    def __sub__(self, other: Tensor | Number) -> Tensor: ...
    @overload
    def __sub__(self, other: NumPy) -> Tensor: ...
    def __sub__(self, other: Any) -> Any:
        try:
            return UPWARD.operators.sub(self, other)
        except OperandError:
            return NotImplemented

    @overload
    def __mul__(self, other: Tensor | Number) -> Tensor: ...
    @overload
    def __mul__(self, other: NumPy) -> Tensor: ...
    def __mul__(self, other: Any) -> Any:
        try:
            return UPWARD.operators.mul(self, other)
        except OperandError:
            return NotImplemented

    @overload
    def __truediv__(self, other: Tensor | Number) -> Tensor: ...
    @overload
    def __truediv__(self, other: NumPy) -> Tensor: ...
    def __truediv__(self, other: Any) -> Any:
        try:
            return UPWARD.operators.div(self, other)
        except OperandError:
            return NotImplemented

    @overload
    def __floordiv__(self, other: Tensor | Number) -> Tensor: ...
    @overload
    def __floordiv__(self, other: NumPy) -> Tensor: ...
    def __floordiv__(self, other: Any) -> Any:
        try:
            return UPWARD.operators.floordiv(self, other)
        except OperandError:
            return NotImplemented

    @overload
    def __mod__(self, other: Tensor | Number) -> Tensor: ...
    @overload
    def __mod__(self, other: NumPy) -> Tensor: ...
    def __mod__(self, other: Any) -> Any:
        try:
            return UPWARD.operators.mod(self, other)
        except OperandError:
            return NotImplemented

    @overload
    def __pow__(self, other: Tensor | Number) -> Tensor: ...
    @overload
    def __pow__(self, other: NumPy) -> Tensor: ...
    def __pow__(self, other: Any) -> Any:
        try:
            return UPWARD.operators.pow(self, other)
        except OperandError:
            return NotImplemented

    @overload
    def __matmul__(self, other: Tensor | Number) -> Tensor: ...
    @overload
    def __matmul__(self, other: NumPy) -> Tensor: ...
    def __matmul__(self, other: Any) -> Any:
        try:
            return UPWARD.operators.matmul(self, other)
        except OperandError:
            return NotImplemented

    @overload  # type: ignore[override]
    def __eq__(self, other: Tensor | Number) -> Tensor: ...
    @overload
    def __eq__(self, other: NumPy) -> Tensor: ...
    def __eq__(self, other: Any) -> Any:
        try:
            return UPWARD.operators.eq(self, other)
        except OperandError:
            return NotImplemented

    @overload  # type: ignore[override]
    def __ne__(self, other: Tensor | Number) -> Tensor: ...
    @overload
    def __ne__(self, other: NumPy) -> Tensor: ...
    def __ne__(self, other: Any) -> Any:
        try:
            return UPWARD.operators.ne(self, other)
        except OperandError:
            return NotImplemented

    @overload
    def __lt__(self, other: Tensor | Number) -> Tensor: ...
    @overload
    def __lt__(self, other: NumPy) -> Tensor: ...
    def __lt__(self, other: Any) -> Any:
        try:
            return UPWARD.operators.lt(self, other)
        except OperandError:
            return NotImplemented

    @overload
    def __le__(self, other: Tensor | Number) -> Tensor: ...
    @overload
    def __le__(self, other: NumPy) -> Tensor: ...
    def __le__(self, other: Any) -> Any:
        try:
            return UPWARD.operators.le(self, other)
        except OperandError:
            return NotImplemented

    @overload
    def __gt__(self, other: Tensor | Number) -> Tensor: ...
    @overload
    def __gt__(self, other: NumPy) -> Tensor: ...
    def __gt__(self, other: Any) -> Any:
        try:
            return UPWARD.operators.gt(self, other)
        except OperandError:
            return NotImplemented

    @overload
    def __ge__(self, other: Tensor | Number) -> Tensor: ...
    @overload
    def __ge__(self, other: NumPy) -> Tensor: ...
    def __ge__(self, other: Any) -> Any:
        try:
            return UPWARD.operators.ge(self, other)
        except OperandError:
            return NotImplemented

    @overload
    def __and__(self, other: Tensor | Number) -> Tensor: ...
    @overload
    def __and__(self, other: NumPy) -> Tensor: ...
    def __and__(self, other: Any) -> Any:
        try:
            return UPWARD.operators.and_(self, other)
        except OperandError:
            return NotImplemented

    @overload
    def __or__(self, other: Tensor | Number) -> Tensor: ...
    @overload
    def __or__(self, other: NumPy) -> Tensor: ...
    def __or__(self, other: Any) -> Any:
        try:
            return UPWARD.operators.or_(self, other)
        except OperandError:
            return NotImplemented

    @overload
    def __xor__(self, other: Tensor | Number) -> Tensor: ...
    @overload
    def __xor__(self, other: NumPy) -> Tensor: ...
    def __xor__(self, other: Any) -> Any:
        try:
            return UPWARD.operators.xor(self, other)
        except OperandError:
            return NotImplemented

    @overload
    def __lshift__(self, other: Tensor | Number) -> Tensor: ...
    @overload
    def __lshift__(self, other: NumPy) -> Tensor: ...
    def __lshift__(self, other: Any) -> Any:
        try:
            return UPWARD.operators.lshift(self, other)
        except OperandError:
            return NotImplemented

    @overload
    def __rshift__(self, other: Tensor | Number) -> Tensor: ...
    @overload
    def __rshift__(self, other: NumPy) -> Tensor: ...
    def __rshift__(self, other: Any) -> Any:
        try:
            return UPWARD.operators.rshift(self, other)
        except OperandError:
            return NotImplemented

    @overload
    def __rsub__(self, other: Tensor | Number) -> Tensor: ...
    @overload
    def __rsub__(self, other: NumPy) -> Tensor: ...
    def __rsub__(self, other: Any) -> Any:
        try:
            return UPWARD.operators.rsub(self, other)
        except OperandError:
            return NotImplemented

    @overload
    def __rtruediv__(self, other: Tensor | Number) -> Tensor: ...
    @overload
    def __rtruediv__(self, other: NumPy) -> Tensor: ...
    def __rtruediv__(self, other: Any) -> Any:
        try:
            return UPWARD.operators.rdiv(self, other)
        except OperandError:
            return NotImplemented

    @overload
    def __rfloordiv__(self, other: Tensor | Number) -> Tensor: ...
    @overload
    def __rfloordiv__(self, other: NumPy) -> Tensor: ...
    def __rfloordiv__(self, other: Any) -> Any:
        try:
            return UPWARD.operators.rfloordiv(self, other)
        except OperandError:
            return NotImplemented

    @overload
    def __rmod__(self, other: Tensor | Number) -> Tensor: ...
    @overload
    def __rmod__(self, other: NumPy) -> Tensor: ...
    def __rmod__(self, other: Any) -> Any:
        try:
            return UPWARD.operators.rmod(self, other)
        except OperandError:
            return NotImplemented

    @overload
    def __rpow__(self, other: Tensor | Number) -> Tensor: ...
    @overload
    def __rpow__(self, other: NumPy) -> Tensor: ...
    def __rpow__(self, other: Any) -> Any:
        try:
            return UPWARD.operators.rpow(self, other)
        except OperandError:
            return NotImplemented

    @overload
    def __rmatmul__(self, other: Tensor | Number) -> Tensor: ...
    @overload
    def __rmatmul__(self, other: NumPy) -> Tensor: ...
    def __rmatmul__(self, other: Any) -> Any:
        try:
            return UPWARD.operators.rmatmul(self, other)
        except OperandError:
            return NotImplemented

    @overload
    def __rlshift__(self, other: Tensor | Number) -> Tensor: ...
    @overload
    def __rlshift__(self, other: NumPy) -> Tensor: ...
    def __rlshift__(self, other: Any) -> Any:
        try:
            return UPWARD.operators.rlshift(self, other)
        except OperandError:
            return NotImplemented

    @overload
    def __rrshift__(self, other: Tensor | Number) -> Tensor: ...
    @overload
    def __rrshift__(self, other: NumPy) -> Tensor: ...
    def __rrshift__(self, other: Any) -> Any:
        try:
            return UPWARD.operators.rrshift(self, other)
        except OperandError:
            return NotImplemented

    @overload
    def __iadd__(self, other: Tensor | Number) -> Tensor: ...
    @overload
    def __iadd__(self, other: NumPy) -> Tensor: ...
    def __iadd__(self, other: Any) -> Any:  # type: ignore[misc]
        try:
            return UPWARD.operators.iadd(self, other)
        except OperandError:
            return NotImplemented

    @overload
    def __isub__(self, other: Tensor | Number) -> Tensor: ...
    @overload
    def __isub__(self, other: NumPy) -> Tensor: ...
    def __isub__(self, other: Any) -> Any:  # type: ignore[misc]
        try:
            return UPWARD.operators.isub(self, other)
        except OperandError:
            return NotImplemented

    @overload
    def __imul__(self, other: Tensor | Number) -> Tensor: ...
    @overload
    def __imul__(self, other: NumPy) -> Tensor: ...
    def __imul__(self, other: Any) -> Any:  # type: ignore[misc]
        try:
            return UPWARD.operators.imul(self, other)
        except OperandError:
            return NotImplemented

    @overload
    def __itruediv__(self, other: Tensor | Number) -> Tensor: ...
    @overload
    def __itruediv__(self, other: NumPy) -> Tensor: ...
    def __itruediv__(self, other: Any) -> Any:  # type: ignore[misc]
        try:
            return UPWARD.operators.idiv(self, other)
        except OperandError:
            return NotImplemented

    @overload
    def __ifloordiv__(self, other: Tensor | Number) -> Tensor: ...
    @overload
    def __ifloordiv__(self, other: NumPy) -> Tensor: ...
    def __ifloordiv__(self, other: Any) -> Any:  # type: ignore[misc]
        try:
            return UPWARD.operators.ifloordiv(self, other)
        except OperandError:
            return NotImplemented

    @overload
    def __imod__(self, other: Tensor | Number) -> Tensor: ...
    @overload
    def __imod__(self, other: NumPy) -> Tensor: ...
    def __imod__(self, other: Any) -> Any:  # type: ignore[misc]
        try:
            return UPWARD.operators.imod(self, other)
        except OperandError:
            return NotImplemented

    @overload
    def __ipow__(self, other: Tensor | Number) -> Tensor: ...
    @overload
    def __ipow__(self, other: NumPy) -> Tensor: ...
    def __ipow__(self, other: Any) -> Any:  # type: ignore[misc]
        try:
            return UPWARD.operators.ipow(self, other)
        except OperandError:
            return NotImplemented

    @overload
    def __iand__(self, other: Tensor | Number) -> Tensor: ...
    @overload
    def __iand__(self, other: NumPy) -> Tensor: ...
    def __iand__(self, other: Any) -> Any:  # type: ignore[misc]
        try:
            return UPWARD.operators.iand(self, other)
        except OperandError:
            return NotImplemented

    @overload
    def __ior__(self, other: Tensor | Number) -> Tensor: ...
    @overload
    def __ior__(self, other: NumPy) -> Tensor: ...
    def __ior__(self, other: Any) -> Any:  # type: ignore[misc]
        try:
            return UPWARD.operators.ior(self, other)
        except OperandError:
            return NotImplemented

    @overload
    def __ixor__(self, other: Tensor | Number) -> Tensor: ...
    @overload
    def __ixor__(self, other: NumPy) -> Tensor: ...
    def __ixor__(self, other: Any) -> Any:  # type: ignore[misc]
        try:
            return UPWARD.operators.ixor(self, other)
        except OperandError:
            return NotImplemented

    @overload
    def __ilshift__(self, other: Tensor | Number) -> Tensor: ...
    @overload
    def __ilshift__(self, other: NumPy) -> Tensor: ...
    def __ilshift__(self, other: Any) -> Any:  # type: ignore[misc]
        try:
            return UPWARD.operators.ilshift(self, other)
        except OperandError:
            return NotImplemented

    @overload
    def __irshift__(self, other: Tensor | Number) -> Tensor: ...
    @overload
    def __irshift__(self, other: NumPy) -> Tensor: ...
    def __irshift__(self, other: Any) -> Any:  # type: ignore[misc]
        try:
            return UPWARD.operators.irshift(self, other)
        except OperandError:
            return NotImplemented

    @overload
    def __radd__(self, other: Tensor | Number) -> Tensor: ...
    @overload
    def __radd__(self, other: NumPy) -> Tensor: ...
    def __radd__(self, other: Any) -> Any:
        try:
            return UPWARD.operators.add(self, other)
        except OperandError:
            return NotImplemented

    @overload
    def __rmul__(self, other: Tensor | Number) -> Tensor: ...
    @overload
    def __rmul__(self, other: NumPy) -> Tensor: ...
    def __rmul__(self, other: Any) -> Any:
        try:
            return UPWARD.operators.mul(self, other)
        except OperandError:
            return NotImplemented

    @overload
    def __rand__(self, other: Tensor | Number) -> Tensor: ...
    @overload
    def __rand__(self, other: NumPy) -> Tensor: ...
    def __rand__(self, other: Any) -> Any:
        try:
            return UPWARD.operators.and_(self, other)
        except OperandError:
            return NotImplemented

    @overload
    def __ror__(self, other: Tensor | Number) -> Tensor: ...
    @overload
    def __ror__(self, other: NumPy) -> Tensor: ...
    def __ror__(self, other: Any) -> Any:
        try:
            return UPWARD.operators.or_(self, other)
        except OperandError:
            return NotImplemented

    @overload
    def __rxor__(self, other: Tensor | Number) -> Tensor: ...
    @overload
    def __rxor__(self, other: NumPy) -> Tensor: ...
    def __rxor__(self, other: Any) -> Any:
        try:
            return UPWARD.operators.xor(self, other)
        except OperandError:
            return NotImplemented

    def __hash__(self) -> int:
        return id(self)

    def __neg__(self) -> Tensor:
        result: Tensor = UPWARD.operators.neg(self)
        return result

    def __pos__(self) -> Tensor:
        result: Tensor = UPWARD.operators.pos(self)
        return result

    def __abs__(self) -> Tensor:
        result: Tensor = UPWARD.operators.abs(self)
        return result

    def __invert__(self) -> Tensor:
        result: Tensor = UPWARD.operators.invert(self)
        return result

    @overload
    def __getitem__(self, index: int | slice) -> Tensor: ...
    @overload
    def __getitem__(self, index: Index) -> Tensor: ...
    def __getitem__(self, index: Any) -> Any:
        return UPWARD.operators.getitem(self, index)  # anything, where a class in the index has it so

    def __setitem__(self, index: Index, value: Tensor | Number | NumPy) -> None:
        UPWARD.operators.setitem(self, index, value)

    def __delitem__(self, index: Any) -> None:
        raise TypeError("Tensor does not support deleting items")

    def __iter__(self) -> Iterator[Tensor]:
        if self.array.ndim == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(UPWARD.operators.unbind(self))

    def __contains__(self, element: Any) -> bool:
        if isinstance(element, (TensorOperators, bool, int, float, complex)):
            return bool(UPWARD.operators.eq(self, element).any().item())
        raise RuntimeError(
            f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}."
        )
