# ruff: noqa: N999 - the name is PyTorch's
"""A communication hook for ranks that average gradients with all others at first, and later with their neighbours."""

from __future__ import annotations

from typing import Any

from retrograd.core.tensor import Tensor
from retrograd.distributed.algorithms.ddp_comm_hooks.default_hooks import group_of, mean_over
from retrograd.distributed.buckets import GradBucket
from retrograd.distributed.starting import new_subgroups
from retrograd.futures import Future


class PostLocalSGDState:
    """What the hook goes by.

    Args:
        process_group: the ranks that average at first; all if None.
        subgroup: those that average later; if None, the ranks of this machine.
        start_localSGD_iter: the iteration in which later begins.
        post_local_gradient_allreduce: whether gradients are averaged at all then.
    """

    def __init__(
        self,
        process_group: Any,
        subgroup: Any,
        start_localSGD_iter: int,
        post_local_gradient_allreduce: bool = True,
    ) -> None:
        self.process_group = process_group
        self.subgroup = subgroup
        self.start_localSGD_iter = start_localSGD_iter
        self.post_local_gradient_allreduce = post_local_gradient_allreduce
        self.iter: int = 0

    def maybe_increase_iter(self, bucket: GradBucket) -> None:
        """Counts an iteration, with its last bucket."""
        if bucket.is_last():
            self.iter += 1


def post_localSGD_hook(state: PostLocalSGDState, bucket: GradBucket) -> Future[Tensor]:
    """Averages gradients over all ranks at first, and over a subgroup after `start_localSGD_iter` iterations.

    Parameters then drift apart; a model averager (`algorithms.model_averaging`) brings them together again.
    """
    local = state.iter >= state.start_localSGD_iter
    state.maybe_increase_iter(bucket)
    if not local:
        return mean_over(group_of(state.process_group, bucket), bucket.buffer())
    if not state.post_local_gradient_allreduce:
        future: Future[Tensor] = Future()
        future.set_result(bucket.buffer())
        return future
    if state.subgroup is None:
        state.subgroup, _ = new_subgroups()
    return mean_over(state.subgroup, bucket.buffer())
