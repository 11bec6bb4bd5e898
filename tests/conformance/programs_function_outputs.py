"""Custom Functions: gradients that are None, several outputs, outputs without a gradient, use inside larger graphs."""

from __future__ import annotations

from typing import Any

from .derivatives import derivatives
from .harness import attempt, program
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


def handed_back(torch: Any, setup: Any, separate: bool, forward: Any = lambda x: x) -> Any:
    """A Function that returns what it is given, as it is, and whose context is filled by `setup`."""

    def with_ctx(ctx: Any, x: Any) -> Any:
        output = forward(x)
        setup(ctx, (x,), output)
        return output

    body: dict[str, Any] = {"backward": staticmethod(lambda ctx, g: g * len(ctx.saved_tensors))}
    if separate:
        body |= {
            "forward": staticmethod(forward),
            "setup_context": staticmethod(setup),
            "generate_vmap_rule": True,
        }
    else:
        body |= {"forward": staticmethod(with_ctx)}
    return type("HandedBack", (torch.autograd.Function,), body).apply


@program()
def an_input_handed_back_and_saved(torch: Any) -> Any:
    def backward(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0])

    def of_output(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(output)

    def forward(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_forward(inputs[0])

    def apart(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0])
        ctx.mark_non_differentiable(output)

    leaf, bare, whole = torch.ones(2, requires_grad=True), torch.ones(2), torch.ones(2, dtype=torch.int64)
    found = []
    for setup in (backward, of_output, forward, apart):
        for x in (leaf, leaf * 2, bare, whole):
            for separate in (True, False):
                found.append(attempt("returned as-is as output", handed_back(torch, setup, separate), x))
        with torch.no_grad():
            found.append(handed_back(torch, setup, True)(leaf))
    function = handed_back(torch, backward, True)
    return (
        found,
        attempt("returned as-is as output", torch.vmap(function), torch.ones(2, 2)),
        attempt("returned as-is as output", torch.func.grad(lambda x: function(x).sum()), bare),
        handed_back(torch, backward, True, lambda x: x.view_as(x))(leaf),
    )


@program()
def an_input_overwritten_where_nothing_is_recorded(torch: Any) -> Any:
    def dirty(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.mark_dirty(inputs[0])
        ctx.save_for_backward(inputs[0])

    x, found = torch.ones(2, requires_grad=True), []
    for separate in (True, False):
        with torch.no_grad():
            y = handed_back(torch, dirty, separate, lambda x: x.mul_(2))(x)
        found.append((y, y is x, x, x._version))
    return found
