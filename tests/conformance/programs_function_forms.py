"""Custom Functions: keyword arguments, setup_context, the context during forward, marks in combination, dtypes."""

from __future__ import annotations

from typing import Any

from .derivatives import derivatives
from .harness import attempt, program
from .programs_function import VECTOR, custom, leaf, square
from .programs_graph_names import tree


def scaled(torch: Any, separate: bool) -> Any:
    """x * factor + shift, with a default; with its context set up apart from forward, or in it."""

    def forward(x: Any, factor: Any, shift: Any = 1.0) -> Any:
        return x * factor + shift

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.count = len(inputs)
        ctx.factor = inputs[1]

    def both(ctx: Any, x: Any, factor: Any, shift: Any = 1.0) -> Any:
        ctx.count, ctx.factor = 3, factor
        return forward(x, factor, shift)

    def backward(ctx: Any, g: Any) -> Any:
        return (g * ctx.factor, None, None)[: ctx.count]

    if separate:
        return custom(torch, forward, backward, "Scaled", setup_context=setup_context)
    return custom(torch, both, backward, "Scaled")


@program()
def keywords_by_name(torch: Any) -> Any:
    found = []
    for separate in (False, True):
        x = leaf(torch)
        f = scaled(torch, separate)
        y = f.apply(x, factor=3, shift=2)
        z = f.apply(shift=5, x=x, factor=4)
        (y.sum() + z.sum()).backward()
        found.append((y, z, x.grad, tree(z)))
    return found


@program()
def keyword_tensor(torch: Any) -> Any:
    x, w = leaf(torch), leaf(torch)

    def forward(ctx: Any, x: Any, w: Any) -> Any:
        ctx.save_for_backward(x, w)
        return x * w

    def backward(ctx: Any, g: Any) -> Any:
        x, w = ctx.saved_tensors
        return g * w, g * x

    y = custom(torch, forward, backward).apply(w=w, x=x)
    y.sum().backward()
    return y, tree(y), x.grad, w.grad


@program()
def defaults_filled_in(torch: Any) -> Any:
    x = leaf(torch)
    y, z = (scaled(torch, separate).apply(x, 3) for separate in (True, False))
    (y + z).sum().backward()
    return y, z, x.grad, y.grad_fn.count


@program()
def defaults_with_keywords(torch: Any) -> Any:
    seen: list[Any] = []

    def forward(ctx: Any, x: Any, a: Any = 1, b: Any = 2) -> Any:
        seen.append((a, b, ctx.needs_input_grad))
        return x * (a + 10 * b)

    f = custom(torch, forward, lambda ctx, g: (g, None, None))
    x = leaf(torch)
    for y in (f.apply(x, 7), f.apply(x, 7, b=8), f.apply(x, a=3), f.apply(x, b=5, a=4)):
        y.sum().backward()
    return seen, x.grad


@program()
def keyword_only_arguments(torch: Any) -> Any:
    def forward(ctx: Any, x: Any, *, n: Any = 2) -> Any:
        return x * n

    x = leaf(torch)
    f = custom(torch, forward, lambda ctx, g: (g, None))
    return attempt("keyword", lambda: f.apply(x, n=3)), f.apply(x)


@program()
def none_given_for_a_tensor(torch: Any) -> Any:
    def forward(ctx: Any, x: Any, bias: Any = None) -> Any:
        ctx.biased = bias is not None
        return x * 2 if bias is None else x * 2 + bias

    def backward(ctx: Any, g: Any) -> Any:
        return g * 2, g if ctx.biased else None

    f = custom(torch, forward, backward)
    x, b = leaf(torch), leaf(torch)
    y, z = f.apply(x, None), f.apply(x, b)
    (y + z).sum().backward()
    return tree(y), tree(z), x.grad, b.grad


