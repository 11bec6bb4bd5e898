"""Products of groups: matrices of several lengths, side by side in one, each times a matrix of its own."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from retrograd.backends.base import Backend
from retrograd.backends.dtypes import C_NAMES, SCALAR_NAMES, as_dtype
from retrograd.core.apply import apply2
from retrograd.core.families import Bilinear
from retrograd.core.tensor import Tensor
from retrograd.errors import DtypeError, ShapeError
from retrograd.ops.common import require_tensor
from retrograd.ops.register import public
from retrograd.values import Array, DType

Ends = tuple[int, ...]


class GroupedMm(Bilinear):
    """products of groups, which end at `ends` in the dimension that a matrix shares with no stack; or of two stacks"""

    params: ClassVar[tuple[str, ...]] = ("ends",)

    def __init__(self, ends: Ends) -> None:
        self.ends = ends

    def forward(self, xp: Backend, x: Array, y: Array) -> Array:
        first, second = x.ndim == 3, y.ndim == 3
        if first and second:
            return x @ y
        stacks = (len(self.ends),) if not first and not second else ()
        out = xp.zeros((*stacks, x.shape[-2], y.shape[-1]), x.dtype)
        start = 0
        for i, end in enumerate(self.ends):
            if first:
                out[:, start:end] = x[i] @ y[:, start:end]
            elif second:
                out[start:end] = x[start:end] @ y[i]
            else:
                out[i] = x[:, start:end] @ y[start:end]
            start = end
        return out

    def transpose(self, i: int, g: Any, x: Any, y: Any) -> Any:
        """Products of groups again: of the gradient and the other operand, of which one is turned."""
        turned = (x if i else y).swapaxes(-2, -1)
        return GroupedMm(self.ends).on(g, turned) if i == 0 else GroupedMm(self.ends).on(turned, g)


@public("nn.functional.grouped_mm", "_grouped_mm")
def grouped_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    *,
    offs: Tensor | None = None,
    bias: Tensor | None = None,
    out_dtype: DType | None = None,
) -> Tensor:
    """Each group of rows of `mat_a` times the matrix of `mat_b` that is its own, as experts take shares of a batch.

    Where `mat_b` is one matrix too, groups are those of the dimension that the two share, and the products are a stack;
    where `mat_a` is the stack, they are groups of columns of `mat_b`. Two stacks are multiplied as by `bmm`.

    Args:
        offs: where each group ends, as a tensor of int32. Rows behind the last one give zeros.
        bias: must be None.
        out_dtype: must be the dtype of the matrices.

    >>> import retrograd as rg
    >>> x, experts = rg.ones(3, 2), rg.stack([rg.eye(2), 5 * rg.eye(2)])
    >>> rg.nn.functional.grouped_mm(x, experts, offs=rg.tensor([1, 3], dtype=rg.int32))
    tensor([[1., 1.],
            [5., 5.],
            [5., 5.]])
    """
    x, y = require_tensor("grouped_mm", "mat_a", 1, mat_a), require_tensor("grouped_mm", "mat_b", 2, mat_b)
    _check_dtypes(x, y, bias, out_dtype)
    found: Tensor = apply2(GroupedMm(_ends(x, y, offs)), x, y)
    return found


def _check_dtypes(x: Tensor, y: Tensor, bias: Any, out_dtype: Any) -> None:
    dtype = x.array.dtype
    if dtype.kind != "f" or dtype.itemsize > 4:
        raise DtypeError(
            f"Expected mat_a to be Float32, BFloat16 or Float16 matrix, got {SCALAR_NAMES[dtype]}"
        )
    if y.array.dtype != dtype:
        raise DtypeError(
            f"expected m1 and m2 to have the same dtype, but got: {C_NAMES[dtype]} != {C_NAMES[y.array.dtype]}"
        )
    if bias is not None:
        raise RuntimeError("Bias not supported yet: add it to the result")
    if out_dtype is not None and as_dtype(out_dtype) != dtype:
        raise DtypeError("Grouped gemm output dtype must match `mat_a` dtype")


def _ends(x: Tensor, y: Tensor, offs: Any) -> Ends:
    """Where the groups end; of two stacks there are none."""
    a, b = x.array.shape, y.array.shape
    for name, shape in (("mat_a", a), ("mat_b", b)):
        if len(shape) not in (2, 3):
            raise ShapeError(f"{name} has to be 2 or 3d")
    if (offs is None) != (len(a) == len(b) == 3):
        raise RuntimeError(
            "Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d"
        )
    if a[-1] != b[-2]:
        raise ShapeError(
            f"contraction dimension of mat_a and mat_b must match, but they are {a[-1]} and {b[-2]}"
        )
    if offs is None:
        if a[0] != b[0]:
            raise ShapeError(f"batched dimension has to match, but there are {a[0]} and {b[0]} matrices")
        return ()
    given = require_tensor("grouped_mm", "offs", 3, offs).array
    if given.ndim != 1:
        raise ShapeError("offs has to be 1D")
    if given.dtype != np.int32:
        raise DtypeError("Offsets have to be int32")
    stack = a if len(a) == 3 else b
    if len(stack) == 3 and stack[0] != given.size:
        raise ShapeError(f"matrix batch sizes have to match: {stack[0]} matrices for {given.size} groups")
    return tuple(given.tolist())
