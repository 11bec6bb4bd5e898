"""Custom Functions in the graph: nodes, hooks, inputs returned as they are, views, in-place work, freeing."""

from __future__ import annotations

from typing import Any

from .derivatives import derivatives
from .harness import attempt, program
from .programs_function import VECTOR, custom, leaf, passing, product, square
from .programs_graph_names import tree

MODIFIED = "one of the variables needed for gradient computation has been modified by an inplace operation"


def doubled_in_place(torch: Any) -> Any:
    """Doubles its argument where it stands."""

    def forward(ctx: Any, x: Any) -> Any:
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    return custom(torch, forward, lambda ctx, g: g * 2, "Doubled")


@program()
def name_of_the_node(torch: Any) -> Any:
    y = square(torch).apply(leaf(torch))
    return y.grad_fn.name(), type(y.grad_fn).__name__


@program()
def node_is_an_instance_of_node(torch: Any) -> Any:
    y = square(torch).apply(leaf(torch))
    return isinstance(y.grad_fn, torch.autograd.graph.Node), dict(y.grad_fn.metadata)


@program()
def nodes_of_one_function_share_a_class(torch: Any) -> Any:
    f, g = square(torch), square(torch)
    a, b, c = f.apply(leaf(torch)), f.apply(leaf(torch)), g.apply(leaf(torch))
    return type(a.grad_fn) is type(b.grad_fn), type(a.grad_fn) is type(c.grad_fn), a.grad_fn is b.grad_fn


@program()
def next_functions_hold_tensors_only(torch: Any) -> Any:
    f = custom(torch, lambda ctx, a, n, b, c: a * b, lambda ctx, g: (g, None, g, None))
    x, c = leaf(torch), torch.ones(3, dtype=torch.float64)
    return tree(f.apply(x * 2, 5, c, x))


@program()
def printed_result_shows_the_node(torch: Any) -> Any:
    y = square(torch).apply(torch.tensor([1.0, 2.0], requires_grad=True))
    return repr(y)


@program()
def sequence_number_is_that_of_the_call(torch: Any) -> Any:
    x = leaf(torch)
    a = x * 1
    y = square(torch).apply(x)
    b = x * 1
    first = a.grad_fn._sequence_nr()
    return y.grad_fn._sequence_nr() - first, b.grad_fn._sequence_nr() - first


@program()
def hook_on_the_node(torch: Any) -> Any:
    seen: list[Any] = []
    x = leaf(torch)
    y = square(torch).apply(x)
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append((inputs, outputs)))
    y.grad_fn.register_prehook(lambda outputs: seen.append(outputs))
    y.sum().backward()
    return seen, x.grad


@program()
def hook_on_the_node_replaces(torch: Any) -> Any:
    x, y = leaf(torch), leaf(torch)
    z = product(torch).apply(x, y)
    z.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] * 100, None))
    z.grad_fn.register_prehook(lambda outputs: (outputs[0] * 2,))
    z.sum().backward()
    return x.grad, y.grad


@program()
def hook_and_retained_gradient_of_the_result(torch: Any) -> Any:
    seen: list[Any] = []
    x = leaf(torch)
    y = square(torch).apply(x)
    y.register_hook(lambda g: g * 10)
    y.retain_grad()
    passing(torch, seen).apply(y).sum().backward()
    return seen, y.grad, x.grad


@program()
def gradient_with_respect_to_the_result(torch: Any) -> Any:
    x = leaf(torch)
    y = square(torch).apply(x)
    z = square(torch).apply(y)
    return torch.autograd.grad(z.sum(), (y, x))


@program()
def input_returned_as_it_is(torch: Any) -> Any:
    f = custom(torch, lambda ctx, x: x, lambda ctx, g: g * 5, "Same")
    x = leaf(torch)
    y = f.apply(x)
    y.sum().backward()
    return y is x, y, y._is_view(), y._base is x, tree(y), x.grad


@program()
def result_returned_as_it_is(torch: Any) -> Any:
    f = custom(torch, lambda ctx, x: x, lambda ctx, g: g * 5, "Same")
    x = leaf(torch)
    y = x * 2
    z = f.apply(y)
    z.sum().backward()
    return z is y, y.grad_fn, z._is_view(), z._base is y, z._version, x.grad


@program()
def constant_returned_as_it_is(torch: Any) -> Any:
    f = custom(torch, lambda ctx, x, c: (x * 1, c), lambda ctx, g, h: (g, None), "Same")
    x, c = leaf(torch), torch.ones(3, dtype=torch.float64)
    y, d = f.apply(x, c)
    return d is c, c.requires_grad, d.requires_grad, y.requires_grad


