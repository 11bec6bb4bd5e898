"""Indexing, gathering, assignment: value, gradient and second-order gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from .derivatives import derivatives
from .harness import attempt, program

VECTOR = [1.0, -2.0, 3.0, 0.5, 4.0]
MATRIX = [[1.0, -2.0, 3.0], [0.5, 4.0, -1.5]]
CUBE = [[[1.0, 2.0], [3.0, -4.0]], [[0.5, 6.0], [-7.0, 8.0]]]


@program()
def integers(torch: Any) -> Any:
    forms = (
        lambda x: x[0],
        lambda x: x[-1],
        lambda x: x[1, 0],
        lambda x: x[-1, -1, 0],
        lambda x: x[np.int64(1)],
    )
    return [derivatives(torch, f, CUBE) for f in forms]


@program()
def slices(torch: Any) -> Any:
    forms = (
        lambda x: x[1:], lambda x: x[:-1], lambda x: x[::2], lambda x: x[1:4:2], lambda x: x[-3:], lambda x: x[10:],
        lambda x: x[:], lambda x: x[3:1],
    )  # fmt: skip
    return [derivatives(torch, f, VECTOR) for f in forms]


@program()
def slices_of_several_dims(torch: Any) -> Any:
    forms = lambda x: x[:, 1:], lambda x: x[0, :2], lambda x: x[:1, ::2], lambda x: x[1:, -1]
    return [derivatives(torch, f, MATRIX) for f in forms]


@program()
def none_and_ellipsis(torch: Any) -> Any:
    forms = (
        lambda x: x[None], lambda x: x[:, None], lambda x: x[..., 0], lambda x: x[0, ...], lambda x: x[...],
        lambda x: x[..., None, 1], lambda x: x[None, ..., None],
    )  # fmt: skip
    return [derivatives(torch, f, CUBE) for f in forms]


@program()
def lists_and_index_tensors(torch: Any) -> Any:
    i = torch.tensor([0, 2, 2, -1])
    forms = (
        lambda x: x[i],
        lambda x: x[[3, 0]],
        lambda x: x[torch.tensor([[0, 1], [2, 2]])],
        lambda x: x[torch.tensor(1)],
    )
    return [derivatives(torch, f, VECTOR) for f in forms]


@program()
def several_index_tensors(torch: Any) -> Any:
    i, j = torch.tensor([0, 1, 1]), torch.tensor([2, 0, 0])
    forms = (
        lambda x: x[i, j],
        lambda x: x[:, j],
        lambda x: x[i],
        lambda x: x[i[:, None], j],
        lambda x: x[[0, 1], [1, 2]],
    )
    return [derivatives(torch, f, MATRIX) for f in forms]


@program()
def boolean_masks(torch: Any) -> Any:
    row, full = torch.tensor([True, False]), torch.tensor(MATRIX) > 0
    forms = (
        lambda x: x[row],
        lambda x: x[full],
        lambda x: x[:, torch.tensor([True, False, True])],
        lambda x: x[x > 1],
    )
    return [derivatives(torch, f, MATRIX) for f in forms]


@program()
def masks_that_select_nothing(torch: Any) -> Any:
    x = torch.tensor(VECTOR)
    return x[x > 100], x[torch.zeros(5, dtype=torch.bool)], x[[]], x[torch.tensor([], dtype=torch.int64)]


@program()
def mixed_indices(torch: Any) -> Any:
    i = torch.tensor([1, 0, 1])
    forms = (
        lambda x: x[0, i], lambda x: x[i, 0], lambda x: x[:, i, 0], lambda x: x[i, :, i], lambda x: x[..., i],
        lambda x: x[i, None, 1:], lambda x: x[torch.tensor([True, False]), i[:1]],
    )  # fmt: skip
    return [derivatives(torch, f, CUBE) for f in forms]


@program()
def indices_of_other_kinds(torch: Any) -> Any:
    x = torch.tensor(VECTOR)
    return (
        x[np.array([0, 2])],
        x[torch.tensor([1, 2], dtype=torch.int32)],
        x[torch.tensor(True)],
        x[True],
        x[(1,)],
    )


@program()
def repeated_indices_accumulate_gradient(torch: Any) -> Any:
    x = torch.zeros(3, requires_grad=True)
    x[torch.tensor([0, 0, 0, 2])].sum().backward()
    return x.grad


@program()
def gather(torch: Any) -> Any:
    index = torch.tensor([[0, 0, 2], [1, 2, 1]])
    forms = (
        lambda x: x.gather(1, index),
        lambda x: torch.gather(x, 0, index.clamp(max=1)),
        lambda x: x.gather(-1, index[:1]),
    )
    return [derivatives(torch, f, MATRIX) for f in forms]


@program()
def index_select(torch: Any) -> Any:
    i = torch.tensor([1, 0, 1])
    return derivatives(torch, lambda x: x.index_select(0, i), MATRIX), derivatives(
        torch, lambda x: torch.index_select(x, 1, i), MATRIX
    )


@program()
def take(torch: Any) -> Any:
    i = torch.tensor([[0, 5], [5, -1]])
    return derivatives(torch, lambda x: x.take(i), MATRIX), derivatives(
        torch, lambda x: torch.take(x, i[0]), MATRIX
    )


@program()
def masked_fill(torch: Any) -> Any:
    mask = torch.tensor(MATRIX) > 0
    return derivatives(torch, lambda x: x.masked_fill(mask, -1.0), MATRIX), derivatives(
        torch, lambda x: x.masked_select(mask), MATRIX
    )


@program()
def nonzero(torch: Any) -> Any:
    x = torch.tensor([[0.0, 2.0], [3.0, 0.0]])
    return x.nonzero(), torch.nonzero(x, as_tuple=True), torch.where(x > 0)


@program()
def assignment_in_its_forms(torch: Any) -> Any:
    x = torch.zeros(3, 4)
    x[0] = 1.0
    x[1, 1:3] = torch.tensor([2.0, 3.0])
    x[:, 3] = 4
    x[2, torch.tensor([0, 1])] = 5.0
    x[x == 0] = -1.0
    x[..., 0] += 10
    return x, x._version > 0


@program()
def assignment_broadcasts_and_casts(torch: Any) -> Any:
    x, i = torch.zeros(2, 3), torch.zeros(3, dtype=torch.int64)
    x[:] = torch.tensor([1.0, 2.0, 3.0])
    x[1] = torch.tensor(9, dtype=torch.int64)
    i[0] = 2.9
    return x, i


@program()
def bad_indices(torch: Any) -> Any:
    x = torch.ones(2, 3)
    return [
        attempt("index 2 is out of bounds for dimension 0 with size 2", lambda: x[2]),
        attempt("out of bounds for dimension 1 with size 3", lambda: x[0, -4]),
        attempt("too many indices for tensor of dimension 2", lambda: x[0, 0, 0]),
        attempt("step must be greater than zero", lambda: x[::-1]),
        attempt("only integers, slices", lambda: x[1.5]),
        attempt("index 5 is out of bounds for dimension 0 with size 2", lambda: x[torch.tensor([0, 5])]),
        attempt("tensors used as indices must be", lambda: x[torch.tensor([0.5])]),
        attempt(
            "shape of the mask .* does not match the shape of the indexed tensor",
            lambda: x[torch.ones(3, dtype=torch.bool)],
        ),
        attempt(
            "shape mismatch: indexing tensors could not be broadcast together", lambda: x[[0, 1], [0, 1, 2]]
        ),
        attempt("invalid index of a 0-dim tensor", lambda: torch.tensor(1.0)[0]),
    ]


@program()
def bad_gathers(torch: Any) -> Any:
    x = torch.ones(2, 3)
    return [
        attempt("Expected dtype int32/int64 for index", x.gather, 1, torch.tensor([[0.0]])),
        attempt("index 7 is out of bounds for dimension 1 with size 3", x.gather, 1, torch.tensor([[7]])),
        attempt("same number of dimensions", x.gather, 1, torch.tensor([0])),
        attempt("out of range", x.index_select, 0, torch.tensor([9])),
        attempt("tried to access index 100 on a tensor of 6 elements", x.take, torch.tensor([100])),
        attempt("Dimension out of range", x.index_select, 5, torch.tensor([0])),
    ]


@program()
def bad_assignments(torch: Any) -> Any:
    x = torch.zeros(2, 3)
    return [
        attempt(
            "expanded size of the tensor .3. must match the existing size .4.",
            x.__setitem__,
            0,
            torch.ones(4),
        ),
        attempt("out of bounds", x.__setitem__, 5, 1.0),
        x,
    ]


@program()
def masked_fill_gives_rows(torch: Any) -> Any:
    rows, columns = torch.ones(4, 3), torch.ones(3, 4).t()
    masks, numbers = (rows > 0, columns > 0, torch.tensor(True)), (1.0, torch.tensor(1.0))
    return [x.masked_fill(mask, n).stride() for x in (rows, columns) for mask in masks for n in numbers]


@program()
def rows_of_sparse_elements(torch: Any) -> Any:
    to_starts, to_rows = torch._convert_indices_from_coo_to_csr, torch._convert_indices_from_csr_to_coo
    rows, starts = torch.tensor([0, 0, 1, 3]), torch.tensor([[0, 2, 3], [0, 1, 3]])
    columns = torch.tensor([[1, 0, 2], [0, 1, 1]])
    return (
        to_starts(rows, 5),
        to_starts(rows, size=4, out_int32=True),
        to_starts(torch.tensor([], dtype=torch.int32), 3),
        to_rows(starts[0], columns[0]),
        to_rows(starts[0], columns[0], transpose=True, out_int32=True),
        to_rows(starts, columns),
        to_rows(starts.expand(2, 2, 3), columns.expand(2, 2, 3), transpose=True),
        to_rows(torch.tensor([0, 0]), torch.tensor([], dtype=torch.int64)),
        attempt("not implemented for 'Float'", to_starts, rows.float(), 3),
        attempt("not implemented for 'Float'", to_rows, starts.float(), columns),
        attempt("Input is supposed to be a vector, but got 2 dim", to_starts, starts, 3),
        torch._segment_reduce is torch.segment_reduce,
    )


@program()
def indices_of_32_bits(torch: Any) -> Any:
    x, i = torch.arange(4), torch.tensor([1, 2], dtype=torch.int32)
    return (
        torch.repeat_interleave(i),
        torch.repeat_interleave(i, output_size=3),
        torch.repeat_interleave(i[:0]),
        torch.take_along_dim(x, i),
        attempt("dtype of indices should be Long but got Int", torch.take_along_dim, x, i, 0),
        attempt("dtype of indices should be Long but got Float", torch.take_along_dim, x, i.float(), 0),
    )
