"""`rg.cuda`: devices, queues, marks, memory and generators."""

from __future__ import annotations

from typing import Any

import pytest

import retrograd as rg


def test_devices() -> None:
    assert rg.cuda.is_available()
    assert rg.cuda.device_count() >= 1
    assert rg.cuda.current_device() == 0
    assert rg.cuda.get_device_name() == rg.cuda.get_device_properties("cuda:0").name
    assert rg.cuda.get_device_capability() >= (5, 0)
    with rg.cuda.device(0):
        assert rg.cuda.current_device() == 0
    with pytest.raises(RuntimeError, match="numbered from 0"):
        rg.cuda.set_device(99)
    with pytest.raises(ValueError, match="Expected a cuda device"):
        rg.cuda.synchronize("cpu")


def test_streams_and_events() -> None:
    stream, begin, end = (
        rg.cuda.Stream(),
        rg.cuda.Event(enable_timing=True),
        rg.cuda.Event(enable_timing=True),
    )
    x = rg.randn(512, 512, device="cuda", requires_grad=True)
    stream.wait_stream(rg.cuda.current_stream())
    with rg.cuda.stream(stream):
        assert rg.cuda.current_stream() == stream
        begin.record()
        y = (x @ x).sum()
        end.record()
    assert rg.cuda.current_stream() == rg.cuda.default_stream()
    rg.cuda.current_stream().wait_stream(stream)
    y.backward()
    end.synchronize()
    assert end.query()
    assert begin.elapsed_time(end) > 0
    expected = x.detach().cpu().double()
    ones = rg.ones(512, 512, dtype=rg.float64)
    wanted = ones @ expected.T + expected.T @ ones
    assert rg.allclose(x.grad.cpu().double(), wanted, rtol=1e-3, atol=1e-2)


def test_calls_that_wait_are_told_of() -> None:
    x = rg.ones(3, device="cuda")
    assert rg.cuda.get_sync_debug_mode() == 0
    try:
        rg.cuda.set_sync_debug_mode("warn")
        with pytest.warns(UserWarning, match="synchronizing CUDA operation"):
            x.sum().item()
        rg.cuda.set_sync_debug_mode(2)
        y = (x * 2).sum()
        for wait in (
            lambda: y.item(),
            lambda: y.cpu(),
            lambda: bool(y),
            lambda: x.tolist(),
            lambda: float(y),
        ):
            with pytest.raises(RuntimeError, match="synchronizing CUDA operation"):
                wait()
    finally:
        rg.cuda.set_sync_debug_mode("default")
    assert y.item() == 6
    with pytest.raises(RuntimeError, match="invalid value of debug_mode"):
        rg.cuda.set_sync_debug_mode("loud")


def test_streams_are_given_out_in_turns() -> None:
    streams = [rg.cuda.Stream() for _ in range(40)]
    assert len(set(streams)) == 32
    assert rg.cuda.Stream(priority=-1) not in streams


def test_memory() -> None:
    rg.cuda.empty_cache()
    rg.cuda.reset_peak_memory_stats()
    before = rg.cuda.memory_allocated()
    x = rg.zeros(1 << 20, device="cuda")
    assert rg.cuda.memory_allocated() - before >= 1 << 22
    y: Any = x + 1
    del y
    assert rg.cuda.max_memory_allocated() - before >= 1 << 23
    assert rg.cuda.memory_reserved() >= rg.cuda.memory_allocated()
    free, total = rg.cuda.mem_get_info()
    assert 0 < free < total
    assert "allocated_bytes" in rg.cuda.memory_summary()


def test_generators() -> None:
    rg.cuda.manual_seed_all(7)
    assert rg.cuda.initial_seed() == 7
    state = rg.cuda.get_rng_state()
    first = rg.rand(4, device="cuda").cpu()
    rg.cuda.set_rng_state(state)
    assert rg.equal(rg.rand(4, device="cuda").cpu(), first)


def test_too_much_memory_is_an_error_with_figures_and_the_next_step_works() -> None:
    with pytest.raises(rg.OutOfMemoryError, match="TiB"):
        rg.empty(1 << 40, device="cuda")
    rg.cuda.empty_cache()
    for f in (lambda x: x * 2, lambda x: x.tanh(), lambda x: x[:, None] * x):
        with pytest.raises(rg.OutOfMemoryError, match="not enough memory"):
            f(rg.empty(int(rg.cuda.mem_get_info()[0] * 0.6) // 4, device="cuda", requires_grad=True))
        rg.cuda.empty_cache()
    assert float(rg.ones(3, device="cuda").sum()) == 3
