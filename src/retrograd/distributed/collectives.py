"""Operations that all ranks of a group do together, on tensors."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from retrograd.core.tensor import Tensor
from retrograd.distributed.buffers import Target, memory
from retrograd.distributed.groups import WORLD, ProcessGroup, get_group_rank, member
from retrograd.distributed.progress import Operation, Steps
from retrograd.distributed.reduce_op import RedOpType, ReduceOp
from retrograd.distributed.work import Work


def launch(group: ProcessGroup, steps: Steps, targets: Sequence[Target], async_op: bool) -> Work | None:
    """Starts an operation, and waits for it unless that is left to the caller."""
    operation = Operation(_to_the_end(steps, targets))
    group.operations += 1
    progress = WORLD.progress
    progress.start(operation, group.queue)
    work = Work(progress, operation, group.limit, [target.tensor for target in targets])
    if async_op:
        if not operation.over:
            progress.help()
        return work
    work.wait()
    return None


def _to_the_end(steps: Steps, targets: Sequence[Target]) -> Steps:
    yield from steps
    for target in targets:
        target.write_back()


def kind_of(op: Any) -> RedOpType:
    """The kind of a reduction that was given as `ReduceOp.SUM` or as `ReduceOp(...)`."""
    return op.op if isinstance(op, ReduceOp) else op  # type: ignore[no-any-return]


def root_of(group: ProcessGroup, rank: int | None, group_rank: int | None) -> int:
    """The place in the group of the rank that was given one way or the other."""
    if group_rank is not None:
        return group_rank
    return get_group_rank(group, 0 if rank is None else rank)


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """Combines the tensors of all ranks; each has the result afterwards, in the same memory."""
    found = member(group, "all_reduce")
    if found is None:
        return None
    target = Target(tensor)
    kind = kind_of(op)
    if kind is RedOpType.PREMUL_SUM:
        target.array *= op.factor
    return launch(found, found.transport.all_reduce(target.array, kind), [target], async_op)


def broadcast(
    tensor: Tensor,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Gives the tensor of one rank to all."""
    found = member(group, "broadcast")
    if found is None:
        return None
    target = Target(tensor)
    return launch(
        found, found.transport.broadcast(target.array, root_of(found, src, group_src)), [target], async_op
    )


def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: Any = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Combines the tensors of all ranks on one of them."""
    found = member(group, "reduce")
    if found is None:
        return None
    target = Target(tensor)
    kind = kind_of(op)
    return launch(
        found, found.transport.reduce(target.array, root_of(found, dst, group_dst), kind), [target], async_op
    )


def all_gather(
    tensor_list: Sequence[Tensor], tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """Gives the tensors of all ranks to all: `tensor_list[i]` becomes that of rank i."""
    found = member(group, "all_gather")
    if found is None:
        return None
    targets = [Target(each) for each in tensor_list]
    steps = found.transport.all_gather([target.array for target in targets], memory(tensor))
    return launch(found, steps, targets, async_op)


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """Gives the tensors of all ranks to all, one after the other in one tensor."""
    found = member(group, "all_gather_into_tensor")
    if found is None:
        return None
    target = Target(output_tensor)
    return launch(found, found.transport.all_gather_into(target.array, memory(input_tensor)), [target], async_op)


def reduce_scatter_tensor(
    output: Tensor, input: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Combines the tensors of all ranks; each gets its own part of the result."""
    found = member(group, "reduce_scatter_tensor")
    if found is None:
        return None
    target = Target(output)
    parts = list(memory(input).reshape(found.size(), -1))
    return launch(found, found.transport.reduce_scatter(target.array, parts, kind_of(op)), [target], async_op)


def barrier(
    group: Any = None, async_op: bool = False, device_ids: Any = None, timeout: timedelta | None = None
) -> Work | None:
    """Waits until all ranks have come here."""
    found = member(group, "barrier")
    if found is None:
        return None
    return launch(found, found.transport.barrier(), [], async_op)
