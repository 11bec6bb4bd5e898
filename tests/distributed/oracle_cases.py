"""The same programs on PyTorch's DistributedDataParallel over Gloo, in the same processes: for test_ddp_oracle.py."""

from __future__ import annotations

import importlib
import os
import socket
from functools import cache

import numpy as np
import pytest
import torch

import retrograd as rg
import retrograd.distributed as dist

CASES = {}


def case(function):
    """Adds a case."""
    CASES[function.__name__] = function
    return function


@cache
def gloo():
    """Starts PyTorch's group of the same ranks."""
    for part in ("algorithms.ddp_comm_hooks.powerSGD_hook", "optim"):  # which warns of PyTorch's own code
        importlib.import_module(f"torch.distributed.{part}")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = [free.getsockname()[1]]
    dist.broadcast_object_list(port)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port[0]))
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", rank=dist.get_rank(), world_size=dist.get_world_size())


def models(make, seed=0, **options):
    """The same model in both libraries, wrapped."""
    gloo()
    torch.manual_seed(seed)
    theirs, ours = make(torch), make(rg)
    ours.load_state_dict({name: rg.from_numpy(value.numpy()) for name, value in theirs.state_dict().items()})
    return (
        torch.nn.parallel.DistributedDataParallel(theirs, **options),
        rg.nn.parallel.DistributedDataParallel(ours, **options),
    )


def numbers(rank, *shape):
    return np.random.default_rng(rank).standard_normal(shape).astype(np.float32)


def compare(theirs, ours, rtol=1e-4, atol=1e-5):
    """Gradients and buffers are the same."""
    for (name, a), (other, b) in zip(theirs.named_parameters(), ours.named_parameters(), strict=True):
        assert name == other
        assert (a.grad is None) == (b.grad is None), name
        if a.grad is not None:
            np.testing.assert_allclose(b.grad.numpy(), a.grad.numpy(), rtol=rtol, atol=atol, err_msg=name)
    for (name, a), (other, b) in zip(theirs.named_buffers(), ours.named_buffers(), strict=True):
        assert name == other
        np.testing.assert_allclose(b.numpy(), a.numpy(), rtol=rtol, atol=atol, err_msg=name)


def both(make, step, shape=(3, 4), steps=3, **options):
    """Runs some steps of both."""
    theirs, ours = models(make, **options)
    x = numbers(dist.get_rank(), *shape)
    for number in range(steps):
        for lib, model in ((torch, theirs), (rg, ours)):
            step(lib, model, lib.from_numpy(x), number)
        compare(theirs, ours)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert repr(ours) == repr(theirs)
    return theirs, ours


def mlp(lib):
    return lib.nn.Sequential(lib.nn.Linear(4, 8), lib.nn.Tanh(), lib.nn.Linear(8, 4))


