"""What scripts ask about whatever computes beside the CPU: with a stand-in for CuPy, on a machine without a GPU."""

from __future__ import annotations

from collections import namedtuple
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd.backends.base import BACKENDS
from retrograd.backends.gpu.pinned import is_pinned, pin
from tests.devices.place import HERE
from tests.devices.strict import StrictBackend

Pair = namedtuple("Pair", "x y")


class PinnedMemoryPointer(bytearray):
    """Locked memory, as CuPy gives it out: an object that shows a buffer."""


class Current:
    """Which GPU is the current one."""

    index = 0


class Device:
    def __init__(self, index: int) -> None:
        self.index = index

    def use(self) -> None:
        Current.index = self.index


CUPY = SimpleNamespace(
    cuda=SimpleNamespace(
        alloc_pinned_memory=PinnedMemoryPointer,
        PinnedMemoryPointer=PinnedMemoryPointer,
        Device=Device,
        runtime=SimpleNamespace(getDevice=lambda: Current.index),
    )
)


class PretendBackend(StrictBackend):
    """Two GPUs, as far as one can ask about them."""

    device_type = "cuda"
    cupy = CUPY
    devices = (rg.device("cuda", 0), rg.device("cuda", 1))

    def pin(self, array: Any) -> Any:
        return pin(CUPY, array)

    def is_pinned(self, array: Any) -> bool:
        return is_pinned(CUPY, array)


@pytest.fixture
def gpus(monkeypatch):
    monkeypatch.setitem(BACKENDS.by_device, "cuda", PretendBackend())
    Current.index = 0


def test_a_script_that_asks_for_the_accelerator_gets_the_gpu(gpus):
    assert rg.accelerator.is_available()
    assert rg.accelerator.device_count() == 2
    assert rg.accelerator.current_accelerator() == rg.device("cuda")
    assert rg.accelerator.current_accelerator().type == "cuda"


def test_the_current_device_is_set_and_put_back(gpus):
    rg.accelerator.set_device_index(1)
    assert rg.accelerator.current_device_index() == 1
    with rg.accelerator.device_index(0):
        assert rg.accelerator.current_device_index() == 0
    assert rg.accelerator.current_device_index() == 1
    with rg.accelerator.device_index(None):
        assert rg.accelerator.current_device_index() == 1


def test_without_one_there_is_the_cpu_and_an_error():
    assert rg.accelerator.current_accelerator() is None
    with pytest.raises(RuntimeError, match="Cannot access accelerator device when none is available"):
        rg.accelerator.synchronize()
    with pytest.raises(RuntimeError, match="Cannot access accelerator device when none is available"):
        rg.ones(2).pin_memory()
    assert not rg.ones(2).is_pinned()


@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3)])
@pytest.mark.parametrize("dtype", [rg.float32, rg.int64, rg.bool, rg.complex64])
def test_pinned_tensors_have_the_same_numbers(gpus, shape, dtype):
    x = rg.ones(shape, dtype=dtype)
    assert not x.is_pinned()
    y = x.pin_memory()
    assert y.is_pinned()
    assert y.dtype == dtype
    assert y.shape == x.shape
    assert rg.equal(x, y)
    assert y.pin_memory() is y
    if y.numel():
        assert y[..., 0:1].is_pinned() if y.ndim else y.view(1).is_pinned()


def test_gradients_go_through_pinning(gpus):
    x = rg.ones(3, requires_grad=True)
    (x.pin_memory() * 2).sum().backward()
    assert x.grad.tolist() == [2, 2, 2]


def test_pinned_memory_does_not_follow_what_it_was_copied_from(gpus):
    x = rg.arange(6).view(2, 3).t()
    y = x.pin_memory()
    x.zero_()
    assert y.tolist() == [[0, 3], [1, 4], [2, 5]]


@pytest.mark.parametrize("workers", [0, 1])
def test_a_loader_pins_its_batches(gpus, workers):
    data = [{"x": rg.tensor([float(i)]), "name": str(i), "pair": Pair(rg.tensor(i), [i])} for i in range(4)]
    loader = rg.utils.data.DataLoader(data, batch_size=2, pin_memory=True, num_workers=workers)
    batches = list(loader)
    assert [batch["x"].tolist() for batch in batches] == [[[0.0], [1.0]], [[2.0], [3.0]]]
    for batch in batches:
        assert batch["x"].is_pinned()
        assert batch["pair"].x.is_pinned()
        assert type(batch["pair"]) is Pair
        assert isinstance(batch["name"], list)


def test_packed_sequences_are_pinned(gpus):
    packed = rg.nn.utils.rnn.pack_sequence([rg.ones(2), rg.ones(3)], enforce_sorted=False)
    assert not packed.is_pinned()
    pinned = packed.pin_memory()
    assert pinned.is_pinned()
    assert pinned.sorted_indices.is_pinned()
    assert rg.equal(pinned.data, packed.data)


def test_saved_values_wait_in_the_memory_of_the_cpu():
    where, kept = rg.autograd.graph.save_on_cpu().pack_hook(rg.ones(2).to(HERE))
    assert (where, kept.device) == (rg.device(HERE), rg.device("cpu"))
    x = rg.tensor(np.array([1.0, 2.0, 3.0])).to(HERE).requires_grad_()
    for pinned in (False, True):
        x.grad = None
        with rg.autograd.graph.save_on_cpu(pin_memory=pinned):
            y = x.exp() * x
        y.sum().backward()
        assert x.grad.device == x.device
        expected = np.exp([1.0, 2.0, 3.0]) * [2.0, 3.0, 4.0]
        np.testing.assert_allclose(x.grad.cpu().numpy(), expected, rtol=1e-6)


def test_generic_streams_are_of_the_cpu_here():
    stream, event = rg.Stream(), rg.Event(enable_timing=True)
    assert repr(stream) == "torch.Stream device_type=cpu, device_index=-1, stream_id=0"
    assert repr(event) == "torch.Event device_type=cpu, device_index=-1, event_flag=1, event_id=0"
    assert stream.query()
    assert event.query()
    assert stream == rg.Stream("cpu")
    with stream as entered:
        assert entered is stream
    with pytest.raises(RuntimeError, match="doesn't support events"):
        stream.record_event()
    with pytest.raises(RuntimeError, match="not linked with support for cuda"):
        rg.Stream("cuda")
