"""Programs whose number arguments are Python's, NumPy's or tensors of one number; and a few faults that were found
beside them: dtypes of losses, dimensions one by one, expanded targets, data replaced under a graph."""

from __future__ import annotations

from decimal import Decimal
from enum import IntEnum
from fractions import Fraction
from importlib import import_module
from typing import Any

import numpy as np

from tests.conformance.harness import attempt, program


def functional(torch: Any) -> Any:
    return import_module(f"{torch.__name__}.nn.functional")


def numbers(torch: Any) -> list[Any]:
    return [0.5, np.float32(0.5), np.float64(0.5), torch.tensor(0.5), torch.tensor(0.5, dtype=torch.float64)]


def integers(torch: Any) -> list[Any]:
    return [1, np.int64(1), np.int32(1), torch.tensor(1)]


@program()
def activations_with_a_number(torch: Any) -> Any:
    f, x = functional(torch), torch.tensor([-1.5, 0.25, 2.0])
    return [
        [
            f.celu(x, n), f.elu(x, n), f.leaky_relu(x, n), f.softplus(x, n), f.softplus(x, 1.0, n),
            f.hardtanh(x, -1.0, n), f.hardtanh(x, n, 3.0), f.threshold(x, n, 1.0), f.threshold(x, 0.0, n),
            f.hardshrink(x, n), f.softshrink(x, n),
        ]
        for n in numbers(torch)
    ]  # fmt: skip


@program()
def functions_with_a_number(torch: Any) -> Any:
    x, nan = torch.tensor([0.1, 0.25, 0.75]), torch.tensor([float("nan"), float("inf"), -float("inf")])
    m = torch.tensor([[3.0, 4.0], [0.3, 0.4]])
    return [
        [
            torch.logit(x, n), torch.nan_to_num(nan, n, n, n), torch.renorm(m, n, 0, n), torch.rsub(x, n),
            torch.add(x, x, alpha=n), torch.sub(x, x, alpha=n), x.clone().add_(x, alpha=n),
            x.clone().sub_(x, alpha=n), torch.rsub(x, x, alpha=n), torch.addmm(m, m, m, beta=n, alpha=n),
            torch.trapezoid(x, dx=n), torch.pairwise_distance(m, m + 1, eps=n),
        ]
        for n in numbers(torch)
    ]  # fmt: skip


@program()
def functions_with_an_integer(torch: Any) -> Any:
    x = torch.tensor([1.5, 2.5, 3.5])
    return [
        [torch.polygamma(n, x), x.polygamma(n), torch.mvlgamma(x, n), torch.cov(x, correction=n)]
        for n in integers(torch)
    ]


@program()
def losses_with_a_number(torch: Any) -> Any:
    f, x, y = functional(torch), torch.tensor([[0.5, 2.0]]), torch.tensor([[1.0, -1.0]])
    return [
        [
            f.huber_loss(x, y, delta=n), f.smooth_l1_loss(x, y, beta=n), f.hinge_embedding_loss(x, y, margin=n),
            f.triplet_margin_loss(x, y, x + y, margin=n), f.triplet_margin_loss(x, y, x + y, eps=n),
            f.poisson_nll_loss(x, y, log_input=False, eps=n),
        ]
        for n in numbers(torch)
    ]  # fmt: skip


@program()
def a_number_that_requires_a_gradient_is_refused(torch: Any) -> Any:
    f, x, n = functional(torch), torch.tensor([0.5, 2.0]), torch.tensor(0.5, requires_grad=True)
    return [
        attempt("must be", f.elu, x, n),
        attempt("must be", f.softplus, x, n),
        attempt("must be", torch.add, x, x, alpha=n),
        attempt("must be", torch.logit, x, n),
        attempt("must be", torch.nan_to_num, x, n),
        attempt("must be", f.leaky_relu, x, n),
    ]


@program()
def alpha_that_the_dtype_cannot_hold(torch: Any) -> Any:
    i, b = torch.tensor([1, 2]), torch.tensor([True, False])
    return [
        attempt("must not be a floating point number", torch.add, i, i, alpha=torch.tensor(0.5)),
        attempt("Boolean alpha only supported", torch.add, i, i, alpha=torch.tensor(True)),
        torch.add(b, b, alpha=torch.tensor(True)),
        torch.add(i, i, alpha=torch.tensor(3)),
    ]


@program()
def cross_entropy_of_logits_has_the_dtype_of_its_target(torch: Any) -> Any:
    f, found = functional(torch), []
    for inputs in (torch.float32, torch.float64):
        for targets in (torch.float32, torch.float64):
            x = torch.tensor([0.5, 1.0], dtype=inputs, requires_grad=True)
            t = torch.tensor([0.0, 1.0], dtype=targets, requires_grad=True)
            weight = torch.tensor([1.0, 2.0], dtype=torch.float64)
            for options in ({}, {"weight": weight}, {"pos_weight": weight}):
                loss = f.binary_cross_entropy_with_logits(x, t, **options)
                grads = torch.autograd.grad(loss, (x, t))
                found.append(
                    (loss.dtype, loss.float(), [g.round(decimals=5) for g in grads])
                )  # kernels round
    return found


