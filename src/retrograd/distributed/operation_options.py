"""What PyTorch's groups take as the options of their methods: which reduction, which rank, how long."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from retrograd.distributed.reduce_op import ReduceOp


@dataclass
class _Options:
    timeout: timedelta = field(default=timedelta(milliseconds=-1), kw_only=True)
    """How long to wait; less than nothing is the group's timeout."""
    asyncOp: bool = field(default=True, kw_only=True)  # noqa: N815 - PyTorch's names, here and below


@dataclass
class _Reducing(_Options):
    reduceOp: Any = ReduceOp.SUM  # noqa: N815


@dataclass
class _Rooted(_Options):
    rootRank: int = 0  # noqa: N815
    rootTensor: int = 0  # noqa: N815


class AllreduceOptions(_Reducing):
    """Of `allreduce`."""


class AllreduceCoalescedOptions(AllreduceOptions):
    """Of `allreduce_coalesced`."""


class ReduceScatterOptions(_Reducing):
    """Of `reduce_scatter`."""


class BroadcastOptions(_Rooted):
    """Of `broadcast`."""


class GatherOptions(_Rooted):
    """Of `gather`."""


class ScatterOptions(_Rooted):
    """Of `scatter`."""


@dataclass
class ReduceOptions(_Rooted):
    """Of `reduce`."""

    reduceOp: Any = ReduceOp.SUM  # noqa: N815


class AllgatherOptions(_Options):
    """Of `allgather`."""


class AllToAllOptions(_Options):
    """Of `alltoall`."""


@dataclass
class BarrierOptions(_Options):
    """Of `barrier`."""

    device_ids: list[int] = field(default_factory=list)
