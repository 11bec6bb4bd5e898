"""Checkpointed calls, where PyTorch cannot be compared: the report, lifetimes, depth, and what we do better."""

from __future__ import annotations

import gc
import re
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd.core.node import Node
from retrograd.utils.checkpoint import CheckpointError, checkpoint, checkpoint_sequential
from retrograd.utils.checkpoint_frame import Frame, StopRecomputation
from tests.ops.cases import CASES
from tests.ops.checks import about, differentiable, leaves, some


def ck(function: Any, *args: Any, **kwargs: Any) -> Any:
    return checkpoint(function, *args, use_reentrant=False, **kwargs)


def leaf(*values: float) -> Any:
    return rg.tensor(values or (0.5, 1.5), dtype=rg.float64, requires_grad=True)


def square_exp(x: Any) -> Any:
    return (x * x).exp()


class Fickle:
    """A function that is another one each time it runs."""

    def __init__(self, *functions: Any) -> None:
        self.functions = list(functions)

    def __call__(self, *args: Any) -> Any:
        function = self.functions.pop(0) if len(self.functions) > 1 else self.functions[0]
        return function(*args)


# -- the report ----------------------------------------------------------------------------------------------------


def failure(first: Any, second: Any, **options: Any) -> str:
    with pytest.raises(CheckpointError) as caught:
        ck(Fickle(first, second), leaf(), **options).sum().backward()
    return str(caught.value)


def line_of(function: Any) -> str:
    return (
        rf'File ".*test_checkpoint.py", line {function.__code__.co_firstlineno + 1}, in {function.__name__}: '
    )


def longer(x: Any) -> Any:
    return rg.cat([x, x]).sin()


def doubled(x: Any) -> Any:
    return (x * 2).sin()


def single(x: Any) -> Any:
    return (x * 2).float().sin()


def test_a_report_names_the_first_value_of_another_shape_with_both_lines():
    text = failure(doubled, longer)
    assert "different metadata" in text
    assert "tensor at position 0:" in text
    first = r"saved metadata: \[2\] float64 on cpu, computed by MulBackward0\n +saved by "
    second = r"recomputed metadata: \[4\] float64 on cpu, computed by CatBackward0\n +saved by "
    assert re.search(first + line_of(doubled) + r"return \(x \* 2\)\.sin\(\)", text)
    assert re.search(second + line_of(longer) + r"return rg\.cat", text)


def test_a_report_names_the_dtypes():
    text = failure(doubled, single)
    assert re.search(r"saved metadata: \[2\] float64.*\n.*\n +recomputed metadata: \[2\] float32", text)


def test_a_report_finds_the_first_difference_of_two_sequences():
    text = failure(lambda x: x.sin().cos().exp().tanh(), lambda x: x.sin().cos().tanh())
    assert "saved during forward: 4\n" in text
    assert "saved during recomputation: 3." in text
    assert "tensor at position 2:" in text
    assert re.search(r"saved metadata: .*ExpBackward0\n", text)
    assert re.search(r"recomputed metadata: .*TanhBackward0\n", text)


def test_a_report_says_which_run_ended_first():
    assert re.search(
        "tensor at position 1:\n.*\n.*\n +recomputed metadata: nothing more",
        failure(lambda x: x.sin().cos(), rg.sin),
    )
    text = failure(rg.sin, lambda x: x.sin().cos(), early_stop=False)
    assert re.search("tensor at position 1:\n +saved metadata: nothing more\n", text)


def test_a_report_is_short_unless_asked_for_more():
    def long(x: Any) -> Any:
        for _ in range(100):
            x = x.sin()
        return x

    assert len(failure(long, doubled).splitlines()) < 12
    listed = failure(long, doubled, debug=True)
    assert "Saved during the original forward:\n  0: [2] float64" in listed
    assert "\n  99: [2] float64" in listed
    assert "Saved during recomputation:\n  0: [2] float64" in listed


def test_the_report_of_an_overwritten_argument_names_the_call_and_the_write():
    a = leaf() * 1
    y = checkpoint(square_exp, a, use_reentrant=False)
    a.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation") as caught:
        y.sum().backward()
    assert re.search(r"saved by +checkpoint of .*: y = checkpoint\(square_exp", str(caught.value))
    assert re.search(r"overwritten by .*: a\.add_\(1\)", str(caught.value))


