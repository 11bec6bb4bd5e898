"""Item assignment: every kind of index and of value, recorded graphs, gradients of first and second order."""

from __future__ import annotations

from typing import Any

import numpy as np

from .derivatives import derivatives
from .harness import attempt, program
from .programs_graph_names import tree

VECTOR = [1.0, -2.0, 3.0, 0.5]
MATRIX = [[1.0, -2.0, 3.0], [0.5, 4.0, -1.5]]
CUBE = [[[1.0, 2.0], [3.0, -4.0]], [[0.5, 6.0], [-7.0, 8.0]]]


def put(x: Any, index: Any, value: Any) -> Any:
    """A copy of x after the assignment, squared so that second derivatives are not zero."""
    y = x * x
    y[index] = value
    return y * y


def assigned(torch: Any, base: Any, value: Any, *indices: Any) -> Any:
    return [derivatives(torch, lambda x, v, i=i: put(x, i, v * v), base, value) for i in indices]


def graphs(torch: Any, base: Any, value: Any, *indices: Any) -> Any:
    """The recorded graph of each assignment."""
    found = []
    for index in indices:
        x = torch.tensor(base, requires_grad=True)
        y = x.clone()
        y[index] = torch.tensor(value, requires_grad=True)
        found.append((tree(y), y._version, y.detach()))
    return found


@program()
def integers(torch: Any) -> Any:
    return assigned(torch, VECTOR, 5.0, 0, -1, (2,), torch.tensor(1), np.int64(3))


@program()
def integers_of_a_matrix(torch: Any) -> Any:
    return assigned(torch, MATRIX, [5.0, 6.0, 7.0], 0, -1, (1,), (0, ...))


@program()
def elements_of_a_matrix(torch: Any) -> Any:
    return assigned(torch, MATRIX, 5.0, (0, 0), (1, -1), (-2, 1), (torch.tensor(0), 1))


@program()
def slices(torch: Any) -> Any:
    return assigned(
        torch, VECTOR, [5.0, 6.0], slice(0, 2), slice(2, None), slice(None, None, 2), slice(-3, -1)
    )


@program()
def slices_of_several_dims(torch: Any) -> Any:
    whole = slice(None)
    return assigned(
        torch, MATRIX, [5.0, 6.0], (0, slice(1, None)), (whole, 1), (1, slice(None, None, 2)), (whole, -1)
    )


@program()
def none_and_ellipsis(torch: Any) -> Any:
    return assigned(torch, MATRIX, [5.0, 6.0, 7.0], ..., None, (None, 0), (0, None), (slice(None), None))


@program()
def everything(torch: Any) -> Any:
    return assigned(torch, MATRIX, [[5.0, 6.0, 7.0], [8.0, 9.0, 1.0]], slice(None), ..., ())


@program()
def index_tensors(torch: Any) -> Any:
    return assigned(
        torch, VECTOR, [5.0, 6.0], torch.tensor([0, 2]), [3, 1], torch.tensor([-1, -2]), np.array([1, 2])
    )


@program()
def index_tensors_of_rows(torch: Any) -> Any:
    return assigned(torch, MATRIX, [5.0, 6.0, 7.0], torch.tensor([1]), [0], torch.tensor([[1]]), [0, 1])


@program(warns="Using a non-tuple sequence for multidimensional indexing is deprecated")
def nested_list_as_an_index(torch: Any) -> Any:
    x = torch.tensor(MATRIX)
    x[[[0, 1], [2, 0]]] = 9.0
    return x


@program()
def several_index_tensors(torch: Any) -> Any:
    i, j = torch.tensor([0, 1]), torch.tensor([2, 0])
    return assigned(torch, MATRIX, [5.0, 6.0], (i, j), (j.clamp(max=1), i), ([1, 0], [0, 0]))


@program()
def index_tensors_that_broadcast(torch: Any) -> Any:
    i, j = torch.tensor([[0], [1]]), torch.tensor([2, 0])
    return assigned(torch, MATRIX, [[5.0, 6.0], [7.0, 8.0]], (i, j))


@program()
def index_tensors_with_slices(torch: Any) -> Any:
    whole = slice(None)
    return (
        assigned(torch, CUBE, [5.0, 6.0], (whole, [1]), (0, [1]), ([0], 1)),
        assigned(torch, CUBE, 5.0, (whole, [0], 1), (..., [1], 0), (0, [1], slice(1, None))),
    )


@program()
def index_tensors_apart(torch: Any) -> Any:
    return assigned(torch, CUBE, [5.0, 6.0], ([0, 1], slice(None), [1, 0]), ([1], ..., [0]))


@program()
def index_tensors_with_none(torch: Any) -> Any:
    return assigned(torch, MATRIX, 5.0, (None, [0]), ([0], None), (slice(None), None, [1]))


@program()
def masks(torch: Any) -> Any:
    m = torch.tensor([True, False, True, False])
    return assigned(torch, VECTOR, [5.0, 6.0], m, m.tolist(), (m,)) + assigned(torch, VECTOR, 5.0, m, ~m)


