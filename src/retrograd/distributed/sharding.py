"""Sharding: each parameter has an owner, a rank that keeps what the others need not (ZeRO).

S. Rajbhandari, J. Rasley, O. Ruwase and Y. He, "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models"
(2019): in stage 1 the owner keeps the optimiser's state, in stage 2 the gradient too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from retrograd.core.tensor import Tensor
from retrograd.distributed.buckets import Bucket, plan_buckets
from retrograd.distributed.reducer import Reducer
from retrograd.distributed.reductions import all_reduce, reduce
from retrograd.engine.task import GraphTask
from retrograd.ops.tensor.data import from_numpy
from retrograd.values import Array


def share_out(sizes: Sequence[int], loads: list[int]) -> list[int]:
    """An owner for each thing, so that all owners get about as much: the largest first, to who has least so far.

    Args:
        sizes: how large each thing is.
        loads: how much each owner has already; is brought up to date.

    >>> share_out([4, 1, 2, 3], [0, 0])
    [0, 0, 1, 1]
    """
    owners = [0] * len(sizes)
    for position in sorted(range(len(sizes)), key=lambda i: -sizes[i]):
        owner = loads.index(min(loads))
        owners[position] = owner
        loads[owner] += sizes[position]
    return owners


class ShardingReducer(Reducer):
    """Leaves the mean of each gradient with the owner of its parameter; the others have None in `.grad` afterwards.

    A bucket has the gradients of one owner. Its memory is made when it goes, in exchange for the gradients in it, and
    is given back when it has arrived.

    Args:
        params: leaves that require a gradient, the same on all ranks.
        owners: the owner of each, a rank of the group.
        group: a process group that nobody else uses.
        limits: bytes of the first bucket, of the second, …
        announce: is called at the beginning of each backward that is reduced.
    """

    def __init__(
        self,
        params: Sequence[Tensor],
        owners: Sequence[int],
        group: Any,
        limits: Sequence[int],
        announce: Callable[[], Any],
    ) -> None:
        self.owners: list[int] = list(owners)
        self.announce = announce
        self.stored: dict[int, Tensor] = {}  # gradients that are means already
        self.flags: Array = np.zeros(0, np.uint8)
        super().__init__(params, group, limits, always=True)

    def plan(self, order: Sequence[int] | None) -> list[Bucket]:
        planned = plan_buckets(self.params, self.limits, self.owners.__getitem__, order)
        return [Bucket(i, members, self.params) for i, members in enumerate(planned)]

    def is_own(self, bucket: Bucket) -> bool:
        """Whether this rank is the owner of a bucket's parameters."""
        return bool(self.owners[bucket.members[0]] == self.group.rank())

    def begin(self, task: GraphTask) -> None:
        self.announce()
        super().begin(task)

    def arrive(self, position: int) -> None:
        stored = self.stored.pop(position, None)
        if stored is not None and stored is self.params[position].grad:
            raise RuntimeError(
                f"the gradient of parameter {position} was added to a mean over all ranks that was not used up: its "
                "owner alone has that mean, so the sum would be no mean. Call zero_grad() before each backward, and "
                "accumulate over several in a no_sync() block."
            )
        super().arrive(position)

    def _arrive_again(self, position: int, bucket: Bucket) -> None:
        if bucket.index < self.next:
            raise RuntimeError(
                f"parameter {position} got more of its gradient after the first part had gone to its owner: it is "
                "shared by re-entrant checkpoints. Use checkpoint(..., use_reentrant=False)."
            )

    def _launch(self, bucket: Bucket) -> None:
        for earlier in self.buckets[: self.next]:
            if earlier.memory is not None and not self.is_own(earlier) and earlier.under_way.is_completed():
                earlier.release()
        super()._launch(bucket)
        for param in bucket.params:
            param.grad = None

    def _send(self, bucket: Bucket) -> Any:
        owner = self.owners[bucket.members[0]]
        return reduce(bucket.allocate(), group=self.group, group_dst=owner, async_op=True)

    def _raise_flags(self) -> None:
        self.flags = self.used.copy()

    def _flags(self) -> tuple[list[bool], list[int]]:
        flags = from_numpy(self.flags.astype(np.int32)).to(self.params[0].device)
        all_reduce(flags, group=self.group)
        return (flags != 0).tolist(), []

    def _store(self, bucket: Bucket, used: Sequence[bool]) -> None:
        if self.is_own(bucket):
            for position, param, view in zip(bucket.members, bucket.params, bucket.views, strict=True):
                if used[position]:
                    param.grad = self.stored[position] = view
        bucket.release()
