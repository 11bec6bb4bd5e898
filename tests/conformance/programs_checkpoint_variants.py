"""Checkpointed calls with contexts and hooks around them, inside each other, re-entrant, in chains; the helpers."""

from __future__ import annotations

import importlib
from contextlib import contextmanager
from functools import partial
from typing import Any

from tests.conformance.harness import attempt, program
from tests.conformance.programs_checkpoint import Counted, ck, leaf, re, square_exp, steps, tools

# -- contexts, hooks, random numbers -------------------------------------------------------------------------------


@program()
def contexts_of_both_runs(torch: Any) -> Any:
    log = []

    @contextmanager
    def context(name: str) -> Any:
        log.append(f"into {name}")
        yield
        log.append(f"out of {name}")

    y = ck(torch, steps(log), leaf(torch), early_stop=False, context_fn=lambda: (context("a"), context("b")))
    log.append("backward")
    y.sum().backward()
    return log


@program()
def no_contexts(torch: Any) -> Any:
    found = []
    for context in tools(torch).noop_context_fn():
        with context as value:
            found.append(value)
    return found


@program()
def saved_hooks_around_see_the_arguments(torch: Any) -> Any:
    x, log = leaf(torch), []

    def pack(t: Any) -> Any:
        log.append(("pack", t is x))
        return t

    def unpack(t: Any) -> Any:
        log.append(("unpack", t is x))
        return t

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = ck(torch, square_exp, x)
    y.sum().backward()
    return log, x.grad


@program()
def saved_hooks_inside_win(torch: Any) -> Any:
    x, log = leaf(torch), []

    def f(a: Any) -> Any:
        with torch.autograd.graph.saved_tensors_hooks(
            lambda t: (log.append("pack"), t)[1], lambda t: (log.append("unpack"), t)[1]
        ):
            b = a.sin()
        return b.exp()

    ck(torch, f, x).sum().backward()
    return log, x.grad


@program()
def random_numbers_come_again(torch: Any) -> Any:
    found = []
    for variant in (ck, re):
        log: list[Any] = []

        def f(x: Any, log: Any = log) -> Any:
            noise = torch.rand(2)
            log.append(noise)
            return (x * noise).exp()

        torch.manual_seed(3)
        y = variant(torch, f, leaf(torch))
        torch.rand(5)
        state = torch.get_rng_state()
        y.sum().backward()
        found.append((torch.equal(*log), torch.equal(state, torch.get_rng_state())))
    return found


@program()
def random_numbers_need_not_come_again(torch: Any) -> Any:
    found = []
    for variant in (ck, re):
        log: list[Any] = []

        def f(x: Any, log: Any = log) -> Any:
            noise = torch.rand(2)
            log.append(noise)
            return (x * noise).exp()

        torch.manual_seed(3)
        y = variant(torch, f, leaf(torch), preserve_rng_state=False)
        state = torch.get_rng_state()
        y.sum().backward()
        found.append((torch.equal(*log), torch.equal(state, torch.get_rng_state())))
    return found


# -- nested --------------------------------------------------------------------------------------------------------


@program()
def nested_twice_and_thrice(torch: Any) -> Any:
    found = []
    for depth in (2, 3, 4):
        x, inner = leaf(torch), Counted(square_exp)
        f: Any = inner
        for _ in range(depth - 1):
            f = lambda x, f=f: ck(torch, f, x).sin()  # noqa: E731
        y = ck(torch, f, x)
        y.sum().backward()
        found.append((y, inner.runs, x.grad))
    return found


@program()
def nested_on_values_made_inside(torch: Any) -> Any:
    x, w, inner = leaf(torch), leaf(torch, 2.0, 3.0), Counted(lambda a, b: (a * b).exp())

    def outer(x: Any) -> Any:
        a = x.sin()
        return ck(torch, inner, a * 2, w).cos() * ck(torch, inner, a, x)

    ck(torch, outer, x).sum().backward()
    return inner.runs, x.grad, w.grad


