"""Errors during a backward: Note [Hook errors]. They reach the caller as they are, and leave nothing half done."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd as rg


class Mine(Exception):
    """An exception the library cannot know."""


def leaf(value: Any = 2.0) -> Any:
    return rg.Tensor(np.asarray(value, float), share=True).requires_grad_()


def raiser(error: BaseException):
    def hook(*args: Any) -> None:
        raise error

    return hook


PLACES = {
    "leaf": lambda x, y, hook: x.register_hook(hook),
    "tensor": lambda x, y, hook: y.register_hook(hook),
    "pre": lambda x, y, hook: y.grad_fn.register_prehook(hook),
    "post": lambda x, y, hook: y.grad_fn.register_hook(hook),
    "accumulated": lambda x, y, hook: x.register_post_accumulate_grad_hook(hook),
}
every_place = pytest.mark.parametrize("place", PLACES)


@every_place
@pytest.mark.parametrize(
    "error", [Mine("told so"), KeyboardInterrupt(), SystemExit(3), StopIteration()], ids=repr
)
def test_the_very_exception_reaches_the_caller(place, error):
    x = leaf()
    y = x * 3
    PLACES[place](x, y, raiser(error))
    with pytest.raises(type(error)) as caught:
        (y * 2).backward()
    assert caught.value is error


@every_place
def test_the_exception_gains_a_note_that_names_node_and_hook(place):
    x = leaf()
    y = x * 3
    PLACES[place](x, y, raiser(Mine()))
    with pytest.raises(Mine) as caught:
        y.backward()
    note = caught.value.__notes__[0]
    assert "hook" in note
    assert ("MulBackward0" if place in ("tensor", "pre", "post") else "AccumulateGrad") in note


@every_place
def test_the_engine_works_afterwards(place):
    x = leaf()
    y = x * 3
    handle = PLACES[place](x, y, raiser(Mine()))
    with pytest.raises(Mine):
        y.backward(retain_graph=True)
    assert rg.is_grad_enabled()
    assert rg.autograd.Variable._execution_engine.current_task() is None
    handle.remove()
    x.grad = None
    y.backward()
    assert x.grad.item() == 3.0


@every_place
def test_a_recorded_backward_fails_as_cleanly(place):
    x = leaf()
    y = x * x
    handle = PLACES[place](x, y, raiser(Mine()))
    with pytest.warns(UserWarning, match="reference cycle"), pytest.raises(Mine):
        y.backward(create_graph=True)
    handle.remove()
    x.grad = None
    (first,) = rg.autograd.grad(y, x, create_graph=True)
    (second,) = rg.autograd.grad(first, x)
    assert (first.item(), second.item()) == (4.0, 2.0)


@pytest.mark.parametrize("place", ["leaf", "tensor", "pre", "post"])
def test_nothing_behind_the_failing_hook_is_reached(place):
    x = leaf()
    x.grad = rg.Tensor(np.asarray(7.0), share=True)
    y = x * 3
    PLACES[place](x, y, raiser(Mine()))
    with pytest.raises(Mine):
        (y * 2).backward()
    assert x.grad.item() == 7.0


def test_gradients_that_had_arrived_stay():
    early, late = leaf(), leaf()
    z = early * late.sin()
    late.register_hook(raiser(Mine()))
    with pytest.raises(Mine):
        z.backward()
    assert early.grad is not None
    assert late.grad is None


def test_a_failed_backward_frees_only_what_ran():
    x = leaf()
    y = x.sin()
    z = y.exp()
    handle = y.register_hook(raiser(Mine()))
    with pytest.raises(Mine):
        z.backward()
    handle.remove()
    with pytest.raises(RuntimeError, match="second time"):
        z.backward()
    y.backward()
    assert x.grad.item() == pytest.approx(np.cos(2.0))


@pytest.mark.parametrize("mode", [True, False])
def test_grad_mode_is_what_it_was(mode):
    x = leaf()
    y = x * 3
    x.register_hook(raiser(Mine()))
    with rg.autograd.set_grad_enabled(mode):
        with pytest.raises(Mine):
            y.backward()
        assert rg.is_grad_enabled() is mode


def test_numpys_warnings_are_what_they_were():
    x = leaf()
    y = x * 3
    x.register_hook(raiser(Mine()))
    with np.errstate(divide="raise"):
        with pytest.raises(Mine):
            y.backward()
        assert np.geterr()["divide"] == "raise"


def test_callbacks_of_a_failed_backward_do_not_run():
    x = leaf()
    y = x * 3
    engine = rg.autograd.Variable._execution_engine
    called: list[int] = []
    y.register_hook(lambda g: engine.queue_callback(lambda: called.append(1)))
    handle = x.register_hook(raiser(Mine()))
    with pytest.raises(Mine):
        y.backward(retain_graph=True)
    assert called == []
    handle.remove()
    y.backward()
    assert called == [1]


def test_an_error_in_an_inner_backward_passes_through_the_outer_one():
    x, inner = leaf(), leaf()
    inner.register_hook(raiser(Mine()))
    y = inner * 2
    x.register_hook(lambda g: y.backward())
    with pytest.raises(Mine) as caught:
        (x * 3).backward()
    assert len([n for n in caught.value.__notes__ if "hook" in n]) == 2
    assert rg.autograd.Variable._execution_engine.current_task() is None


def test_an_error_caught_inside_a_hook_does_not_end_the_outer_backward():
    x, inner = leaf(), leaf()
    inner.register_hook(raiser(Mine()))
    y = inner * 2

    def hook(grad: Any) -> None:
        with pytest.raises(Mine):
            y.backward()

    x.register_hook(hook)
    (x * 3).backward()
    assert x.grad.item() == 3.0


# -- saved values ----------------------------------------------------------------------------------


def test_a_second_backward_says_that_the_graph_is_freed():
    x = leaf()
    y = x.sin()
    y.backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time") as caught:
        y.backward()
    assert "SinBackward0" in str(caught.value)
    assert x.grad.item() == pytest.approx(np.cos(2.0))


def test_a_graph_that_saved_nothing_may_run_again():
    x = leaf()
    y = x + 1
    y.backward()
    y.backward()
    assert x.grad.item() == 2.0


def test_a_second_backward_that_reaches_a_freed_part_fails_there_only():
    x = leaf()
    shared = x.sin()
    a, b = shared * 2, shared * 3
    a.backward()
    with pytest.raises(RuntimeError, match="SinBackward0"):
        b.backward()


@pytest.mark.parametrize("write", [lambda t: t.array.__iadd__(1), None], ids=["array", "tensor"])
def test_a_saved_value_that_was_overwritten_is_noticed_only_through_its_tensor(write):
    x = leaf([1.0, 2.0])
    y = x * 1
    z = (y * y).sum()
    if write is None:
        with rg.no_grad():
            y += 1
        with pytest.raises(RuntimeError, match="modified by an inplace operation") as caught:
            z.backward()
        assert "is at version 1; expected version 0" in str(caught.value)
        assert x.grad is None
    else:
        write(y)
        z.backward()
        assert x.grad.tolist() == [4.0, 6.0]
