"""Queues: one per device, each in the order of priorities."""

from __future__ import annotations

import retrograd as rg
from retrograd.engine.task import GraphTask


def test_nodes_wait_in_the_queue_of_their_device():
    task = GraphTask(False, False, False, 0)
    x = rg.tensor(2.0, requires_grad=True)
    here, there = (x * 3).grad_fn, (x * 4).grad_fn
    there.where = rg.device("fake:0")
    assert task.queue_of(here) is task.cpu_queue
    assert task.queue_of(there) is task.device_queues[rg.device("fake", 0)]
    assert task.queue_of(there) is not task.cpu_queue


def test_a_backward_crosses_devices_and_comes_back():
    x = rg.tensor(2.0, requires_grad=True)
    y = x * 3
    z = (y * y).exp() + y
    y.grad_fn.where = rg.device("fake:0")
    z.grad_fn.next_functions[0][0].where = rg.device("fake:1")
    z.backward()
    x2 = rg.tensor(2.0, requires_grad=True)
    y2 = x2 * 3
    ((y2 * y2).exp() + y2).backward()
    assert x.grad.item() == x2.grad.item()


def test_a_root_may_be_on_a_device():
    x = rg.tensor(2.0, requires_grad=True)
    y = x * 3
    y.grad_fn.where = rg.device("fake:0")
    y.backward()
    assert x.grad.item() == 3.0
