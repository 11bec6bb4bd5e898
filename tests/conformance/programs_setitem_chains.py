"""Assignments one after another: loops, recurrences, views, swaps, casts, modes."""

from __future__ import annotations

from typing import Any

from .derivatives import derivatives
from .harness import program
from .programs_graph_names import tree

VECTOR = [1.0, -2.0, 3.0, 0.5]
MATRIX = [[1.0, -2.0, 3.0], [0.5, 4.0, -1.5]]


@program()
def views_follow_an_assignment(torch: Any) -> Any:
    x = torch.tensor(MATRIX, requires_grad=True)
    y = x * 2
    row, column = y[0], y[:, 1]
    y[0, 1] = 100.0
    return row, column, tree(row), torch.autograd.grad(row.sum() + column.sum(), x)


@program()
def assignment_through_a_view(torch: Any) -> Any:
    def run(x: Any, v: Any) -> Any:
        y = x * x
        y.t()[1] = v * v
        y[0][2] = v[0]
        y[1, 1:][1:] = v[1]
        return y * y

    return derivatives(torch, run, MATRIX, [5.0, 6.0])


@program()
def advanced_assignment_through_a_view(torch: Any) -> Any:
    def run(x: Any, v: Any) -> Any:
        y = x * x
        y.t()[[0, 2]] = v * v
        y[1][torch.tensor([True, False, False])] = v[0, 0]
        return y * y

    return derivatives(torch, run, MATRIX, [[5.0, 6.0], [7.0, 8.0]])


@program()
def repeated_assignment_of_one_element(torch: Any) -> Any:
    def run(x: Any, v: Any) -> Any:
        y = x * 1
        for k in range(3):
            y[0] = v * (k + 1)
        return y * y

    return derivatives(torch, run, VECTOR, 5.0)


@program()
def assignment_in_a_loop(torch: Any) -> Any:
    def run(x: Any) -> Any:
        y = torch.zeros(4, dtype=torch.float64)
        for k in range(4):
            y[k] = x[k] ** (k + 1)
        return y

    return derivatives(torch, run, VECTOR)


@program()
def recurrence_in_a_buffer(torch: Any) -> Any:
    def run(x: Any) -> Any:
        y = torch.zeros(4, dtype=torch.float64)
        y[0] = x[0]
        for k in range(1, 4):
            y[k] = y[k - 1].clone() * 0.5 + x[k] * x[k]
        return y

    return derivatives(torch, run, VECTOR)


@program(phrase="modified by an inplace operation")
def recurrence_that_saves_the_buffer(torch: Any) -> Any:
    x = torch.tensor(VECTOR, requires_grad=True)
    y = torch.ones(4)
    for k in range(1, 4):
        y[k] = y[k - 1] * x[k]
    y.sum().backward()


@program()
def rows_filled_in_a_loop(torch: Any) -> Any:
    def run(w: Any, x: Any) -> Any:
        out = torch.empty(3, 2, dtype=torch.float64)
        state = x
        for k in range(3):
            state = torch.tanh(w @ state)
            out[k] = state
        return out

    return derivatives(torch, run, [[0.5, -0.25], [0.125, 0.75]], [1.0, -1.0])


@program()
def chain_of_assignments_of_all_kinds(torch: Any) -> Any:
    def run(x: Any, v: Any) -> Any:
        y = x * x
        y[0] = v * v
        y[:, 1] = 3.0
        y[1, [0, 2]] = v[:2] * 2
        y[y > 20] = v[2]
        y[-1, -1] *= v[0]
        return y * y

    return derivatives(torch, run, MATRIX, [5.0, 2.0, 0.5])


@program()
def value_is_a_part_of_the_base(torch: Any) -> Any:
    def run(x: Any) -> Any:
        y = x * x
        y[0] = y[1]
        y[:, 0] = y[:, 2] * 2
        y[1, [0, 1]] = y[0, :2]
        return y

    return derivatives(torch, run, MATRIX)


@program()
def swap_of_two_rows(torch: Any) -> Any:
    def run(x: Any) -> Any:
        y = x * x
        y[[0, 1]] = y[[1, 0]]
        first = y[0].clone()
        y[0] = y[1]
        y[1] = first * first
        return y

    return derivatives(torch, run, MATRIX)


