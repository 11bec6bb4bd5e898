"""Transforms under other modes, of arguments that do not fit, and of custom Functions with a `vmap` of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

from .harness import attempt, program
from .programs_func_grad import linearized, quiet


def vec(torch: Any) -> Any:
    return torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)


def mat(torch: Any) -> Any:
    return torch.tensor([[1.0, 2.0, 3.0], [4.0, -5.0, 6.0]], dtype=torch.float64)


# -- inference mode ----------------------------------------------------------------------------------------------------


def every_transform(torch: Any, x: Any) -> Any:
    F = quiet(torch)
    number = lambda x: (x**3).sum()  # noqa: E731
    return (
        F.grad(number)(x), F.grad(lambda x: F.grad(number)(x).sum())(x), F.vjp(lambda x: x**3, x)[1](x),
        F.jvp(lambda x: x**3, (x,), (x,)), F.jacrev(lambda x: x**3)(x), F.jacfwd(lambda x: x**3)(x),
        F.hessian(number)(x), F.vmap(F.grad(number))(torch.stack([x, x])),
        F.grad(lambda y: (y * x).sum())(torch.ones(3, dtype=torch.float64)),
    )  # fmt: skip


@program()
def inside_of_inference_mode(torch: Any) -> Any:
    outside = vec(torch)
    with torch.inference_mode():
        return every_transform(torch, vec(torch)), every_transform(torch, outside)


@program()
def of_a_tensor_made_in_inference_mode(torch: Any) -> Any:
    with torch.inference_mode():
        x = vec(torch)
    found = every_transform(torch, x)
    return found, found[0].is_inference()


@program()
def a_tensor_of_inference_mode_is_still_not_saved_outside_of_transforms(torch: Any) -> Any:
    with torch.inference_mode():
        x = vec(torch)
    torch.func.grad(lambda y: (y * x).sum())(vec(torch))
    w = torch.ones(3, dtype=torch.float64, requires_grad=True)
    return attempt("Inference tensors cannot be saved for backward", lambda: w * x)


@program()
def forward_mode_is_on_inside_of_jvp(torch: Any) -> Any:
    F, fwd = quiet(torch), torch.autograd.forward_ad
    off = getattr(fwd, "_set_fwd_grad_enabled", None) or fwd.set_fwd_grad_enabled
    with off(False):
        return F.jvp(lambda x: x.sin(), (vec(torch),), (vec(torch),)), F.jacfwd(lambda x: x**2)(vec(torch))


# -- arguments and results ---------------------------------------------------------------------------------------------


@program()
def jacobians_are_of_real_functions(torch: Any) -> Any:
    F, z = quiet(torch), torch.tensor([1 + 2j, 3.0])
    return [
        (
            attempt(f"{name}: Expected all inputs to be real", getattr(F, name)(lambda z: z.abs()), z),
            attempt(
                f"{name}: Expected all outputs to be real", getattr(F, name)(lambda x: x + 1j), vec(torch)
            ),
        )
        for name in ("jacrev", "jacfwd")
    ]


@program()
def one_argument_named_twice(torch: Any) -> Any:
    f = lambda a, b: (a * b).sum()  # noqa: E731
    x = vec(torch)
    return [
        attempt("argnums elements must be unique", torch.func.grad(f, argnums=numbers), x, x)
        for numbers in ((0, 0), (0, -2), (-1, 1))
    ]


@program()
def results_that_do_not_change(torch: Any) -> Any:
    F = torch.func
    return (
        F.grad(lambda x: x.sum().long())(vec(torch)),
        F.grad(lambda x: torch.ones((), dtype=torch.complex64))(vec(torch)),
        F.grad(lambda x: torch.tensor(2.0))(vec(torch)),
    )


@program()
def whole_numbers_linearized(torch: Any) -> Any:
    output, jvp_fn = linearized(torch, lambda x: (x.argmax(), x * 2), vec(torch))
    return output, jvp_fn(vec(torch))[1]


@program()
def batched_gradients_without_a_batch(torch: Any) -> Any:
    x = vec(torch).requires_grad_()
    grad = torch.autograd.grad
    return (
        attempt("Got in_dim=0 for some input", grad, (x**2).sum(), x, is_grads_batched=True),
        attempt("we interpret the first dimension", grad, x**2, x, torch.ones(2, 2), is_grads_batched=True),
    )


@program()
def outputs_that_have_no_derivative(torch: Any) -> Any:
    F, x = quiet(torch), vec(torch)
    found = []
    for f in (lambda x: x.long(), lambda x: (x * 2, [x > 0]), lambda x: torch.ones(2, dtype=torch.int64)):
        for call in (lambda f=f: F.vjp(f, x), lambda f=f: F.jacrev(f)(x), lambda f=f: F.hessian(f)(x)):
            found.append(attempt("All outputs of f must be floating-point or complex Tensors", call))
        found.append(F.jvp(f, (x,), (x,)))
    for f in (lambda x: [], lambda x: ([], ()), lambda x: {}):
        for call in (
            lambda f=f: F.jvp(f, (x,), (x,)),
            lambda f=f: F.jacfwd(f)(x),
            lambda f=f: F.jacrev(f)(x),
        ):
            found.append(attempt(r"non-empty output \(got output = \[\]\)", call))
    return found, F.vjp(lambda x: (x * 2, x.long()), x, has_aux=True)[2]


@program()
def numbers_that_are_bools(torch: Any) -> Any:
    F, x = quiet(torch), vec(torch)
    f = lambda x, y: (x * y * y).sum()  # noqa: E731
    return (
        [F.grad(f, argnums=n)(x, x * 2) for n in (True, False, (0, True))],
        F.jacrev(f, argnums=True)(x, x * 2), F.jacfwd(f, argnums=True)(x, x * 2),
        attempt("argnums elements must be unique", F.grad(f, argnums=(1, True)), x, x),
        [
            attempt("must be int, not bool", torch.vmap(torch.dot, in_dims=dims), mat(torch), mat(torch))
            for dims in (True, False, (0, False))
        ],
    )  # fmt: skip


@program()
def products_whose_graph_is_asked_for(torch: Any) -> Any:
    x, w = vec(torch), vec(torch).requires_grad_()
    f = lambda x: x**3  # noqa: E731
    return [
        [
            torch.func.vjp(f, x)[1](seed, create_graph=create)
            for seed in (x, w)
            for create in (True, False, None)
        ],
        [torch.func.vjp(f, w)[1](x, create_graph=create) for create in (True, False, None)],
        [torch.func.vjp(lambda x: x * w, x)[1](x, create_graph=create) for create in (True, False, None)],
    ]


@program()
def what_a_transformed_function_may_not_do(torch: Any) -> Any:
    F, x, leaf = quiet(torch), vec(torch), vec(torch).requires_grad_()

    def everywhere(phrase: str, act: Any) -> Any:
        def f(x: Any) -> Any:
            act(x)
            return (x * x).sum()

        rows = torch.stack([x, x])
        calls = (
            lambda: F.grad(f)(x), lambda: F.jvp(f, (x,), (x,)), lambda: torch.vmap(f)(rows),
            lambda: torch.vmap(F.grad(f))(rows),
        )  # fmt: skip
        return [attempt(phrase, call) for call in calls]

    return (
        everywhere("retain_grad", lambda x: x.retain_grad()),
        everywhere("retain_grad", lambda x: (leaf * 2).retain_grad()),
        everywhere("requires_grad_", lambda x: x.requires_grad_(False)),
        everywhere("accessing `data` under vmap", lambda x: x.data),
        everywhere("accessing `data` under vmap", lambda x: leaf.data),
        everywhere("mutating directly with `.data`", lambda x: setattr(x, "data", x * 2)),
        everywhere("mutating directly with `.data`", lambda x: setattr(torch.ones(3), "data", x)),
        everywhere(
            "mutating directly with `.data`", lambda x: setattr(torch.ones(3), "data", torch.zeros(3))
        ),
    )


# -- custom Functions --------------------------------------------------------------------------------------------------


def scaled(torch: Any, log: list[Any], answer: Any = None) -> Any:
    """A Function with a `vmap` of its own that notes what it is told; `answer(result)` is what it returns."""

    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(x, w, extra):
            return x * w

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs[:2])

        @staticmethod
        def backward(ctx, g):
            x, w = ctx.saved_tensors
            return g * w, g * x, None

        @staticmethod
        def vmap(info, in_dims, x, w, extra):
            log.append((info.batch_size, info.randomness, in_dims, list(x.shape), list(w.shape)))
            x, w = (
                v.unsqueeze(0) if d is None else v.movedim(d, 0)
                for v, d in zip((x, w), in_dims[:2], strict=True)
            )
            found = Scaled.apply(x, w, extra)
            return (found, 0) if answer is None else answer(found)

    return Scaled


@program()
def what_a_vmap_staticmethod_is_told(torch: Any) -> Any:
    log: list[Any] = []
    apply, x = scaled(torch, log).apply, mat(torch)
    two = torch.ones(2, dtype=torch.float64)
    found = (
        torch.vmap(lambda x, w: apply(x, w, [1, 2]))(x, x),
        torch.vmap(lambda x, w: apply(x, w, "a"), in_dims=(1, None))(x, two),
        torch.vmap(lambda x, w: apply(x, w, None), in_dims=(None, -1), randomness="same")(vec(torch), x.t()),
        torch.vmap(torch.vmap(lambda x, w: apply(x, w, {"k": 1}), in_dims=(0, None)), in_dims=(None, 0))(
            x, x
        ),
    )
    return found, log


@program()
def results_of_a_vmap_staticmethod_along_another_dimension(torch: Any) -> Any:
    F = scaled(torch, [], lambda found: (found.movedim(0, -1), -1))
    x = mat(torch)
    gradient = torch.func.grad(lambda x, w: (F.apply(x, w, None) ** 2).sum(), argnums=(0, 1))
    return torch.vmap(lambda x: F.apply(x, x, None))(x), torch.vmap(gradient)(x, x + 1)


@program()
def a_vmap_staticmethod_that_returns_something_else(torch: Any) -> Any:
    def over(answer: Any) -> Any:
        return lambda: torch.vmap(lambda x: scaled(torch, [], answer).apply(x, x, None))(mat(torch))

    return (
        attempt("to have two returns", over(lambda found: found)),
        attempt("incompatible \\(output, out_dims\\) tuple", over(lambda found: (found, (0,)))),
        attempt("incompatible \\(output, out_dims\\) tuple", over(lambda found: ((found, found), (0, 0, 0)))),
        attempt("incompatible \\(output, out_dims\\) tuple", over(lambda found: ((found, found), [0, 0]))),
        attempt("incompatible \\(output, out_dims\\) tuple", over(lambda found: ([found, found], [0]))),
        attempt("incompatible \\(output, out_dims\\) tuple", over(lambda found: (found, [0]))),
        attempt("Dimension out of range", over(lambda found: (found, 5))),
    )


@program()
def a_vmap_staticmethod_that_returns_lists_and_dicts(torch: Any) -> Any:
    def over(answer: Any) -> Any:
        return torch.vmap(lambda x: scaled(torch, [], answer).apply(x, x, None))(mat(torch))

    return (
        over(lambda found: ([found, (found * 2).t()], [0, 1])),
        over(lambda found: ([found, found * 2], 0)),
        over(lambda found: ((found, [found * 2, {"a": found * 3}]), (0, [0, {"a": 0}]))),
        over(lambda found: ({"a": found, "b": found[0]}, {"a": 0, "b": None})),
    )


def numpy_sort(torch: Any) -> Any:
    """Sorting by NumPy, whose derivative calls NumPy again: neither can see a batched tensor."""

    class Sort(torch.autograd.Function):
        @staticmethod
        def forward(x, dim):
            values = x.detach().numpy()
            order = np.argsort(values, axis=dim)
            back = np.argsort(order, axis=dim)
            return (
                torch.tensor(np.take_along_axis(values, order, dim)),
                torch.tensor(order),
                torch.tensor(back),
            )

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.dim = inputs[1]
            ctx.mark_non_differentiable(*output[1:])
            ctx.save_for_backward(*output[1:])

        @staticmethod
        def backward(ctx, g, _order, _back):
            order, back = ctx.saved_tensors
            return Take.apply(g, back, order, ctx.dim), None

        @staticmethod
        def vmap(info, in_dims, x, dim):
            x = x.movedim(in_dims[0], 0)
            return Sort.apply(x, dim % (x.dim() - 1) + 1), (0, 0, 0)

    class Take(torch.autograd.Function):
        @staticmethod
        def forward(x, order, back, dim):
            return torch.tensor(np.take_along_axis(x.detach().numpy(), order.numpy(), dim))

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(inputs[1], inputs[2])
            ctx.dim = inputs[3]

        @staticmethod
        def backward(ctx, g):
            order, back = ctx.saved_tensors
            return Take.apply(g, back, order, ctx.dim), None, None, None

        @staticmethod
        def vmap(info, in_dims, x, order, back, dim):
            given = [
                v.expand(info.batch_size, *v.shape) if d is None else v.movedim(d, 0)
                for v, d in zip((x, order, back), in_dims[:3], strict=True)
            ]
            return Take.apply(*given, dim % (given[0].dim() - 1) + 1), 0

    return lambda x: Sort.apply(x, -1)[0]


@program()
def functions_that_call_numpy(torch: Any) -> Any:
    f, x, w = numpy_sort(torch), mat(torch), vec(torch)
    leaf = mat(torch).requires_grad_()
    torch.vmap(lambda v: f(v) * w)(leaf).pow(2).sum().backward()
    return (
        torch.vmap(f)(x), torch.vmap(torch.func.grad(lambda x: (f(x) * w).sum()))(x), torch.func.jacrev(f)(w),
        torch.func.grad(lambda x: (torch.vmap(f)(x) ** 2 * w).sum())(x), leaf.grad,
    )  # fmt: skip


@program()
def a_function_that_writes_has_a_vmap_of_its_own(torch: Any) -> Any:
    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return x.exp_()

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.mark_dirty(inputs[0])
            ctx.save_for_backward(output)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.saved_tensors[0]

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any) -> Any:
            Exp.apply(x)
            return x, in_dims[0]

    x = torch.arange(6.0).reshape(2, 3) / 6

    def exp(x: Any) -> Any:
        y = x.clone()
        return Exp.apply(y) + y

    return (
        torch.vmap(exp)(x), torch.vmap(exp, 1, 1)(x), torch.vmap(torch.vmap(exp))(x),
        torch.vmap(Exp.apply, 1)(x.clone()),
        torch.vmap(torch.func.grad(lambda x: Exp.apply(x.clone()).sum()))(x),
    )  # fmt: skip


@program()
def a_view_whose_tangent_a_vmap_of_its_own_makes(torch: Any) -> Any:
    class Row(torch.autograd.Function):
        @staticmethod
        def forward(x: Any, i: int) -> Any:
            return x[i]

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.i = inputs[1]

        @staticmethod
        def jvp(ctx: Any, t: Any, _: Any) -> Any:
            return Row.apply(t, ctx.i)

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any, i: int) -> Any:
            return Row.apply(x.movedim(in_dims[0], 1), i), 0

    x = torch.arange(6.0).reshape(2, 3)
    return torch.func.jacfwd(lambda x: Row.apply(x, 1) * 2)(x), torch.func.jvp(
        lambda x: Row.apply(x, 0), (x,), (x,)
    )
