"""`func.jacrev`, `jacfwd` and `hessian`: trees, several arguments, chunks, extra results, and what does not fit."""

from __future__ import annotations

from typing import Any

from .harness import attempt, program
from .programs_func_grad import quiet


def vec(torch: Any) -> Any:
    return torch.tensor([1.0, 2.0, -3.0], dtype=torch.float64)


def mat(torch: Any) -> Any:
    return torch.tensor([[1.0, 2.0], [3.0, -4.0]], dtype=torch.float64)


def mixed(x: Any) -> Any:
    return x.sin() * x.sum()


def both(torch: Any) -> Any:
    """The two ways to a Jacobian."""
    F = quiet(torch)
    return F.jacrev, F.jacfwd


@program()
def of_a_vector(torch: Any) -> Any:
    return [jac(mixed)(vec(torch)) for jac in both(torch)]


@program()
def of_a_matrix(torch: Any) -> Any:
    return [jac(lambda x: x @ x)(mat(torch)) for jac in both(torch)]


@program()
def of_a_number(torch: Any) -> Any:
    x = torch.tensor(2.0, dtype=torch.float64)
    return [jac(lambda x: x**3)(x) for jac in both(torch)]


@program()
def by_a_number_of_a_vector(torch: Any) -> Any:
    x = torch.tensor(2.0, dtype=torch.float64)
    return [jac(lambda x: x ** vec(torch).abs())(x) for jac in both(torch)]


@program()
def to_a_number(torch: Any) -> Any:
    return [jac(lambda x: (x * x).sum())(mat(torch)) for jac in both(torch)]


@program()
def by_two_arguments(torch: Any) -> Any:
    return [jac(lambda x, y: x * y[0], argnums=(0, 1))(vec(torch), mat(torch)[:1, :1]) for jac in both(torch)]


@program()
def by_one_of_two_arguments(torch: Any) -> Any:
    return [jac(lambda x, y: x * y, argnums=1)(vec(torch), vec(torch)) for jac in both(torch)]


@program()
def by_a_tuple_of_one(torch: Any) -> Any:
    return [jac(mixed, argnums=(0,))(vec(torch)) for jac in both(torch)]


@program()
def by_a_tree(torch: Any) -> Any:
    tree = {"a": vec(torch), "b": [vec(torch) + 1]}
    return [jac(lambda p: p["a"] * p["b"][0])(tree) for jac in both(torch)]


@program()
def of_a_tree(torch: Any) -> Any:
    return [jac(lambda x: {"square": x * x, "more": (x.sum(), x[:2])})(vec(torch)) for jac in both(torch)]


@program()
def of_a_tree_by_a_tree(torch: Any) -> Any:
    tree = (vec(torch), vec(torch)[:1])
    return [jac(lambda p: [p[0] * p[1], p[1] ** 2])(tree) for jac in both(torch)]


@program()
def of_several_by_several(torch: Any) -> Any:
    f = lambda x, y: (x * y, y.sum())  # noqa: E731
    return [jac(f, argnums=(0, 1))(vec(torch), vec(torch) + 1) for jac in both(torch)]


@program()
def with_extra_result(torch: Any) -> Any:
    return [jac(lambda x: (x * x, {"sum": x.sum()}), has_aux=True)(vec(torch)) for jac in both(torch)]


@program()
def of_a_constant(torch: Any) -> Any:
    return [jac(lambda x: torch.ones(2, dtype=torch.float64))(vec(torch)) for jac in both(torch)]


@program()
def of_nothing(torch: Any) -> Any:
    return torch.func.jacrev(lambda x: x[:0])(vec(torch))


@program()
def of_indices_and_joins(torch: Any) -> Any:
    f = lambda x: torch.cat([x[[2, 0]], x.flip(0)]) * torch.stack([x[0]] * 5)  # noqa: E731
    return [jac(f)(vec(torch)) for jac in both(torch)]


@program()
def of_softmax(torch: Any) -> Any:
    return [jac(lambda x: torch.softmax(x, 0))(vec(torch)) for jac in both(torch)]


@program()
def of_an_inverse(torch: Any) -> Any:
    return [jac(torch.linalg.inv)(mat(torch)) for jac in both(torch)]


@program()
def of_a_network(torch: Any) -> Any:
    w, v = torch.arange(12.0, dtype=torch.float64).reshape(4, 3) / 10, torch.ones(2, 4, dtype=torch.float64)
    f = lambda x: v @ torch.tanh(w @ x)  # noqa: E731
    return [jac(f)(vec(torch)) for jac in both(torch)]


@program()
def rows_in_chunks(torch: Any) -> Any:
    return [torch.func.jacrev(mixed, chunk_size=n)(vec(torch)) for n in (1, 2, 3, 100)]