@program()
def cross_entropy_of_integer_logits(torch: Any) -> Any:
    f, i, t = functional(torch), torch.tensor([1, 0]), torch.tensor([0.0, 1.0])
    return [
        attempt("not implemented for 'Long'", f.binary_cross_entropy_with_logits, i, t),
        attempt("can't be cast", f.binary_cross_entropy_with_logits, t, i),
    ]


@program()
def dimensions_one_by_one(torch: Any) -> Any:
    return [
        torch.ones(2, 3).count_nonzero(0, 1),
        torch.ones(2, 3, 4).count_nonzero(0, -1),
        torch.ones(1, 3, 1).squeeze_(0, 2),
        torch.ones(1, 3, 1).squeeze_((0, 2)),
        torch.ones(1, 3, 1).squeeze_(-1),
        attempt("multiple times", torch.ones(1, 3).squeeze_, 0, 0),
    ]


@program()
def diagonal_of_an_expanded_tensor(torch: Any) -> Any:
    row, column = torch.ones(1, 3), torch.ones(3, 1)
    return [row.expand(3, 3).fill_diagonal_(5), row, column.expand(3, 3).fill_diagonal_(5), column]


@program("")
def data_of_another_shape_under_a_graph(torch: Any) -> Any:
    x = torch.ones(2, 3, requires_grad=True)
    y = x.sum()
    x.data = torch.ones(3)
    y.backward()


@program()
def data_of_another_shape_before_a_graph(torch: Any) -> Any:
    x = torch.ones(2, 3, requires_grad=True)
    x.data = torch.arange(4.0)
    (x * x).sum().backward()
    return x, x.grad


@program()
def tangents_of_a_division_by_nothing(torch: Any) -> Any:
    fw = import_module(f"{torch.__name__}.autograd.forward_ad")
    found = []
    with fw.dual_level():
        x = fw.make_dual(torch.ones(2), torch.tensor([1.0, 0.0]))
        for nothing in (0, 0.0, torch.tensor(0.0)):
            found += [
                fw.unpack_dual(out).tangent
                for out in (x / nothing, torch.div(x, nothing), x.clone().div_(nothing))
            ]
    return found


@program()
def logit_without_limits(torch: Any) -> Any:
    found = []
    for eps in (None, -1.0, 0.0, 0.25, 0.75):
        x = torch.tensor([-0.5, 0.0, 0.125, 0.5, 1.0, 1.5], requires_grad=True)
        y = torch.logit(x, eps)
        found.append((y, torch.autograd.grad(y.sum(), x)))
    return found


@program()
def halves_beside_numbers_that_they_cannot_hold(torch: Any) -> Any:
    found = []
    for number in (1e5, 3e-9, 0.1, 100000):
        for compute in (
            lambda v, n: v * n,
            lambda v, n: n * v,
            lambda v, n: v / n,
            lambda v, n: v.clone().mul_(n),
        ):
            x = torch.tensor([0.5, 6e4, 1e-3], dtype=torch.float16, requires_grad=True)
            y = compute(x, number)
            y.backward(torch.tensor([0.001, 0.25, 3], dtype=torch.float16))
            found += [y.detach(), x.grad]
    return found


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Metres(float):
    pass


class Phase(complex):
    pass


@program()
def numbers_of_subclasses_count_as_numbers(torch: Any) -> Any:
    found = []
    for n in (Level.HIGH, Metres(2.0)):
        for kind in (torch.float16, torch.float32, torch.int32):
            x = torch.tensor([1, 2, 3], dtype=kind)
            found += [x + n, n - x, x * n, x / n, n / x, x // n, x % n, n % x, x**n, n**x, x == n]
            found += [
                torch.fmod(x, n),
                torch.clamp(x, max=n),
                torch.add(x, x, alpha=Level.LOW),
                torch.where(x > 1, x, n),
            ]
            found += [torch.full_like(x, n), torch.copysign(x, n), torch.xlogy(n, x), torch.result_type(x, n)]
        found += [torch.tensor(n), torch.tensor([n]), torch.full((1,), n)]
    x, n = torch.tensor([1.0, 2.0]), Phase(2j)
    return found, [x + n, n - x, x * n, x / n, x**n, n**x, torch.full((1,), n), torch.where(x > 1, x, n)]


@program()
def numbers_that_only_convert_are_elements_of_a_dtype(torch: Any) -> Any:
    half = Fraction(1, 2)
    return (
        torch.tensor(half, dtype=torch.float32),
        torch.tensor([half, 1], dtype=torch.float64),
        torch.tensor(Decimal("1.5"), dtype=torch.float16),
        attempt("Could not infer dtype of", torch.tensor, half),
        attempt("cannot be interpreted as an integer", torch.tensor, [half], dtype=torch.int64),
    )
