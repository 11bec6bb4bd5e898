"""The pack's threads: divided loops, from several threads of Python at once. `make test-tsan` looks for races."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd.backends.pack import PACK

pytestmark = pytest.mark.skipif(PACK is None, reason="the native pack is not built")

F = rg.nn.functional
MANY = 200_000  # elements, more than one piece of a loop


def optimizer() -> Any:
    parameter = rg.nn.Parameter(rg.ones(MANY))
    parameter.grad = rg.ones(MANY)
    rg.optim.Adam([parameter], lr=0.1).step()
    return parameter.detach()


def backward() -> Any:
    x = rg.ones(MANY, requires_grad=True)
    (x.exp() * x).tanh().sum().backward()
    return x.grad


KERNELS: dict[str, Callable[[], Any]] = {
    "elementwise": lambda: rg.ones(MANY).exp() + 1,
    "backward": backward,
    "reduction": lambda: rg.ones(MANY).sum() + rg.ones(400, 500).amax(0).sum(),
    "softmax": lambda: F.softmax(rg.ones(400, 500), 1),
    "layer norm": lambda: F.layer_norm(rg.arange(float(MANY)).view(400, 500), (500,)),
    "matmul": lambda: rg.ones(300, 200) @ rg.ones(200, 300),
    "convolution": lambda: F.conv2d(rg.ones(4, 8, 32, 32), rg.ones(8, 8, 3, 3)),
    "pooling": lambda: F.max_pool2d(rg.ones(4, 8, 64, 64), 3),
    "attention": lambda: F.scaled_dot_product_attention(*[rg.ones(2, 4, 128, 16)] * 3),
    "rows by index": lambda: F.embedding(rg.arange(2000) % 50, rg.ones(50, 100)),
    "optimizer": optimizer,
    "copy": lambda: rg.ones(400, 500).t().contiguous(),
}


@pytest.fixture(autouse=True)
def four_threads() -> Any:
    before = rg.get_num_threads()
    rg.set_num_threads(4)
    yield
    rg.set_num_threads(before)


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_of_several_threads_do_not_disturb_each_other(name: str) -> None:
    kernel = KERNELS[name]
    expected = kernel().numpy().copy()
    found: list[Any] = []
    barrier = threading.Barrier(4)

    def work() -> None:
        barrier.wait()
        for _ in range(5):
            found.append(kernel().numpy())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 20
    for one in found:
        np.testing.assert_array_equal(one, expected)


def test_the_number_of_threads_may_change_meanwhile() -> None:
    done = threading.Event()

    def change() -> None:
        while not done.is_set():
            for count in (1, 2, 5):
                rg.set_num_threads(count)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(20):
            assert (rg.ones(MANY) + 1).sum().item() == 2 * MANY
    finally:
        done.set()
        thread.join()
