"""How collectives combine the numbers of several ranks: `ReduceOp`, as `torch.distributed.ReduceOp`."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any, ClassVar

import numpy as np

from retrograd.backends.base import backend_of
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


def supports_complex(op: Any) -> bool:
    """Whether a reduction is defined for complex numbers, which have no order.

    >>> supports_complex(ReduceOp.AVG), supports_complex(ReduceOp.MAX)
    (True, False)
    """
    return (op.op if isinstance(op, ReduceOp) else op) in _COMPLEX


_COMPLEX = (RedOpType.SUM, RedOpType.AVG, RedOpType.PREMUL_SUM)

# Names of the array library's functions.
COMBINE: dict[RedOpType, str] = {
    RedOpType.SUM: "add",
    RedOpType.AVG: "add",
    RedOpType.PREMUL_SUM: "add",
    RedOpType.PRODUCT: "multiply",
    RedOpType.MIN: "minimum",
    RedOpType.MAX: "maximum",
    RedOpType.BAND: "bitwise_and",
    RedOpType.BOR: "bitwise_or",
    RedOpType.BXOR: "bitwise_xor",
}
_HALVES = ("float16", "bfloat16")


def combine(parts: Sequence[Array], kind: RedOpType, out: Array, scratch: Array) -> None:
    """Writes into `out` what the parts of all ranks come to, in the order of the ranks.

    `scratch` is one of the first two parts, and is overwritten. Halves are added as float32 and rounded once.
    """
    if out.dtype.name in _HALVES:
        wide = [part.astype(np.float32) for part in parts]
        combine(wide, kind, wide[0], wide[0])
        out[...] = wide[0]
        return
    total, function = parts[0], getattr(backend_of(out), COMBINE[kind])
    for i, part in enumerate(parts[1:], 2):
        total = function(total, part, out=out if i == len(parts) else scratch)
    if kind is RedOpType.AVG:
        divide(out, len(parts))


def divide(total: Array, count: int) -> None:
    """Makes a mean of a sum, in its memory; whole numbers are rounded towards zero."""
    if total.dtype.kind in "iu":
        np.copyto(total, np.trunc(total / count), casting="unsafe")
    else:
        total /= count
