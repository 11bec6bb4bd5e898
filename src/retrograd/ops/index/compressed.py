"""The rows of a sparse matrix's elements: a number for each element, or where each row begins."""

from __future__ import annotations

from operator import index

from retrograd.core.tensor import Tensor
from retrograd.errors import ShapeError, unsupported_dtype
from retrograd.ops.common import require_tensor
from retrograd.ops.reduce.unique import bucketize
from retrograd.ops.register import public
from retrograd.ops.shape.join import stack
from retrograd.ops.tensor.create import arange

# Graph libraries keep edges in both forms, though there are no sparse tensors here.


@public("_convert_indices_from_coo_to_csr")
def rows_to_starts(input: Tensor, size: int, *, out_int32: bool = False) -> Tensor:
    """Where each of `size` rows begins, and the last one ends, of the sorted row numbers of elements.

    >>> import retrograd as rg
    >>> rg._convert_indices_from_coo_to_csr(rg.tensor([0, 0, 2]), 3)
    tensor([0, 2, 2, 3])
    """
    rows = require_tensor("_convert_indices_from_coo_to_csr", "input", 1, input)
    if rows.array.ndim > 1:
        raise ShapeError(
            f"Input is supposed to be a vector, but got {rows.array.ndim} dimensional tensor. Give one row number for "
            "each element."
        )
    if rows.array.dtype.kind not in "iu":
        raise unsupported_dtype("convert_indices_from_coo_to_csr_cpu", rows.array.dtype)
    numbers = arange(index(size) + 1, device=rows.device)
    return bucketize(numbers, rows.reshape(-1), out_int32=out_int32)


@public("_convert_indices_from_csr_to_coo")
def starts_to_rows(
    crow_indices: Tensor, col_indices: Tensor, *, out_int32: bool = False, transpose: bool = False
) -> Tensor:
    """The row and the column of each element, of where rows begin and of columns; `transpose` exchanges the two.

    Those of a batch of matrices have the number of the matrix before them.

    >>> import retrograd as rg
    >>> rg._convert_indices_from_csr_to_coo(rg.tensor([0, 2, 2, 3]), rg.tensor([1, 0, 2]))
    tensor([[0, 0, 2],
            [1, 0, 2]])
    """
    starts = require_tensor("_convert_indices_from_csr_to_coo", "crow_indices", 1, crow_indices)
    columns = require_tensor("_convert_indices_from_csr_to_coo", "col_indices", 2, col_indices)
    if starts.array.dtype.kind not in "iu":
        raise unsupported_dtype("convert_indices_from_csr_to_coo_cpu", starts.array.dtype)
    counts = starts.diff()
    numbers = (counts > -1).nonzero(
        as_tuple=True
    )  # of each row: its matrix in the batch, and where it is there
    *batch, rows = [number.repeat_interleave(counts.reshape(-1)) for number in numbers]
    pair = [columns.reshape(-1).long(), rows] if transpose else [rows, columns.reshape(-1).long()]
    found = stack([*batch, *pair])
    return found.int() if out_int32 else found