@program()
def nested_and_differentiated_twice(torch: Any) -> Any:
    x = leaf(torch)
    y = ck(torch, lambda x: ck(torch, lambda a: (a * a).sin(), x * 2).exp(), x).sum()
    (first,) = torch.autograd.grad(y, x, create_graph=True)
    return first, torch.autograd.grad(first.sum(), x)


@program()
def nested_and_retained(torch: Any) -> Any:
    x, inner = leaf(torch), Counted(square_exp)
    y = ck(torch, lambda x: ck(torch, inner, x).sin(), x).sum()
    y.backward(retain_graph=True)
    runs = inner.runs
    y.backward()
    return runs, inner.runs, x.grad


@program()
def nested_as_the_last_thing(torch: Any) -> Any:
    x, inner, log = leaf(torch), Counted(square_exp), []

    def outer(x: Any) -> Any:
        log.append("outer")
        return ck(torch, inner, x.sin())

    ck(torch, outer, x).sum().backward()
    return inner.runs, log, x.grad


@program(
    warns="None of the inputs have requires_grad=True"
)  # inside the first run of an outer re-entrant call
def variants_inside_each_other(torch: Any) -> Any:
    found = []
    for outer in (ck, re):
        for inner in (ck, re):
            x, f = leaf(torch), Counted(square_exp)
            outer(torch, lambda x, f=f, inner=inner: inner(torch, f, x * 2).sin(), x).sum().backward()
            found.append((f.runs, x.grad))
            x, f = leaf(torch), Counted(square_exp)
            outer(torch, lambda x, f=f, inner=inner: inner(torch, f, x).sin(), x).sum().backward()
            found.append((f.runs, x.grad))
    return found


@program()
def a_backward_inside_the_function(torch: Any) -> Any:
    found = []
    for early_stop in (True, False):
        x = leaf(torch)

        def f(a: Any) -> Any:
            (g,) = torch.autograd.grad((a**3).sum(), a, create_graph=True)
            return (a * g).sin()

        ck(torch, f, x, early_stop=early_stop).sum().backward()
        found.append(x.grad)
    return found


# -- the re-entrant variant ----------------------------------------------------------------------------------------


@program()
def re_entrant(torch: Any) -> Any:
    x, f = leaf(torch), Counted(square_exp)
    y = re(torch, f, x)
    before, leaves = f.runs, [n for n, _ in y.grad_fn.next_functions]
    y.sum().backward()
    return y, before, leaves, f.runs, x.grad


@program()
def re_entrant_function_sees(torch: Any) -> Any:
    x, log = leaf(torch), []

    def f(a: Any) -> Any:
        log.append((torch.is_grad_enabled(), a.requires_grad, a.is_leaf, a is x))
        return square_exp(a)

    re(torch, f, x).sum().backward()
    return log


@program()
def re_entrant_parameters_from_elsewhere(torch: Any) -> Any:
    x, w = leaf(torch), leaf(torch, 2.0, 3.0)
    re(torch, lambda x: (x * w).exp(), x).sum().backward()
    return x.grad, w.grad


@program()
def re_entrant_several_results(torch: Any) -> Any:
    x, w = leaf(torch), leaf(torch, 2.0, 3.0)
    u, v, five = re(torch, lambda x, w, n: (x.exp(), (x * w).sin(), n), x, w, 5)
    u.sum().backward(retain_graph=True)
    first = x.grad.clone(), w.grad
    v.sum().backward()
    return u, v, five, first, x.grad, w.grad


@program()
def re_entrant_results_that_are_no_tensors(torch: Any) -> Any:
    x = leaf(torch)
    return re(torch, lambda x: 3, x), re(torch, lambda x: None, x), re(torch, lambda x: [x * 2], x)


