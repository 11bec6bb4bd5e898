"""Checkpoints of several ranks: run by test_checkpoint.py."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest

import retrograd as rg
import retrograd.distributed as dist
from retrograd import optim
from retrograd.distributed import checkpoint
from retrograd.distributed.optim import ZeroRedundancyOptimizer
from retrograd.nn import parallel
from tests.distributed.ddp_cases import inputs, mlp, same_everywhere

DDP = parallel.DistributedDataParallel
CASES = {}
BATCH = 12  # samples of all ranks together, so that 2, 3 and 4 ranks can share them


def case(function):
    """Adds a case."""
    CASES[function.__name__] = function
    return function


def folder_of_all(rank):
    """A folder that all ranks know."""
    shared = [tempfile.mkdtemp() if rank == 0 else None]
    dist.broadcast_object_list(shared)
    return Path(shared[0])


class Program:
    """A training that can be interrupted."""

    def __init__(self, rank, size):
        rg.manual_seed(5)
        self.model = DDP(mlp(width=8))
        self.optimizer = ZeroRedundancyOptimizer(self.model.parameters(), optim.Adam, lr=0.02)
        self.schedule = optim.lr_scheduler.StepLR(self.optimizer, 3, 0.5)
        share = BATCH // size
        self.x = inputs(1, BATCH, 8)[0][rank * share : (rank + 1) * share]

    def run(self, steps):
        for _ in range(steps):
            self.optimizer.zero_grad()
            self.model(self.x).pow(2).mean().backward()
            self.optimizer.step()
            self.schedule.step()

    def parts(self):
        return {"model": self.model, "optimizer": self.optimizer, "schedule": self.schedule}


@case
def states_by_name(rank, size):
    """The state of a model and its optimiser, alike with and without DDP, and from the first rank to all."""
    from retrograd.distributed.checkpoint.state_dict import StateDictOptions, get_state_dict, set_state_dict

    model = mlp(width=4)
    ddp = DDP(model)
    optimizer = optim.Adam(ddp.parameters(), lr=0.02)
    ddp(inputs(size, 2, 4)[rank]).pow(2).mean().backward()
    optimizer.step()
    of_model, of_optimizer = get_state_dict(ddp, optimizer)
    assert list(of_model) == list(model.state_dict())
    assert set(of_optimizer["state"]) == {name for name, _ in model.named_parameters()}
    options = StateDictOptions(full_state_dict=True, cpu_offload=True)
    whole = get_state_dict(ddp, optimizer, options=options)
    assert (whole == ({}, {})) is (rank != 0)
    other = DDP(mlp(width=4))
    fresh = optim.Adam(other.parameters())
    options = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
    set_state_dict(other, fresh, model_state_dict=whole[0], optim_state_dict=whole[1], options=options)
    assert fresh.param_groups[0]["lr"] == 0.02
    for a, b in zip(model.parameters(), other.parameters(), strict=True):
        assert rg.equal(a, b)
        assert rg.equal(optimizer.state[a]["exp_avg"], fresh.state[b]["exp_avg"])


def begin(folder):
    """Runs some steps, saves, runs on, and writes down where that led. On every rank."""
    rank, size = dist.get_rank(), dist.get_world_size()
    program = Program(rank, size)
    program.run(4)
    checkpoint.save(program.parts(), checkpoint_id=Path(folder) / "saved")
    program.run(4)
    if rank == 0:
        rg.save(program.model.state_dict(), Path(folder) / "end.pt")


def resume(folder):
    """Goes on from what was saved, with any number of ranks, and comes to the same end."""
    rank, size = dist.get_rank(), dist.get_world_size()
    program = Program(rank, size)
    program.run(1)  # whatever it is, it is overwritten
    checkpoint.load(program.parts(), checkpoint_id=Path(folder) / "saved")
    assert program.optimizer.param_groups[0]["lr"] == 0.01
    program.run(4)
    for name, value in rg.load(Path(folder) / "end.pt").items():
        np.testing.assert_allclose(
            program.model.state_dict()[name].numpy(), value.numpy(), rtol=1e-3, atol=1e-5
        )


@case
def the_same_ranks_go_on(rank, size):
    folder = folder_of_all(rank)
    begin(folder)
    dist.barrier()
    resume(folder)


@case
def each_writes_a_part(rank, size):
    folder = folder_of_all(rank)
    state = {f"w{i}": rg.full((100,), float(i)) for i in range(12)} | {f"own{rank}": rank, "text": "a"}
    checkpoint.save(state, checkpoint_id=folder)
    files = list(folder.glob("*.pt"))
    assert len(files) == size
    whole = checkpoint.load_whole(folder)
    assert [whole[f"own{r}"] for r in range(size)] == list(range(size))
    assert whole["w7"].tolist() == [7.0] * 100
    wanted = {"w3": rg.zeros(100), "text": "", f"own{(rank + 1) % size}": None}
    inside = wanted["w3"]
    checkpoint.load(wanted, checkpoint_id=folder)
    assert wanted["w3"] is inside
    assert inside[0].item() == 3
    assert wanted["text"] == "a"
    assert wanted[f"own{(rank + 1) % size}"] == (rank + 1) % size


@case
def a_second_save_replaces_the_first(rank, size):
    folder = folder_of_all(rank)
    for value in (1.0, 2.0):
        checkpoint.save({"w": rg.full((3,), value), "r": {rank: rank}}, checkpoint_id=folder)
        dist.barrier()
    assert checkpoint.load_whole(folder)["w"].tolist() == [2.0] * 3
    assert len(list(folder.glob("*.pt"))) == size


@case
def a_failed_save_leaves_the_old_one(rank, size):
    class Unwritable:
        def __reduce__(self):
            raise OSError("the disk is full")

    folder = folder_of_all(rank)
    checkpoint.save({"w": rg.ones(3)}, checkpoint_id=folder)
    dist.barrier()
    before = sorted(path.name for path in folder.iterdir())
    own = {f"own{rank}": Unwritable() if rank == 1 else 1}
    with pytest.raises(RuntimeError, match=r"rank 1 .*disk is full"):
        checkpoint.save({"w": rg.zeros(3), **own}, checkpoint_id=folder)
    dist.barrier()
    assert sorted(path.name for path in folder.iterdir()) == before
    assert checkpoint.load_whole(folder)["w"].tolist() == [1.0] * 3


@case
def what_is_missing_is_named(rank, size):
    folder = folder_of_all(rank)
    with pytest.raises(FileNotFoundError, match="no checkpoint"):
        checkpoint.load({"w": rg.ones(1)}, checkpoint_id=folder)
    dist.barrier()
    checkpoint.save({"w": rg.ones(3)}, checkpoint_id=folder)
    with pytest.raises(RuntimeError, match="Missing key in checkpoint state_dict: v"):
        checkpoint.load({"v": rg.ones(1)}, checkpoint_id=folder)
    with pytest.raises(ValueError, match=r"Size mismatch between saved \(3,\)"):
        checkpoint.load({"w": rg.ones(2)}, checkpoint_id=folder)


@case
def same_seed_same_bits(rank, size):
    ends = []
    for _ in range(2):
        rg.manual_seed(100 + rank)
        rg.manual_seed(9)
        program = Program(rank, size)
        program.run(5)
        ends.append([param.detach().clone() for param in program.model.parameters()])
        assert same_everywhere(program.model.parameters())
    for a, b in zip(*ends, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())