@program()
def masks_of_a_matrix(torch: Any) -> Any:
    m = torch.tensor([[True, False, True], [False, False, True]])
    rows = torch.tensor([False, True])
    return assigned(torch, MATRIX, [5.0, 6.0, 7.0], m, rows, (rows, slice(None)))


@program()
def masks_with_integers_and_slices(torch: Any) -> Any:
    columns = torch.tensor([True, False, True])
    return assigned(
        torch, MATRIX, [5.0, 6.0], (0, columns), (slice(None), columns[:3]), (slice(1, None), columns)
    )


@program()
def masks_that_select_nothing(torch: Any) -> Any:
    none = torch.zeros(4, dtype=torch.bool)
    return assigned(torch, VECTOR, 5.0, none) + assigned(torch, VECTOR, [5.0], none)


@program()
def masks_that_select_all(torch: Any) -> Any:
    return assigned(torch, VECTOR, [5.0, 6.0, 7.0, 8.0], torch.ones(4, dtype=torch.bool))


@program()
def true_and_false(torch: Any) -> Any:
    x = torch.tensor(MATRIX)
    x[False] = 7.0
    before = x.clone()
    x[True, 0] = 8.0
    return before, x, assigned(torch, MATRIX, 5.0, True, (True, 0), (0, True))


@program()
def mask_of_the_base_itself(torch: Any) -> Any:
    def run(x: Any, v: Any) -> Any:
        y = x * 2
        y[y < 0] = v * v
        return y * y

    return derivatives(torch, run, MATRIX, 3.0)


@program()
def numbers(torch: Any) -> Any:
    indices = (0, slice(1, 3), [0, 2], torch.tensor([True, False, True, False]), ..., -1)
    return [derivatives(torch, lambda x, i=i: put(x, i, 7.0), VECTOR) for i in indices]


@program()
def values_that_are_numbers_of_other_kinds(torch: Any) -> Any:
    x = torch.zeros(6)
    for k, value in enumerate((True, 2, 2.5, np.float64(3.5), np.int32(4), torch.tensor(5))):
        x[k] = value
    return x, x._version


@program()
def values_that_broadcast(torch: Any) -> Any:
    whole = slice(None)
    return (
        assigned(torch, MATRIX, 5.0, 0, whole, (whole, 1), [0, 1]),
        assigned(torch, MATRIX, [5.0], 0, whole, (whole, 1), [0, 1]),
        assigned(torch, MATRIX, [[5.0], [6.0]], whole, (whole, slice(1, None)), [0, 1]),
    )


@program()
def values_with_leading_ones(torch: Any) -> Any:
    return assigned(torch, MATRIX, [[[5.0, 6.0, 7.0]]], 0, slice(None), [1], [0, 1])


@program()
def constant_base(torch: Any) -> Any:
    found = []
    for index in (0, slice(0, 1), [0], torch.tensor([True, False, False])):
        w = torch.tensor(2.0, requires_grad=True)
        y = torch.zeros(3)
        y[index] = w
        (y * y).sum().backward()
        found.append((y, tree(y), w.grad))
    return found


@program()
def constant_value(torch: Any) -> Any:
    return [
        derivatives(torch, lambda x, i=i: put(x, i, torch.ones(2, dtype=torch.float64)), VECTOR)
        for i in (slice(0, 2), [1, 3], torch.tensor([True, True, False, False]))
    ]


@program()
def graphs_of_basic_indices(torch: Any) -> Any:
    return graphs(
        torch, MATRIX, 5.0, 0, (0, 1), slice(1, None), (slice(None), 1), ..., slice(None), (None, 0)
    )


@program()
def graphs_of_advanced_indices(torch: Any) -> Any:
    m = torch.tensor([[True, False, True], [False, False, True]])
    return graphs(torch, MATRIX, [5.0, 6.0, 7.0], [0], torch.tensor([1]), m)


@program()
def graphs_of_mixed_indices(torch: Any) -> Any:
    return graphs(torch, MATRIX, 5.0, (0, [1]), (slice(None), [0]), ([1], 2), (slice(1, None), [0, 2]))


@program()
def graphs_of_values_that_broadcast(torch: Any) -> Any:
    whole = slice(None)
    return graphs(torch, MATRIX, [5.0], 0, whole, (whole, 1)) + graphs(
        torch, MATRIX, [[5.0, 6.0, 7.0]], whole
    )


@program()
def graph_of_a_number(torch: Any) -> Any:
    found = []
    for index in (0, slice(1, None), [0], torch.tensor([[True, False, True], [False, False, True]]), ...):
        y = torch.tensor(MATRIX, requires_grad=True).clone()
        y[index] = 3.0
        found.append((tree(y), y._version))
    return found


@program()
def numbers_that_are_infinite_in_halves(torch: Any) -> Any:
    found = []
    for kind in (torch.float16, torch.bfloat16):
        for index in (0, slice(None), [0, 1], torch.tensor([True, False, True])):
            x = torch.zeros(3, dtype=kind)
            x[index] = -1e39
            found.append(x)
        x[0], x[1] = 65519.0, 10**10
        found.append(x)
    return found, attempt("without overflow", torch.zeros(3).__setitem__, 0, 1e39)
