"""Transforms of `func` inside each other, in every order, and with custom Functions."""

from __future__ import annotations

from typing import Any

from .harness import attempt, program
from .programs_func_grad import quiet


def vec(torch: Any) -> Any:
    return torch.tensor([0.5, 2.0, -1.0], dtype=torch.float64)


def mat(torch: Any) -> Any:
    return torch.tensor([[1.0, 2.0, 3.0], [0.5, -0.5, 1.5]], dtype=torch.float64)


def loss(x: Any) -> Any:
    return (x.sin() * x.exp()).sum()


def mixed(x: Any) -> Any:
    return x.cos() * x.sum()


@program()
def grad_of_grad(torch: Any) -> Any:
    grad = torch.func.grad
    return grad(grad(grad(lambda x: x.sin() * x**3)))(vec(torch)[0])


@program()
def an_inner_gradient_of_an_outer_variable(torch: Any) -> Any:
    grad = torch.func.grad
    return grad(lambda x: x * grad(lambda y: x * y * y)(x) + grad(lambda y: x + y)(x))(vec(torch)[1])


@program()
def vmap_of_grad(torch: Any) -> Any:
    return torch.vmap(torch.func.grad(loss))(mat(torch))


@program()
def grad_of_vmap(torch: Any) -> Any:
    return torch.func.grad(lambda x: torch.vmap(loss)(x).square().sum())(mat(torch))


@program()
def grad_of_vmap_of_grad(torch: Any) -> Any:
    grad = torch.func.grad
    return grad(lambda x: torch.vmap(grad(loss))(x).square().sum())(mat(torch))


@program()
def grad_by_what_all_samples_share(torch: Any) -> Any:
    f = lambda w, x: torch.vmap(lambda v: (w * v).sin().sum())(x).sum()  # noqa: E731
    return torch.func.grad(f, argnums=(0, 1))(vec(torch), mat(torch))


@program()
def per_sample_gradients(torch: Any) -> Any:
    f = lambda w, x: torch.tanh(w @ x).square().sum()  # noqa: E731
    w = torch.tensor([[0.1, 0.2, 0.3], [-1.0, 0.5, 0.0]], dtype=torch.float64)
    return torch.vmap(torch.func.grad(f), in_dims=(None, 0))(w, mat(torch))


@program()
def per_sample_gradients_of_a_tree(torch: Any) -> Any:
    F = torch.nn.functional
    params = {"w": torch.tensor([[0.1, 0.2, 0.3], [-1.0, 0.5, 0.0]]), "b": torch.tensor([0.1, -0.2])}

    def f(p: Any, x: Any, y: Any) -> Any:
        return F.cross_entropy(F.linear(F.relu(x), p["w"], p["b"]), y)

    x, y = mat(torch).float(), torch.tensor([1, 0])
    return torch.vmap(torch.func.grad(f), in_dims=(None, 0, 0))(params, x, y)


@program()
def per_sample_gradients_of_a_convolution(torch: Any) -> Any:
    w = torch.arange(8.0).reshape(2, 1, 2, 2) / 8
    x = torch.arange(32.0).reshape(2, 1, 4, 4) / 32
    f = lambda w, x: torch.conv2d(x[None], w, padding=1).relu().square().sum()  # noqa: E731
    return torch.vmap(torch.func.grad(f), in_dims=(None, 0))(w, x)


@program()
def per_sample_gradients_of_an_embedding(torch: Any) -> Any:
    table, index = torch.arange(8.0).reshape(4, 2) / 8, torch.tensor([[0, 1, 1], [3, 2, 0]])
    f = lambda t, i: torch.nn.functional.embedding(i, t).square().sum()  # noqa: E731
    return torch.vmap(torch.func.grad(f), in_dims=(None, 0))(table, index)


@program()
def gradients_and_values_of_samples(torch: Any) -> Any:
    return torch.vmap(torch.func.grad_and_value(loss))(mat(torch))


@program()
def vmap_of_jacobians(torch: Any) -> Any:
    F = quiet(torch)
    return [torch.vmap(jac(mixed))(mat(torch)) for jac in (F.jacrev, F.jacfwd)]


@program()
def jacobians_of_vmap(torch: Any) -> Any:
    F = quiet(torch)
    return [jac(torch.vmap(mixed))(mat(torch)) for jac in (F.jacrev, F.jacfwd)]


