"""Parameters that are averaged now and then: run by test_averaging.py."""

from __future__ import annotations

import copy
from collections import OrderedDict

import numpy as np
import pytest

import retrograd as rg
import retrograd.distributed as dist
from retrograd import nn
from retrograd.distributed.algorithms.ddp_comm_hooks import DDPCommHookType, register_ddp_comm_hook
from retrograd.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook import (
    PostLocalSGDState,
    post_localSGD_hook,
)
from retrograd.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
from retrograd.distributed.algorithms.model_averaging.hierarchical_model_averager import (
    HierarchicalModelAverager,
)
from retrograd.distributed.algorithms.model_averaging.utils import average_parameters
from retrograd.distributed.optim import PostLocalSGDOptimizer
from tests.distributed.ddp_cases import DDP, inputs

CASES = {}


def case(function):
    """Adds a case."""
    CASES[function.__name__] = function
    return function


def numbered(rank):
    """Parameters that are the rank: one with a gradient, one without."""
    used, unused = (nn.Parameter(rg.full((2, 3), float(rank))) for _ in range(2))
    used.grad = rg.ones(2, 3)
    return used, unused


@case
def every_few_steps(rank, size):
    averager = PeriodicModelAverager(period=3, warmup_steps=2)
    for step in range(9):
        used, unused = numbered(rank)
        averager.average_parameters([{"params": [used, unused]}] if step % 2 else iter([used, unused]))
        averaged = step in (2, 5, 8)
        assert used.tolist() == [[(size - 1) / 2 if averaged else float(rank)] * 3] * 2
        assert unused[0, 0].item() == rank
    assert averager.step == 9
    with pytest.raises(NotImplementedError, match="Parameter input of type"):
        PeriodicModelAverager(2).average_parameters([3])
    for wrong in ({"period": 0}, {"period": 2, "warmup_steps": -1}):
        with pytest.raises(ValueError, match="must be a"):
            PeriodicModelAverager(**wrong)


@case
def several_dtypes(rank, size):
    tensors = [
        nn.Parameter(rg.full((3,), float(rank), dtype=dtype))
        for dtype in (rg.float32, rg.float64, rg.float32)
    ]
    average_parameters(tensors, None)
    assert [tensor[0].item() for tensor in tensors] == [(size - 1) / 2] * 3
    first = dist.new_group([0])
    tensors[0].data.fill_(rank)
    average_parameters(tensors, first)  # the others are not in it
    assert tensors[0][0].item() == rank


@case
def neighbours_often(rank, size):
    if size != 4:
        with pytest.raises(ValueError, match="must be equal to the size"):
            HierarchicalModelAverager(OrderedDict([(2, size + 1)]))
        return
    averager = HierarchicalModelAverager(OrderedDict([(2, 2), (4, 4)]), warmup_steps=3)
    for step in range(10):
        used, _ = numbered(rank)
        averager.average_parameters([used])
        wanted = rank if step < 3 or step % 2 else 1.5 if step % 4 == 0 else rank // 2 * 2 + 0.5
        assert used[0, 0].item() == wanted, step


@case
def averages_after_steps(rank, size):
    model = nn.Linear(4, 2)
    own = copy.deepcopy(model)
    part = inputs(size, 3, 4)[rank]
    made = PostLocalSGDOptimizer(
        rg.optim.SGD(model.parameters(), lr=0.1, momentum=0.9), PeriodicModelAverager(2)
    )
    plain, averager = rg.optim.SGD(own.parameters(), lr=0.1, momentum=0.9), PeriodicModelAverager(2)
    for _ in range(5):
        for each, optimizer in ((model, made), (own, plain)):
            optimizer.zero_grad()
            each(part).pow(2).mean().backward()
            optimizer.step()
        averager.average_parameters(own.parameters())
    np.testing.assert_array_equal(model.weight.detach(), own.weight.detach())
    state = made.state_dict()
    assert (state["step"], averager.step) == (5, 5)
    again = PostLocalSGDOptimizer(
        rg.optim.SGD(model.parameters(), lr=0.1, momentum=0.9), PeriodicModelAverager(2)
    )
    again.load_state_dict(state)
    assert (again.averager.step, len(again.state)) == (5, 2)
    del state["step"]
    with pytest.warns(UserWarning, match="Setting step counter to 0"):
        again.load_state_dict(state)
    assert again.averager.step == 0


@case
def gradients_of_neighbours(rank, size):
    alone = [dist.new_group([i]) for i in range(size)][rank]
    state = PostLocalSGDState(None, alone, start_localSGD_iter=2)
    ddp = DDP(nn.Linear(3, 1, bias=False))
    ddp.register_comm_hook(state, post_localSGD_hook)
    for step in range(4):
        ddp.zero_grad()
        ddp(rg.full((1, 3), float(rank))).sum().backward()
        assert ddp.module.weight.grad[0, 0].item() == ((size - 1) / 2 if step < 2 else rank)
    assert state.iter == 4
    silent = DDP(nn.Linear(3, 1, bias=False))
    register_ddp_comm_hook(
        DDPCommHookType.POST_LOCAL_SGD,
        silent,
        PostLocalSGDState(None, None, 0, post_local_gradient_allreduce=False),
    )
    silent(rg.full((1, 3), float(rank))).sum().backward()
    assert silent.module.weight.grad[0, 0].item() == rank
