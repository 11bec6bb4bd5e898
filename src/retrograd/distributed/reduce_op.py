"""How collectives combine the numbers of several ranks: `ReduceOp`, as `torch.distributed.ReduceOp`."""

from __future__ import annotations

from enum import Enum
from typing import Any, ClassVar

import numpy as np

from retrograd.values import Array


class RedOpType(Enum):
    """The kinds of reductions; `ReduceOp.SUM` is one of them."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8

    def __int__(self) -> int:
        return int(self.value)


class ReduceOp:
    """A reduction, with the factor that `PREMUL_SUM` multiplies by before it adds.

    >>> ReduceOp.SUM
    <RedOpType.SUM: 0>
    >>> ReduceOp(ReduceOp.MAX) == ReduceOp.MAX
    True
    """

    SUM: ClassVar = RedOpType.SUM
    AVG: ClassVar = RedOpType.AVG
    PRODUCT: ClassVar = RedOpType.PRODUCT
    MIN: ClassVar = RedOpType.MIN
    MAX: ClassVar = RedOpType.MAX
    BAND: ClassVar = RedOpType.BAND
    BOR: ClassVar = RedOpType.BOR
    BXOR: ClassVar = RedOpType.BXOR
    PREMUL_SUM: ClassVar = RedOpType.PREMUL_SUM

    def __init__(self, op: RedOpType, factor: Any = None) -> None:
        self.op = op
        self.factor = factor

    def __eq__(self, other: object) -> bool:
        return self.op is (other.op if isinstance(other, ReduceOp) else other)

    def __hash__(self) -> int:
        return hash(self.op)


setattr(ReduceOp, "RedOpType", RedOpType)  # noqa: B010 - as an attribute of the class, it would hide the type


def premul_sum(factor: Any) -> ReduceOp:
    """The reduction that multiplies by a factor, a number or a tensor of one element, and adds."""
    return ReduceOp(RedOpType.PREMUL_SUM, factor)


COMBINE: dict[RedOpType, Any] = {
    RedOpType.SUM: np.add,
    RedOpType.AVG: np.add,
    RedOpType.PREMUL_SUM: np.add,
    RedOpType.PRODUCT: np.multiply,
    RedOpType.MIN: np.minimum,
    RedOpType.MAX: np.maximum,
    RedOpType.BAND: np.bitwise_and,
    RedOpType.BOR: np.bitwise_or,
    RedOpType.BXOR: np.bitwise_xor,
}
_HALVES = ("float16", "bfloat16")


def combined(parts: list[Array], kind: RedOpType) -> Array:
    """What the parts of all ranks come to, in the order of the ranks. Halves are added as float32 and rounded once."""
    dtype = parts[0].dtype
    wide = np.dtype("float32") if dtype.name in _HALVES else dtype
    total = parts[0].astype(wide, copy=True)
    for part in parts[1:]:
        COMBINE[kind](total, part.astype(wide, copy=False), out=total)
    if kind is RedOpType.AVG:
        divide(total, len(parts))
    return total.astype(dtype, copy=False)


def divide(total: Array, count: int) -> None:
    """Makes a mean of a sum, in its memory; whole numbers are rounded towards zero."""
    if total.dtype.kind in "iu":
        np.copyto(total, np.trunc(total / count), casting="unsafe")
    else:
        total /= count
