"""A model in memory that processes share: what one of them trains, the others see."""

from __future__ import annotations

import gc
import multiprocessing
import pickle
from pathlib import Path

import pytest

import retrograd as rg

OPEN_FILES = Path("/proc/self/fd")


class Net(rg.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = rg.nn.Linear(3, 4)
        self.norm = rg.nn.BatchNorm1d(4)

    def forward(self, x):
        return self.norm(self.first(x))


def train(model, part, queue):
    """One step, in another process; what it was given goes back changed."""
    optimizer = rg.optim.SGD(model.parameters(), lr=0.1)
    model(rg.arange(6.0).reshape(2, 3)).pow(3).sum().backward()
    optimizer.step()
    part.add_(1)
    queue.put((model.first.weight.is_shared(), part.tolist()))


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_another_process_trains_the_same_weights(start):
    context = multiprocessing.get_context(start)
    rg.manual_seed(0)  # not all weights that can be drawn learn from two samples
    model = Net().share_memory()
    assert all(t.is_shared() for t in model.state_dict().values())
    weight, before = model.first.weight, model.first.weight.detach().clone()
    whole = rg.zeros(4, 3).share_memory_()
    queue = context.Queue()
    process = context.Process(target=train, args=(model, whole.t()[1], queue))
    process.start()
    shared, part = queue.get(timeout=120)
    process.join()
    assert (shared, part) == (True, [1, 1, 1, 1])
    assert model.first.weight is weight
    assert not rg.equal(weight, before)
    assert model.norm.num_batches_tracked.item() == 1
    assert whole.tolist() == [[0, 1, 0]] * 4


def test_what_is_shared_stays_the_tensor_it_was():
    x = rg.arange(6.0).reshape(2, 3).t().requires_grad_()
    strides = x.stride()
    assert x.share_memory_() is x
    assert x.share_memory_().is_shared()
    assert (x.stride(), x.requires_grad, x[1].is_shared()) == (strides, True, True)
    x.sum().backward()
    assert not x.grad.is_shared()
    assert not x.clone().is_shared()
    again = pickle.loads(pickle.dumps(x))  # to a file: its elements
    assert rg.equal(again, x)
    assert not again.is_shared()
    assert rg.zeros(0).share_memory_().is_shared()


@pytest.mark.skipif(not OPEN_FILES.is_dir(), reason="this system does not list what a process has open")
def test_memory_that_nobody_holds_is_given_back():
    before = len(list(OPEN_FILES.iterdir()))
    tensors = [rg.zeros(5).share_memory_() for _ in range(10)]
    assert len(list(OPEN_FILES.iterdir())) >= before + 10
    del tensors
    gc.collect()
    assert len(list(OPEN_FILES.iterdir())) == before


def test_the_sums_of_adagrad_can_be_shared():
    weight = rg.nn.Parameter(rg.ones(2))
    optimizer = rg.optim.Adagrad([weight])
    optimizer.share_memory()
    assert optimizer.state[weight]["sum"].is_shared()
