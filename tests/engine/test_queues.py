"""Devices: each has a worker that runs its built-in nodes; gradients cross to and fro."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd.engine import evaluate
from tests.builds import replaces_functions
from tests.devices import fake

fake.install()
CPU, FIRST, SECOND = "cpu", "fake:0", "fake:1"


def across(x: Any, *devices: str) -> Any:
    """A chain that visits the devices one after the other, with a branch at each."""
    y = x
    for where in devices:
        y = y.to(where)
        y = (y * y).tanh() + y.sin()
    return y


def leaf(values: Any = (0.3, 0.6, 0.9)) -> Any:
    return rg.tensor(values, dtype=rg.float64, requires_grad=True)


PATHS = [(FIRST,), (FIRST, CPU), (FIRST, SECOND), (FIRST, SECOND, CPU, FIRST), (CPU, FIRST, CPU, SECOND, CPU)]


@pytest.mark.parametrize("devices", PATHS, ids=" ".join)
def test_gradients_across_devices_are_those_of_one(devices):
    x, reference = leaf(), leaf()
    across(x, *devices).to(CPU).sum().backward()
    across(reference, *[CPU] * len(devices)).sum().backward()
    assert x.grad.device == rg.device(CPU)
    # The fake device has NumPy's kernels, the CPU those of the pack: they round differently.
    np.testing.assert_allclose(x.grad.numpy(), reference.grad.numpy(), rtol=1e-13)


@pytest.mark.parametrize("devices", PATHS, ids=" ".join)
def test_second_derivatives_across_devices(devices):
    x, reference = leaf(), leaf()
    for start, path in ((x, devices), (reference, [CPU] * len(devices))):
        (g,) = rg.autograd.grad(across(start, *path).to(CPU).sum(), start, create_graph=True)
        (g * g).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), reference.grad.numpy(), rtol=1e-14)


def test_a_leaf_on_a_device_gets_its_gradient_there():
    x = leaf().detach().to(FIRST).requires_grad_()
    (x * 2).sum().backward()
    assert x.grad.device == rg.device(FIRST)
    assert x.grad.to(CPU).tolist() == [2.0, 2.0, 2.0]


def test_a_root_may_be_on_a_device():
    x = leaf(2.0)
    (x.to(FIRST) * 3).backward(rg.tensor(1.0, dtype=rg.float64).to(FIRST))
    assert x.grad.item() == 3.0


@pytest.fixture
def threads_of_nodes(monkeypatch):
    """Which thread ran which kind of node."""
    seen: dict[str, set[str]] = {}

    def noting(run: Any) -> Any:
        def noted(task: Any, node: Any, *rest: Any) -> Any:
            seen.setdefault(node.name(), set()).add(threading.current_thread().name)
            return run(task, node, *rest)

        return noted

    for name in ("call_node", "_call_pair"):
        monkeypatch.setattr(evaluate, name, noting(getattr(evaluate, name)))
    return seen


@replaces_functions
def test_built_in_nodes_run_on_their_devices_worker(threads_of_nodes):
    x = leaf()
    (x.exp().to(FIRST).sin().to(SECOND).cos().to(CPU).sum()).backward()
    assert threads_of_nodes["SinBackward0"] == {"retrograd-fake:0-0"}
    assert threads_of_nodes["CosBackward0"] == {"retrograd-fake:1-0"}
    assert threads_of_nodes["ExpBackward0"] == {threading.current_thread().name}


def test_a_device_has_one_worker_for_all_backwards():
    for _ in range(20):
        leaf().to(FIRST).sin().to(CPU).sum().backward()
    names = [t.name for t in threading.enumerate() if t.name.startswith("retrograd-fake:0")]
    assert names == ["retrograd-fake:0-0"]


def test_user_code_runs_on_the_calling_thread():
    x = leaf()
    y = x.to(FIRST).sin()
    where = []
    y.register_hook(lambda g: where.append(threading.current_thread()))
    y.to(CPU).sum().backward()
    assert where == [threading.current_thread()]


@replaces_functions
def test_without_multithreading_the_caller_does_it_all(threads_of_nodes):
    x = leaf()
    loss = x.to(FIRST).sin().to(CPU).sum()
    with rg.autograd.set_multithreading_enabled(False):
        loss.backward()
    assert set.union(*threads_of_nodes.values()) == {threading.current_thread().name}


def test_operands_must_share_a_device():
    with pytest.raises(RuntimeError, match="same device"):
        leaf() * leaf().to(FIRST)
    with pytest.raises(RuntimeError, match="same device"):
        rg.stack([leaf(), leaf().to(FIRST)])
    assert (leaf().to(FIRST) * rg.tensor(2.0)).device == rg.device(FIRST)


def test_a_gradient_must_come_from_the_right_device():
    class Astray(rg.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.to(FIRST)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    with pytest.raises(RuntimeError, match="expected device cpu but got fake:0"):
        Astray.apply(leaf()).to(CPU).sum().backward()
