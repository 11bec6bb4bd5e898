"""Typical programs while one allocation of Python's fails, the first, the second and so on.

    python -m tests.reliability.failing_allocations training 0 1000 7     every 7th of the first 1000

prints one line per failure: `ok`, an error's type, or what is not as it was afterwards. A crash ends the process; the
last line has the number of the allocation.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np

import retrograd as rg
from retrograd.core.modes import current

F = rg.nn.functional


def elementwise() -> Any:
    x = rg.arange(6.0).requires_grad_()
    y = (x.exp() * x + x.sin() / (x + 1)).sum()
    y.backward()
    return x.grad


def training() -> Any:
    layer = rg.nn.Linear(3, 2)
    with rg.no_grad():
        layer.weight.fill_(0.5)
        layer.bias.zero_()
    step = rg.optim.Adam(layer.parameters(), lr=0.1)
    for _ in range(2):
        step.zero_grad()
        F.cross_entropy(layer(rg.ones(4, 3)), rg.zeros(4, dtype=rg.int64)).backward()
        step.step()
    return layer.weight.detach()


def transforms() -> Any:
    def energy(x: Any) -> Any:
        return (x.tanh() ** 2).sum()

    return rg.func.vmap(rg.func.grad(energy))(rg.arange(6.0).view(2, 3))


def hooks() -> Any:
    x = rg.ones(3, requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: g * 3)
    y.retain_grad()
    x.register_post_accumulate_grad_hook(lambda p: None)
    y.sum().backward()
    return x.grad + y.grad


def forward_mode() -> Any:
    with rg.autograd.forward_ad.dual_level():
        x = rg.autograd.forward_ad.make_dual(rg.ones(3), rg.arange(3.0))
        return rg.autograd.forward_ad.unpack_dual((x * x).exp()).tangent


def functions() -> Any:
    class Double(rg.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * 2 + 0 * x

    x = rg.ones(3, requires_grad=True)
    (first,) = rg.autograd.grad((Double.apply(x) ** 2).sum(), x, create_graph=True)
    first.sum().backward()
    return x.grad


def images() -> Any:
    x = rg.arange(32.0).view(1, 2, 4, 4).requires_grad_()
    y = F.max_pool2d(F.conv2d(x, rg.ones(2, 2, 3, 3), padding=1).relu(), 2)
    F.layer_norm(y, y.shape[1:]).abs().sum().backward()
    return x.grad


def views() -> Any:
    x = rg.zeros(4, 4, requires_grad=True)
    y = x.clone()
    y[1:3, ::2] = 1.0
    y.view(16)[3:7].mul_(2.0)
    y.softmax(0).log().sum().backward()
    return x.grad


PROGRAMS: dict[str, Callable[[], Any]] = {
    p.__name__: p for p in (elementwise, training, transforms, hooks, forward_mode, functions, images, views)
}


def state() -> tuple[Any, ...]:
    """What an error may not leave behind."""
    mine = current()
    return rg.is_grad_enabled(), rg.is_inference_mode_enabled(), mine.special, mine.transforms, mine.level


def put_back() -> None:
    """The state that programs begin in."""
    rg.set_grad_enabled(True)
    if current().level is not None:
        rg.autograd.forward_ad.exit_dual_level()


def main(name: str, first: int, last: int, step: int) -> None:
    from _testcapi import remove_mem_hooks, set_nomemory

    program = PROGRAMS[name]
    for _ in range(3):  # all that is imported or made once
        expected = program().numpy().copy()
    before = state()
    for number in range(first, last, step):
        print(number, end="\t", flush=True)
        found: Any = None
        error: Any = None
        set_nomemory(number, number + 1)
        try:
            found = program()
        except BaseException as caught:
            error = caught
        remove_mem_hooks()
        told = "ok" if error is None else type(error).__name__
        if state() != before:
            told = f"STATE {state()} after {told}"
            put_back()
        if told not in ("ok", "MemoryError", "OutOfMemoryError"):
            traceback.print_exception(error)
        error = None
        if told.startswith("STATE"):
            pass
        elif found is not None and not np.allclose(found.numpy(), expected):
            told = "WRONG"
        elif not np.allclose(program().numpy(), expected):
            told = f"WRONG AFTERWARDS, {told}"
        print(told, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
