"""Ranks with different numbers of inputs: run by test_join.py."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd as rg
import retrograd.distributed as dist
from retrograd import nn
from retrograd.distributed.algorithms.join import Join, Joinable, JoinHook
from retrograd.distributed.optim import ZeroRedundancyOptimizer
from retrograd.nn import parallel
from tests.distributed.ddp_cases import inputs, same_everywhere

DDP = parallel.DistributedDataParallel
CASES = {}


def case(function):
    """Adds a case."""
    CASES[function.__name__] = function
    return function


def trained(model, rank, size, steps_of, divide=True, lr=0.1):
    """A model after `steps_of(rank)` steps of SGD on each rank, in a join block."""
    ddp = DDP(model, bucket_cap_mb=1e-4)
    optimizer = rg.optim.SGD(ddp.parameters(), lr=lr)
    parts = inputs(size, 3, 4)
    with ddp.join(divide_by_initial_world_size=divide):
        for _ in range(steps_of(rank)):
            optimizer.zero_grad()
            ddp(parts[rank]).pow(2).mean().backward()
            optimizer.step()
    return ddp


def reference(size, steps_of, divide=True, lr=0.1):
    """The same by one process."""
    rg.manual_seed(3)
    model = nn.Linear(4, 4)
    parts = inputs(size, 3, 4)
    for step in range(max(steps_of(r) for r in range(size))):
        present = [r for r in range(size) if step < steps_of(r)]
        model.zero_grad()
        total = size if divide else len(present)
        sum(model(parts[r]).pow(2).mean() / total for r in present).backward()
        with rg.no_grad():
            for param in model.parameters():
                param -= lr * param.grad
    return model


def check(rank, size, steps_of, divide):
    rg.manual_seed(3)
    found = trained(nn.Linear(4, 4), rank, size, steps_of, divide)
    wanted = reference(size, steps_of, divide)
    for a, b in zip(found.parameters(), wanted.parameters(), strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-4, atol=1e-6)
    assert same_everywhere(found.parameters())


@case
def gradients_of_others(rank, size):
    """A rank that accompanies the others has its own gradients afterwards, to which a next block adds."""
    ddp = DDP(nn.Linear(2, 1, bias=False))
    for _ in range(2):
        with ddp.join(divide_by_initial_world_size=True):
            for step in range(1 if rank == 0 else 3):
                ddp.zero_grad()
                ddp(rg.ones(1, 2)).sum().backward()
                wanted = 1.0 if step == 0 else (size - 1) / size
                assert abs(ddp.module.weight.grad[0, 0].item() - wanted) < 1e-6
                ddp.zero_grad()
        assert ddp.module.weight.grad is None


@case
def one_more_on_each_rank(rank, size):
    check(rank, size, lambda r: 2 + r, True)


@case
def divided_by_those_present(rank, size):
    check(rank, size, lambda r: 2 + 2 * (size - r), False)


@case
def as_many_on_all(rank, size):
    check(rank, size, lambda r: 3, True)


@case
def nothing_on_one_rank(rank, size):
    check(rank, size, lambda r: 0 if r == 0 else 3, True)


@case
def with_buffers(rank, size):
    net = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
    ddp = trained(net, rank, size, lambda r: 1 + r)
    assert same_everywhere([*ddp.parameters(), *ddp.buffers()])


@case
def with_accumulation(rank, size):
    ddp = DDP(nn.Linear(4, 4))
    x = inputs(size, 3, 4)[rank]
    with ddp.join():
        for step in range(2 + 2 * rank):
            if step % 2 == 0:
                with ddp.no_sync():
                    ddp(x).sum().backward()
            else:
                ddp(x).sum().backward()
                ddp.zero_grad()
    assert same_everywhere(ddp.parameters())


@case
def early_end_is_an_error(rank, size):
    ddp = DDP(nn.Linear(4, 4))
    x = inputs(size, 3, 4)[rank]
    with pytest.raises(RuntimeError, match="exhausted"), ddp.join(throw_on_early_termination=True):
        for _ in range(1 if rank == 0 else 5):
            ddp(x).sum().backward()


@case
def with_sharded_state(rank, size):
    rg.manual_seed(3)
    ddp = DDP(nn.Linear(4, 4))
    optimizer = ZeroRedundancyOptimizer(ddp.parameters(), rg.optim.SGD, lr=0.1)
    x = inputs(size, 3, 4)[rank]
    with Join([ddp, optimizer]):
        for _ in range(1 + rank):
            optimizer.zero_grad()
            ddp(x).pow(2).mean().backward()
            optimizer.step()
    wanted = reference(size, lambda r: 1 + r)
    for a, b in zip(ddp.parameters(), wanted.parameters(), strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-4, atol=1e-6)


@case
def with_sharded_gradients(rank, size):
    rg.manual_seed(3)
    model = nn.Linear(4, 4)
    optimizer = ZeroRedundancyOptimizer(model.parameters(), rg.optim.SGD, shard_gradients=True, lr=0.1)
    x = inputs(size, 3, 4)[rank]
    with Join([optimizer]):
        for _ in range(1 + rank):
            optimizer.zero_grad()
            model(x).pow(2).mean().backward()
            optimizer.step()
    wanted = reference(size, lambda r: 1 + r)
    for a, b in zip(model.parameters(), wanted.parameters(), strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-4, atol=1e-6)


@case
def of_ones_own(rank, size):
    class Counter(Joinable):
        """Adds up what the ranks that are present say."""

        def __init__(self):
            super().__init__()
            self.total, self.last = 0, None

        def __call__(self, number):
            Join.notify_join_context(self)
            tensor = rg.tensor([float(number)])
            dist.all_reduce(tensor)
            self.total += tensor.item()

        def join_hook(self, **kwargs):
            counter = self

            class Silent(JoinHook):
                def main_hook(self):
                    dist.all_reduce(rg.zeros(1))

                def post_hook(self, is_last_joiner):
                    counter.last = is_last_joiner

            return Silent()

        @property
        def join_device(self):
            return rg.device("cpu")

        @property
        def join_process_group(self):
            return dist.group.WORLD

    counter = Counter()
    with Join([counter]):
        for _ in range(1 + rank):
            counter(1)
    assert counter.last == (rank == size - 1)
    assert counter.total == sum(size - step for step in range(1 + rank))
