"""Custom Functions: containers around tensors, the older forms, class-level switches, and how long things live."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .harness import attempt, program
from .programs_function import VECTOR, custom, leaf, product, square
from .programs_graph_names import tree


class Thing:
    """Something that can be referred to weakly."""


@contextmanager
def without_collector() -> Iterator[None]:
    """What dies inside dies by its reference count alone."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def function_module(torch: Any) -> Any:
    return torch.autograd.function


# -- containers --------------------------------------------------------------------------------------------------------


@program()
def tensors_inside_containers_of_arguments(torch: Any) -> Any:
    x, w = leaf(torch), leaf(torch)
    seen: list[Any] = []

    def forward(ctx: Any, x: Any, more: Any) -> Any:
        seen.append((ctx.needs_input_grad, more["w"].requires_grad))
        return x * more["w"] + sum(more["others"])

    y = custom(torch, forward, lambda ctx, g: (g * 2, None)).apply(x, {"w": w, "others": [w, x]})
    y.sum().backward()
    return y, x.grad, w.grad, seen, tree(y)


@program()
def nested_results(torch: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2, (x * 3, [x * 4]), {"k": x * 5}

    x = leaf(torch)
    a, (b, (c,)), d = custom(torch, forward, lambda ctx, g, h, k: g * 2).apply(x)
    a.sum().backward()
    return a, b.requires_grad, c.requires_grad, d["k"].requires_grad, x.grad


@program()
def gradients_of_nested_results_are_none(torch: Any) -> Any:
    seen: list[Any] = []

    def backward(ctx: Any, *grads: Any) -> Any:
        seen.append([g is None for g in grads])
        return grads[0]

    x = leaf(torch)
    y, _, _, _ = custom(torch, lambda ctx, x: (x * 2, [x], "text", 3), backward).apply(x)
    y.sum().backward()
    return seen, x.grad


@program()
def gradients_in_a_list(torch: Any) -> Any:
    y = custom(torch, lambda ctx, x: x * 2, lambda ctx, g: [g]).apply(leaf(torch))
    return attempt("expected Variable or None", y.sum().backward)


@program()
def empty_tuple_of_gradients(torch: Any) -> Any:
    y = custom(torch, lambda ctx, x: x * 2, lambda ctx, g: ()).apply(leaf(torch))
    return attempt("returned an incorrect number of gradients", y.sum().backward)


@program()
def one_tuple_of_results(torch: Any) -> Any:
    x = leaf(torch)
    found = custom(torch, lambda ctx, x: (x * 2,), lambda ctx, g: g * 2).apply(x)
    found[0].sum().backward()
    return len(found), found, x.grad


# -- the older forms ---------------------------------------------------------------------------------------------------


@program(warns="should not be instantiated")
def instances_of_the_older_forms(torch: Any) -> Any:
    module = function_module(torch)
    plain, inplace = module.InplaceFunction(), module.InplaceFunction(inplace=True)
    nested = torch.autograd.NestedIOFunction()
    return plain.inplace, inplace.inplace, isinstance(nested, torch.autograd.Function)


@program()
def inplace_function_applied(torch: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x)
        return x.mul_(2)

    base = function_module(torch).InplaceFunction
    methods = {"forward": staticmethod(forward), "backward": staticmethod(lambda ctx, g: g * 2)}
    doubled = type("Doubled", (base,), methods)
    x = leaf(torch)
    y = x.clone()
    z = doubled.apply(y)
    z.sum().backward()
    return z is y, z, x.grad


@program()
def classes_and_their_relations(torch: Any) -> Any:
    module, f = function_module(torch), square(torch)
    node = f.apply(leaf(torch)).grad_fn
    return (
        isinstance(f, module.FunctionMeta),
        isinstance(torch.autograd.Function, module.FunctionMeta),
        isinstance(int, module.FunctionMeta),
        isinstance(node, module.BackwardCFunction),
        isinstance(node, module.FunctionCtx),
        isinstance(node, f._backward_cls),
        f._backward_cls.__name__,
        f._backward_cls._forward_cls is f,
        issubclass(module.InplaceFunction, torch.autograd.Function),
        issubclass(torch.autograd.NestedIOFunction, torch.autograd.Function),
        issubclass(f, module._SingleLevelFunction),
    )


@program()
def defaults_of_the_class(torch: Any) -> Any:
    f = torch.autograd.Function
    return f.generate_vmap_rule, f.clear_saved_tensors_on_access, f.boxed_grads_call


@program()
def whether_setup_context_is_defined(torch: Any) -> Any:
    defined = function_module(torch)._is_setup_context_defined
    separate = custom(
        torch, lambda x: x * 2, lambda ctx, g: g, setup_context=lambda ctx, inputs, output: None
    )
    return defined(square(torch).setup_context), defined(separate.setup_context)


@program(warns="'saved_variables' is deprecated")
def saved_variables(torch: Any) -> Any:
    return square(torch).apply(leaf(torch)).grad_fn.saved_variables


@program(warns="`mark_shared_storage` is deprecated")
def mark_shared_storage(torch: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        out = x * 2
        ctx.mark_shared_storage((x, out))
        return out

    return custom(torch, forward, lambda ctx, g: g).apply(leaf(torch))


# -- switches ----------------------------------------------------------------------------------------------------------


def once_only(torch: Any, seen: list[Any]) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        seen.append(attempt("saved_tensors can only be accessed once", lambda: ctx.saved_tensors))
        return 2 * g * x

    made = custom(torch, forward, backward)
    made.clear_saved_tensors_on_access = True
    return made


@program()
def saved_tensors_given_away(torch: Any) -> Any:
    seen: list[Any] = []
    x = leaf(torch)
    y = once_only(torch, seen).apply(x)
    y.sum().backward(retain_graph=True)
    again = attempt("saved_tensors can only be accessed once", y.sum().backward)
    return x.grad, seen, again


@program()
def saved_tensors_given_away_before_backward(torch: Any) -> Any:
    y = once_only(torch, []).apply(leaf(torch))
    first = y.grad_fn.saved_tensors
    return first, attempt("saved_tensors can only be accessed once", y.sum().backward)


@program()
def gradients_in_a_box(torch: Any) -> Any:
    seen: list[Any] = []

    def backward(ctx: Any, grads: Any) -> Any:
        seen.append((type(grads), len(grads)))
        h, g = grads.pop(), grads.pop()
        return g * 2 + h * 3

    f = custom(torch, lambda ctx, x: (x * 2, x * 3), backward)
    f.boxed_grads_call = True
    x = leaf(torch)
    a, b = f.apply(x)
    (a.sum() + b.sum()).backward()
    return x.grad, seen


@program()
def batching_rules_are_accepted(torch: Any) -> Any:
    x = leaf(torch)
    generated = custom(
        torch, lambda x: x * 2, lambda ctx, g: g * 2, setup_context=lambda ctx, inputs, output: None
    )
    generated.generate_vmap_rule = True
    written = square(torch)
    written.vmap = staticmethod(lambda info, in_dims, x: (x, in_dims[0]))
    (generated.apply(x) + written.apply(x)).sum().backward()
    return x.grad


@program()
def tensors_for_forward_mode(torch: Any) -> Any:
    seen: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_forward(x, None)
        ctx.save_for_backward(x)
        seen.append([t is x for t in ctx.saved_for_forward])
        return x * x

    x = leaf(torch)
    custom(torch, forward, lambda ctx, g: 2 * g * ctx.saved_tensors[0]).apply(x).sum().backward()
    return x.grad, seen


@program(phrase="save_for_forward expects all arguments to be tensors")
def numbers_for_forward_mode(torch: Any) -> Any:
    custom(torch, lambda ctx, x: ctx.save_for_forward(x, 3), lambda ctx, g: g).apply(leaf(torch))


# -- how long things live ----------------------------------------------------------------------------------------------


def hanging(torch: Any, things: list[Any], saves: bool = True) -> Any:
    """Doubles; a Thing hangs on ctx, and a weak reference to it is left in `things`."""

    def forward(ctx: Any, x: Any) -> Any:
        ctx.thing = Thing()
        things.append(weakref.ref(ctx.thing))
        out = x * 2
        if saves:
            ctx.save_for_backward(x, out)
        return out

    return custom(torch, forward, lambda ctx, g: g * 2)


@program()
def context_dies_with_the_result(torch: Any) -> Any:
    things: list[Any] = []
    with without_collector():
        y = hanging(torch, things).apply(leaf(torch))
        alive = things[0]() is not None
        del y
        return alive, things[0]() is None


@program()
def context_without_a_graph_dies_at_once(torch: Any) -> Any:
    things: list[Any] = []
    with without_collector(), torch.no_grad():
        y = hanging(torch, things).apply(leaf(torch))
        return y, things[0]() is None


@program()
def context_lives_as_long_as_a_later_result(torch: Any) -> Any:
    things: list[Any] = []
    with without_collector():
        y = hanging(torch, things).apply(leaf(torch))
        z = y.exp()
        del y
        before = things[0]() is not None
        z.sum().backward()
        after = things[0]() is not None
        del z
        return before, after, things[0]() is None


@program()
def saved_tensors_die_with_backward(torch: Any) -> Any:
    found = []
    for retain in (True, False):
        with without_collector():
            x = leaf(torch)
            c = x.detach() * 2
            y = product(torch).apply(x, c)
            watched = weakref.ref(c)
            del c
            before = watched() is not None
            y.sum().backward(retain_graph=retain)
            found.append((before, watched() is not None))
    return found


@program()
def context_dies_after_an_error_in_forward(torch: Any) -> Any:
    things: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        ctx.thing = Thing()
        things.append(weakref.ref(ctx.thing))
        raise KeyError("inside")

    f = custom(torch, forward, lambda ctx, g: g)
    with without_collector():
        error = attempt("inside", f.apply, leaf(torch))
        return error, things[0]() is None


@program()
def result_dies_though_its_node_saved_it(torch: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        out = x.exp()
        ctx.save_for_backward(out)
        return out

    with without_collector():
        y = custom(torch, forward, lambda ctx, g: g * ctx.saved_tensors[0]).apply(leaf(torch))
        node, watched = weakref.ref(y.grad_fn), weakref.ref(y)
        del y
        return node() is None, watched() is None


# -- calls -------------------------------------------------------------------------------------------------------------


@program()
def keywords_under_no_grad(torch: Any) -> Any:
    seen: list[Any] = []

    def forward(ctx: Any, x: Any, k: Any = 1, *, flag: Any = None) -> Any:
        seen.append((k, flag))
        return x * k

    f = custom(torch, lambda ctx, x, k=1: forward(ctx, x, k), lambda ctx, g, h=None: (g, None))
    x = leaf(torch)
    with torch.no_grad():
        y = f.apply(x, k=3)
    return y, f.apply(x=x, k=4), seen


@program()
def hooks_of_every_kind_on_the_node(torch: Any) -> Any:
    seen: list[Any] = []

    def before(grads: Any) -> Any:
        seen.append(("before", grads[0].tolist()))
        return (grads[0] * 2,)

    def after(inputs: Any, outputs: Any) -> Any:
        seen.append(("after", inputs[0].tolist(), outputs[0].tolist()))
        return (inputs[0] * 10,)

    x = leaf(torch)
    y = square(torch).apply(x)
    y.register_hook(lambda g: seen.append(("tensor", g.tolist())))
    handles = [y.grad_fn.register_prehook(before), y.grad_fn.register_hook(after)]
    y.sum().backward(retain_graph=True)
    for handle in handles:
        handle.remove()
    y.sum().backward()
    return x.grad, seen


@program()
def metadata_of_the_node(torch: Any) -> Any:
    y = square(torch).apply(leaf(torch))
    y.grad_fn.metadata["note"] = 3
    return y.grad_fn.metadata, y.grad_fn.name(), [tuple(m.shape) for m in y.grad_fn._input_metadata]


@program()
def attributes_stay_after_backward(torch: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.note = "forward"
        return x * 2

    def backward(ctx: Any, g: Any) -> Any:
        ctx.note += ", backward"
        return g * 2

    y = custom(torch, forward, backward).apply(leaf(torch))
    y.sum().backward()
    return y.grad_fn.note


@program()
def once_differentiable_names_the_trouble_late(torch: Any) -> Any:
    once = function_module(torch).once_differentiable
    x = leaf(torch)
    y = custom(torch, lambda ctx, x: x * x, once(lambda ctx, g: g * 2)).apply(x)
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    (h,) = torch.autograd.grad((y * y).sum(), x, create_graph=True)
    phrase = "trying to differentiate twice a function that was marked with @once_differentiable"
    return g.requires_grad, h.requires_grad, attempt(phrase, h.sum().backward)


@program()
def gradients_of_constants_and_integers(torch: Any) -> Any:
    seen: list[Any] = []

    def backward(ctx: Any, g: Any) -> Any:
        seen.append(ctx.needs_input_grad)
        return g * 2, g * 3, None, None

    x, c, i = leaf(torch), torch.tensor(VECTOR), torch.tensor([0, 1, 2])
    y = custom(torch, lambda ctx, x, c, i, n: x * c + i * n, backward).apply(x, c, i, 2)
    y.sum().backward()
    return x.grad, c.grad, seen, len(y.grad_fn.next_functions)