@program()
def input_returned_as_it_is_without_a_graph(torch: Any) -> Any:
    f = custom(torch, lambda ctx, x: x, lambda ctx, g: g * 5, "Same")
    c, x = torch.ones(2), leaf(torch)
    y = f.apply(c)
    with torch.no_grad():
        z = f.apply(x)
    return y is c, y.requires_grad, z is x, z.requires_grad


@program()
def both_inputs_returned(torch: Any) -> Any:
    f = custom(torch, lambda ctx, x, y: (y, x), lambda ctx, g, h: (h * 2, g * 3), "Swapped")
    x, y = leaf(torch), leaf(torch)
    a, b = f.apply(x, y)
    (a.sum() + 10 * b.sum()).backward()
    return a, b, x.grad, y.grad


@program()
def view_of_an_input_returned(torch: Any) -> Any:
    f = custom(torch, lambda ctx, x: x[:2], lambda ctx, g: torch.cat([g * 2, g[:1] * 0]), "Head")
    x = leaf(torch)
    y = f.apply(x)
    (y * y).sum().backward()
    return y, y._is_view(), y._base is x, tree(y), x.grad


@program(phrase="is a view and is being modified inplace.*[Ff]unction")
def view_returned_and_written(torch: Any) -> Any:
    f = custom(torch, lambda ctx, x: x[:2], lambda ctx, g: torch.cat([g, g[:1]]), "Head")
    f.apply(leaf(torch) * 1).mul_(2)


@program(phrase="is a view and is being modified inplace.*[Ff]unction")
def input_returned_and_written(torch: Any) -> Any:
    f = custom(torch, lambda ctx, x: x, lambda ctx, g: g, "Same")
    f.apply(leaf(torch) * 1).mul_(2)


@program()
def fresh_result_written(torch: Any) -> Any:
    x = leaf(torch)
    y = passing(torch).apply(x)
    y.mul_(3)
    y[0] = 7.0
    y.sum().backward()
    return y, tree(y), x.grad


@program()
def view_of_the_result_written(torch: Any) -> Any:
    def run(x: Any) -> Any:
        y = square(torch).apply(x) * 1
        y[:2].mul_(3)
        return y

    return derivatives(torch, run, VECTOR)


@program()
def dirty_input(torch: Any) -> Any:
    x = leaf(torch)
    y = x * 3
    z = doubled_in_place(torch).apply(y)
    z.sum().backward()
    return z is y, y, y._version, tree(y), x.grad


@program()
def dirty_input_between_other_writes(torch: Any) -> Any:
    x = leaf(torch)
    y = x * 3
    y.add_(1)
    doubled_in_place(torch).apply(y)
    y.mul_(5)
    y.sum().backward()
    return y, y._version, tree(y), x.grad


@program()
def dirty_constant(torch: Any) -> Any:
    def forward(ctx: Any, c: Any, w: Any) -> Any:
        c.add_(w)
        ctx.mark_dirty(c)
        return c

    c, w = torch.zeros(3, dtype=torch.float64), leaf(torch)
    y = custom(torch, forward, lambda ctx, g: (g, g * 2), "Added").apply(c, w)
    y.sum().backward()
    return y is c, c.requires_grad, c.is_leaf, tree(c), w.grad


@program()
def dirty_view(torch: Any) -> Any:
    x = leaf(torch)
    y = x * 3
    v = y[:2]
    z = doubled_in_place(torch).apply(v)
    y.sum().backward()
    return z is v, y, tree(y), x.grad


@program(phrase="a leaf Variable that requires grad (has been|is being) used in an in-place operation")
def dirty_leaf(torch: Any) -> Any:
    doubled_in_place(torch).apply(leaf(torch))


@program()
def dirty_saved_value_is_noticed(torch: Any) -> Any:
    x = leaf(torch)
    y = x * 1
    z = y.log()
    doubled_in_place(torch).apply(y)
    return attempt(MODIFIED, z.sum().backward)