def test_an_exception_of_the_second_run_keeps_its_traceback():
    def fails(x: Any) -> Any:
        raise KeyError("mine")

    y = ck(Fickle(square_exp, fails), leaf()).sum()
    with pytest.raises(KeyError, match="mine") as caught:
        y.backward()
    assert caught.traceback[-1].name == "fails"


# -- every operation -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_operation_has_the_same_gradients_when_it_is_run_again(case):
    sample = case.samples[0]
    arrays = case.arrays(sample, case.dtypes[0])

    def run(*xs: Any) -> list[Any]:
        return [out * out for out in differentiable(case.run(sample, xs))]

    def nested(*xs: Any) -> list[Any]:
        return [out * 1 for out in ck(run, *[x * 1 for x in xs])]

    def gradients(function: Any) -> list[Any]:
        rg.manual_seed(0)
        xs = leaves(arrays)
        outs = function(*xs)
        gs = [rg.Tensor(g, share=True) for g in some([o.array for o in outs], 1)]
        return rg.autograd.grad(outs, xs, gs, allow_unused=True, materialize_grads=True)

    with about(case, sample):
        expected = gradients(run)
        for function in (lambda *xs: ck(run, *xs), lambda *xs: ck(nested, *xs)):
            for a, b in zip(gradients(function), expected, strict=True):
                np.testing.assert_array_equal(a.array, b.array)


def times_itself(a: Any, w: Any) -> Any:
    b = a * w
    return b.mul_(b)


def through_a_view(a: Any, w: Any) -> Any:
    b = a * w
    b[0:1].mul_(w[0:1])
    return b * b


IN_PLACE = {
    "a saved input": lambda a, w: (a * 1).mul_(w),
    "a saved output": lambda a, w: (a * w).exp_() * w,
    "a saved exponent": lambda a, w: (a * 1).pow_(w),
    "times itself": times_itself,
    "through a view": through_a_view,
}


@pytest.mark.parametrize("early_stop", [True, False])
@pytest.mark.parametrize("kind", IN_PLACE)
def test_in_place_writes_inside_give_the_gradients_they_give_outside(kind, early_stop):
    found = []
    for run in (IN_PLACE[kind], lambda a, w: ck(IN_PLACE[kind], a, w, early_stop=early_stop)):
        a, w = leaf(), leaf(0.3, 0.7)
        run(a, w).sum().backward()
        found.append((a.grad.tolist(), w.grad.tolist()))
    assert found[0] == found[1]


@pytest.mark.parametrize("early_stop", [True, False])
def test_a_value_overwritten_after_it_was_saved_is_still_the_saved_one(early_stop):
    def f(x: Any) -> Any:
        b = x * 1
        c = b * b
        b.add_(10)
        return c.sin()

    x, y = leaf(), leaf()
    ck(f, x, early_stop=early_stop).sum().backward()
    (y * y).sin().sum().backward()
    assert x.grad.tolist() == y.grad.tolist()


# -- early stop ----------------------------------------------------------------------------------------------------


def test_the_stop_passes_an_except_clause_for_exceptions():
    seen = []

    def f(x: Any) -> Any:
        try:
            return square_exp(x)
        except Exception as error:
            seen.append(error)
            raise

    ck(f, leaf()).sum().backward()
    assert seen == []


def test_a_stop_that_is_swallowed_does_no_harm():
    x, y, swallowed = leaf(), leaf(), []

    def f(x: Any) -> Any:
        try:
            return square_exp(x)
        except BaseException as stop:
            swallowed.append(type(stop))
        try:
            return x.sin()
        except StopRecomputation as stop:
            swallowed.append(type(stop))

    ck(f, x).sum().backward()
    square_exp(y).sum().backward()
    assert swallowed == [StopRecomputation, StopRecomputation]
    assert x.grad.tolist() == y.grad.tolist()


# -- random numbers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_dropout_drops_the_same_again(use_reentrant):
    x = rg.ones(1000, requires_grad=True)
    y = checkpoint(lambda x: rg.dropout(x, 0.5, True) * x, x, use_reentrant=use_reentrant)
    rg.rand(7)
    y.sum().backward()
    dropped = y == 0
    assert 300 < int(dropped.sum()) < 700
    assert rg.equal(dropped, x.grad == 0)


