"""GradScaler beside PyTorch: the same calls, the same scales, steps and complaints."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import retrograd as rg


def setup(t: Any, **options: Any) -> tuple[Any, Any, Any]:
    p = t.nn.Parameter(t.ones(2))
    return t.amp.GradScaler("cpu", **options), p, t.optim.SGD([p], lr=0.1)


def backward(scaler: Any, p: Any, factor: float = 2.0) -> None:
    p.grad = None
    scaler.scale((p * factor).sum()).backward()


def told(call: Any) -> Any:
    """What a call returns, or the error that it raises."""
    try:
        return call()
    except (RuntimeError, ValueError, AssertionError) as error:
        kinds = (AssertionError, ValueError, RuntimeError)
        return next(k.__name__ for k in kinds if isinstance(error, k)), str(error)[:40]


def one_step(t: Any) -> list[Any]:
    scaler, p, optimizer = setup(t)
    found = [told(lambda: call(optimizer)) for call in (scaler.unscale_, scaler.step)]
    found += [told(scaler.update), scaler.state_dict(), scaler.get_scale()]
    backward(scaler, p)
    found += [p.grad.tolist(), told(scaler.update), told(lambda: scaler.unscale_(optimizer)), p.grad.tolist()]
    found += [told(lambda: scaler.unscale_(optimizer)), told(lambda: scaler.step(optimizer))]
    found += [told(lambda: scaler.step(optimizer)), told(lambda: scaler.unscale_(optimizer))]
    return [*found, told(scaler.update), p.tolist(), scaler.state_dict()]


def infinities(t: Any) -> list[Any]:
    scaler, p, optimizer = setup(t, init_scale=8.0)
    found: list[Any] = []
    for factor in (1.0, float("inf"), float("nan"), 1.0):
        backward(scaler, p, factor)
        scaler.step(optimizer)
        scaler.update()
        found += [p.tolist(), scaler.state_dict()]
    return found


def growth(t: Any) -> list[Any]:
    scaler, p, optimizer = setup(t, init_scale=4.0, growth_interval=2, growth_factor=3.0)
    found: list[Any] = []
    for _ in range(5):
        backward(scaler, p)
        scaler.step(optimizer)
        scaler.update()
        found += [scaler.get_scale(), scaler._get_growth_tracker()]
    scaler.set_growth_factor(5.0)
    scaler.set_backoff_factor(0.25)
    scaler.set_growth_interval(7)
    found += [scaler.get_growth_factor(), scaler.get_backoff_factor(), scaler.get_growth_interval()]
    return [*found, pickle.loads(pickle.dumps(scaler)).state_dict()]


def several_optimizers(t: Any) -> list[Any]:
    scaler, p, first = setup(t, init_scale=8.0)
    q = t.nn.Parameter(t.ones(1))
    second = t.optim.SGD([q], lr=0.1)
    for loss in scaler.scale([p.sum(), (q * float("inf")).sum()]):
        loss.backward()
    scaler.step(first)
    scaler.step(second)
    scaler.update()
    return [p.tolist(), q.tolist(), scaler.get_scale()]


def new_scales(t: Any) -> list[Any]:
    scaler, p, _ = setup(t)
    backward(scaler, p)
    scaler.update(3.0)
    found = [scaler.get_scale()]
    scaler.update(t.tensor(5.0))
    found += [scaler.get_scale(), told(lambda: scaler.update(t.ones(2))), told(lambda: scaler.scale(3))]
    return [*found, [s.tolist() for s in scaler.scale((t.ones(1), t.ones(2)))]]


def refusals(t: Any) -> list[Any]:
    scaler, p, optimizer = setup(t)
    backward(scaler, p)
    half = t.nn.Parameter(t.ones(2, dtype=t.float16))
    half.grad = t.ones(2, dtype=t.float16)
    idle = t.optim.SGD([t.nn.Parameter(t.ones(2))], lr=0.1)
    found = [told(lambda: scaler.unscale_(t.optim.SGD([half], lr=0.1))), told(lambda: scaler.step(idle))]
    found += [
        told(lambda: scaler.step(optimizer, closure=lambda: 1)),
        told(lambda: scaler.load_state_dict({})),
    ]
    scaler.unscale_(optimizer)
    found.append(told(lambda: pickle.dumps(scaler)))
    wrong = ({"growth_factor": 0.5}, {"backoff_factor": 2.0})
    return found + [told(lambda options=options: t.amp.GradScaler("cpu", **options)) for options in wrong]


def not_enabled(t: Any) -> list[Any]:
    scaler, p, optimizer = setup(t, enabled=False)
    backward(scaler, p)
    found = [p.grad.tolist(), scaler.step(optimizer), p.tolist(), scaler.update(), scaler.get_scale()]
    return [
        *found,
        scaler.state_dict(),
        scaler.load_state_dict({}),
        scaler.is_enabled(),
        scaler.unscale_(optimizer),
    ]


def restored(t: Any) -> list[Any]:
    scaler, p, _ = setup(t)
    state = {**scaler.state_dict(), "scale": 16.0, "_growth_tracker": 3}
    scaler.load_state_dict(state)
    backward(scaler, p)
    found = [scaler.state_dict(), p.grad.tolist()]
    scaler.load_state_dict({**state, "scale": 2.0})
    return [*found, scaler.state_dict()]


PROGRAMS = (
    one_step, infinities, growth, several_optimizers, new_scales, refusals, not_enabled, restored,
)  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_pytorch_does_the_same(torch, program):
    assert program(rg) == program(torch)


def test_gradients_can_be_clipped_in_between():
    scaler, p, optimizer = setup(rg)
    backward(scaler, p)
    scaler.unscale_(optimizer)
    assert rg.nn.utils.clip_grad_norm_([p], 1.0).item() == pytest.approx(8**0.5)
    scaler.step(optimizer)
    assert p.tolist() == pytest.approx([1 - 0.1 / 2**0.5] * 2)
    assert isinstance(scaler, rg.GradScaler)
