"""Comparisons and logic in place: ones and zeros in the dtype of the tensor."""

from __future__ import annotations

from typing import Any, ClassVar

from retrograd.backends.base import Backend, backend_of
from retrograd.backends.casts import cast
from retrograd.core.apply import apply1, apply_n
from retrograd.core.inplace import check_writable, write_back
from retrograd.core.modes import current
from retrograd.core.op import Variadic
from retrograd.core.tensor import Tensor
from retrograd.core.variant import variant
from retrograd.ops.common import as_value, plain, require_tensor, zero_like
from retrograd.ops.elementwise.compare import (
    eq,
    ge,
    gt,
    le,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    lt,
    ne,
)
from retrograd.ops.inplace.write import Replaced
from retrograd.ops.register import public
from retrograd.values import Array, Number


class ReplacedByBoth(Variadic):
    """Given values in place of x, which come of x and y; neither gets a gradient but zeros."""

    params: ClassVar[tuple[str, ...]] = ("values",)
    array_params: ClassVar[tuple[str, ...]] = ("values",)

    def __init__(self, values: Array) -> None:
        self.values = values

    def forward(self, xp: Backend, xs: Any) -> Any:
        return self.values

    def vjp(self, gs: Any, xs: Any, outs: Any) -> Any:
        return [zero_like(gs[0]) if self.needs(i) else None for i in range(2)]

    def jvp(self, ts: Any, xs: Any, outs: Any) -> Any:
        given = next(t for t in ts if t is not None)
        return as_value(backend_of(plain(given)).zeros(self.values.shape, given.dtype), given)


EqNumber = variant(Replaced, "EqBackward0", "1 where x equals a number, else 0")


NeNumber = variant(Replaced, "NeBackward0", "1 where x differs from a number, else 0")


LtNumber = variant(Replaced, "LtBackward0", "1 where x is below a number, else 0")


LeNumber = variant(Replaced, "LeBackward0", "1 where x is not above a number, else 0")


GtNumber = variant(Replaced, "GtBackward0", "1 where x is above a number, else 0")


GeNumber = variant(Replaced, "GeBackward0", "1 where x is not below a number, else 0")


EqTensor = variant(ReplacedByBoth, "EqBackward1", "1 where x equals y, else 0")


NeTensor = variant(ReplacedByBoth, "NeBackward1", "1 where x differs from y, else 0")


LtTensor = variant(ReplacedByBoth, "LtBackward1", "1 where x is below y, else 0")


LeTensor = variant(ReplacedByBoth, "LeBackward1", "1 where x is not above y, else 0")


GtTensor = variant(ReplacedByBoth, "GtBackward1", "1 where x is above y, else 0")


GeTensor = variant(ReplacedByBoth, "GeBackward1", "1 where x is not below y, else 0")


COMPARISONS: dict[str, tuple[Any, Any]] = {
    "eq_": (EqNumber, EqTensor), "ne_": (NeNumber, NeTensor), "lt_": (LtNumber, LtTensor),
    "le_": (LeNumber, LeTensor), "gt_": (GtNumber, GtTensor), "ge_": (GeNumber, GeTensor),
}  # fmt: skip


def _compare(name: str, compare: Any, input: Any, other: Any) -> Tensor:
    """Writes ones and zeros, in the dtype of the tensor."""
    x = require_tensor(name, "input", 1, input)
    check_writable(x)
    result = compare(x, other)
    tracked = x.requires_grad or (isinstance(other, Tensor) and other.requires_grad)
    if result.array.shape == x.array.shape and tracked and current().grad_enabled:
        with_number, with_tensor = COMPARISONS[name]
        values = cast(result.array, x.array.dtype)
        if isinstance(other, Tensor):
            result = apply_n(with_tensor(values), (x, other))
        else:
            result = apply1(with_number(values), x)
    return write_back(x, result)


@public("Tensor.eq_")
def eq_(self: Tensor, other: Tensor | Number) -> Tensor:
    """Ones where the tensor is equal to `other` and zeros elsewhere, in place."""
    return _compare("eq_", eq, self, other)


@public("Tensor.ne_", "Tensor.not_equal_")
def ne_(self: Tensor, other: Tensor | Number) -> Tensor:
    """Ones where the tensor is other than `other` and zeros elsewhere, in place."""
    return _compare("ne_", ne, self, other)


@public("Tensor.lt_", "Tensor.less_")
def lt_(self: Tensor, other: Tensor | Number) -> Tensor:
    """Ones where the tensor is below `other` and zeros elsewhere, in place."""
    return _compare("lt_", lt, self, other)


@public("Tensor.le_", "Tensor.less_equal_")
def le_(self: Tensor, other: Tensor | Number) -> Tensor:
    """Ones where the tensor is not above `other` and zeros elsewhere, in place."""
    return _compare("le_", le, self, other)


@public("Tensor.gt_", "Tensor.greater_")
def gt_(self: Tensor, other: Tensor | Number) -> Tensor:
    """Ones where the tensor is above `other` and zeros elsewhere, in place."""
    return _compare("gt_", gt, self, other)


@public("Tensor.ge_", "Tensor.greater_equal_")
def ge_(self: Tensor, other: Tensor | Number) -> Tensor:
    """Ones where the tensor is not below `other` and zeros elsewhere, in place."""
    return _compare("ge_", ge, self, other)


def _untracked(name: str, logic: Any, input: Any, *others: Any) -> Tensor:
    """Writes a result that autograd takes no notice of: even a leaf can be written so."""
    x = require_tensor(name, "input", 1, input)
    state = current()
    was_enabled, state.grad_enabled = state.grad_enabled, False
    try:
        check_writable(x)
        return write_back(x, logic(x, *others))
    finally:
        state.grad_enabled = was_enabled


@public("Tensor.logical_not_")
def logical_not_(self: Tensor) -> Tensor:
    """`logical_not`, in place; the history stays as it is."""
    return _untracked("logical_not_", logical_not, self)


@public("Tensor.logical_and_")
def logical_and_(self: Tensor, other: Tensor) -> Tensor:
    """`logical_and`, in place; the history stays as it is."""
    return _untracked("logical_and_", logical_and, self, other)


@public("Tensor.logical_or_")
def logical_or_(self: Tensor, other: Tensor) -> Tensor:
    """`logical_or`, in place; the history stays as it is."""
    return _untracked("logical_or_", logical_or, self, other)


@public("Tensor.logical_xor_")
def logical_xor_(self: Tensor, other: Tensor) -> Tensor:
    """`logical_xor`, in place; the history stays as it is."""
    return _untracked("logical_xor_", logical_xor, self, other)
