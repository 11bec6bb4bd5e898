"""A call of an operation: from the arguments that a program gives to the steps that a transport runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from retrograd.core.places import Place, here
from retrograd.core.tensor import Tensor
from retrograd.distributed import debug, watch
from retrograd.distributed.buffers import memory, write
from retrograd.distributed.errors import DistBackendError
from retrograd.distributed.gpu_marks import Mark
from retrograd.distributed.groups import WORLD, ProcessGroup
from retrograd.distributed.progress import Operation, Steps
from retrograd.distributed.transport import Transport
from retrograd.distributed.work import Work
from retrograd.values import Array

# Operations whose first tensor has as many elements on all ranks.
_ALIKE = {"all_reduce", "reduce", "broadcast", "all_gather_single", "reduce_scatter_single", "scatter"}
Act = Callable[[list[Array], list[Array]], Steps]


class Call(Operation):
    """One operation that this rank has called, with what the other ranks may be told of it.

    What is on its way to several ranks stands in the group's queue; a message to one rank stands alone.
    """

    def __init__(
        self, group: ProcessGroup, name: str, reads: Sequence[Tensor], writes: Sequence[Tensor]
    ) -> None:
        super().__init__()
        self.group = group
        self.name = name
        self.reads = reads
        self.writes = writes
        self.place: Place = here()
        self.details = ""
        self.number = 0
        self.timeout: float = group.timeout.total_seconds()
        self.source: list[int] = []
        self.mark: Mark | None = _mark(group.transport, reads, writes)
        self.looks: float = watch.FIRST_LOOK  # seconds of waiting after which the other ranks are asked

    def described(self) -> str:
        """What it is, for messages."""
        first = next(iter(self.writes or self.reads), None)
        tensor = "" if first is None else f" of {str(first.dtype).removeprefix('torch.')} {list(first.shape)}"
        return f"{self.name}{self.details}{tensor}"

    def signature(self) -> str:
        """What must be the same on all ranks."""
        first = next(iter(self.writes or self.reads), None)
        tensor = "" if first is None or self.name not in _ALIKE else f" {first.dtype} {first.numel()}"
        return f"{self.name}{self.details}{tensor}"

    def plan(self, act: Act) -> Steps:
        """Its steps, with the memory of the tensors taken when it is its turn, and written back in the end."""
        if debug.is_detailed() and self.number:
            yield from debug.compare(self)
        steps = self._steps(act)
        yield from steps if self.mark is None else self.group.transport.placed(steps, self.mark)

    def _steps(self, act: Act) -> Steps:
        on_device = self.mark is not None
        reads = [memory(tensor, on_device) for tensor in self.reads]
        writes = [memory(tensor, on_device) for tensor in self.writes]
        yield from act(reads, writes)
        for tensor, array in zip(self.writes, writes, strict=True):
            write(tensor, array)


def _mark(transport: Transport, *groups: Sequence[Tensor]) -> Mark | None:
    """What an operation on arrays of a GPU's waits for, if the transport takes them; None for arrays of the CPU's."""
    arrays = [
        tensor.array for tensors in groups for tensor in tensors if type(tensor.array) is not np.ndarray
    ]
    if not arrays or not all(transport.reaches(array) for array in arrays):
        return None
    return Mark(arrays[0].data.device_id)


def call(
    group: ProcessGroup,
    name: str,
    act: Act,
    reads: Sequence[Tensor] = (),
    writes: Sequence[Tensor] = (),
    async_op: bool = False,
    details: str = "",
) -> Work | None:
    """Has all ranks of a group do an operation; waits for it, unless the caller will."""
    made = Call(group, name, reads, writes)
    made.details = details
    return finish(start(made, act), async_op)


def start(made: Call, act: Act, alone: bool = False) -> Work:
    """Has an operation begin."""
    progress = WORLD.progress
    if progress.owner != os.getpid():
        raise RuntimeError(
            f"{made.name}: this process was forked from a rank, and has no part in the group. Ranks talk to each other "
            "in the process that called init_process_group; a worker of a DataLoader is to give its data to that one."
        )
    group = made.group
    if not alone:
        group.count += 1
        made.number = group.count
        group.last = made
    made.steps = made.plan(act)
    work = Work(progress, made, _explained)
    ordered = made.mark is not None and group.transport.keeps_order
    progress.start(made, None if alone or ordered else group.queue)
    return work


def finish(work: Work, async_op: bool) -> Work | None:
    """Leaves an operation to the caller, and until then to the helper thread; or waits for it."""
    if async_op:
        if not work._operation.over:
            WORLD.progress.help()
        return work
    work.wait()
    return None


def _explained(operation: Any, what: str) -> BaseException:
    """The error of a call that has timed out, or whose messages have failed."""
    made: Call = operation
    return DistBackendError(watch.report(made, what))
