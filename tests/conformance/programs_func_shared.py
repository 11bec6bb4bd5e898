"""Transforms and what is no sample's own: results all samples share, leaves of inner transforms, writes of both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .harness import program


def vec(torch: Any) -> Any:
    return torch.tensor([0.5, 2.0, -1.0], dtype=torch.float64)


def number(torch: Any, value: float = 2.0) -> Any:
    return torch.tensor(value, dtype=torch.float64)


def parameter(torch: Any) -> Any:
    return number(torch).requires_grad_()


# -- results that all samples share --------------------------------------------------------------------------------


@program()
def gradients_of_results_that_all_samples_share(torch: Any) -> Any:
    F, xs = torch.func, vec(torch)
    twice = lambda p: torch.vmap(lambda x: p * 2)(xs)  # noqa: E731
    return [
        F.grad(lambda p: twice(p).sum())(number(torch)),
        F.jacrev(twice)(vec(torch)),
        F.hessian(lambda p: (twice(p) ** 2).sum())(vec(torch)),
        F.jvp(twice, (number(torch),), (number(torch, 1.0),)),
        torch.vmap(lambda q: F.grad(lambda p: twice(p).sum())(q))(xs),
    ]


@program()
def backwards_through_results_that_all_samples_share(torch: Any) -> Any:
    xs, found = vec(torch), []
    for run in (
        lambda p: torch.vmap(lambda x: p * 2)(xs),
        lambda p: torch.vmap(lambda x: p * 2, chunk_size=2)(xs),
        lambda p: torch.vmap(torch.func.grad(lambda x: p * x))(xs),
        lambda p: torch.vmap(torch.func.hessian(lambda x: p * x * x))(xs),
    ):
        p = parameter(torch)
        run(p).sum().backward()
        found.append(p.grad)
    return found


@program()
def the_jacobian_of_a_shared_matrix(torch: Any) -> Any:
    w = torch.ones(2, 3, dtype=torch.float64, requires_grad=True)
    xs = torch.ones(4, 3, dtype=torch.float64)
    (torch.vmap(torch.func.jacrev(lambda x: w @ x))(xs) ** 2).sum().backward()
    return w.grad


@program()
def rows_of_a_shared_table(torch: Any) -> Any:
    table, at = torch.ones(3, 2, dtype=torch.float64), torch.tensor([[0, 1], [2, 1]])
    embedding = torch.nn.functional.embedding
    return torch.vmap(torch.func.grad(lambda w, i: embedding(i, w).sum()), (None, 0))(table, at)


@program()
def a_shared_number_used_twice(torch: Any) -> Any:
    p, xs = parameter(torch), vec(torch)
    (torch.vmap(torch.func.grad(lambda x: torch.tanh(p * x)))(xs) ** 2).sum().backward()
    twice = lambda p: torch.vmap(lambda x: (p * x).exp() + p)(xs).sum()  # noqa: E731
    return p.grad, torch.func.grad(twice)(number(torch))


# -- leaves of transforms that have ended --------------------------------------------------------------------------


@program()
def leaves_of_inner_transforms_do_not_reach_the_result(torch: Any) -> Any:
    F, one = torch.func, number(torch, 1.0)
    inner = lambda p: lambda x: (p * x).sin()  # noqa: E731
    summed = lambda p: lambda x: (p * x).sin().sum()  # noqa: E731
    return [
        F.grad(lambda p: F.grad(inner(p))(one))(number(torch)),
        F.grad(lambda p: F.jacrev(inner(p))(vec(torch)).sum())(number(torch)),
        F.grad(lambda p: F.hessian(summed(p))(vec(torch)).sum())(number(torch)),
        F.grad(lambda p: F.vjp(inner(p), one)[1](one)[0])(number(torch)),
        F.jacrev(lambda p: F.grad(inner(p))(one))(number(torch)),
        torch.vmap(F.grad(lambda p: F.grad(inner(p))(one)))(vec(torch)),
        F.grad_and_value(lambda p: F.grad(inner(p))(one))(number(torch)),
    ]


@program()
def a_parameter_outside_still_reaches_the_result(torch: Any) -> Any:
    F, w = torch.func, parameter(torch)
    found = F.grad(lambda p: F.grad(lambda x: (w * p * x).sin())(number(torch, 1.0)))(number(torch))
    found.backward()
    return found.requires_grad, w.grad


@program()
def products_of_an_ended_vjp_inside_a_gradient(torch: Any) -> Any:
    _, pull = torch.func.vjp(lambda x: x**3, number(torch))
    return torch.func.grad(lambda c: pull(c)[0])(number(torch, 1.0))


# -- writes of what all samples share ------------------------------------------------------------------------------


def fills_elements(torch: Any, x: Any) -> Any:
    out = torch.zeros(2, dtype=x.dtype)
    out[0] = x[0] ** 2
    out[1] = x[1] ** 3
    return out.sum()


def adds_up(torch: Any, x: Any) -> Any:
    total = torch.zeros((), dtype=x.dtype)
    for i in range(3):
        total += x[i] ** 3
    return total


def clears_by_index(torch: Any, x: Any) -> Any:
    z = x * 2
    z[torch.tensor([2, 0])] = 0.0
    return (z**3).sum()


def clears_by_mask(torch: Any, x: Any) -> Any:
    z = x**2
    z[z > 3] = 0.0
    return z.sum()


def copies(torch: Any, x: Any) -> Any:
    return torch.zeros(3, dtype=x.dtype).copy_(x).mul_(x).prod()


def writes_a_diagonal(torch: Any, x: Any) -> Any:
    z = torch.eye(3, dtype=x.dtype)
    z.diagonal().mul_(x)
    return (z**2).sum()


def scatters(torch: Any, x: Any) -> Any:
    zeros, at = torch.zeros(3, dtype=x.dtype), torch.tensor([0, 1, 0])
    return (
        zeros.clone().index_add_(0, at, x**2).sum() + zeros.scatter_(0, torch.tensor([2, 0, 1]), x**3).prod()
    )


def writes_views(torch: Any, x: Any) -> Any:
    z = torch.zeros(3, dtype=x.dtype)
    part = z[1:]
    part.copy_(x[:2] ** 2)
    z.mul_(2)
    return (z**2).sum() + part.sum()


def fills_columns(torch: Any, x: Any) -> Any:
    z = torch.zeros(3, 2, dtype=x.dtype)
    z[:, 0] = x
    z[:, 1] = x**2
    return (z @ torch.tensor([1.0, 2.0], dtype=x.dtype)).pow(2).sum()


def clears_part(torch: Any, x: Any) -> Any:
    z = x**3
    z[0].zero_()
    return z.sum()


WRITERS: list[Callable[[Any, Any], Any]] = [
    fills_elements, adds_up, clears_by_index, clears_by_mask, copies, writes_a_diagonal, scatters, writes_views,
    fills_columns, clears_part,
]  # fmt: skip


@program()
def hessians_of_functions_that_write(torch: Any) -> Any:
    return [torch.func.hessian(lambda x, f=f: f(torch, x))(vec(torch)) for f in WRITERS]


@program()
def products_with_hessians_of_functions_that_write(torch: Any) -> Any:
    F, x, directions = torch.func, vec(torch), torch.eye(3, dtype=torch.float64)
    found = []
    for f in WRITERS:
        gradient = F.grad(lambda x, f=f: f(torch, x))
        found.append(torch.vmap(lambda v, gradient=gradient: F.jvp(gradient, (x,), (v,))[1])(directions))
    return found


@program()
def gradients_of_what_is_captured_through_writes(torch: Any) -> Any:
    x = vec(torch)

    def scaled(s: Any) -> Any:
        def loss(y: Any) -> Any:
            out = torch.zeros(3, dtype=y.dtype)
            out += y * y
            return (out * s).sum()

        return torch.func.grad(loss)(x)

    return torch.vmap(scaled)(vec(torch))


@program("")
def a_write_of_samples_into_what_they_share(torch: Any) -> Any:
    def run(x: Any) -> Any:
        out = torch.zeros(3, dtype=x.dtype)
        out += x
        return out

    return torch.vmap(run)(torch.ones(2, 3, dtype=torch.float64))


# -- writes into arguments -----------------------------------------------------------------------------------------


def matrix(torch: Any) -> Any:
    return torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=torch.float64)


def clears_first(y: Any) -> Any:
    y[0] = 0.0
    return (y**2).sum()


@program()
def gradients_through_writes_into_arguments(torch: Any) -> Any:
    grad, vmap = torch.func.grad, torch.vmap
    return [
        grad(lambda x: vmap(lambda y: y.mul_(2).sum())(x * 2).sum())(matrix(torch)),
        grad(lambda x: vmap(clears_first)(x * 2).sum())(matrix(torch)),
        grad(lambda w: vmap(lambda y: y.copy_(w).prod())(matrix(torch)).sum())(vec(torch)),
        grad(lambda x: vmap(vmap(lambda y: y.mul_(2)))(x * 2).sum())(matrix(torch)),
    ]


@program()
def what_the_caller_sees_of_writes_into_arguments(torch: Any) -> Any:
    w, a, plain = parameter(torch), matrix(torch).requires_grad_(), matrix(torch)
    torch.vmap(lambda y: y.mul_(w))(plain).sum().backward()
    x = a * 1
    torch.vmap(lambda y: y.mul_(2), in_dims=1)(x)
    (x**2).sum().backward()
    return w.grad, plain.detach(), plain.requires_grad, a.grad, x.detach()


@program("leaf Variable that requires grad is being used in an in-place operation")
def a_write_into_an_argument_that_is_a_leaf(torch: Any) -> Any:
    return torch.vmap(lambda y: y.mul_(2))(matrix(torch).requires_grad_())


@program("a view of a leaf Variable that requires grad is being used in an in-place operation")
def a_write_into_an_argument_that_shows_a_leaf(torch: Any) -> Any:
    return torch.vmap(lambda y: y.mul_(2))(matrix(torch).requires_grad_().t())


@program("has been modified by an inplace operation")
def a_saved_part_beside_one_that_is_written(torch: Any) -> Any:
    y = matrix(torch).requires_grad_() * 1
    y[1:].mul_(y[0])
    return y.sum().backward()
