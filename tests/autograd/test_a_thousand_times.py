"""A thousand rounds leave no more objects behind than one; where PyTorch needs no collector, neither do we."""

from __future__ import annotations

import gc
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd.autograd import Function
from retrograd.autograd.graph import save_on_cpu, saved_tensors_hooks
from retrograd.utils.checkpoint import checkpoint

Step = Callable[[rg.Tensor], object]


@pytest.fixture(autouse=True)
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def living() -> Counter[str]:
    """How many objects of our classes, and arrays, there are."""
    return Counter(
        type(o).__qualname__
        for o in gc.get_objects()
        if str(type(o).__module__).startswith("retrograd") or isinstance(o, np.ndarray)
    )


class Cube(Function):
    """Saves its input and its output, and can be differentiated twice."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y = x * x * x
        ctx.save_for_backward(x, y)
        ctx.note = "kept on the context"
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, _ = ctx.saved_tensors
        return 3 * x * x * g


class Refuses(Function):
    """Fails in its backward."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x.clone()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        raise ValueError("no")


def training(w: rg.Tensor) -> None:
    ((w * 2).tanh() - 1).square().sum().backward()
    with rg.no_grad():
        w.sub_(0.001 * w.grad)


def custom_function(w: rg.Tensor) -> None:
    Cube.apply(w).sum().backward()


def custom_function_never_run(w: rg.Tensor) -> None:
    Cube.apply(w).sum()


def custom_function_twice(w: rg.Tensor) -> None:
    (g,) = rg.autograd.grad(Cube.apply(w).sum(), w, create_graph=True)
    rg.autograd.grad(g.sum(), w)


def packed(w: rg.Tensor) -> None:
    with saved_tensors_hooks(lambda t: (t.detach().numpy().copy(),), lambda p: rg.from_numpy(p[0])):
        loss = (w.exp() * w).sum()
    loss.backward()


def packed_and_never_run(w: rg.Tensor) -> None:
    with save_on_cpu():
        (w.exp() * w).sum()


def hooks_of_one_saved_value(w: rg.Tensor) -> None:
    y = w.exp()
    y.grad_fn._raw_saved_result.register_hooks(lambda t: t.tolist(), rg.tensor)
    y.sum().backward()


def checkpointed(w: rg.Tensor) -> None:
    checkpoint(lambda x: (x.sin() * x).exp(), w, use_reentrant=False).sum().backward()


def checkpointed_within_itself(w: rg.Tensor) -> None:
    def inner(x: Any) -> Any:
        return x.sin().exp()

    checkpoint(
        lambda x: checkpoint(inner, x, use_reentrant=False) * x, w, use_reentrant=False
    ).sum().backward()


def checkpointed_and_re_entrant(w: rg.Tensor) -> None:
    checkpoint(lambda x: (x.sin() * x).exp(), w, use_reentrant=True).sum().backward()


def checkpointed_and_never_run(w: rg.Tensor) -> None:
    checkpoint(lambda x: x.sin().exp(), w, use_reentrant=False).sum()


def written_in_place(w: rg.Tensor) -> None:
    y = w * 1
    v = y[0:1]
    v.mul_(3)
    y[1] = w[0]
    (y.exp_() * v).sum().backward()


def hooked(w: rg.Tensor) -> None:
    y = w * 2
    y.register_hook(lambda g: g * 2)
    y.grad_fn.register_hook(lambda gi, go: None)
    y.retain_grad()
    y.sum().backward()


def cut_off(w: rg.Tensor) -> None:
    with rg.no_grad():
        y = w * 2
    (y.detach() + rg.ones(2)).sum()


WITHOUT_THE_COLLECTOR = [
    training,
    custom_function,
    custom_function_never_run,
    custom_function_twice,
    packed,
    packed_and_never_run,
    hooks_of_one_saved_value,
    checkpointed,
    checkpointed_within_itself,
    checkpointed_and_re_entrant,
    checkpointed_and_never_run,
    written_in_place,
    hooked,
    cut_off,
]


def create_graph_and_keep_grad(w: rg.Tensor) -> None:
    w.grad = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (w.tanh() * w).sum().backward(create_graph=True)


def create_graph_and_accumulate(w: rg.Tensor) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (w * w).sum().backward(create_graph=True)
    assert w.grad is not None
    w.grad = w.grad.detach()


def fails_in_a_custom_function(w: rg.Tensor) -> None:
    with pytest.raises(ValueError, match="no"):
        Refuses.apply(w.exp()).sum().backward()


def fails_in_a_hook(w: rg.Tensor) -> None:
    def refuse(grad: Any) -> None:
        raise ValueError("no")

    y = w.exp()
    y.register_hook(refuse)
    with pytest.raises(ValueError, match="no"):
        (y * y).sum().backward()


def fails_over_an_overwritten_value(w: rg.Tensor) -> None:
    y = w.exp()
    y.add_(1)
    with pytest.raises(RuntimeError, match="inplace"):
        y.sum().backward()


def fails_in_a_checkpoint(w: rg.Tensor) -> None:
    calls = []

    def unsteady(x: Any) -> Any:
        calls.append(1)
        if len(calls) > 1:
            raise ValueError("no")
        return x.exp()

    with pytest.raises(ValueError, match="no"):
        checkpoint(unsteady, w, use_reentrant=False).sum().backward()


# A traceback holds frames which hold it, and `.grad` with a graph holds its leaf: there Python's collector is needed.
WITH_THE_COLLECTOR = [
    create_graph_and_keep_grad,
    create_graph_and_accumulate,
    fails_in_a_custom_function,
    fails_in_a_hook,
    fails_over_an_overwritten_value,
    fails_in_a_checkpoint,
]


def weights() -> rg.Tensor:
    return rg.tensor([0.3, 0.6], requires_grad=True)


def warm_up(step: Step, w: rg.Tensor) -> None:
    """What is made once and kept, such as `.grad` and its version counter, is made now."""
    for _ in range(3):
        step(w)


@pytest.mark.parametrize("step", WITHOUT_THE_COLLECTOR)
def test_nothing_is_left_behind(step: Step) -> None:
    w = weights()
    warm_up(step, w)
    before = living()
    for _ in range(1000):
        step(w)
    assert living() - before == Counter()


@pytest.mark.parametrize("step", WITH_THE_COLLECTOR)
def test_nothing_is_left_that_the_collector_cannot_see(step: Step) -> None:
    w = weights()
    warm_up(step, w)
    gc.collect()
    before = living()
    for _ in range(1000):
        step(w)
    gc.collect()
    assert living() - before == Counter()
