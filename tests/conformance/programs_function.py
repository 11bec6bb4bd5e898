"""Custom Functions: forms of forward, the context, saved tensors, arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .derivatives import derivatives
from .harness import program

VECTOR = [0.5, -2.0, 3.0]
OTHER = [1.0, 4.0, -0.25]


def leaf(torch: Any, data: Any = VECTOR) -> Any:
    return torch.tensor(data, dtype=torch.float64, requires_grad=True)


def custom(
    torch: Any, forward: Any, backward: Any, name: str = "Custom", **others: Callable[..., Any] | None
) -> Any:
    """A subclass of autograd.Function with these static methods."""
    methods = {"forward": forward, "backward": backward, **others}
    return type(
        name, (torch.autograd.Function,), {k: staticmethod(f) for k, f in methods.items() if f is not None}
    )


def square(torch: Any) -> Any:
    """x * x, which saves its input."""

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * 2 * x

    return custom(torch, forward, backward, "Square")


def product(torch: Any) -> Any:
    """x * y, which saves both and computes only the gradients that are needed."""

    def forward(ctx: Any, x: Any, y: Any) -> Any:
        ctx.save_for_backward(x, y)
        return x * y

    def backward(ctx: Any, g: Any) -> Any:
        x, y = ctx.saved_tensors
        return g * y if ctx.needs_input_grad[0] else None, g * x if ctx.needs_input_grad[1] else None

    return custom(torch, forward, backward, "Product")


def passing(torch: Any, seen: list[Any] | None = None) -> Any:
    """A copy of x; notes the gradient it is given."""

    def backward(ctx: Any, g: Any) -> Any:
        if seen is not None:
            seen.append(g)
        return g

    return custom(torch, lambda ctx, x: x.clone(), backward, "Passing")


@program()
def class_with_static_methods(torch: Any) -> Any:
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx: Any, grad_output: Any) -> Any:
            (x,) = ctx.saved_tensors
            return grad_output * 3 * x**2

    x = leaf(torch)
    y = Cube.apply(x)
    y.sum().backward()
    return y, y.is_leaf, x.grad


@program()
def a_view_whose_base_got_a_history(torch: Any) -> Any:
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            seen.append(ctx.needs_input_grad)
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad_output: Any) -> Any:
            return grad_output * 2

    seen: list[Any] = []
    base, w = torch.zeros(3), torch.ones(2, requires_grad=True)
    view = base[:2]
    base[:2] = w
    Double.apply(view).sum().backward()
    return seen, w.grad


@program()
def setup_context_apart_from_forward(torch: Any) -> Any:
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(x: Any, power: Any) -> Any:
            return x**power

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            x, ctx.power = inputs
            ctx.seen = type(inputs) is tuple, output.requires_grad
            ctx.save_for_backward(x, output)

        @staticmethod
        def backward(ctx: Any, grad_output: Any) -> Any:
            x, out = ctx.saved_tensors
            return grad_output * ctx.power * out / x, None

    x = leaf(torch)
    y = Cube.apply(x, 3)
    y.sum().backward()
    return y, y.grad_fn.seen, x.grad


@program()
def inherited_methods(torch: Any) -> Any:
    class Base(torch.autograd.Function):
        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.factor

    class Twice(Base):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.factor = 2
            return x * 2

    x = leaf(torch)
    y = Twice.apply(x)
    y.sum().backward()
    return y, y.grad_fn.name(), x.grad


@program()
def vjp_instead_of_backward(torch: Any) -> Any:
    f = custom(torch, lambda ctx, x: x * 3, None, vjp=lambda ctx, g: g * 3)
    x = leaf(torch)
    f.apply(x).sum().backward()
    return x.grad


@program()
def nothing_is_recorded_inside_forward(torch: Any) -> Any:
    seen: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        y = x * x
        seen.append((torch.is_grad_enabled(), x.requires_grad, x.is_leaf, y.requires_grad, y.grad_fn))
        return y

    x = leaf(torch)
    y = custom(torch, forward, lambda ctx, g: g).apply(x)
    return seen, torch.is_grad_enabled(), y.requires_grad


@program()
def forward_sees_the_tensors_themselves(torch: Any) -> Any:
    x = leaf(torch)
    y = x * 1
    seen = []
    f = custom(torch, lambda ctx, a, b: (seen.append((a is x, b is y)), a * b)[1], lambda ctx, g: (g, g))
    f.apply(x, y)
    return seen


@program()
def mode_inside_backward(torch: Any) -> Any:
    seen: list[Any] = []

    def backward(ctx: Any, g: Any) -> Any:
        seen.append((torch.is_grad_enabled(), g.requires_grad))
        return g

    x = leaf(torch)
    f = custom(torch, lambda ctx, x: x * 1, backward)
    f.apply(x).sum().backward()
    torch.autograd.grad(f.apply(x).sum(), x, create_graph=True)
    return seen


@program()
def derivatives_through_saved_inputs(torch: Any) -> Any:
    return derivatives(torch, square(torch).apply, VECTOR)


@program()
def derivatives_through_two_saved_inputs(torch: Any) -> Any:
    return derivatives(torch, product(torch).apply, VECTOR, OTHER)


@program()
def derivatives_through_a_saved_output(torch: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.saved_tensors[0]

    return derivatives(torch, custom(torch, forward, backward).apply, VECTOR)


@program()
def saved_intermediate_is_a_constant_for_double_backward(torch: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        slope = 2 * x
        ctx.save_for_backward(slope)
        return x * x

    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.saved_tensors[0]

    f = custom(torch, forward, backward)
    x = leaf(torch)
    (first,) = torch.autograd.grad(f.apply(x).sum(), x, create_graph=True)
    return first.detach(), first.requires_grad


@program()
def saved_none(torch: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(None, x, None)
        return x * x

    def backward(ctx: Any, g: Any) -> Any:
        first, x, last = ctx.saved_tensors
        return g * 2 * x if first is None and last is None else None

    x = leaf(torch)
    custom(torch, forward, backward).apply(x).sum().backward()
    return x.grad


@program()
def saved_tensors_are_a_tuple(torch: Any) -> Any:
    seen: list[Any] = []

    def forward(ctx: Any, x: Any, y: Any) -> Any:
        ctx.save_for_backward(x, y)
        return x * y

    def backward(ctx: Any, g: Any) -> Any:
        a, b = ctx.saved_tensors
        seen.append((type(ctx.saved_tensors) is tuple, a is x, b.grad_fn is y.grad_fn, a.requires_grad))
        return g * b, g * a

    x = leaf(torch)
    y = x * 1
    custom(torch, forward, backward).apply(x, y).sum().backward()
    return seen, x.grad


@program()
def saved_result_is_the_tensor_itself(torch: Any) -> Any:
    seen: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * 2

    x = leaf(torch)
    y = x * 1
    custom(torch, forward, lambda ctx, g: (seen.append(ctx.saved_tensors[0] is y), g * 2)[1]).apply(
        y
    ).sum().backward()
    return seen


@program()
def nothing_saved(torch: Any) -> Any:
    seen: list[Any] = []
    f = custom(torch, lambda ctx, x: x * 2, lambda ctx, g: (seen.append(ctx.saved_tensors), g * 2)[1])
    x = leaf(torch)
    f.apply(x).sum().backward()
    return seen, x.grad


@program()
def saved_twice_keeps_the_last(torch: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        ctx.save_for_backward(x * 10, x * 100)
        return x * 1

    def backward(ctx: Any, g: Any) -> Any:
        return g * len(ctx.saved_tensors) + ctx.saved_tensors[0]

    x = leaf(torch)
    custom(torch, forward, backward).apply(x).sum().backward()
    return x.grad


@program()
def attributes_of_the_context(torch: Any) -> Any:
    def forward(ctx: Any, x: Any, factor: Any) -> Any:
        ctx.factor, ctx.shape, ctx.dtype, ctx.x, ctx.out, ctx.name_of = (
            factor,
            x.shape,
            x.dtype,
            x,
            7,
            "custom",
        )
        return x * factor

    seen: list[Any] = []

    def backward(ctx: Any, g: Any) -> Any:
        seen.append((ctx.shape, ctx.dtype, ctx.x, ctx.out, ctx.name_of))
        return g * ctx.factor, None

    x = leaf(torch)
    y = custom(torch, forward, backward).apply(x, 5)
    y.sum().backward()
    return seen, x.grad, y.grad_fn.factor


@program()
def attributes_with_names_of_the_libraries_own(torch: Any) -> Any:
    names = "xs keeps size dim axis key params device array index grad inputs outputs region version node hooks write"

    def forward(ctx: Any, x: Any) -> Any:
        for k, name in enumerate(names.split()):
            setattr(ctx, name, k)
        return x * 2

    seen: list[Any] = []

    def backward(ctx: Any, g: Any) -> Any:
        seen.append([getattr(ctx, name) for name in names.split()])
        return g * 2

    x = leaf(torch)
    custom(torch, forward, backward).apply(x).sum().backward()
    return seen, x.grad


@program()
def attribute_that_is_missing(torch: Any) -> Any:
    f = custom(torch, lambda ctx, x: x * 2, lambda ctx, g: g * 2 if not hasattr(ctx, "missing") else None)
    x = leaf(torch)
    f.apply(x).sum().backward()
    return x.grad


@program()
def attribute_changed_in_backward(torch: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.count = 0
        return x * 1

    def backward(ctx: Any, g: Any) -> Any:
        ctx.count += 1
        return g * ctx.count

    x = leaf(torch)
    y = custom(torch, forward, backward).apply(x)
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    return y.grad_fn.count, x.grad


@program()
def context_is_the_node(torch: Any) -> Any:
    seen: list[Any] = []
    f = custom(torch, lambda ctx, x: (seen.append(ctx), x * 1)[1], lambda ctx, g: (seen.append(ctx), g)[1])
    x = leaf(torch)
    y = f.apply(x)
    y.sum().backward()
    return seen[0] is y.grad_fn, seen[1] is y.grad_fn


@program()
def needs_input_grad_of_all_arguments(torch: Any) -> Any:
    seen: list[Any] = []

    def forward(ctx: Any, *args: Any) -> Any:
        seen.append(ctx.needs_input_grad)
        return args[0] * 1

    x, c, i = leaf(torch), torch.ones(3, dtype=torch.float64), torch.arange(3)
    f = custom(torch, forward, lambda ctx, g: (seen.append(ctx.needs_input_grad), (g,) + (None,) * 5)[1])
    f.apply(x, c, i, 3, "text", None).sum().backward()
    return seen


@program()
def needs_input_grad_when_only_some_are_asked_for(torch: Any) -> Any:
    seen: list[Any] = []

    def backward(ctx: Any, g: Any) -> Any:
        seen.append(ctx.needs_input_grad)
        return g, g

    f = custom(torch, lambda ctx, x, y: x + y, backward)
    x, y = leaf(torch), leaf(torch)
    z = f.apply(x, y).sum()
    torch.autograd.grad(z, x, retain_graph=True)
    z.backward()
    return seen


@program()
def needs_input_grad_under_no_grad(torch: Any) -> Any:
    seen: list[Any] = []
    f = custom(torch, lambda ctx, x: (seen.append(ctx.needs_input_grad), x * 1)[1], lambda ctx, g: g)
    with torch.no_grad():
        y = f.apply(leaf(torch))
    return seen, y


@program()
def apply_without_a_gradient(torch: Any) -> Any:
    f = square(torch)
    y = f.apply(torch.tensor([1.0, 2.0]))
    with torch.no_grad():
        z = f.apply(leaf(torch))
    return y, y.grad_fn, z, z.is_leaf


@program()
def arguments_that_are_not_tensors(torch: Any) -> Any:
    def forward(ctx: Any, x: Any, n: Any, options: Any, nothing: Any) -> Any:
        ctx.n = n + options["more"] + (nothing is None)
        return x * ctx.n

    f = custom(torch, forward, lambda ctx, g: (g * ctx.n, None, None, None))
    x = leaf(torch)
    y = f.apply(x, 2, {"more": 3}, None)
    y.sum().backward()
    return y, x.grad, y.grad_fn.next_functions


@program()
def tensor_argument_after_others(torch: Any) -> Any:
    f = custom(torch, lambda ctx, n, x, m: x * (n + m), lambda ctx, g: (None, g * 7, None))
    x = leaf(torch)
    y = f.apply(3, x, 4)
    y.sum().backward()
    return x.grad, y.grad_fn.next_functions


@program()
def tensors_inside_lists_are_not_seen(torch: Any) -> Any:
    f = custom(torch, lambda ctx, xs: xs[0] + xs[1], lambda ctx, g: None)
    y = f.apply([leaf(torch), leaf(torch)])
    return y, y.requires_grad


@program()
def default_arguments(torch: Any) -> Any:
    def forward(ctx: Any, x: Any, n: Any = 3) -> Any:
        ctx.n = n
        return x * n

    x = leaf(torch)
    f = custom(torch, forward, lambda ctx, g: g * ctx.n)
    y = f.apply(x)
    y.sum().backward()
    return y, x.grad


@program()
def varying_arguments(torch: Any) -> Any:
    f = custom(torch, lambda ctx, *xs: sum(xs), lambda ctx, g: tuple(g * k for k in (1, 2, 3)))
    xs = [leaf(torch) for _ in range(3)]
    f.apply(*xs).sum().backward()
    return [x.grad for x in xs]


@program()
def one_tensor_given_twice(torch: Any) -> Any:
    x = leaf(torch)
    y = product(torch).apply(x, x)
    y.sum().backward()
    return x.grad, y.grad_fn.next_functions