@program()
def setup_context_sees_inputs_and_output(torch: Any) -> Any:
    seen: list[Any] = []

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        a, n = inputs
        seen.append((a is x, n, output, output.requires_grad, ctx.needs_input_grad, torch.is_grad_enabled()))

    f = custom(torch, lambda x, n: x * n, lambda ctx, g: (g * 2, None), setup_context=setup_context)
    x = leaf(torch)
    f.apply(x, 2).sum().backward()
    return seen, x.grad


@program()
def setup_context_of_several_outputs(torch: Any) -> Any:
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        (x,) = inputs
        double, mask = output
        ctx.mark_non_differentiable(mask)
        ctx.save_for_backward(x, double, mask)
        ctx.set_materialize_grads(False)

    def backward(ctx: Any, g: Any, h: Any) -> Any:
        x, double, mask = ctx.saved_tensors
        return g * 2 * mask * (double / x) if h is None else None

    f = custom(torch, lambda x: (x * 2, (x > 0).to(x.dtype)), backward, setup_context=setup_context)
    x = leaf(torch)
    y, mask = f.apply(x)
    y.sum().backward()
    return y, mask, x.grad


@program()
def setup_context_with_a_dirty_input(torch: Any) -> Any:
    f = custom(
        torch,
        lambda x: x.mul_(3),
        lambda ctx, g: g * 3,
        setup_context=lambda ctx, inputs, output: ctx.mark_dirty(inputs[0]),
    )
    x = leaf(torch)
    y = x * 1
    z = f.apply(y)
    z.sum().backward()
    return z is y, y, y._version, x.grad


@program()
def setup_context_derivatives(torch: Any) -> Any:
    f = custom(
        torch,
        lambda x: x**3,
        lambda ctx, g: g * 3 * ctx.saved_tensors[0] ** 2,
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
    )
    return derivatives(torch, f.apply, VECTOR)


@program()
def result_of_setup_context_is_ignored(torch: Any) -> Any:
    f = custom(torch, lambda x: x * 2, lambda ctx, g: g * 2, setup_context=lambda ctx, inputs, output: 42)
    x = leaf(torch)
    f.apply(x).sum().backward()
    return x.grad


