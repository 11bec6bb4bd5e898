"""Augmented operators, and in-place results of a dtype or shape that the target cannot take."""

from __future__ import annotations

import operator
from typing import Any

from .harness import attempt, program

VECTOR = [0.25, 0.5, 0.75]
OTHER = [2.0, -3.0, 0.5]


def leaf(torch: Any, data: Any) -> Any:
    return torch.tensor(data, dtype=torch.float64, requires_grad=True)


@program()
def augmented_operators(torch: Any) -> Any:
    x = leaf(torch, VECTOR)
    y = x.clone()
    same = y
    y += 1
    y -= 0.5
    y *= 3
    y /= 2
    y **= 2
    y.sum().backward()
    return y is same, y, y._version, x.grad


@program()
def augmented_operators_name_their_nodes(torch: Any) -> Any:
    nodes = []
    for name in ("iadd", "isub", "imul", "itruediv", "ipow"):
        y = leaf(torch, VECTOR).clone()
        nodes.append(getattr(operator, name)(y, 2).grad_fn)
    return nodes


@program()
def augmented_operators_on_integers_and_bools(torch: Any) -> Any:
    i, b = torch.tensor([7, -7, 3]), torch.tensor([True, False, True])
    i += 2
    i *= 3
    i -= 1
    i //= 2
    i %= 5
    b &= torch.tensor([True, True, False])
    b |= torch.tensor([False, True, False])
    b ^= torch.tensor([True, True, True])
    return i, i._version, b, b._version


@program()
def augmented_operator_with_a_tensor_that_requires_grad(torch: Any) -> Any:
    w = leaf(torch, OTHER)
    total = torch.zeros(3, dtype=torch.float64)
    same = total
    for k in range(3):
        total += w * k
    total.sum().backward()
    return total is same, total, total._version, w.grad


@program()
def accumulation_into_a_number(torch: Any) -> Any:
    w = leaf(torch, OTHER)
    loss = torch.tensor(0.0, dtype=torch.float64)
    for k in range(3):
        loss += (w[k] ** 2).sum()
    loss.backward()
    return loss, w.grad


@program()
def augmented_operator_on_a_shared_name(torch: Any) -> Any:
    x = leaf(torch, VECTOR)
    y = x * 2
    z = y
    y += 1
    return z is y, z, z.grad_fn.next_functions


@program()
def integers_do_not_take_fractions(torch: Any) -> Any:
    i = torch.tensor([1, 2])
    phrase = "result type Float can't be cast to the desired output type"
    return (
        attempt(phrase, i.add_, 0.5), attempt(phrase, i.mul_, torch.ones(2)), attempt(phrase, i.div_, 2),
        attempt(phrase, i.exp_), i, i._version,
    )  # fmt: skip


@program()
def floats_do_not_take_complex_numbers(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0])
    phrase = "result type ComplexFloat can't be cast to the desired output type Float"
    return attempt(phrase, x.add_, 1j), attempt(phrase, x.mul_, torch.tensor([1j, 2j])), x, x._version


@program()
def result_keeps_the_dtype_of_the_target(torch: Any) -> Any:
    x = torch.ones(2, dtype=torch.float32)
    x += torch.ones(2, dtype=torch.float64) / 3
    half = torch.ones(2, dtype=torch.float16)
    half *= torch.full((2,), 1.5)
    w = torch.ones(2, dtype=torch.float64, requires_grad=True)
    mixed = torch.zeros(2).add_(w)
    mixed.sum().backward()
    return x, half, mixed, w.grad


@program()
def result_of_another_shape(torch: Any) -> Any:
    x = torch.ones(2)
    phrase = r"output with shape \[2\] doesn't match the broadcast shape \[3, 2\]"
    return (
        attempt(phrase, x.add_, torch.ones(3, 2)), attempt(phrase, x.mul_, torch.ones(3, 2)),
        attempt(phrase, x.copy_, torch.ones(3, 2)), x, x._version,
    )  # fmt: skip


@program()
def shapes_that_do_not_broadcast(torch: Any) -> Any:
    x = torch.ones(2)
    phrase = "must match the size of tensor b"
    return attempt(phrase, x.add_, torch.ones(3)), attempt(phrase, x.copy_, torch.ones(3)), x, x._version
