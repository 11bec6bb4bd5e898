"""Futures: values that will be there later, beside PyTorch's."""

from __future__ import annotations

import threading

import pytest
import torch

import retrograd as rg


@pytest.mark.parametrize("lib", [rg, torch], ids=["retrograd", "torch"])
def test_values(lib):
    future = lib.futures.Future()
    seen = []
    future.add_done_callback(lambda done: seen.append(done.value()))
    later = future.then(lambda done: done.value() + 1).then(lambda done: done.value() * 2)
    assert not future.done()
    threading.Timer(0.05, lambda: future.set_result(4)).start()
    assert later.wait() == 10
    assert future.done()
    assert future.value() == future.wait() == 4
    assert seen == [4]
    assert lib.futures.wait_all([future, later]) == [4, 10]
    assert [each.value() for each in lib.futures.collect_all([future, later]).wait()] == [4, 10]
    with pytest.raises(RuntimeError):
        future.set_result(5)


@pytest.mark.parametrize("lib", [rg, torch], ids=["retrograd", "torch"])
def test_errors(lib):
    future = lib.futures.Future()
    later = future.then(lambda done: done.value())
    future.set_exception(ValueError("no"))
    with pytest.raises(ValueError, match="no"):
        future.wait()
    with pytest.raises((ValueError, RuntimeError), match="no"):  # PyTorch makes another error of it
        later.wait()


def test_what_comes_then_waits_until_somebody_asks():
    future, ran = rg.futures.Future(), []
    later = future.then(lambda done: ran.append(done.value()))
    future.set_result(1)
    assert not ran
    assert later.done()
    assert ran == [1]
    with pytest.raises(RuntimeError, match="no value yet"):
        rg.futures.Future().value()
