"""Checkpointed calls: what is computed, how often the function runs, and what is refused."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any

from tests.conformance.harness import attempt, program


def leaf(torch: Any, *values: float) -> Any:
    return torch.tensor(values or (0.5, 1.5), requires_grad=True)


def tools(torch: Any) -> Any:
    return torch.utils.checkpoint


def ck(torch: Any, function: Any, *args: Any, **kwargs: Any) -> Any:
    """The variant that works through saved tensor hooks."""
    return torch.utils.checkpoint.checkpoint(function, *args, use_reentrant=False, **kwargs)


def re(torch: Any, function: Any, *args: Any, **kwargs: Any) -> Any:
    """The re-entrant variant."""
    return torch.utils.checkpoint.checkpoint(function, *args, use_reentrant=True, **kwargs)


class Counted:
    """A function that counts its runs."""

    def __init__(self, function: Any) -> None:
        self.function, self.runs = function, 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.runs += 1
        return self.function(*args, **kwargs)


class Fickle:
    """A function that is another one each time it runs."""

    def __init__(self, *functions: Any) -> None:
        self.functions = list(functions)

    def __call__(self, *args: Any) -> Any:
        function = self.functions.pop(0) if len(self.functions) > 1 else self.functions[0]
        return function(*args)


def square_exp(x: Any) -> Any:
    return (x * x).exp()


# -- values, gradients, and how often the function runs ------------------------------------------------------------


@program()
def gradients_are_those_without(torch: Any) -> Any:
    x, f = leaf(torch), Counted(square_exp)
    y = ck(torch, f, x)
    before = f.runs
    y.sum().backward()
    return y, before, f.runs, x.grad


@program()
def the_graph_is_the_functions_own(torch: Any) -> Any:
    x = leaf(torch)
    y = ck(torch, square_exp, x)
    before = y.grad_fn.next_functions[0][0]
    return y.grad_fn, before, [n for n, _ in before.next_functions]


@program()
def a_retained_graph_recomputes_each_time(torch: Any) -> Any:
    x, f = leaf(torch), Counted(square_exp)
    y = ck(torch, f, x).sum()
    runs = []
    for retain in (True, True, False):
        y.backward(retain_graph=retain)
        runs.append(f.runs)
    return runs, x.grad


@program(phrase="Trying to backward through the graph a second time")
def a_graph_is_freed_once(torch: Any) -> Any:
    y = ck(torch, square_exp, leaf(torch)).sum()
    y.backward()
    y.backward()


@program()
def two_outputs_in_two_backwards(torch: Any) -> Any:
    x, f = leaf(torch), Counted(lambda x: (x.exp(), x.sin()))
    u, v = ck(torch, f, x)
    u.sum().backward()
    runs = f.runs
    v.sum().backward()
    return runs, f.runs, x.grad


@program()
def two_outputs_in_one_backward(torch: Any) -> Any:
    x, f = leaf(torch), Counted(lambda x: (x.exp(), x.sin()))
    u, v = ck(torch, f, x)
    (u.sum() + v.sum()).backward()
    return f.runs, x.grad


@program()
def second_derivatives(torch: Any) -> Any:
    x, f = leaf(torch), Counted(lambda x: (x * x * x).exp())
    y = ck(torch, f, x).sum()
    (first,) = torch.autograd.grad(y, x, create_graph=True)
    runs = f.runs
    (second,) = torch.autograd.grad(first.sum(), x)
    return first, second, runs, f.runs


@program()
def third_derivatives(torch: Any) -> Any:
    x = leaf(torch)
    value = ck(torch, lambda x: (x.sin() * x).exp(), x).sum()
    found = []
    for _ in range(3):
        (value,) = torch.autograd.grad(value.sum(), x, create_graph=True)
        found.append(value)
    return found


@program()
def a_checkpoint_inside_a_recorded_backward(torch: Any) -> Any:
    x = leaf(torch)
    (first,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    ck(torch, lambda g: (g * g).sin(), first).sum().backward()
    return x.grad


@program()
def the_way_of_autograd_grad(torch: Any) -> Any:
    x, w = leaf(torch), leaf(torch, 2.0, 3.0)
    y = ck(torch, lambda x: (x * w).exp(), x)
    return torch.autograd.grad(y.sum(), [x, w])


@program()
def only_some_inputs(torch: Any) -> Any:
    x, w = leaf(torch), leaf(torch, 2.0, 3.0)
    ck(torch, lambda x: (x * w).exp(), x).sum().backward(inputs=[w])
    return x.grad, w.grad


@program()
def parameters_from_elsewhere(torch: Any) -> Any:
    x, w = torch.tensor([0.5, 1.5]), leaf(torch, 2.0, 3.0)
    y = ck(torch, lambda x: (x * w).exp(), x)
    y.sum().backward()
    return y, w.grad


@program()
def keyword_arguments_and_containers(torch: Any) -> Any:
    x, w = leaf(torch), leaf(torch, 2.0, 3.0)

    def f(a: Any, *, scale: float, parts: Any) -> Any:
        return {"out": [(a * scale * parts["w"][0]).exp()]}

    y = ck(torch, f, x, scale=0.5, parts={"w": [w]})
    y["out"][0].sum().backward()
    return y, x.grad, w.grad


@program()
def arguments_that_are_no_tensors(torch: Any) -> Any:
    x = leaf(torch)
    y = ck(torch, lambda a, n, s, none: a**n if s == "power" and none is None else a, x, 3, "power", None)
    y.sum().backward()
    return x.grad


@program()
def a_container_as_an_argument(torch: Any) -> Any:
    x, w = leaf(torch), leaf(torch, 2.0, 3.0)
    ck(torch, lambda parts: (parts[0] * parts[1]).exp(), [x, w]).sum().backward()
    return x.grad, w.grad


@program()
def results_that_are_no_tensors(torch: Any) -> Any:
    x = leaf(torch)
    return ck(torch, lambda x: None, x), ck(torch, lambda x: 3, x), ck(torch, lambda x: "text", x)


@program()
def nothing_requires_grad(torch: Any) -> Any:
    f = Counted(square_exp)
    return ck(torch, f, torch.tensor([1.0, 2.0])), f.runs


@program()
def an_argument_comes_back(torch: Any) -> Any:
    x = leaf(torch)
    y = ck(torch, lambda x: x, x)
    return y is x, y


@program()
def a_detached_part(torch: Any) -> Any:
    x = leaf(torch)
    y = ck(torch, lambda x: (x * x).detach() * x.exp(), x)
    y.sum().backward()
    return x.grad, ck(torch, lambda x: (x * 2).detach(), x)


@program()
def the_function_sees_the_same_state(torch: Any) -> Any:
    x, log = leaf(torch), []

    def f(a: Any) -> Any:
        log.append((torch.is_grad_enabled(), a.requires_grad, a.is_leaf, a is x))
        return square_exp(a)

    ck(torch, f, x).sum().backward()
    return log


@program()
def a_part_without_gradients(torch: Any) -> Any:
    x = leaf(torch)

    def f(a: Any) -> Any:
        with torch.no_grad():
            scale = a.exp() * a
        return (a * scale).sin()

    ck(torch, f, x).sum().backward()
    return x.grad


@program()
def without_grad_mode_it_is_a_plain_call(torch: Any) -> Any:
    x, f, log = leaf(torch), Counted(square_exp), []

    @contextmanager
    def context(name: str) -> Any:
        log.append(name)
        yield

    with torch.no_grad():
        y = ck(torch, f, x, context_fn=lambda: (context("forward"), context("recompute")))
    return y, f.runs, log


@program()
def hooks_of_the_first_run_are_called(torch: Any) -> Any:
    x, log = leaf(torch), []

    def f(a: Any) -> Any:
        b = a * a
        b.register_hook(lambda g: log.append(g.tolist()))
        return b.exp()

    ck(torch, f, x).sum().backward()
    return log


@program()
def custom_functions_inside(torch: Any) -> Any:
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            out = x**3
            ctx.save_for_backward(x, out)
            return out

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, out = ctx.saved_tensors
            return g * 3 * out / x

    x, f = leaf(torch), Counted(lambda x: Cube.apply(x * 2).sin())
    y = ck(torch, f, x).sum()
    (first,) = torch.autograd.grad(y, x, create_graph=True)
    return first, f.runs, torch.autograd.grad(first.sum(), x)


@program(phrase="that was already unpacked once")
def saved_values_are_there_once(torch: Any) -> Any:
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * (ctx.saved_tensors[0] + ctx.saved_tensors[0])

    ck(torch, lambda x: Twice.apply(x * 1), leaf(torch)).sum().backward()


@program()
def saved_values_can_be_looked_at(torch: Any) -> Any:
    x, f = leaf(torch), Counted(square_exp)
    y = ck(torch, f, x)
    return y.grad_fn._saved_result, y.grad_fn._saved_result, f.runs


# -- written in place ----------------------------------------------------------------------------------------------


@program()
def written_in_place_inside(torch: Any) -> Any:
    x = leaf(torch)

    def f(a: Any) -> Any:
        b = a * 1
        b.mul_(2)
        b[0] = b[1] * 3
        return (b.exp_() * 2).sin()

    ck(torch, f, x).sum().backward()
    return x.grad


@program(phrase="modified by an inplace operation")
def an_argument_written_by_the_function(torch: Any) -> Any:
    def f(a: Any) -> Any:
        a.mul_(2)
        return a * a

    ck(torch, f, leaf(torch) * 1).sum().backward()


@program()
def an_argument_written_later(torch: Any) -> Any:
    found = []
    for variant in (ck, re):
        a = leaf(torch) * 1
        y = variant(torch, square_exp, a)
        a.add_(1)
        found.append(attempt("modified by an inplace operation", y.sum().backward))
    return found


@program()
def a_result_written_later(torch: Any) -> Any:
    x = leaf(torch)
    y = ck(torch, square_exp, x)
    y.mul_(2)
    y.sum().backward()
    return x.grad


# -- early stop ----------------------------------------------------------------------------------------------------


def steps(log: list[int]) -> Any:
    def f(x: Any) -> Any:
        y = x * x
        log.append(1)
        y = y.exp()
        log.append(2)
        y = y + 1
        log.append(3)
        return y

    return f


@program()
def the_second_run_stops_early(torch: Any) -> Any:
    early, late = [], []
    ck(torch, steps(early), leaf(torch)).sum().backward()
    ck(torch, steps(late), leaf(torch), early_stop=False).sum().backward()
    return early, late


@program()
def early_stop_for_a_block(torch: Any) -> Any:
    setting, found = tools(torch).set_checkpoint_early_stop, []
    for outer, inner in ((False, True), (True, False)):
        log: list[int] = []
        with setting(outer):
            with setting(inner):
                a = ck(torch, steps(log), leaf(torch))
            b = ck(torch, steps(log), leaf(torch), early_stop=not outer)
        a.sum().backward()
        b.sum().backward()
        found.append(log)
    return found


@program()
def a_finally_block_runs_when_stopped(torch: Any) -> Any:
    log = []

    def f(x: Any) -> Any:
        try:
            return square_exp(x)
        finally:
            log.append("end")

    ck(torch, f, leaf(torch)).sum().backward()
    return log


# -- the function does something else ------------------------------------------------------------------------------


@program(phrase="A different number of tensors was saved during the original forward and recomputation")
def less_is_saved(torch: Any) -> Any:
    ck(torch, Fickle(square_exp, lambda x: x * x), leaf(torch)).sum().backward()


@program(phrase=r"tensors saved during forward: 2\n.*tensors saved during recomputation: 0")
def nothing_is_saved(torch: Any) -> Any:
    ck(torch, Fickle(lambda x: x * x, lambda x: x + 1), leaf(torch)).sum().backward()


@program(phrase="trying to save more tensors during recomputation than during the original forward pass")
def more_is_saved(torch: Any) -> Any:
    ck(torch, Fickle(lambda x: x * x, square_exp), leaf(torch), early_stop=False).sum().backward()


@program()
def more_is_saved_after_the_stop(torch: Any) -> Any:
    x = leaf(torch)
    ck(torch, Fickle(lambda x: x * x, square_exp), x).sum().backward()
    return x.grad


@program(phrase="different metadata than during the forward pass.\ntensor at position 0")
def another_shape(torch: Any) -> Any:
    ck(torch, Fickle(torch.exp, lambda x: torch.cat([x, x]).exp()), leaf(torch)).sum().backward()


@program(phrase="different metadata than during the forward pass.\ntensor at position 0")
def another_dtype(torch: Any) -> Any:
    ck(torch, Fickle(torch.exp, lambda x: x.double().exp()), leaf(torch)).sum().backward()


@program()
def another_dtype_that_is_meant(torch: Any) -> Any:
    x = leaf(torch)
    ck(torch, Fickle(torch.exp, lambda x: x.double().exp()), x, determinism_check="none").sum().backward()
    return x.grad


@program()
def numbers_are_checked_always(torch: Any) -> Any:
    y = ck(torch, Fickle(square_exp, lambda x: x * x), leaf(torch), determinism_check="none").sum()
    return attempt("A different number of tensors was saved", y.backward)


@program()
def debugging_for_a_block(torch: Any) -> Any:
    with tools(torch).set_checkpoint_debug_enabled(True):
        y = ck(torch, Fickle(square_exp, lambda x: x * x), leaf(torch)).sum()
    with tools(torch).set_checkpoint_debug_enabled(False):
        z = ck(torch, Fickle(square_exp, lambda x: x * x), leaf(torch), debug=True).sum()
    return (
        attempt("An error happened while unpacking tensors", y.backward),
        attempt("^torch.utils.checkpoint: A different number", z.backward),
    )


@program()
def a_difference_spoils_nothing_else(torch: Any) -> Any:
    x = leaf(torch)
    y = ck(torch, Fickle(square_exp, lambda x: x * x, square_exp), x).sum()
    failed = attempt("A different number", y.backward, retain_graph=True)
    y.backward()
    return failed, x.grad


# -- exceptions ----------------------------------------------------------------------------------------------------


def failing(x: Any) -> Any:
    raise KeyError("mine", (x * x).sum().item())


@program()
def exceptions_of_the_function(torch: Any) -> Any:
    x = leaf(torch)
    found = []
    for variant in (ck, re):
        found.append(attempt("mine", variant, torch, failing, x))
        y = variant(torch, Fickle(square_exp, failing), x).sum()
        found.append(attempt("mine", y.backward))
        variant(torch, square_exp, x).sum().backward()
    return found, x.grad


@program()
def arguments_that_are_refused(torch: Any) -> Any:
    x, run = leaf(torch), tools(torch).checkpoint

    def hooks_off() -> None:
        with torch.autograd.graph.disable_saved_tensors_hooks("not here"):
            ck(torch, square_exp, x)

    only = "is only supported when use_reentrant=False"
    return (
        attempt("Unexpected keyword arguments: x", run, square_exp, x=x, use_reentrant=True),
        attempt(only, run, square_exp, x, use_reentrant=True, debug=True),
        attempt(only, run, square_exp, x, use_reentrant=True, context_fn=lambda: (None, None)),
        attempt("determinism_check should be one of", ck, torch, square_exp, x, determinism_check="all"),
        attempt("not callable", ck, torch, 3, x),
        attempt("not callable", re, torch, 3, x),
        attempt("unpack", ck, torch, square_exp, x, context_fn=lambda: 3),
        attempt("not here", hooks_off),
    )