@program()
def re_entrant_results_without_gradient(torch: Any) -> Any:
    x = leaf(torch)
    above, y = re(torch, lambda x: (x > 1, x * 2), x)
    y.sum().backward()
    cut = re(torch, lambda x: (x * 2).detach(), x)
    return above, x.grad, cut, attempt("none of output has requires_grad=True", cut.sum().backward)


@program()
def re_entrant_is_refused_where_gradients_are_chosen(torch: Any) -> Any:
    x = leaf(torch)
    y = re(torch, square_exp, x).sum()
    phrase = r"incompatible with \.grad\(\) or passing an `inputs` parameter to \.backward\(\)"
    valid = torch.autograd.Variable._execution_engine.is_checkpoint_valid()
    return (
        attempt(phrase, torch.autograd.grad, y, x, retain_graph=True),
        attempt(phrase, y.backward, inputs=[x], retain_graph=True),
        valid,
        y.backward(),
        x.grad,
    )


@program()
def re_entrant_retained(torch: Any) -> Any:
    x, f = leaf(torch), Counted(square_exp)
    y = re(torch, f, x).sum()
    y.backward(retain_graph=True)
    y.backward()
    return f.runs, x.grad, attempt("backward through the graph a second time", y.backward)


@program(warns="None of the inputs have requires_grad=True. Gradients will be None")
def re_entrant_cuts_where_nothing_requires_grad(torch: Any) -> Any:
    w = leaf(torch)
    return re(torch, lambda x: x * w, torch.tensor([1.0, 2.0]))


@program(warns="the use_reentrant parameter should be passed explicitly")
def re_entrant_by_default(torch: Any) -> Any:
    x = leaf(torch)
    y = tools(torch).checkpoint(square_exp, x)
    z = tools(torch).checkpoint_sequential([torch.exp, torch.sin], 2, x)
    return y, z, [n for n, _ in z.grad_fn.next_functions]


# -- chains --------------------------------------------------------------------------------------------------------


@program()
def chains_in_segments(torch: Any) -> Any:
    found = []
    for use_reentrant in (True, False):
        for count, segments in ((4, 2), (5, 2), (5, 3), (3, 1), (3, 3), (3, -1)):
            x, log = leaf(torch), []
            chain = [lambda a, i=i, log=log: (log.append(i), a * 1.5 + a.sin())[1] for i in range(count)]
            y = tools(torch).checkpoint_sequential(chain, segments, x, use_reentrant=use_reentrant)
            y.sum().backward()
            found.append((y, log, x.grad))
    return found


@program()
def chains_that_are_refused(torch: Any) -> Any:
    x, run = leaf(torch), tools(torch).checkpoint_sequential
    return (
        attempt("", run, [torch.exp, torch.sin], 3, x, use_reentrant=False),
        attempt("", run, [torch.exp, torch.sin], 0, x, use_reentrant=False),
        attempt("", run, [], 1, x, use_reentrant=False),
        attempt("Unexpected keyword arguments: a", run, [torch.exp], 1, x, use_reentrant=False, a=1),
        run((torch.exp, torch.sin), 2, x, use_reentrant=False, preserve_rng_state=False),
    )


# -- helpers -------------------------------------------------------------------------------------------------------


@program()
def detached_twins(torch: Any) -> Any:
    x, y = leaf(torch), leaf(torch) * 2
    twins = tools(torch).detach_variable((x, y, y.detach(), 3, "a"))
    return (
        twins,
        twins[0] is x,
        attempt("Only tuple of tensors is supported", tools(torch).detach_variable, [x]),
    )


@program(warns="None of the inputs have requires_grad=True")
def validity_of_inputs(torch: Any) -> Any:
    check = tools(torch).check_backward_validity
    return check([leaf(torch), 3]), check([torch.ones(2), 3]), check([])


@program()
def devices(torch: Any) -> Any:
    t = tools(torch)
    before = t.DefaultDeviceType.get_device_type()
    t.DefaultDeviceType.set_device_type("cuda")
    set_to = t.DefaultDeviceType.get_device_type()
    t.DefaultDeviceType.set_device_type(before)
    return set_to, t.get_device_states(leaf(torch), 3), t.set_device_states([], [])