def branches(lib):
    class Branches(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = lib.nn.ModuleList([lib.nn.Linear(4, 4) for _ in range(3)])

        def forward(self, x, *chosen):
            for i in chosen:
                x = self.parts[i](x)
            return x

    return Branches()


@case
def plain(rank, size):
    def step(lib, model, x, number):
        model.zero_grad()
        model(x).pow(2).mean().backward()

    for views in (False, True):
        both(mlp, step, gradient_as_bucket_view=views)


@case
def accumulated(rank, size):
    def step(lib, model, x, number):
        if number == 1:
            with model.no_sync():
                model(x).sum().backward()
        else:
            model(x).sum().backward()

    both(mlp, step)


@case
def backward_outside_of_the_block(rank, size):
    def step(lib, model, x, number):
        model.zero_grad()
        with model.no_sync():
            inside = model(x).sum()
        inside.backward()  # what counts is where the forward was
        outside = model(x).sum()
        with model.no_sync():
            outside.backward()

    both(mlp, step)


@case
def unused(rank, size):
    def step(lib, model, x, number):
        model.zero_grad()
        model(x, 0, *([1] if rank == 0 and number else [])).pow(2).mean().backward()

    both(branches, step, find_unused_parameters=True)


@case
def unused_with_gradients_from_before(rank, size):
    def step(lib, model, x, number):
        model(x, number).pow(2).mean().backward()

    both(branches, step, find_unused_parameters=True)


@case
def convolutions_and_buffers(rank, size):
    def make(lib):
        nn = lib.nn
        return nn.Sequential(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(64, 2))

    def step(lib, model, x, number):
        model.zero_grad()
        model(x).pow(2).mean().backward()

    both(make, step, (3, 2, 6, 6))


@case
def evaluation_takes_the_buffers_of_the_first(rank, size):
    def make(lib):
        return lib.nn.Sequential(lib.nn.Linear(4, 4), lib.nn.BatchNorm1d(4))

    theirs, ours = models(make)
    x = numbers(rank, 5, 4)
    found = []
    for lib, model in ((torch, theirs), (rg, ours)):
        model(lib.from_numpy(x)).sum().backward()
        model.eval()
        with lib.no_grad():
            found.append(model(lib.from_numpy(x)).numpy())
    np.testing.assert_allclose(found[1], found[0], rtol=1e-4, atol=1e-5)
    compare(theirs, ours)


@case
def hooks(rank, size):
    def step(lib, model, x, number):
        model.zero_grad()
        model(x).pow(2).mean().backward()

    theirs, ours = models(mlp)
    for lib, model in ((torch, theirs), (rg, ours)):
        hooks = lib.distributed.algorithms.ddp_comm_hooks.default_hooks
        model.register_comm_hook(None, hooks.fp16_compress_hook)
        with pytest.raises(RuntimeError, match="can only be called once"):
            model.register_comm_hook(None, hooks.allreduce_hook)
        step(lib, model, lib.from_numpy(numbers(rank, 3, 4)), 0)
    compare(theirs, ours, 1e-2, 1e-3)


@case
def low_rank(rank, size):
    def make(lib):
        return lib.nn.Linear(16, 16)

    theirs, ours = models(make)
    for lib, model in ((torch, theirs), (rg, ours)):
        hooks = lib.distributed.algorithms.ddp_comm_hooks.powerSGD_hook
        # Of full rank, so that the first random matrices do not matter.
        state = hooks.PowerSGDState(None, 16, start_powerSGD_iter=2, min_compression_rate=0)
        model.register_comm_hook(state, hooks.powerSGD_hook)
        for _ in range(4):
            model.zero_grad()
            model(lib.from_numpy(numbers(rank, 32, 16))).pow(2).mean().backward()
    compare(theirs, ours, 1e-3, 1e-4)


@case
def uneven(rank, size):
    for divide in (True, False):
        theirs, ours = models(mlp)
        for lib, model in ((torch, theirs), (rg, ours)):
            optimizer = lib.optim.SGD(model.parameters(), lr=0.1)
            with model.join(divide_by_initial_world_size=divide):
                for number in range(2 + rank):
                    optimizer.zero_grad()
                    model(lib.from_numpy(numbers(rank + number, 3, 4))).pow(2).mean().backward()
                    optimizer.step()
        for a, b in zip(theirs.parameters(), ours.parameters(), strict=True):
            np.testing.assert_allclose(b.detach().numpy(), a.detach().numpy(), rtol=1e-4, atol=1e-5)


@case
def sharded(rank, size):
    theirs, ours = models(mlp)
    saved = []
    for lib, model in ((torch, theirs), (rg, ours)):
        optimizer = lib.distributed.optim.ZeroRedundancyOptimizer(model.parameters(), lib.optim.Adam, lr=0.01)
        for number in range(3):
            optimizer.zero_grad()
            model(lib.from_numpy(numbers(rank + number, 3, 4))).pow(2).mean().backward()
            optimizer.step()
        with pytest.raises(RuntimeError, match="Optimizer state has not been consolidated on this rank"):
            optimizer.state_dict()
        optimizer.consolidate_state_dict()
        saved.append(optimizer.state_dict() if rank == 0 else None)
        owned = [p.numel() for group in optimizer.optim.param_groups for p in group["params"]]
        saved.append(owned)
    assert saved[1] == saved[3]
    for a, b in zip(theirs.parameters(), ours.parameters(), strict=True):
        np.testing.assert_allclose(b.detach().numpy(), a.detach().numpy(), rtol=1e-4, atol=1e-5)
    if rank == 0:
        for number, state in saved[0]["state"].items():
            for name, value in state.items():
                np.testing.assert_allclose(
                    saved[2]["state"][number][name].numpy(), value.numpy(), rtol=1e-3, atol=1e-6
                )
        assert set(saved[2]["param_groups"][0]) >= {"params", "lr", "betas", "eps"}


@case
def errors(rank, size):
    gloo()

    def frozen(lib):
        return lib.nn.Linear(2, 2).requires_grad_(False)

    def wrapped(make, **options):
        kinds = []
        for lib in (torch, rg):
            model = make(lib)
            with pytest.raises(Exception, match=".") as error:
                lib.nn.parallel.DistributedDataParallel(model, **options)
            kinds.append((error.type.__mro__[-3:], str(error.value)))
        assert kinds[0] == kinds[1]

    wrapped(lambda lib: lib.nn.ReLU())
    wrapped(frozen)
    wrapped(lambda lib: lib.nn.LazyLinear(1))
    wrapped(lambda lib: lib.nn.Linear(1, 1), device_ids=[0, 1])
    theirs, ours = models(mlp)
    for hook in (3, lambda state, bucket: None):
        kinds = []
        for model in (theirs, ours):
            try:
                model.register_comm_hook(None, hook)
                kinds.append(None)
            except TypeError as error:
                kinds.append(str(error))
        assert kinds[0] == kinds[1]
    for name in (
        "require_backward_grad_sync", "broadcast_buffers", "find_unused_parameters", "dim", "device_ids",
        "output_device", "device_type", "is_multi_device_module", "gradient_as_bucket_view", "static_graph",
    ):  # fmt: skip
        assert getattr(theirs, name) == getattr(ours, name), name


def differentiable(lib, functions, rank, size):
    """Each function of `distributed.nn`, and the gradient of what goes in."""
    tensor = lambda seed, *shape: lib.from_numpy(numbers(seed, *shape)).requires_grad_()  # noqa: E731
    weight = lib.from_numpy(numbers(90 + rank, size, 3))
    dist_of = lib.distributed
    for kind in ("SUM", "MAX"):
        x = tensor(rank, 3)
        out = functions.all_reduce(x * x, getattr(dist_of.ReduceOp, kind))
        (out * weight[0]).sum().backward()
        yield out.detach(), x.grad
    for name, act in {
        "broadcast": lambda x: functions.broadcast(x * x, size - 1),
        "reduce": lambda x: functions.reduce(x * x, 0),
        "all_gather": lambda x: lib.stack(functions.all_gather(x * x)),
        "gather": lambda x: lib.stack(functions.gather(x * x, 0)),
        "scatter": lambda x: functions.scatter([x * i for i in range(size)], 0),
        "all_to_all": lambda x: lib.stack(
            functions.all_to_all([lib.zeros(3) for _ in range(size)], [x * i for i in range(size)])
        ),
        "all_to_all_single": lambda x: functions.all_to_all_single(
            lib.zeros(size), x.repeat(size)[:size] * 2
        ),
    }.items():
        x = tensor(rank, 3)
        out = act(x)
        scale = weight if out.dim() == 2 else weight[0, : out.shape[0]] if out.shape[0] <= 3 else weight[:, 0]
        if name == "reduce" and rank != 0:
            out = out * 0 + x.detach()
        (out * scale).sum().backward()
        yield out.detach(), x.grad


@case
def collectives_with_gradients(rank, size):
    gloo()
    import torch.distributed.nn

    import retrograd.distributed.nn

    ours = differentiable(rg, retrograd.distributed.nn, rank, size)
    theirs = differentiable(torch, torch.distributed.nn, rank, size)
    for i, (found, wanted) in enumerate(zip(ours, theirs, strict=True)):
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5, atol=1e-6, err_msg=str(i))
    x = rg.tensor([1.0 + rank], requires_grad=True)
    part = retrograd.distributed.nn.reduce_scatter(rg.zeros(1), [x * (i + 1) for i in range(size)])
    (part * (rank + 1)).sum().backward()
    assert part.item() == (rank + 1) * sum(range(1, size + 1))
    assert x.grad.item() == sum((i + 1) ** 2 for i in range(size))
