"""no_grad, enable_grad, set_grad_enabled, inference_mode: as blocks, and as decorators of every kind of function."""

from __future__ import annotations

import asyncio
import inspect
import threading
from typing import Any

import numpy as np
import pytest

import retrograd as rg

on = rg.is_grad_enabled

# mode, and what is_grad_enabled() says inside it
MODES = {
    "no_grad": (lambda: rg.no_grad(), False),
    "enable_grad": (lambda: rg.enable_grad(), True),
    "set_grad_enabled(True)": (lambda: rg.set_grad_enabled(True), True),
    "set_grad_enabled(False)": (lambda: rg.set_grad_enabled(False), False),
    "inference_mode": (lambda: rg.inference_mode(), False),
    "inference_mode(False)": (lambda: rg.inference_mode(False), True),
}


@pytest.fixture(params=MODES)
def mode(request) -> Any:
    """A mode's maker, and the grad mode inside."""
    return MODES[request.param]


@pytest.fixture(params=[True, False], ids=["outside on", "outside off"])
def outside(request):
    """The grad mode around the test."""
    with rg.set_grad_enabled(request.param):
        yield request.param
        assert on() is request.param


# -- as blocks -------------------------------------------------------------------------------------


def test_a_block_sets_and_restores(mode, outside):
    make, inside = mode
    with make():
        assert on() is inside
    assert on() is outside


def test_a_block_restores_after_an_exception(mode, outside):
    make, _ = mode
    with pytest.raises(ValueError, match="x"), make():
        raise ValueError("x")
    assert on() is outside


def test_blocks_nest(mode, outside):
    make, inside = mode
    with make():
        with rg.enable_grad():
            assert on() is True
            with make():
                assert on() is inside
            assert on() is True
        assert on() is inside


def test_a_context_can_be_entered_again_and_inside_itself(outside):
    context = rg.no_grad()
    for _ in range(2):
        with context:
            assert on() is False
            with context:
                assert on() is False
            assert on() is False
        assert on() is outside


def test_set_grad_enabled_works_at_once_as_a_function():
    rg.set_grad_enabled(False)
    assert on() is False
    rg.set_grad_enabled(True)
    assert on() is True


def test_is_inference_mode_enabled_tells():
    assert rg.is_inference_mode_enabled() is False
    with rg.inference_mode():
        assert rg.is_inference_mode_enabled() is True
        with rg.inference_mode(False):
            assert rg.is_inference_mode_enabled() is False
        assert rg.is_inference_mode_enabled() is True


def test_nothing_is_recorded_under_no_grad():
    x = rg.tensor([1.0], requires_grad=True)
    with rg.no_grad():
        y = x * 2
        assert (y.requires_grad, y.grad_fn, y.is_leaf) == (False, None, True)
        assert rg.tensor([1.0], requires_grad=True).requires_grad
        with rg.enable_grad():
            assert (x * 2).requires_grad


def test_backward_runs_under_no_grad():
    x = rg.tensor([1.0], requires_grad=True)
    y = x * 2
    with rg.no_grad():
        y.backward()
        assert on() is False
    assert x.grad.item() == 2.0


def test_modes_belong_to_their_thread():
    seen: list[bool] = []
    with rg.no_grad():
        thread = threading.Thread(target=lambda: seen.append(on()))
        thread.start()
        thread.join()
    assert seen == [True]


# -- as decorators ---------------------------------------------------------------------------------


def test_a_function_runs_inside(mode, outside):
    make, inside = mode

    @make()
    def f(a, *, b):
        """Says what mode it runs in."""
        return on(), a, b

    assert f(1, b=2) == (inside, 1, 2)
    assert on() is outside
    assert (f.__name__, f.__doc__) == ("f", "Says what mode it runs in.")


@pytest.mark.parametrize("decorator", [rg.no_grad, rg.enable_grad, rg.inference_mode])
def test_parentheses_may_be_left_out(decorator, outside):
    @decorator
    def f():
        return on()

    assert f() is (decorator is rg.enable_grad)
    assert on() is outside


def test_a_recursive_function_restores_at_each_level(outside):
    @rg.no_grad()
    def f(n):
        inside = on()
        return [inside] if n == 0 else [inside, *f(n - 1), on()]

    assert f(3) == [False] * 7


def test_a_raising_function_restores(mode, outside):
    make, _ = mode

    @make()
    def f():
        raise KeyError

    with pytest.raises(KeyError):
        f()
    assert on() is outside