@program()
def rows_in_chunks_of_several_outputs(torch: Any) -> Any:
    return torch.func.jacrev(lambda x: (x * x, x.sum()), argnums=(0,), chunk_size=2)(vec(torch))


@program()
def the_same_random_numbers_for_all_columns(torch: Any) -> Any:
    F = quiet(torch)
    found = F.jacfwd(lambda x: x * torch.rand(3, dtype=torch.float64), randomness="same")(vec(torch))
    return bool((found.diagonal() > 0).all()), float((found - torch.diag(found.diagonal())).abs().sum())


@program()
def jacobians_that_do_not_fit(torch: Any) -> Any:
    F, x = quiet(torch), vec(torch)
    return [
        attempt("`chunk_size` should be greater than 0", lambda: F.jacrev(mixed, chunk_size=0)(x)),
        attempt("Got argnum=2, but only 1 positional inputs", lambda: F.jacrev(mixed, argnums=2)(x)),
        attempt("Got argnum=2, but only 1 positional inputs", lambda: F.jacfwd(mixed, argnums=2)(x)),
        attempt("argnums must be int or Tuple", lambda: F.jacrev(mixed, argnums="a")(x)),
        attempt("to return only tensors, got unsupported type", lambda: F.jacrev(lambda x: 1.0)(x)),
        attempt("to return only tensors, got unsupported type", lambda: F.jacfwd(lambda x: 1.0)(x)),
        attempt("only Tensors of floating point dtype", lambda: F.jacrev(mixed)(torch.tensor([1]))),
        attempt("Expected primal to be floating point", lambda: F.jacfwd(mixed)(torch.tensor([1]))),
        attempt("randomness error mode", lambda: F.jacfwd(lambda x: x * torch.rand(3))(x)),
    ]


# -- hessian -----------------------------------------------------------------------------------------------------------


@program()
def hessian_of_a_sum(torch: Any) -> Any:
    return quiet(torch).hessian(lambda x: (x**3).sum() * x[0])(vec(torch))


@program()
def hessian_by_two_arguments(torch: Any) -> Any:
    return quiet(torch).hessian(lambda x, y: (x**2 * y).sum(), argnums=(0, 1))(vec(torch), vec(torch))


@program()
def hessian_of_a_vector(torch: Any) -> Any:
    return quiet(torch).hessian(lambda x: x**3)(vec(torch))


@program()
def hessian_by_a_tree(torch: Any) -> Any:
    return quiet(torch).hessian(lambda p: (p["a"] ** 2 * p["b"]).sum())({"a": vec(torch), "b": vec(torch)})


@program()
def hessian_by_all_four_ways(torch: Any) -> Any:
    F = quiet(torch)
    f = lambda x: (x.sin() * x.exp()).sum() ** 2  # noqa: E731
    return [outer(inner(f))(vec(torch)) for outer in (F.jacrev, F.jacfwd) for inner in (F.jacrev, F.jacfwd)]


@program()
def hessian_of_fifty_dimensions(torch: Any) -> Any:
    F = quiet(torch)
    x = torch.linspace(-1, 1, 50, dtype=torch.float64)

    def f(x: Any) -> Any:
        return (x[1:] * x[:-1]).sin().sum() + torch.log1p((x**2).sum()) + (x**4).mean()

    return F.jacfwd(F.jacrev(f))(x)


@program()
def hessian_of_a_small_network(torch: Any) -> Any:
    F = quiet(torch)
    x = torch.tensor([[0.5, -1.0], [2.0, 0.3]], dtype=torch.float64)
    params = {"w": torch.tensor([[0.1, 0.2], [-0.3, 0.4]], dtype=torch.float64),
              "v": torch.tensor([1.0, -1.0], dtype=torch.float64)}  # fmt: skip
    return F.hessian(lambda p: (torch.tanh(x @ p["w"]) @ p["v"]).square().sum())(params)


@program()
def third_derivative(torch: Any) -> Any:
    F = quiet(torch)
    return F.jacfwd(F.jacfwd(F.jacfwd(lambda x: (x**4).sum())))(vec(torch))


@program()
def hessian_vector_products_all_ways(torch: Any) -> Any:
    F, x = quiet(torch), vec(torch)
    f = lambda x: (x**3).sum() * x.sum()  # noqa: E731
    v = torch.ones_like(x)
    return [
        F.jvp(F.grad(f), (x,), (v,))[1],
        F.vjp(F.grad(f), x)[1](v)[0],
        F.grad(lambda x: F.jvp(f, (x,), (v,))[1])(x),
        F.grad(lambda x: (F.grad(f)(x) * v).sum())(x),
    ]
