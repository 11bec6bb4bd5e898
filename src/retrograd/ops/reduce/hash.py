"""`hash_tensor`: numbers from which a tensor can be told from others."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from retrograd.backends.base import Backend, stands_for_many
from retrograd.backends.casts import cast
from retrograd.backends.dtypes import SCALAR_NAMES
from retrograd.core.apply import apply1
from retrograd.core.op import Unary
from retrograd.core.tensor import Tensor
from retrograd.errors import DtypeError, unsupported_dtype
from retrograd.ops.common import deliver, require_tensor
from retrograd.ops.reduce.sums import axes_of, dims_given
from retrograd.ops.register import public
from retrograd.ops.shape.reshape import Dims
from retrograd.values import Array, Axis

_BITS = np.dtype("uint64")


class HashTensor(Unary):
    """the bits of all numbers, as doubles or as long integers, by exclusive or"""

    in_rows: ClassVar[bool] = True
    differentiable: ClassVar[bool] = False
    params: ClassVar[tuple[str, ...]] = ("axis", "keepdims")

    def __init__(self, axis: Axis, keepdims: bool) -> None:
        self.axis = axis
        self.keepdims = keepdims

    def forward(self, xp: Backend, x: Array) -> Array:
        wide = cast(x, np.dtype("float64")).view(_BITS) if x.dtype.kind == "f" else x.astype(_BITS)
        every: Any = xp.bitwise_xor
        return xp.asarray(every.reduce(wide, axis=self.axis, keepdims=self.keepdims), _BITS)

    def function_name(self) -> str:
        return "hash_tensor"


@public("hash_tensor", method=True)
def hash_tensor(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    mode: int = 0,
    out: Tensor | None = None,
    **numpy: Any,
) -> Tensor:
    """A number for all elements, or for those along `dim`, from which they can be told from others: an int of 64 bits.

    It is the exclusive or of the elements' bits, as doubles or as integers of 64 bits, and so does not depend on their
    order.

    Args:
        mode: 0, which is the only one.

    >>> import retrograd as rg
    >>> rg.hash_tensor(rg.tensor([1, 2, 4]))
    tensor(7, dtype=torch.uint64)
    """
    dim, keepdim = dims_given("hash_tensor", dim, keepdim, numpy)
    x = require_tensor("hash_tensor", "input", 1, input)
    if mode != 0:
        raise RuntimeError(f"Unknown hash_tensor mode: {mode}")
    if x.array.dtype.kind == "c":
        raise unsupported_dtype("xor_sum_cpu", x.array.dtype, "hash the real and the imaginary part.")
    if dim is None and not x.array.size and not stands_for_many(x.array):
        raise RuntimeError(
            "hash_tensor: Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim "
            "with the 'dim' argument."
        )
    axis = axes_of(dim, x.array.ndim)
    for d in axis if isinstance(axis, tuple) and not x.array.size else ():
        if not x.array.shape[d]:
            raise IndexError(f"hash_tensor: Expected reduction dim {d} to have non-zero size.")
    if out is not None and out.array.dtype != _BITS:
        raise DtypeError(f"Expected result to be of dtype uint64, but got {SCALAR_NAMES[out.array.dtype]}")
    return deliver(apply1(HashTensor(axis, bool(keepdim)), x), out)