@program()
def errors_are_runtime_errors(torch: Any) -> Any:
    return issubclass(tools(torch).CheckpointError, RuntimeError), tools(torch).CheckpointError


def selective(torch: Any, policy: Any, function: Any, *args: Any, **options: Any) -> Any:
    tools = torch.utils.checkpoint
    contexts = partial(tools.create_selective_checkpoint_contexts, policy, **options)
    return tools.checkpoint(function, *args, use_reentrant=False, context_fn=contexts)


def aten_of(torch: Any) -> Any:
    """`torch.ops.aten`, which is a module of its own here."""
    return torch.ops.aten if torch.__name__ == "torch" else importlib.import_module("retrograd.ops.aten")


@program()
def selected_results_give_the_same_gradients(torch: Any) -> Any:
    aten, found = aten_of(torch), []
    for policy in ([aten.mm.default], [aten.mm.default, aten.sin.default, aten.mul.Tensor], []):
        x = torch.arange(4.0).reshape(2, 2).requires_grad_()
        w = torch.full((2, 2), 0.5, requires_grad=True)
        y = selective(torch, policy, lambda x, w=w: ((x @ w).sin() * x).view(-1).reshape(2, 2) @ w, x)
        y.sum().backward()
        found.append((y, x.grad, w.grad))
    return found


@program()
def a_policy_is_asked_about_each_operation(torch: Any) -> Any:
    policies, asked = torch.utils.checkpoint.CheckpointPolicy, []

    def policy(context: Any, op: Any, *args: Any) -> Any:
        asked.append((str(op), context.is_recompute, len(args), context.op_output.shape))
        return policies.MUST_SAVE if str(op) == "aten.mm.default" else policies.PREFER_RECOMPUTE

    x, w = torch.ones(2, 2, requires_grad=True), torch.ones(2, 2)
    selective(torch, policy, lambda x: (x @ w).sin() * 2 + 1, x).sum().backward()
    return (
        [(name, again, count, list(shape)) for name, again, count, shape in asked],
        x.grad,
        [p.name for p in policies],
    )


@program("Trying to backward an extra time")
def selected_results_are_used_once(torch: Any) -> Any:
    x = torch.ones(2, 2, requires_grad=True)
    y = selective(torch, [aten_of(torch).mm.default], lambda x: (x @ x).sin() @ x, x)
    y.sum().backward(retain_graph=True)
    y.sum().backward()


def written(x: Any) -> Any:
    y = x @ x
    y.add_(1)
    return y.sin() @ x


@program("has been mutated")
def selected_results_that_are_written(torch: Any) -> Any:
    x = torch.ones(2, 2, requires_grad=True)
    selective(torch, [aten_of(torch).mm.default], written, x).sum().backward()


@program()
def policies_that_are_refused(torch: Any) -> Any:
    aten, x = aten_of(torch), torch.ones(2, requires_grad=True)
    return [
        attempt("must be either a function or a list", selective, torch, "mm", torch.sin, x),
        attempt("to be an OpOverload", selective, torch, [aten.mm], torch.sin, x),
        [
            str(aten.mm),
            str(aten.mm.default),
            repr(aten.mul.Tensor),
            aten.mul.Tensor.name(),
            aten.mm.default.name(),
        ],
        aten.mm.default is aten.mm.default,
    ]


@program()
def a_tensor_without_a_gradient_is_saved_itself_in_the_second_run(torch: Any) -> Any:
    seen = []

    class Keeps(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            ctx.save_for_backward(y)
            return x.clone()

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            seen.append(ctx.saved_tensors[0])
            return grad, None

    x, y = torch.ones(2, requires_grad=True), torch.ones(2)
    torch.utils.checkpoint.checkpoint(Keeps.apply, x, y, use_reentrant=False).sum().backward()
    return seen[0] is y, x.grad
