"""Custom Functions: gradients that are None, several outputs, outputs without a gradient, use inside larger graphs."""

from __future__ import annotations

from typing import Any

from .derivatives import derivatives
from .harness import program
from .programs_function import OTHER, VECTOR, custom, leaf, passing, product, square


@program()
def none_as_a_gradient(torch: Any) -> Any:
    f = custom(torch, lambda ctx, x, y: x + y, lambda ctx, g: (None, g))
    x, y = leaf(torch), leaf(torch)
    z = f.apply(x, y)
    grads = torch.autograd.grad(z.sum(), (x, y), allow_unused=True, retain_graph=True)
    z.sum().backward()
    return grads, x.grad, y.grad


@program()
def none_for_the_only_gradient(torch: Any) -> Any:
    f = custom(torch, lambda ctx, x: x * 1, lambda ctx, g: None)
    x = leaf(torch)
    (f.apply(x * 2).sum() + x.sum()).backward()
    return x.grad


@program()
def more_nones_than_arguments(torch: Any) -> Any:
    f = custom(torch, lambda ctx, x: x * 1, lambda ctx, g: (g, None, None))
    x = leaf(torch)
    f.apply(x).sum().backward()
    return x.grad


@program()
def several_outputs(torch: Any) -> Any:
    f = custom(torch, lambda ctx, x: (x * 2, x * 3), lambda ctx, g, h: g * 2 + h * 3)
    x = leaf(torch)
    a, b = f.apply(x)
    (a.sum() + (b * b).sum()).backward()
    return a, b, a.output_nr, b.output_nr, a.grad_fn is b.grad_fn, x.grad


@program()
def unused_output_arrives_as_zeros(torch: Any) -> Any:
    seen: list[Any] = []
    f = custom(torch, lambda ctx, x: (x * 2, x[:2] * 3), lambda ctx, g, h: (seen.append((g, h)), g * 2)[1])
    x = leaf(torch)
    f.apply(x)[0].sum().backward()
    f.apply(x)[1].sum().backward()
    return seen, x.grad


@program()
def unused_output_arrives_as_none(torch: Any) -> Any:
    seen: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        ctx.set_materialize_grads(False)
        return x * 2, x * 3

    f = custom(torch, forward, lambda ctx, g, h: (seen.append((g, h)), h * 3)[1])
    x = leaf(torch)
    f.apply(x)[1].sum().backward()
    return seen, x.grad


@program()
def set_materialize_grads_in_setup_context(torch: Any) -> Any:
    seen: list[Any] = []
    f = custom(
        torch,
        lambda x: (x * 2, x * 3),
        lambda ctx, g, h: (seen.append((g is None, h is None)), g * 2)[1],
        setup_context=lambda ctx, inputs, output: ctx.set_materialize_grads(False),
    )
    x = leaf(torch)
    f.apply(x)[0].sum().backward()
    return seen, x.grad


@program()
def outputs_of_which_some_are_no_tensors(torch: Any) -> Any:
    f = custom(torch, lambda ctx, x: (x * 2, 7, "text", None), lambda ctx, g, *rest: g * 2 * len(rest))
    x = leaf(torch)
    y, *others = f.apply(x)
    y.sum().backward()
    return y, others, x.grad


@program()
def integer_outputs_have_no_gradient(torch: Any) -> Any:
    f = custom(torch, lambda ctx, x: (x * 2, x.argmax()), lambda ctx, g, h: g * 2)
    x = leaf(torch)
    y, i = f.apply(x)
    y.sum().backward()
    return y, i, i.requires_grad, x.grad


@program()
def outputs_in_a_list(torch: Any) -> Any:
    f = custom(torch, lambda ctx, x: (x * 2,), lambda ctx, g: g * 2)
    x = leaf(torch)
    result = f.apply(x)
    result[0].sum().backward()
    return type(result) is tuple, len(result), x.grad


@program()
def non_differentiable_outputs(torch: Any) -> Any:
    seen: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        order = x.long()
        mask = (x > 0).to(x.dtype)
        ctx.mark_non_differentiable(order, mask)
        return x * 2, order, mask

    f = custom(torch, forward, lambda ctx, g, h, k: (seen.append((g, h, k)), g * 2)[1])
    x = leaf(torch)
    y, order, mask = f.apply(x)
    y.sum().backward()
    return [(t, t.requires_grad, t.is_leaf) for t in (y, order, mask)], seen, x.grad


@program()
def once_differentiable_once(torch: Any) -> Any:
    seen: list[Any] = []

    @torch.autograd.function.once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, g: Any) -> Any:
        seen.append(torch.is_grad_enabled())
        return g * 2

    f = custom(torch, lambda ctx, x: x * 2, backward)
    x = leaf(torch)
    (first,) = torch.autograd.grad(f.apply(x).sum(), x)
    (again,) = torch.autograd.grad(f.apply(x).pow(2).sum(), x, create_graph=True)
    return first, seen, again.detach(), again.requires_grad


@program()
def function_inside_a_function(torch: Any) -> Any:
    f = square(torch)

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return f.apply(f.apply(x))

    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return f.apply(x) * x * 4 * g

    return derivatives(torch, custom(torch, forward, backward).apply, VECTOR)


@program()
def graph_recorded_inside_forward(torch: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        with torch.enable_grad():
            ctx.inner = x.detach().requires_grad_()
            ctx.result = ctx.inner**3
        return ctx.result.detach()

    def backward(ctx: Any, g: Any) -> Any:
        return torch.autograd.grad(ctx.result, ctx.inner, g)

    x = leaf(torch)
    custom(torch, forward, backward).apply(x).sum().backward()
    return x.grad


@program()
def function_in_the_middle_with_shared_inputs(torch: Any) -> Any:
    f = product(torch)

    def run(x: Any, y: Any) -> Any:
        a = x * y
        b = f.apply(a, x)
        return f.apply(b, a) + b * y

    return derivatives(torch, run, VECTOR, OTHER)


@program()
def function_in_a_loop(torch: Any) -> Any:
    f = product(torch)

    def run(x: Any, y: Any) -> Any:
        for _ in range(4):
            x = f.apply(x, y) + x
        return x

    return derivatives(torch, run, VECTOR, OTHER)


@program()
def complex_arguments(torch: Any) -> Any:
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        ctx.save_for_backward(x, y)
        return x * y

    def backward(ctx: Any, g: Any) -> Any:
        x, y = ctx.saved_tensors
        return g * y.conj(), g * x.conj()

    f = custom(torch, forward, backward)
    return derivatives(torch, f.apply, [1 + 2j, 0.5j], [2 - 1j, 3.0 + 0j], dtype="complex128")


@program()
def gradient_keeps_flowing_through_a_passing_function(torch: Any) -> Any:
    seen: list[Any] = []
    x = leaf(torch)
    (passing(torch, seen).apply(x) * 3).sum().backward()
    return seen, x.grad