@program()
def value_assigned_twice(torch: Any) -> Any:
    def run(x: Any, v: Any) -> Any:
        y = x * x
        y[0], y[1] = v, v
        return y * y

    return derivatives(torch, run, VECTOR, 3.0)


@program()
def augmented_assignment_of_items(torch: Any) -> Any:
    def run(x: Any, v: Any) -> Any:
        y = x * x
        y[0] += v
        y[1:3] *= v
        y[[0, 3]] -= v
        y[y > 8] /= v
        y[-1] **= 2
        return y

    return derivatives(torch, run, VECTOR, 3.0)


@program()
def augmented_assignment_with_a_repeated_index(torch: Any) -> Any:
    def run(x: Any, v: Any) -> Any:
        y = x * x
        y[[0, 0, 1]] += v
        return y

    return derivatives(torch, run, VECTOR, 3.0)


@program()
def versions_count_assignments(torch: Any) -> Any:
    x, found = torch.zeros(3, 3), []
    for index in (0, (0, 0), slice(None), [0], torch.eye(3, dtype=torch.bool), (slice(None), 1), ([0], 1)):
        before = x._version
        x[index] = 1.0
        found.append(x._version - before)
    x[0] += 1
    x[[0]] += 1
    return found, x._version


@program()
def third_order_through_assignment(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    y = torch.zeros(2, dtype=torch.float64)
    y[0] = x[0] ** 4 * x[1]
    y[[1]] = (x[1] ** 4).unsqueeze(0)
    g, found = y.sum(), []
    for _ in range(3):
        (d,) = torch.autograd.grad(g, x, create_graph=True)
        found.append(d.detach())
        g = d.sum()
    return found


@program()
def assignment_to_a_leaf_under_no_grad(torch: Any) -> Any:
    x = torch.tensor(MATRIX, requires_grad=True)
    with torch.no_grad():
        x[0] = 1.0
        x[:, [1]] = 2.0
        x[x > 2.5] = torch.tensor(9.0)
    return x, x.is_leaf, x._version


@program()
def assignment_of_a_tensor_that_requires_grad_to_integers(torch: Any) -> Any:
    w = torch.tensor(2.7, requires_grad=True)
    i = torch.zeros(3, dtype=torch.int64)
    i[0] = w
    return i, i.requires_grad


@program()
def casts(torch: Any) -> Any:
    w = torch.tensor([1.5, 2.5], dtype=torch.float64, requires_grad=True)
    y = torch.zeros(3)
    y[:2] = w
    y[2] = w[0]
    (y * y).sum().backward()
    return y, w.grad, tree(y)


@program()
def complex_assignment(torch: Any) -> Any:
    def run(x: Any, v: Any) -> Any:
        y = x * x
        y[0] = v
        y[[1]] = v * 1j
        return y * y

    return derivatives(torch, run, [1 + 1j, 2 - 1j, 0.5j], 3 - 2j, dtype="complex128")


@program()
def real_value_into_a_complex_base(torch: Any) -> Any:
    w = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    y = torch.ones(2, dtype=torch.complex128)
    y[0] = w
    (y * (1 + 2j)).real.sum().backward()
    return y, w.grad


@program()
def empty_parts(torch: Any) -> Any:
    x = torch.tensor(VECTOR, requires_grad=True)
    y = x * 1
    y[4:] = 5.0
    y[2:1] = torch.ones(0)
    y[torch.tensor([], dtype=torch.int64)] = 7.0
    y.sum().backward()
    return y, x.grad


@program()
def zero_dimensional_base(torch: Any) -> Any:
    def run(x: Any, v: Any) -> Any:
        y = x * x
        y[...] = v * v
        return y * y

    return derivatives(torch, run, 2.0, 3.0)


@program()
def assignment_to_a_parameter_gradient(torch: Any) -> Any:
    x = torch.tensor(VECTOR, requires_grad=True)
    (x * x).sum().backward()
    x.grad[0] = 0.0
    x.grad[x.grad < 0] = 1.0
    return x.grad
