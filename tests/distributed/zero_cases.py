"""Optimisers whose state is shared out: run by test_zero.py."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import retrograd as rg
import retrograd.distributed as dist
from retrograd import nn, optim
from retrograd.distributed.optim import ZeroRedundancyOptimizer
from retrograd.nn import parallel
from tests.distributed.ddp_cases import Branches, inputs, mlp, same_everywhere

DDP = parallel.DistributedDataParallel
CASES = {}
KINDS = {
    "SGD": {"lr": 0.1, "momentum": 0.9}, "Adam": {"lr": 0.01}, "AdamW": {"lr": 0.01}, "RMSprop": {"lr": 0.01},
    "Adagrad": {"lr": 0.1}, "NAdam": {"lr": 0.01},
}  # fmt: skip


def case(function):
    """Adds a case."""
    CASES[function.__name__] = function
    return function


def tensors_in(value):
    """The tensors in a state."""
    pending, found = [value], []
    while pending:
        each = pending.pop()
        if isinstance(each, rg.Tensor):
            found.append(each)
        elif isinstance(each, dict):
            pending.extend(each.values())
    return found


def size_of(tensors):
    """How many bytes."""
    return sum(each.numel() * each.element_size() for each in tensors)


def compare(a, b):
    for x, y in zip(a.parameters(), b.parameters(), strict=True):
        np.testing.assert_allclose(x.detach().numpy(), y.detach().numpy(), rtol=1e-4, atol=1e-6)


def run(rank, size, kind, options, stage, steps=4, **given):
    """A model trained with shared-out state, and one trained by one process."""
    rg.manual_seed(1)
    model = mlp(width=8)
    alone = copy.deepcopy(model)
    parts = inputs(size, 3, 8)
    trained = DDP(model) if stage == 1 else model
    zero = ZeroRedundancyOptimizer(model.parameters(), kind, shard_gradients=stage == 2, **given, **options)
    plain = kind(alone.parameters(), **options)
    for _ in range(steps):
        zero.zero_grad()
        trained(parts[rank]).pow(2).mean().backward()
        zero.step()
        plain.zero_grad()
        sum(alone(part).pow(2).mean() / size for part in parts).backward()
        plain.step()
    compare(model, alone)
    assert same_everywhere(model.parameters())
    return zero, plain, model


@case
def state_shared_out_equals_plain(rank, size):
    for name, options in KINDS.items():
        for views in (False, True):
            run(rank, size, getattr(optim, name), options, 1, parameters_as_bucket_view=views)


@case
def gradients_shared_out_equal_plain(rank, size):
    for name, options in KINDS.items():
        _, _, model = run(rank, size, getattr(optim, name), options, 2)
        with_gradient = sum(param.grad is not None for param in model.parameters())
        assert with_gradient < len(list(model.parameters()))


@case
def memory_falls_as_ranks_grow(rank, size):
    rg.manual_seed(1)
    model = nn.Sequential(*[nn.Linear(32, 32, bias=False) for _ in range(12)])
    whole = size_of(model.parameters())
    zero = ZeroRedundancyOptimizer(model.parameters(), optim.Adam, shard_gradients=True, lr=0.01)
    for _ in range(2):
        zero.zero_grad()
        model(inputs(size, 3, 32)[rank]).pow(2).mean().backward()
        zero.step()
    # 12 equal parameters are shared out evenly among 2, 3 or 4 ranks; beside Adam's two moments there are its counts.
    state = size_of([each for each in tensors_in(dict(zero.optim.state)) if each.dim() > 0])
    gradients = size_of([param.grad for param in model.parameters() if param.grad is not None])
    assert state == 2 * whole // size
    assert gradients == whole // size
    held = size_of([bucket.memory for bucket in zero.reducer.buckets if bucket.memory is not None])
    assert held == 0


@case
def schedules(rank, size):
    rg.manual_seed(1)
    model = mlp()
    alone = copy.deepcopy(model)
    ddp = DDP(model)
    zero = ZeroRedundancyOptimizer(model.parameters(), optim.SGD, lr=0.1)
    plain = optim.SGD(alone.parameters(), lr=0.1)
    schedule = optim.lr_scheduler.StepLR(zero, 1, 0.5)
    other = optim.lr_scheduler.StepLR(plain, 1, 0.5)
    parts = inputs(size, 3, 4)
    for _ in range(3):
        for each in (zero, plain):
            each.zero_grad()
        ddp(parts[rank]).sum().backward()
        sum(alone(part).sum() / size for part in parts).backward()
        for each in (zero, plain, schedule, other):
            each.step()
    compare(model, alone)


@case
def consolidated_state(rank, size):
    zero, plain, model = run(rank, size, optim.Adam, {"lr": 0.01}, 1)
    with pytest.raises(RuntimeError, match="consolidate_state_dict"):
        zero.state_dict()
    to = size - 1
    zero.consolidate_state_dict(to=to)
    if rank != to:
        return
    found, wanted = zero.state_dict(), plain.state_dict()
    assert list(found["state"]) == list(wanted["state"])
    assert found["param_groups"] == wanted["param_groups"]
    for number, state in wanted["state"].items():
        for name, value in state.items():
            np.testing.assert_allclose(
                found["state"][number][name].numpy(), value.numpy(), rtol=1e-3, atol=1e-6
            )
    # What one process had saved goes into an optimiser of one process, too.
    optim.Adam(model.parameters(), lr=0.5).load_state_dict(found)


@case
def state_of_one_process_is_taken_over(rank, size):
    rg.manual_seed(1)
    model = mlp()
    alone = copy.deepcopy(model)
    parts = inputs(size, 3, 4)
    plain = optim.Adam(alone.parameters(), lr=0.01)

    def step():
        plain.zero_grad()
        sum(alone(part).pow(2).mean() / size for part in parts).backward()
        plain.step()

    for _ in range(3):
        step()
    model.load_state_dict(alone.state_dict())
    ddp = DDP(model)
    zero = ZeroRedundancyOptimizer(model.parameters(), optim.Adam, lr=0.7)
    zero.load_state_dict(copy.deepcopy(plain.state_dict()))
    assert zero.param_groups[0]["lr"] == 0.01
    for _ in range(3):
        zero.zero_grad()
        ddp(parts[rank]).pow(2).mean().backward()
        zero.step()
        step()
    compare(model, alone)


@case
def groups(rank, size):
    rg.manual_seed(1)
    model = mlp()
    alone = copy.deepcopy(model)
    ddp = DDP(model)

    def grouped(net):
        return [{"params": list(net[0].parameters()), "lr": 0.2}, {"params": list(net[2].parameters())}]

    zero = ZeroRedundancyOptimizer(grouped(model), optim.SGD, lr=0.1)
    plain = optim.SGD(grouped(alone), lr=0.1)
    for each, net in ((zero, model), (plain, alone)):
        each.add_param_group({"params": list(net[4].parameters()), "lr": 0.3})
    parts = inputs(size, 3, 4)
    ddp(parts[rank]).sum().backward()
    sum(alone(part).sum() / size for part in parts).backward()
    zero.step()
    plain.step()
    compare(model, alone)


@case
def more_ranks_than_parameters(rank, size):
    model = nn.Linear(3, 1, bias=False)
    ddp = DDP(model)
    zero = ZeroRedundancyOptimizer(model.parameters(), optim.Adam, lr=0.1)
    ddp(inputs(size, 2, 3)[rank]).sum().backward()
    zero.step()
    assert same_everywhere(model.parameters())


@case
def sharded_gradients_of_changing_graphs(rank, size):
    rg.manual_seed(1)
    model = Branches()
    alone = copy.deepcopy(model)
    zero = ZeroRedundancyOptimizer(model.parameters(), optim.Adam, shard_gradients=True, lr=0.05)
    plain = optim.Adam(alone.parameters(), lr=0.05)
    parts = inputs(size, 3, 4)
    for step in range(4):
        zero.zero_grad()
        plain.zero_grad()
        model(parts[rank], step % 4, (step + rank) % 4).sum().backward()
        sum(alone(part, step % 4, (step + r) % 4).sum() / size for r, part in enumerate(parts)).backward()
        zero.step()
        plain.step()
        compare(model, alone)


@case
def sharded_gradients_accumulated(rank, size):
    rg.manual_seed(1)
    model = mlp()
    alone = copy.deepcopy(model)
    zero = ZeroRedundancyOptimizer(model.parameters(), optim.SGD, shard_gradients=True, lr=0.05)
    plain = optim.SGD(alone.parameters(), lr=0.05)
    parts = inputs(size, 3, 4)
    with zero.no_sync():
        model(parts[rank]).sum().backward()
    model(2 * parts[rank]).sum().backward()
    sum((alone(part).sum() + alone(2 * part).sum()) / size for part in parts).backward()
    zero.step()
    plain.step()
    compare(model, alone)
    # Means are with their owners alone: more cannot be added to them.
    failed = [None] * size
    try:
        model(parts[rank]).sum().backward()
        error = ""
    except RuntimeError as found:
        error = str(found)
    dist.all_gather_object(failed, error)
    assert any("zero_grad" in each for each in failed)


@case
def wrong_arguments(rank, size):
    w = rg.ones(2, requires_grad=True)
    for params, kind in ((w, TypeError), ([], ValueError), ([1], TypeError)):
        with pytest.raises(kind):
            ZeroRedundancyOptimizer(params, optim.SGD, lr=0.1)
    with pytest.raises(ValueError, match="overlap_with_ddp"):
        ZeroRedundancyOptimizer([w], optim.SGD, overlap_with_ddp=True, lr=0.1)
    with pytest.raises(RuntimeError, match=r"rank 0: .*\[2\]\n.*rank 1: .*\[3\]"):
        ZeroRedundancyOptimizer([rg.ones(2 + (rank == 1), requires_grad=True)], optim.SGD, lr=0.1)
