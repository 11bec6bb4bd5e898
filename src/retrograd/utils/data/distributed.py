"""DistributedSampler: each of several processes reads its own part of a dataset."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sized

from retrograd.distributed.groups import get_rank, get_world_size
from retrograd.ops.random.generator import Generator
from retrograd.ops.random.sampling import randperm
from retrograd.utils.data.sampler import Sampler, T_co


class DistributedSampler(Sampler[T_co]):
    """Every `num_replicas`-th sample, beginning with the `rank`-th, of the same random order in all processes.

    Args:
        dataset: what is read.
        num_replicas: how many processes there are; by default those of the process group.
        rank: which of them this is; by default that of the process group.
        shuffle: in random order; the same in all processes, and another after `set_epoch`.
        seed: of the order; the same in all processes.
        drop_last: leave out the last samples if they do not go round; otherwise some come twice.

    >>> import retrograd as rg
    >>> sampler = rg.utils.data.DistributedSampler(range(5), num_replicas=2, rank=1, shuffle=False)
    >>> list(sampler)
    [1, 3, 0]
    """

    epoch: int

    def __init__(
        self,
        dataset: Sized,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None:
            num_replicas = get_world_size()
        if rank is None:
            rank = get_rank()
        if rank >= num_replicas or rank < 0:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        self.shuffle = shuffle
        self.seed = seed
        share = len(dataset) / num_replicas
        self.num_samples: int = math.floor(share) if drop_last else math.ceil(share)
        self.total_size: int = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[T_co]:
        total = len(self.dataset)
        if self.shuffle:
            order = randperm(total, generator=Generator().manual_seed(self.seed + self.epoch)).tolist()
        else:
            order = list(range(total))
        if not self.drop_last and order:
            order = (order * math.ceil(self.total_size / len(order)))[: self.total_size]
        return iter(order[: self.total_size][self.rank :: self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Chooses the order of an epoch: call it before each, in all processes."""
        self.epoch = epoch