@pytest.mark.parametrize("depth", [1, 3])
def test_nested_calls_draw_the_same_again(depth):
    x = rg.ones(100, requires_grad=True)

    def f(x: Any) -> Any:
        return (rg.rand(100) * x).exp()

    for _ in range(depth - 1):
        f = lambda x, f=f: ck(f, x) * rg.rand(100)  # noqa: E731
    rg.manual_seed(5)
    expected = f(x)
    expected.sum().backward()
    gradient, x.grad = x.grad, None
    rg.manual_seed(5)
    y = ck(f, x)
    rg.rand(3)
    after = rg.get_rng_state()
    y.sum().backward()
    assert rg.equal(y, expected)
    assert rg.equal(x.grad, gradient)
    assert rg.equal(after, rg.get_rng_state())


def test_a_failing_second_run_puts_the_generator_back():
    def fails(x: Any) -> Any:
        rg.rand(10)
        raise ValueError

    y = ck(Fickle(square_exp, fails), leaf()).sum()
    before = rg.get_rng_state()
    with pytest.raises(ValueError):
        y.backward()
    assert rg.equal(before, rg.get_rng_state())


# -- depth, length, threads ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("early_stop", [True, False])
def test_fifty_calls_inside_each_other(early_stop):
    runs = []

    def innermost(x: Any) -> Any:
        runs.append(1)
        return x.sin()

    f: Any = innermost
    for _ in range(49):
        f = lambda x, f=f: ck(f, x, early_stop=early_stop).sin()  # noqa: E731
    x, y = leaf(), leaf()
    ck(f, x, early_stop=early_stop).sum().backward()
    plain = y
    for _ in range(50):
        plain = plain.sin()
    plain.sum().backward()
    np.testing.assert_allclose(x.grad.array, y.grad.array, rtol=1e-12)
    assert len(runs) == 51


def test_ten_re_entrant_calls_inside_each_other():
    f: Any = rg.sin
    for _ in range(9):
        f = lambda x, f=f: checkpoint(f, x, use_reentrant=True).sin()  # noqa: E731
    x, y = leaf(), leaf()
    checkpoint(f, x, use_reentrant=True).sum().backward()
    plain = y
    for _ in range(10):
        plain = plain.sin()
    plain.sum().backward()
    np.testing.assert_allclose(x.grad.array, y.grad.array, rtol=1e-12)


def test_a_long_chain():
    x, y = leaf(), leaf()
    checkpoint_sequential([rg.sin] * 2000, 50, x, use_reentrant=False).sum().backward()
    plain = y
    for _ in range(2000):
        plain = plain.sin()
    plain.sum().backward()
    np.testing.assert_allclose(x.grad.array, y.grad.array, rtol=1e-12)


def test_a_module_is_cut_into_its_children():
    class Module:
        def children(self) -> Iterator[Any]:
            yield rg.sin
            yield rg.exp

    x, y = leaf(), leaf()
    checkpoint_sequential(Module(), 2, x, use_reentrant=False).sum().backward()
    y.sin().exp().sum().backward()
    assert x.grad.tolist() == y.grad.tolist()


def test_several_threads_run_one_graph_back():
    x = leaf()
    y = ck(lambda x: ck(square_exp, x).sin(), x, preserve_rng_state=False).sum()
    expected = rg.autograd.grad(y, x, retain_graph=True)[0].tolist()
    found: list[Any] = []

    def work() -> None:
        for _ in range(20):
            found.append(rg.autograd.grad(y, x, retain_graph=True)[0].tolist())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 80


# -- lifetimes -----------------------------------------------------------------------------------------------------


@pytest.fixture
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def living() -> int:
    return sum(isinstance(o, (Node, rg.Tensor, Frame)) for o in gc.get_objects())


def step_plain(x: Any) -> None:
    ck(square_exp, x).sum().backward()


def step_never_run(x: Any) -> None:
    ck(square_exp, x)


def step_late_stop(x: Any) -> None:
    ck(lambda x: square_exp(x) + 1, x, early_stop=False).sum().backward()


def step_nested(x: Any) -> None:
    ck(lambda x: ck(square_exp, x * 2).sin(), x).sum().backward()


def step_retained(x: Any) -> None:
    y = ck(lambda x: ck(square_exp, x).sin(), x).sum()
    y.backward(retain_graph=True)
    y.backward(retain_graph=True)


def step_half_used(x: Any) -> None:
    u, _ = ck(lambda x: (x.exp(), x.sin()), x)
    u.sum().backward(retain_graph=True)


def step_twice_differentiated(x: Any) -> None:
    y = ck(lambda x: ck(square_exp, x).sin(), x).sum()
    (first,) = rg.autograd.grad(y, x, create_graph=True)
    rg.autograd.grad(first.sum(), x)