@program()
def unmarked_write_inside_forward_counts(torch: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        x.mul_(2)
        return x * 1

    y = leaf(torch) * 1
    z = y.log()
    custom(torch, forward, lambda ctx, g: g).apply(y)
    return y._version, attempt(MODIFIED, z.sum().backward)


@program()
def saved_input_of_a_dirty_function(torch: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        x.exp_()
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        return x

    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.saved_tensors[0]

    def run(x: Any) -> Any:
        return custom(torch, forward, backward, "Exp").apply(x * 1)

    return derivatives(torch, run, VECTOR)


@program(phrase=MODIFIED)
def saved_input_overwritten(torch: Any) -> Any:
    y = leaf(torch) * 1
    z = square(torch).apply(y)
    y.add_(1)
    z.sum().backward()


@program(phrase=MODIFIED)
def saved_leaf_overwritten_under_no_grad(torch: Any) -> Any:
    x = leaf(torch)
    z = square(torch).apply(x)
    with torch.no_grad():
        x.zero_()
    z.sum().backward()


@program(phrase=MODIFIED)
def saved_output_overwritten(torch: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    y = custom(torch, forward, lambda ctx, g: g * ctx.saved_tensors[0]).apply(leaf(torch))
    y.add_(1)
    y.sum().backward()


@program()
def attribute_overwritten_goes_unnoticed(torch: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.x = x
        return x * x

    x = leaf(torch)
    y = x * 1
    z = custom(torch, forward, lambda ctx, g: g * 2 * ctx.x.detach()).apply(y)
    y.zero_()
    z.sum().backward()
    return x.grad


@program()
def retained_graph(torch: Any) -> Any:
    x = leaf(torch)
    y = square(torch).apply(x).sum()
    y.backward(retain_graph=True)
    y.backward()
    return x.grad


@program(phrase="Trying to backward through the graph a second time")
def second_backward(torch: Any) -> Any:
    y = square(torch).apply(leaf(torch))
    y.sum().backward()
    y.sum().backward()


@program()
def second_backward_of_a_function_that_saves_nothing(torch: Any) -> Any:
    x = leaf(torch)
    y = passing(torch).apply(x)
    y.backward(torch.ones(3, dtype=torch.float64))
    y.backward(torch.ones(3, dtype=torch.float64))
    return x.grad


@program(phrase="saved tensors after they have already been freed|backward through the graph a second time")
def saved_tensors_read_after_backward(torch: Any) -> Any:
    y = square(torch).apply(leaf(torch))
    y.sum().backward()
    return y.grad_fn.saved_tensors


@program()
def saved_tensors_read_before_backward(torch: Any) -> Any:
    x = leaf(torch)
    y = square(torch).apply(x)
    return y.grad_fn.saved_tensors, y.grad_fn.saved_tensors[0] is x, y.grad_fn.needs_input_grad


@program()
def second_order_graph(torch: Any) -> Any:
    x = leaf(torch)
    (g,) = torch.autograd.grad(square(torch).apply(x).sum(), x, create_graph=True)
    return g.detach(), g.requires_grad, torch.autograd.grad(g.sum(), x)


@program()
def higher_orders(torch: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x**4

    f = custom(torch, forward, lambda ctx, g: g * 4 * ctx.saved_tensors[0] ** 3)
    x = leaf(torch)
    g, found = f.apply(x).sum(), []
    for _ in range(4):
        (d,) = torch.autograd.grad(g, x, create_graph=True)
        found.append(d.detach())
        g = d.sum()
    return found


@program()
def functions_used_inside_backward_are_recorded(torch: Any) -> Any:
    f = product(torch)

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x * x

    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return f.apply(f.apply(x, x), 3 * g)

    return derivatives(torch, custom(torch, forward, backward).apply, VECTOR)


@program()
def backward_inside_backward(torch: Any) -> Any:
    w = leaf(torch)

    def backward(ctx: Any, g: Any) -> Any:
        with torch.enable_grad():
            (w * w).sum().backward()
        return g

    x = leaf(torch)
    custom(torch, lambda ctx, x: x * 1, backward).apply(x).sum().backward()
    return x.grad, w.grad


@program()
def checkpoint_by_hand(torch: Any) -> Any:
    def forward(ctx: Any, run: Any, x: Any) -> Any:
        ctx.run = run
        ctx.save_for_backward(x)
        return run(x)

    def backward(ctx: Any, g: Any) -> Any:
        x = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad():
            y = ctx.run(x)
        y.backward(g)
        return None, x.grad

    w, x = leaf(torch), leaf(torch)
    custom(torch, forward, backward).apply(lambda t: (t * w).tanh(), x).sum().backward()
    return x.grad, w.grad


@program()
def straight_through_estimator(torch: Any) -> Any:
    f = custom(torch, lambda ctx, x: (x > 0).to(x.dtype), lambda ctx, g: g.clamp(-1, 1), "Step")
    x = leaf(torch)
    (f.apply(x) * 3 + f.apply(x * 2)).sum().backward()
    return x.grad


@program()
def gradient_reversal(torch: Any) -> Any:
    def forward(ctx: Any, x: Any, strength: Any) -> Any:
        ctx.strength = strength
        return x.view_as(x)

    f = custom(torch, forward, lambda ctx, g: (g.neg() * ctx.strength, None), "Reversed")
    x = leaf(torch)
    y = f.apply(x, 0.5)
    (y * y).sum().backward()
    return y, x.grad