@program()
def vmap_of_hessian(torch: Any) -> Any:
    F = quiet(torch)
    return torch.vmap(F.hessian(loss))(mat(torch))


@program()
def vmap_of_vmap_of_grad(torch: Any) -> Any:
    grad, vmap = torch.func.grad, torch.vmap
    f = vmap(vmap(grad(lambda a, b: (a * b).sin(), argnums=(0, 1)), in_dims=(None, 0)), in_dims=(0, None))
    return f(vec(torch), vec(torch) + 1)


@program()
def jvp_of_jvp(torch: Any) -> Any:
    F, x = quiet(torch), vec(torch)
    return F.jvp(lambda x: F.jvp(mixed, (x,), (x * x,))[1], (x,), (torch.ones_like(x),))


@program()
def jvp_of_jvp_with_closures(torch: Any) -> Any:
    F, x = quiet(torch), vec(torch)
    one = torch.ones_like(x)
    return F.jvp(lambda x: F.jvp(lambda y: x * y**2, (x,), (one,))[1], (x,), (one,))


@program()
def jvp_three_deep(torch: Any) -> Any:
    F, x = quiet(torch), vec(torch)[0]
    one = torch.ones_like(x)

    def d(f: Any) -> Any:
        return lambda x: F.jvp(f, (x,), (one,))[1]

    return d(d(d(lambda x: x.sin() * x**4)))(x)


@program()
def jvp_of_grad_and_grad_of_jvp(torch: Any) -> Any:
    F, x = quiet(torch), vec(torch)
    v = torch.ones_like(x)
    return F.jvp(F.grad(loss), (x,), (v,)), F.grad(lambda x: F.jvp(loss, (x,), (v,))[1])(x)


@program()
def vmap_of_jvp(torch: Any) -> Any:
    F = quiet(torch)
    return torch.vmap(lambda x, t: F.jvp(mixed, (x,), (t,)))(mat(torch), mat(torch) * 2)


@program()
def jvp_of_vmap(torch: Any) -> Any:
    F = quiet(torch)
    return F.jvp(torch.vmap(mixed), (mat(torch),), (mat(torch) * 2,))


@program()
def a_batch_of_directions(torch: Any) -> Any:
    F, x = quiet(torch), vec(torch)
    return torch.vmap(lambda t: F.jvp(mixed, (x,), (t,))[1])(torch.eye(3, dtype=torch.float64))


@program()
def vjp_inside_grad_inside_vmap(torch: Any) -> Any:
    F = torch.func

    def f(x: Any) -> Any:
        _, vjp_fn = F.vjp(mixed, x)
        return (vjp_fn(x)[0] ** 2).sum()

    return torch.vmap(F.grad(f))(mat(torch))


@program()
def jacobian_of_a_gradient_of_a_batch(torch: Any) -> Any:
    F = quiet(torch)
    return F.jacfwd(lambda x: torch.vmap(F.grad(loss))(x))(mat(torch))


@program()
def jacrev_of_jacfwd_of_jacrev(torch: Any) -> Any:
    F = quiet(torch)
    return F.jacrev(F.jacfwd(F.jacrev(lambda x: (x**3).sum() * x[0])))(vec(torch))


@program()
def an_optimiser_inside_vmap(torch: Any) -> Any:
    grad = torch.func.grad

    def solve(target: Any) -> Any:
        x = torch.zeros_like(target)
        for _ in range(5):
            x = x - 0.1 * grad(lambda x: ((x - target) ** 2 + x**4).sum())(x)
        return x

    return torch.vmap(solve)(mat(torch))


@program()
def gradient_through_an_optimiser(torch: Any) -> Any:
    grad = torch.func.grad

    def solved(rate: Any) -> Any:
        x = vec(torch)
        for _ in range(3):
            x = x - rate * grad(lambda x: (x**4).sum())(x)
        return (x**2).sum()

    return grad(solved)(torch.tensor(0.01, dtype=torch.float64))


@program()
def writes_in_place_inside_grad_inside_vmap(torch: Any) -> Any:
    def f(x: Any) -> Any:
        y = x.clone()
        y[0] = x[1] * x[2]
        y[1:].mul_(x[0])
        return (y**2).sum()

    return torch.vmap(torch.func.grad(f))(mat(torch))


@program()
def backward_through_vmap(torch: Any) -> Any:
    x, w = mat(torch).requires_grad_(), vec(torch).requires_grad_()
    torch.vmap(lambda v: (v * w).sin().sum())(x).sum().backward()
    return x.grad, w.grad