def step_looked_at(x: Any) -> None:
    assert ck(square_exp, x).grad_fn._saved_result is not None


def step_in_place(x: Any) -> None:
    ck(lambda x: (x * x).exp_().mul_(x) * 2, x).sum().backward()


def step_backward_inside(x: Any) -> None:
    def f(x: Any) -> Any:
        (g,) = rg.autograd.grad((x * x * x).sum(), x, create_graph=True)
        return (g * x).sin()

    ck(f, x).sum().backward()


def step_custom_function(x: Any) -> None:
    ck(lambda x: Kept.apply(x * 1).sin(), x).sum().backward()


def step_re_entrant(x: Any) -> None:
    checkpoint(square_exp, x, use_reentrant=True).sum().backward()


class Kept(rg.autograd.Function):
    """Saves its result and its argument."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        out = x * x
        ctx.save_for_backward(x, out)
        return out

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, _ = ctx.saved_tensors
        return 2 * g * x


STEPS = [
    step_plain,
    step_never_run,
    step_late_stop,
    step_nested,
    step_retained,
    step_half_used,
    step_twice_differentiated,
    step_looked_at,
    step_in_place,
    step_backward_inside,
    step_custom_function,
    step_re_entrant,
]


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("step", STEPS)
def test_two_hundred_steps_leave_no_more_than_one(step):
    x = leaf()
    step(x)
    x.grad = None
    before = living()
    for _ in range(200):
        step(x)
        x.grad = None
    assert living() == before


@pytest.mark.usefixtures("no_collector")
def test_a_failed_step_leaves_nothing_but_its_traceback():
    x = leaf()
    before = living()
    for second in (lambda x: x * x, lambda x: 1 / 0):
        y = ck(Fickle(square_exp, second), x).sum()
        with pytest.raises((CheckpointError, ZeroDivisionError)) as caught:
            y.backward()
        del caught, y
    gc.collect()  # a traceback holds frames, which hold it
    assert living() == before


@pytest.mark.usefixtures("no_collector")
def test_values_are_not_kept_until_backward():
    made: list[Any] = []

    def f(x: Any) -> Any:
        y = x * 2
        made.append(weakref.ref(y.array))
        return y.sin().exp()

    y = ck(f, leaf()).sum()
    assert made[0]() is None
    y.backward()
    assert [ref() for ref in made] == [None, None]


@pytest.mark.usefixtures("no_collector")
def test_values_are_dropped_one_by_one_during_backward():
    made: list[Any] = []
    alive: list[list[bool]] = []

    def f(x: Any) -> Any:
        for _ in range(3):
            x = x * x
            made.append(weakref.ref(x.array))
            x.register_hook(lambda g: alive.append([ref() is not None for ref in made[3:]]))
        return x

    ck(f, leaf(), early_stop=False).sum().backward()
    # Hooks run from the last product to the first. Each finds only what the products before it have saved.
    assert alive == [[], [True, False, False], [False, False, False]]


@pytest.mark.usefixtures("no_collector")
def test_inner_inputs_are_not_kept_until_backward():
    made: list[Any] = []

    def outer(x: Any) -> Any:
        y = x * 2
        made.append(weakref.ref(y.array))
        return ck(square_exp, y).sin()

    y = ck(outer, leaf()).sum()
    assert made[0]() is None
    y.backward()
    assert all(ref() is None for ref in made)


@pytest.mark.usefixtures("no_collector")
def test_arguments_are_let_go_as_soon_as_their_call_has_run_back():
    x = leaf()
    a = x * 2
    first = weakref.ref(a)
    b = ck(square_exp, a)
    second = weakref.ref(b)
    y = ck(square_exp, b).sum()
    seen: list[Any] = []
    x.register_hook(lambda g: seen.append((first() is None, second() is None)))
    del a, b
    assert first() is not None
    assert second() is not None
    y.backward()
    assert seen == [(True, True)]


@pytest.mark.usefixtures("no_collector")
def test_a_retained_graph_keeps_no_recomputed_values():
    made: list[Any] = []

    def f(x: Any) -> Any:
        u, v = x * 2, x * 3
        made.extend((weakref.ref(u.array), weakref.ref(v.array)))
        return u.sin(), v.sin()

    u, v = ck(f, leaf())
    u.sum().backward(retain_graph=True)  # v's value was recomputed too, and nobody has asked for it
    assert [ref() for ref in made] == [None] * 4
    assert v.requires_grad
