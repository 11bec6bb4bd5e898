"""DistributedSampler: what ranks read, beside PyTorch's."""

from __future__ import annotations

import pytest
import torch
from torch.utils.data.distributed import DistributedSampler as TorchSampler

import retrograd as rg
from retrograd.utils.data import DataLoader, DistributedSampler
from retrograd.utils.data.distributed import DistributedSampler as SamplerInItsModule


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("length", [1, 5, 12, 23])
def test_in_order_as_pytorch(length, size, drop_last):
    for rank in range(size):
        ours = DistributedSampler(range(length), size, rank, shuffle=False, drop_last=drop_last)
        theirs = TorchSampler(range(length), size, rank, shuffle=False, drop_last=drop_last)
        assert list(ours) == list(theirs)
        assert len(ours) == len(theirs)


@pytest.mark.parametrize("size", [2, 3, 4])
def test_ranks_read_everything_once(size):
    parts = [list(DistributedSampler(range(24), size, rank, seed=3)) for rank in range(size)]
    together = [sample for part in parts for sample in part]
    assert sorted(together) == list(range(24))
    assert together != sorted(together)


def test_another_order_in_each_epoch_and_the_same_again():
    sampler = DistributedSampler(range(30), 2, 0, seed=1)
    orders = []
    for epoch in (0, 1, 0):
        sampler.set_epoch(epoch)
        orders.append(list(sampler))
    assert orders[0] == orders[2] != orders[1]


def test_wrong_ranks_are_refused_as_in_pytorch():
    for number in (-1, 2):
        messages = []
        for kind in (DistributedSampler, TorchSampler):
            with pytest.raises(ValueError, match="Invalid rank") as error:
                kind(range(3), 2, number)
            messages.append(str(error.value))
        assert messages[0] == messages[1]
    for kind in (DistributedSampler, TorchSampler):
        with pytest.raises(ValueError, match="Default process group has not been initialized"):
            kind(range(3))


def test_of_the_process_group():
    rg.distributed.init_process_group()
    try:
        sampler = DistributedSampler(range(4), shuffle=False)
        assert list(sampler) == list(range(rg.distributed.get_rank(), 4, rg.distributed.get_world_size()))
    finally:
        rg.distributed.destroy_process_group()


def test_in_a_loader():
    sampler = DistributedSampler(range(6), 2, 1, shuffle=False)
    loader = DataLoader(rg.arange(6), batch_size=2, sampler=sampler)
    assert [batch.tolist() for batch in loader] == [[1, 3], [5]]
    assert SamplerInItsModule is DistributedSampler
    assert torch.arange(6)[1::2].tolist() == [1, 3, 5]
