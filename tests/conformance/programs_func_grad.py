"""`func.grad`, `grad_and_value`, `vjp`, `jvp` and `linearize`: arguments, trees, extra results, and what fits not."""

from __future__ import annotations

import warnings
from typing import Any

from .harness import attempt, program


def vec(torch: Any) -> Any:
    return torch.tensor([1.0, 2.0, -3.0], dtype=torch.float64)


def cubes(x: Any) -> Any:
    return (x**3).sum()


def quiet(torch: Any) -> Any:
    """`torch.func`; torch warns of its own deprecations when forward mode is first used."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.func.jvp(lambda x: x, (torch.ones(1),), (torch.ones(1),))
    return torch.func


def linearized(torch: Any, *args: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.func.linearize(*args)


# -- grad --------------------------------------------------------------------------------------------------------------


@program()
def gradient(torch: Any) -> Any:
    return torch.func.grad(cubes)(vec(torch))


@program()
def gradient_by_the_second_argument(torch: Any) -> Any:
    return torch.func.grad(lambda x, y: (x * y).sum(), argnums=1)(vec(torch), vec(torch) + 1)


@program()
def gradient_by_the_last_argument(torch: Any) -> Any:
    return torch.func.grad(lambda x, y: (x * y).sum(), argnums=-1)(vec(torch), vec(torch) + 1)


@program()
def gradients_by_two_arguments(torch: Any) -> Any:
    return torch.func.grad(lambda x, y: (x * x * y).sum(), argnums=(0, 1))(vec(torch), vec(torch) + 1)


@program()
def gradients_in_another_order(torch: Any) -> Any:
    return torch.func.grad(lambda x, y: (x * x * y).sum(), argnums=(1, 0))(vec(torch), vec(torch) + 1)


@program()
def gradient_by_a_dict(torch: Any) -> Any:
    f = torch.func.grad(lambda p: (p["w"] * p["b"][0]).sum() + p["b"][1])
    return f({"w": vec(torch), "b": [vec(torch), torch.tensor(2.0, dtype=torch.float64)]})


@program()
def gradient_with_keyword_arguments(torch: Any) -> Any:
    return torch.func.grad(lambda x, scale=1: (x * x).sum() * scale)(vec(torch), scale=3)


@program()
def gradient_of_something_unused(torch: Any) -> Any:
    return torch.func.grad(lambda x, y: x.sum(), argnums=(0, 1))(vec(torch), vec(torch))


@program()
def gradient_of_a_constant(torch: Any) -> Any:
    return torch.func.grad(lambda x: torch.tensor(1.0))(vec(torch))


@program()
def gradient_and_extra_result(torch: Any) -> Any:
    return torch.func.grad(lambda x: (cubes(x), {"square": x * x}), has_aux=True)(vec(torch))


@program()
def gradient_and_value(torch: Any) -> Any:
    return torch.func.grad_and_value(cubes)(vec(torch))


@program()
def gradient_value_and_extra_result(torch: Any) -> Any:
    return torch.func.grad_and_value(lambda x: (cubes(x), x * 2), has_aux=True)(vec(torch))


@program()
def gradient_through_detach(torch: Any) -> Any:
    return torch.func.grad(lambda x: (x.detach() * x).sum())(vec(torch))


@program()
def gradient_through_no_grad(torch: Any) -> Any:
    def f(x: Any) -> Any:
        with torch.no_grad():
            c = (x**2).sum()
        return (x * c).sum()

    return torch.func.grad(f)(vec(torch))


@program()
def gradient_inside_no_grad(torch: Any) -> Any:
    with torch.no_grad():
        return torch.func.grad(cubes)(vec(torch))


@program()
def gradient_of_a_complex_argument(torch: Any) -> Any:
    x = torch.tensor([1 + 2j, 3 - 1j], dtype=torch.complex128)
    return torch.func.grad(lambda x: (x * x.conj()).real.sum())(x)


@program()
def gradient_through_a_write_in_place(torch: Any) -> Any:
    def f(x: Any) -> Any:
        y = x.clone()
        y[0] = x[1] * x[2]
        return y.mul_(x).sum()

    return torch.func.grad(f)(vec(torch))


@program()
def what_the_argument_is_inside(torch: Any) -> Any:
    seen: list[Any] = []

    def f(x: Any) -> Any:
        seen.append((x.requires_grad, x.is_leaf))
        return x.sum()

    torch.func.grad(f)(vec(torch))
    return seen


@program()
def the_argument_stays_as_it_was(torch: Any) -> Any:
    x = vec(torch)
    torch.func.grad(cubes)(x)
    return x.requires_grad, x.grad


@program()
def a_gradient_that_can_be_differentiated(torch: Any) -> Any:
    x = vec(torch).requires_grad_()
    g = torch.func.grad(cubes)(x)
    return g.requires_grad, torch.autograd.grad(g.sum(), x)


@program()
def a_gradient_by_a_tensor_outside(torch: Any) -> Any:
    w = vec(torch).requires_grad_()
    g = torch.func.grad(lambda x: (x * x * w).sum())(vec(torch))
    return g.requires_grad, torch.autograd.grad(g.sum(), w)


@program()
def grads_of_autograd_inside(torch: Any) -> Any:
    def f(x: Any) -> Any:
        return torch.autograd.grad((x**3).sum(), x, create_graph=True)[0].sum()

    return torch.func.grad(f)(vec(torch))


@program()
def gradients_that_do_not_fit(torch: Any) -> Any:
    grad, x = torch.func.grad, vec(torch)
    total = lambda *xs: xs[0].sum()  # noqa: E731
    return [
        attempt("to return a scalar Tensor, got tensor with 1 dims", lambda: grad(lambda x: x)(x)),
        attempt("to return a scalar Tensor", lambda: grad(lambda x: x.sum().reshape(1))(x)),
        attempt("to return a Tensor, got <class 'float'>", lambda: grad(lambda x: 1.0)(x)),
        attempt("to return a Tensor, got <class 'tuple'>", lambda: grad(lambda x: (x.sum(), x))(x)),
        attempt(
            "only Tensors of floating point dtype can require", lambda: grad(total)(torch.tensor([1, 2]))
        ),
        attempt("Got argnum=1, but only 1 positional inputs", lambda: grad(total, argnums=1)(x)),
        attempt("Got argnum=-3, but only 2 positional inputs", lambda: grad(total, argnums=-3)(x, x)),
        attempt("argnums must be int or Tuple", lambda: grad(total, argnums="a")(x)),
        attempt("argnums must be int or Tuple", lambda: grad(total, argnums=[0])(x)),
        attempt("argnums elements must be unique", lambda: grad(total, argnums=(0, 0))(x)),
        attempt("argnums must be non-empty", lambda: grad(total, argnums=())(x)),
        attempt("Thing passed to transform API must be Tensor", lambda: grad(lambda x: x * 2.0)(1.0)),
        attempt("output of function f should be a tuple", lambda: grad(total, has_aux=True)(x)),
        attempt("output of function f should be a tuple", lambda: grad(lambda x: (x, x, x), has_aux=True)(x)),
        attempt("grad can be implicitly created only for real", lambda: grad(lambda x: (x * 1j).sum())(x)),
    ]


@program(phrase="a leaf Variable that requires grad is being used in an in-place operation")
def a_write_into_the_argument(torch: Any) -> Any:
    return torch.func.grad(lambda x: x.mul_(2).sum())(vec(torch))


@program(phrase=r"backward\(\) called inside a functorch transform")
def backward_inside(torch: Any) -> Any:
    return torch.func.grad(lambda x: x.sum().backward())(vec(torch))


@program(phrase=r"You are attempting to call Tensor.requires_grad_\(\)")
def requires_grad_inside(torch: Any) -> Any:
    return torch.func.grad(lambda x: torch.ones(3).requires_grad_().sum() * x.sum())(vec(torch))


@program(phrase=r"You are attempting to call Tensor.requires_grad_\(\)")
def functional_inside(torch: Any) -> Any:
    return torch.vmap(lambda x: torch.autograd.functional.jacobian(lambda y: y**2, x))(vec(torch)[None])


# -- vjp ---------------------------------------------------------------------------------------------------------------


@program()
def vjp_of_one_argument(torch: Any) -> Any:
    output, vjp_fn = torch.func.vjp(lambda x: x.sin(), vec(torch))
    return output, vjp_fn(vec(torch))


@program()
def vjp_of_two_arguments(torch: Any) -> Any:
    output, vjp_fn = torch.func.vjp(lambda x, y: x * y, vec(torch), vec(torch) + 1)
    return output, vjp_fn(torch.ones(3, dtype=torch.float64))


@program()
def vjp_of_trees(torch: Any) -> Any:
    f = lambda p: (p["a"] * p["b"], {"s": p["a"].sum()})  # noqa: E731
    output, vjp_fn = torch.func.vjp(f, {"a": vec(torch), "b": vec(torch)})
    return output, vjp_fn((vec(torch), {"s": torch.tensor(2.0, dtype=torch.float64)}))


@program()
def vjp_many_times(torch: Any) -> Any:
    _, vjp_fn = torch.func.vjp(cubes, vec(torch))
    one = torch.tensor(1.0, dtype=torch.float64)
    return vjp_fn(one), vjp_fn(2 * one), vjp_fn(one)


@program()
def vjp_and_extra_result(torch: Any) -> Any:
    output, vjp_fn, aux = torch.func.vjp(lambda x: (x * x, [x + 1]), vec(torch), has_aux=True)
    return output, vjp_fn(vec(torch)), aux


@program()
def vjp_of_a_constant(torch: Any) -> Any:
    output, vjp_fn = torch.func.vjp(lambda x: torch.ones(2), vec(torch))
    return output, vjp_fn(torch.ones(2))


@program()
def vjp_over_a_batch_is_the_jacobian(torch: Any) -> Any:
    _, vjp_fn = torch.func.vjp(lambda x: x.cumsum(0) * x, vec(torch))
    return torch.vmap(vjp_fn)(torch.eye(3, dtype=torch.float64))


@program()
def vjp_that_does_not_fit(torch: Any) -> Any:
    vjp, x = torch.func.vjp, vec(torch)
    return [
        attempt("Expected pytree structure of cotangents", lambda: vjp(lambda x: (x, x), x)[1](x)),
        attempt("Expected pytree structure of cotangents", lambda: vjp(lambda x: x, x)[1]((x,))),
        attempt("Mismatch in shape", lambda: vjp(lambda x: x, x)[1](x[:2])),
        attempt("output of function f should be a tuple", lambda: vjp(lambda x: x, x, has_aux=True)),
        attempt(
            "to return only tensors, got unsupported type <class 'float'>", lambda: vjp(lambda x: 1.0, x)
        ),
        attempt("a function that has non-empty output", lambda: vjp(lambda x: (), x)),
        attempt("a function that has non-empty output", lambda: vjp(lambda x: None, x)),
        attempt("Thing passed to transform API must be Tensor", lambda: vjp(lambda x: x, 1.0)),
        attempt("only Tensors of floating point dtype", lambda: vjp(lambda x: x, torch.tensor([1]))),
    ]


# -- jvp ---------------------------------------------------------------------------------------------------------------


@program()
def jvp_of_one_argument(torch: Any) -> Any:
    return quiet(torch).jvp(lambda x: x.sin(), (vec(torch),), (torch.ones(3, dtype=torch.float64),))


@program()
def jvp_of_two_arguments(torch: Any) -> Any:
    x = vec(torch)
    return quiet(torch).jvp(lambda x, y: x * y.exp(), (x, x), (x, torch.zeros_like(x)))


@program()
def jvp_of_trees(torch: Any) -> Any:
    x = vec(torch)
    tree = {"a": x, "b": (x, x.sum())}
    return quiet(torch).jvp(lambda p: {"out": p["a"] * p["b"][0], "sum": p["b"][1] ** 2}, (tree,), (tree,))


@program()
def jvp_and_extra_result(torch: Any) -> Any:
    x = vec(torch)
    return quiet(torch).jvp(lambda x: (x * x, {"more": x + 1}), (x,), (x,), has_aux=True)


@program()
def jvp_of_a_constant(torch: Any) -> Any:
    x = vec(torch)
    return quiet(torch).jvp(lambda x: torch.ones(2), (x,), (x,))


@program()
def jvp_of_something_partly_constant(torch: Any) -> Any:
    x = vec(torch)
    return quiet(torch).jvp(lambda x: (torch.ones(2), x * 3), (x,), (x,))


@program()
def jvp_with_a_tangent_of_another_dtype(torch: Any) -> Any:
    x = torch.ones(3)
    return quiet(torch).jvp(lambda x: x * 2, (x,), (x.double(),))


@program()
def jvp_through_a_write_in_place(torch: Any) -> Any:
    def f(x: Any) -> Any:
        y = torch.zeros_like(x)
        y[0] = x[1] * x[2]
        return y + x

    return quiet(torch).jvp(f, (vec(torch),), (vec(torch),))


@program()
def jvp_that_does_not_fit(torch: Any) -> Any:
    jvp, x = quiet(torch).jvp, vec(torch)
    f = lambda x: x * 2  # noqa: E731
    return [
        attempt("Expected primals to be a tuple", lambda: jvp(f, x, (x,))),
        attempt("Expected primals to be a tuple", lambda: jvp(f, [x], [x])),
        attempt("to have the same python structure", lambda: jvp(f, (x,), x)),
        attempt("to have the same python structure", lambda: jvp(f, (x,), (x, x))),
        attempt("Trying to set a forward gradient that has a different size", lambda: jvp(f, (x,), (x[:2],))),
        attempt("Expected primals to contain at least one Tensor", lambda: jvp(lambda: x, (), ())),
        attempt("Expected primals to only contain Tensors", lambda: jvp(f, (1.0,), (1.0,))),
        attempt(
            "is independent of the inputs", lambda: jvp(lambda x: torch.ones(2), (x,), (x,), strict=True)
        ),
        attempt("to return only tensors, got unsupported type", lambda: jvp(lambda x: 1.0, (x,), (x,))),
        attempt("output of function f should be a tuple", lambda: jvp(f, (x,), (x,), has_aux=True)),
        attempt(
            "Expected primal to be floating point", lambda: jvp(f, (torch.tensor([1]),), (torch.tensor([1]),))
        ),
    ]


@program(phrase="Nested forward mode AD is not supported at the moment")
def a_dual_level_inside(torch: Any) -> Any:
    fwd, x = torch.autograd.forward_ad, vec(torch)

    def f(x: Any) -> Any:
        with fwd.dual_level():
            return fwd.make_dual(x, x)

    return quiet(torch).jvp(f, (x,), (x,))


@program()
def grad_inside_a_dual_level(torch: Any) -> Any:
    fwd, x = torch.autograd.forward_ad, vec(torch)
    with fwd.dual_level():
        return fwd.unpack_dual(torch.func.grad(cubes)(fwd.make_dual(x, x))).tangent


@program()
def vmap_inside_a_dual_level(torch: Any) -> Any:
    fwd, x = torch.autograd.forward_ad, vec(torch)[None] * torch.ones(2, 1, dtype=torch.float64)
    with fwd.dual_level():
        return fwd.unpack_dual(torch.vmap(lambda v: v**2)(fwd.make_dual(x, x))).tangent


# -- linearize ---------------------------------------------------------------------------------------------------------


@program()
def linearized_once_and_used_often(torch: Any) -> Any:
    output, jvp_fn = linearized(torch, lambda x: x.sin() * x.sum(), vec(torch))
    return output, jvp_fn(vec(torch)), jvp_fn(torch.ones(3, dtype=torch.float64))


@program()
def linearized_trees(torch: Any) -> Any:
    x = vec(torch)
    output, jvp_fn = linearized(torch, lambda x, y: (x * y, {"a": x * x}), x, x + 1)
    return output, jvp_fn(x, torch.ones_like(x))


@program()
def linearized_over_a_batch(torch: Any) -> Any:
    _, jvp_fn = linearized(torch, lambda x: x.cumprod(0), vec(torch))
    return torch.vmap(jvp_fn)(torch.eye(3, dtype=torch.float64))


@program()
def linearize_that_does_not_fit(torch: Any) -> Any:
    x = vec(torch)
    jvp_fn = linearized(torch, lambda x: x.sin(), x)[1]
    return [
        attempt(r"tangent:0 with shape torch.Size\(\[2\]\)", lambda: jvp_fn(x[:2])),
        attempt("tangent:0 with dtype", lambda: jvp_fn(x.float())),
        attempt("to have the same argspec as the primals", lambda: jvp_fn(x, x)),
    ]