@program()
def one_output_returned_twice(torch: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        y = x * 2
        return y, y

    x = leaf(torch)
    a, b = custom(torch, forward, lambda ctx, g, h: g * 2 + h * 20).apply(x)
    (a.sum() + 3 * b.sum()).backward()
    return a is b, a.output_nr, b.output_nr, x.grad


@program()
def captured_tensor_gets_no_gradient(torch: Any) -> Any:
    w, x = leaf(torch), leaf(torch)
    y = custom(torch, lambda ctx, x: x * w, lambda ctx, g: g * w).apply(x)
    y.sum().backward()
    return x.grad, w.grad


@program()
def input_marked_non_differentiable(torch: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_non_differentiable(x)
        return x

    y = leaf(torch) * 1
    z = custom(torch, forward, lambda ctx, g: g).apply(y)
    return z is y, z.requires_grad, y.requires_grad


@program()
def gradient_of_the_outputs_dtype(torch: Any) -> Any:
    seen: list[Any] = []
    f = custom(torch, lambda ctx, x: x.float(), lambda ctx, g: (seen.append(g.dtype), g)[1])
    x = leaf(torch)
    (f.apply(x).double() * 2).sum().backward()
    return seen, x.grad


@program()
def gradient_of_a_number(torch: Any) -> Any:
    f = custom(torch, lambda ctx, x: x.sum(), lambda ctx, g: g.expand(3))
    x = leaf(torch)
    y = f.apply(x)
    y.backward()
    return y, x.grad


@program()
def real_from_complex(torch: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x.real**2 + x.imag**2

    def backward(ctx: Any, g: Any) -> Any:
        return 2 * g * ctx.saved_tensors[0]

    return derivatives(torch, custom(torch, forward, backward).apply, [1 + 2j, -0.5j], dtype="complex128")


@program()
def complex_from_real(torch: Any) -> Any:
    seen: list[Any] = []
    f = custom(
        torch, lambda ctx, x: torch.complex(x, 2 * x), lambda ctx, g: (seen.append(g), g.real + 2 * g.imag)[1]
    )
    x = leaf(torch)
    f.apply(x).abs().pow(2).sum().backward()
    return seen, x.grad


@program()
def gradients_only_for_what_is_needed(torch: Any) -> Any:
    calls: list[Any] = []

    def backward(ctx: Any, g: Any) -> Any:
        calls.append(ctx.needs_input_grad)
        return tuple(g * (k + 2) if need else None for k, need in enumerate(ctx.needs_input_grad))

    f = custom(torch, lambda ctx, *xs: sum(xs), backward)
    x, c, y = leaf(torch), torch.ones(3, dtype=torch.float64), leaf(torch)
    f.apply(x, c, y).sum().backward()
    return calls, x.grad, c.grad, y.grad


@program()
def unused_function_does_not_run(torch: Any) -> Any:
    calls: list[Any] = []
    f = custom(torch, lambda ctx, x: x * 1, lambda ctx, g: (calls.append(1), g)[1])
    x, w = leaf(torch), leaf(torch)
    y = f.apply(x)
    (y.detach() + w).sum().backward()
    torch.autograd.grad((y + w).sum(), w)
    return calls, x.grad, w.grad


@program()
def gradients_of_several_uses_are_summed_before(torch: Any) -> Any:
    seen: list[Any] = []
    f = custom(torch, lambda ctx, x: x * 1, lambda ctx, g: (seen.append(g.clone()), g)[1])
    x = leaf(torch)
    y = f.apply(x)
    (y.sum() + (y * 2).sum() + y.prod()).backward()
    return seen, x.grad


@program()
def once_differentiable_with_several_results(torch: Any) -> Any:
    backward = torch.autograd.function.once_differentiable(lambda ctx, g: (g * 2, None, g * 3))
    f = custom(torch, lambda ctx, x, n, y: 2 * x + 3 * y, backward)
    x, y = leaf(torch), leaf(torch)
    a, b = torch.autograd.grad(f.apply(x, 0, y).pow(2).sum(), (x, y), create_graph=True)
    phrase = "trying to differentiate twice a function that was marked with @once_differentiable"
    return a.detach(), b.detach(), attempt(phrase, (a + b).sum().backward)


@program()
def once_differentiable_leads_to_no_gradient(torch: Any) -> Any:
    backward = torch.autograd.function.once_differentiable(lambda ctx, g: g * 2)
    x, w = leaf(torch), leaf(torch)
    y = custom(torch, lambda ctx, x: x * 2, backward).apply(x) * w
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    (g * w).sum().backward(inputs=[w], retain_graph=True)
    return (
        torch.autograd.grad(g.sum(), (x, w), allow_unused=True, retain_graph=True), w.grad, g.grad_fn,
        attempt("appears to not have been used", torch.autograd.grad, g.sum(), w, retain_graph=True),
        attempt("trying to differentiate twice", g.sum().backward),
    )  # fmt: skip


@program()
def once_differentiable_with_a_constant_seed(torch: Any) -> Any:
    backward = torch.autograd.function.once_differentiable(lambda ctx, g: g * 2)
    x = leaf(torch)
    (g,) = torch.autograd.grad(
        custom(torch, lambda ctx, x: x * 2, backward).apply(x).sum(), x, create_graph=True
    )
    return g, g.requires_grad


@program()
def several_outputs_used_with_inputs_argument(torch: Any) -> Any:
    f = custom(torch, lambda ctx, x, y: (x * 2, y * 3), lambda ctx, g, h: (g * 2, h * 3))
    x, y = leaf(torch), leaf(torch)
    a, b = f.apply(x, y)
    (a.sum() + b.sum()).backward(inputs=[y])
    return x.grad, y.grad


@program()
def first_output_kept_alive_by_nothing(torch: Any) -> Any:
    f = custom(torch, lambda ctx, x: (x * 2, x * 3), lambda ctx, g, h: g * 2 + h * 3)
    x = leaf(torch)
    y = f.apply(x)[1]
    y.backward(torch.ones(3, dtype=torch.float64))
    return y.output_nr, x.grad


@program()
def hook_on_an_unused_output_gets_none(torch: Any) -> Any:
    seen: list[Any] = []
    f = custom(torch, lambda ctx, x: (x * 2, x * 3), lambda ctx, g, h: g * 2 + h * 3)
    a, b = f.apply(leaf(torch))
    a.register_hook(lambda g: seen.append(("a", g)))
    b.register_hook(lambda g: seen.append(("b", g)))
    b.sum().backward()
    return seen


@program()
def hook_on_an_unused_part_gets_none(torch: Any) -> Any:
    seen: list[Any] = []
    a, b, _ = leaf(torch).unbind()
    a.register_hook(lambda g: seen.append(("a", g)))
    b.register_hook(lambda g: seen.append(("b", g)))
    b.backward()
    return seen


@program()
def hooks_see_every_output(torch: Any) -> Any:
    seen: list[Any] = []
    f = custom(torch, lambda ctx, x: (x * 2, x * 3), lambda ctx, g, h: g * 2 + h * 3)
    x = leaf(torch)
    a, b = f.apply(x)
    a.grad_fn.register_hook(lambda inputs, outputs: seen.append((inputs, outputs)))
    b.sum().backward()
    return seen, x.grad


@program()
def requires_grad_of_the_result_cannot_be_switched_off(torch: Any) -> Any:
    y = square(torch).apply(leaf(torch))
    return attempt("you can only change requires_grad flags of leaf variables", y.requires_grad_, False)


@program()
def saved_tensors_inside_forward(torch: Any) -> Any:
    seen: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        seen.append(ctx.saved_tensors)
        return x * 1

    custom(torch, forward, lambda ctx, g: g).apply(leaf(torch))
    return seen


@program()
def generic_function_for_all_dtypes(torch: Any) -> Any:
    found = []
    for dtype in (torch.float16, torch.float32, torch.float64):
        x = torch.tensor([1.0, 2.0], dtype=dtype, requires_grad=True)
        square(torch).apply(x).sum().backward()
        found.append(x.grad)
    return found


@program()
def empty_and_zero_dimensional_tensors(torch: Any) -> Any:
    found = []
    for size in ((), (0,), (2, 0), (1,)):
        x = torch.ones(size, requires_grad=True)
        square(torch).apply(x).sum().backward()
        found.append(x.grad)
    return found


@program()
def two_dirty_inputs(torch: Any) -> Any:
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        x.add_(1)
        y.mul_(2)
        ctx.mark_dirty(x, y)
        return x, y

    a, b = leaf(torch), leaf(torch)
    x, y = a * 1, b * 1
    p, q = custom(torch, forward, lambda ctx, g, h: (g, h * 2)).apply(x, y)
    (p * q).sum().backward()
    return p is x, q is y, x._version, y._version, x.output_nr, y.output_nr, a.grad, b.grad


@program()
def dirty_and_fresh_outputs(torch: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        x.add_(1)
        ctx.mark_dirty(x)
        return x * 2, x

    a = leaf(torch)
    x = a * 1
    y, z = custom(torch, forward, lambda ctx, g, h: g * 2 + h).apply(x)
    (y * z).sum().backward()
    return z is x, y, z, tree(y), a.grad


@program()
def dirty_view_with_several_outputs(torch: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        x.add_(1)
        ctx.mark_dirty(x)
        return x, x * 2

    y = leaf(torch) * 1
    f = custom(torch, forward, lambda ctx, g, h: g + h)
    return attempt("your Function cannot return more than one Tensor", f.apply, y[:2])