@program()
def backward_through_vmap_of_grad(torch: Any) -> Any:
    x, w = mat(torch).requires_grad_(), vec(torch).requires_grad_()
    f = torch.func.grad(lambda v: (v**2 * w).sin().sum())
    torch.vmap(f)(x).square().sum().backward()
    return x.grad, w.grad


@program()
def a_batch_of_gradients_through_vmap(torch: Any) -> Any:
    x = mat(torch).requires_grad_()
    y = torch.vmap(loss)(x)
    return torch.autograd.grad(y, x, torch.eye(2, dtype=torch.float64), is_grads_batched=True)


@program()
def the_chain_rule_by_hand(torch: Any) -> Any:
    F = torch.func
    y, first = F.vjp(torch.sin, vec(torch))
    z, second = F.vjp(torch.exp, y)
    return z, first(*second(torch.ones_like(z)))


# -- custom Functions --------------------------------------------------------------------------------------------------


def cube(torch: Any, **more: Any) -> Any:
    """x ** 3 with a derivative of its own, in the form that transforms want."""

    def forward(x: Any) -> Any:
        return x**3

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    def backward(ctx: Any, g: Any) -> Any:
        return g * 3 * ctx.saved_tensors[0] ** 2

    def jvp(ctx: Any, t: Any) -> Any:
        return t * 3 * ctx.saved_tensors[0] ** 2

    methods = {"forward": forward, "setup_context": setup_context, "backward": backward, "jvp": jvp, **more}
    made = {k: staticmethod(v) if callable(v) else v for k, v in methods.items()}
    return type("Cube", (torch.autograd.Function,), made)


@program()
def custom_function_in_grad(torch: Any) -> Any:
    f = cube(torch).apply
    grad = torch.func.grad
    return grad(lambda x: f(x).sum())(vec(torch)), grad(grad(lambda x: f(x)))(vec(torch)[1])


@program()
def custom_function_in_jvp(torch: Any) -> Any:
    F = quiet(torch)
    return F.jvp(cube(torch).apply, (vec(torch),), (vec(torch),))


@program()
def custom_function_with_a_generated_rule(torch: Any) -> Any:
    f = cube(torch, generate_vmap_rule=True).apply
    return torch.vmap(f)(mat(torch)), torch.vmap(torch.func.grad(lambda x: f(x).sum()))(mat(torch))


@program()
def custom_function_with_its_own_rule(torch: Any) -> Any:
    seen: list[Any] = []

    def rule(info: Any, in_dims: Any, x: Any) -> Any:
        seen.append((info.batch_size, info.randomness, in_dims, tuple(x.shape)))
        return x**3, in_dims[0]

    f = cube(torch, vmap=rule).apply
    return torch.vmap(f)(mat(torch)), torch.func.grad(lambda x: torch.vmap(f)(x).sum())(mat(torch)), seen[0]


@program()
def custom_function_with_its_own_rule_in_vmap_of_grad(torch: Any) -> Any:
    f = cube(torch, vmap=lambda info, in_dims, x: (x**3, in_dims[0])).apply
    return torch.vmap(torch.func.grad(lambda x: f(x).sum()))(mat(torch))


@program()
def custom_function_in_a_jacobian(torch: Any) -> Any:
    return torch.func.jacrev(cube(torch, generate_vmap_rule=True).apply)(vec(torch))


@program()
def custom_functions_that_cannot_be_transformed(torch: Any) -> Any:
    class Old(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    x, grad = mat(torch), torch.func.grad
    rule = lambda info, in_dims, x: (x**3, 0)  # noqa: E731
    both = cube(torch, generate_vmap_rule=True, vmap=rule)
    one = cube(torch, vmap=lambda info, in_dims, x: x**3)
    return [
        attempt("it must override the setup_context staticmethod", lambda: torch.vmap(Old.apply)(x)),
        attempt(
            "it must override the setup_context staticmethod", lambda: grad(lambda x: Old.apply(x).sum())(x)
        ),
        attempt(
            "You tried to vmap over Cube, but it does not have vmap", lambda: torch.vmap(cube(torch).apply)(x)
        ),
        attempt("it has both generate_vmap_rule=True and", lambda: torch.vmap(both.apply)(x)),
        attempt("Expected the vmap staticmethod to have two returns", lambda: torch.vmap(one.apply)(x)),
        Old.apply(x),
    ]