def test_a_method_runs_inside():
    class Model:
        @rg.no_grad()
        def f(self):
            return on()

        @staticmethod
        @rg.no_grad()
        def g():
            return on()

        @classmethod
        @rg.no_grad()
        def h(cls):
            return on()

    assert [Model().f(), Model.g(), Model.h()] == [False] * 3


def test_a_generator_runs_inside_and_its_caller_does_not(mode, outside):
    make, inside = mode

    @make()
    def f():
        for i in range(2):
            yield i, on()

    assert inspect.isgeneratorfunction(f)
    for item, mode_inside in f():
        assert (item in (0, 1), mode_inside) == (True, inside)
        assert on() is outside


def test_a_generator_gets_what_is_sent_and_thrown(outside):
    seen: list[Any] = []

    @rg.no_grad()
    def f():
        try:
            seen.append((yield 1, on()))
            yield 2, on()
        except KeyError:
            seen.append(on())
            yield 3, on()
        return "done"

    g = f()
    assert next(g) == (1, False)
    assert g.send("sent") == (2, False)
    assert g.throw(KeyError()) == (3, False)
    with pytest.raises(StopIteration) as stop:
        next(g)
    assert stop.value.value == "done"
    assert seen == ["sent", False]
    assert on() is outside


def test_a_generator_is_closed_inside(outside):
    seen: list[bool] = []

    @rg.no_grad()
    def f():
        try:
            yield
        finally:
            seen.append(on())

    g = f()
    next(g)
    g.close()
    assert seen == [False]
    assert on() is outside


def test_a_generator_may_change_the_mode_for_itself(outside):
    @rg.no_grad()
    def f():
        with rg.enable_grad():
            yield on()
        yield on()

    found = []
    for inside in f():
        found.append(inside)
        assert on() is outside
    assert found == [True, False]


def test_a_coroutine_runs_inside_and_its_event_loop_does_not(mode):
    make, inside = mode
    seen: list[bool] = []

    @make()
    async def f():
        before = on()
        await asyncio.sleep(0)
        return before, on()

    async def watcher():
        for _ in range(3):
            seen.append(on())
            await asyncio.sleep(0)

    async def main():
        results = await asyncio.gather(f(), watcher(), f())
        assert on() is True
        return results[0], results[2]

    assert inspect.iscoroutinefunction(f)
    assert asyncio.run(main()) == ((inside, inside), (inside, inside))
    assert seen == [True] * 3


def test_a_raising_coroutine_restores():
    @rg.no_grad()
    async def f():
        await asyncio.sleep(0)
        raise KeyError

    async def main():
        with pytest.raises(KeyError):
            await f()
        return on()

    assert asyncio.run(main()) is True


def test_an_async_generator_runs_inside_and_its_caller_does_not(mode):
    make, inside = mode
    closed: list[bool] = []

    @make()
    async def f():
        try:
            for i in range(3):
                await asyncio.sleep(0)
                yield i, on()
        finally:
            closed.append(on())

    async def main():
        found = []
        async for item, within in f():
            found.append((item, within, on()))
        return found

    assert inspect.isasyncgenfunction(f)
    assert asyncio.run(main()) == [(i, inside, True) for i in range(3)]
    assert closed == [inside]


def test_a_decorated_class_is_made_inside_with_a_warning():
    class Model:
        def __init__(self):
            self.mode = on()

    with pytest.warns(FutureWarning, match="Decorating classes is deprecated"):
        made = rg.no_grad()(Model)
    assert made().mode is False
    assert on() is True


# -- inference mode --------------------------------------------------------------------------------


def test_tensors_made_in_inference_mode_are_marked():
    x = rg.tensor([1.0], requires_grad=True)
    with rg.inference_mode():
        made = [x * 2, rg.ones(2), rg.tensor([1.0]), x.clone()]
        assert all(t.is_inference() for t in made)
    assert not x.is_inference()


def test_inference_tensors_may_be_changed_inside_and_cloned_outside():
    with rg.inference_mode():
        t = rg.ones(2)
        t += 1
    twin = t.clone()
    assert not twin.is_inference()
    assert twin.requires_grad_().requires_grad


def test_repr_of_set_grad_enabled():
    assert repr(rg.set_grad_enabled(True)) == "set_grad_enabled(mode=True)"


def test_a_number_of_kinds_is_truth_for_set_grad_enabled():
    with rg.set_grad_enabled(np.bool_(False)):
        assert on() is False
