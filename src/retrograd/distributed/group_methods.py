"""The operations that a group has as methods, under PyTorch's names for them: `group.allreduce([tensor]).wait()`.

They are what communication hooks and older programs call. Each begins an operation and returns its Work.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from retrograd.core.tensor import Tensor

if TYPE_CHECKING:
    from retrograd.distributed.groups import ProcessGroup
    from retrograd.distributed.work import Work

Tensors = Tensor | Sequence[Tensor]


class GroupMethods:
    """What ProcessGroup inherits; `options` are those of `operation_options`, places are those in the group."""

    # The functions stand on groups, so they are imported when they are called.

    def allreduce(self, tensors: Tensors, opts: Any = None, timeout: timedelta | None = None) -> Work:
        """Combines tensors of all ranks; `opts` is a ReduceOp, or AllreduceOptions."""
        from retrograd.distributed.reductions import all_reduce

        return _limited(all_reduce(_only(tensors), _reduction(opts), _group(self), True), opts, timeout)

    def reduce(
        self, tensors: Tensors, root: Any = None, op: Any = None, timeout: timedelta | None = None
    ) -> Work:
        """Combines tensors on one rank; `root` is its place, or ReduceOptions."""
        from retrograd.distributed.reductions import reduce

        kind = _reduction(getattr(root, "reduceOp", op))
        work = reduce(_only(tensors), None, kind, _group(self), True, group_dst=_root(root))
        return _limited(work, root, timeout)

    def broadcast(self, tensors: Tensors, root: Any = None, timeout: timedelta | None = None) -> Work:
        """Gives the tensor of one rank to all; `root` is its place, or BroadcastOptions."""
        from retrograd.distributed.movements import broadcast

        work = broadcast(_only(tensors), None, _group(self), True, group_src=_root(root))
        return _limited(work, root, timeout)

    def allgather(self, outputs: Any, inputs: Tensors, opts: Any = None) -> Work:
        """Gives the tensors of all ranks to all: a list of tensors for each, or a list of one such list."""
        from retrograd.distributed.movements import all_gather

        return _limited(all_gather(_inner(outputs), _only(inputs), _group(self), True), opts)

    def all_gather_single(self, output: Tensor, input: Tensor, opts: Any = None) -> Work:
        """Gives the tensors of all ranks to all, in one."""
        from retrograd.distributed.movements import all_gather_single

        return _limited(all_gather_single(output, input, _group(self), True), opts)

    _allgather_base = all_gather_single

    def gather(self, outputs: Any, inputs: Tensors, root: Any = None) -> Work:
        """Gives the tensors of all ranks to one; `root` is its place, or GatherOptions."""
        from retrograd.distributed.movements import gather

        work = gather(_only(inputs), _inner(outputs), None, _group(self), True, group_dst=_root(root))
        return _limited(work, root)

    def scatter(self, outputs: Tensors, inputs: Any, root: Any = None) -> Work:
        """Gives each rank its tensor of one rank's; `root` is its place, or ScatterOptions."""
        from retrograd.distributed.movements import scatter

        work = scatter(_only(outputs), _inner(inputs), None, _group(self), True, group_src=_root(root))
        return _limited(work, root)

    def reduce_scatter(self, outputs: Tensors, inputs: Any, opts: Any = None) -> Work:
        """Combines lists of tensors; each rank gets one result."""
        from retrograd.distributed.reductions import reduce_scatter

        work = reduce_scatter(_only(outputs), _inner(inputs), _reduction(opts), _group(self), True)
        return _limited(work, opts)

    def reduce_scatter_single(self, output: Tensor, input: Tensor, opts: Any = None) -> Work:
        """Combines tensors; each rank gets its part of the result."""
        from retrograd.distributed.reductions import reduce_scatter_single

        return _limited(reduce_scatter_single(output, input, _reduction(opts), _group(self), True), opts)

    _reduce_scatter_base = reduce_scatter_single

    def alltoall(self, outputs: Sequence[Tensor], inputs: Sequence[Tensor], opts: Any = None) -> Work:
        """Gives a tensor to each rank, and gets one from each."""
        from retrograd.distributed.movements import all_to_all

        return _limited(all_to_all(outputs, inputs, _group(self), True), opts)

    def all_to_all_single(
        self,
        output: Tensor,
        input: Tensor,
        out_sizes: Sequence[int],
        in_sizes: Sequence[int],
        opts: Any = None,
    ) -> Work:
        """Gives rows of one tensor to each rank, and gets some from each."""
        from retrograd.distributed.movements import all_to_all_single

        return _limited(all_to_all_single(output, input, out_sizes, in_sizes, _group(self), True), opts)

    alltoall_base = all_to_all_single

    def send(self, tensors: Tensors, place: int, tag: int = 0) -> Work:
        """Sends a tensor to one place."""
        from retrograd.distributed.messages import isend

        return _limited(isend(_only(tensors), None, _group(self), tag, group_dst=place))

    def recv(self, tensors: Tensors, place: int, tag: int = 0) -> Work:
        """Receives a tensor from one place."""
        from retrograd.distributed.messages import irecv

        return _limited(irecv(_only(tensors), None, _group(self), tag, group_src=place))

    def recv_anysource(self, tensors: Tensors, tag: int = 0) -> Work:
        """Receives a tensor from whoever sends one."""
        from retrograd.distributed.messages import irecv

        return _limited(irecv(_only(tensors), None, _group(self), tag))

    def barrier(self, opts: Any = None, timeout: timedelta | None = None) -> Work:
        """Begins to wait for all ranks."""
        from retrograd.distributed.barriers import barrier

        return _limited(barrier(_group(self), True), opts, timeout)

    def monitored_barrier(self, timeout: timedelta | None = None, wait_all_ranks: bool = False) -> None:
        """Waits for all ranks, and names those that do not come."""
        from retrograd.distributed.barriers import monitored_barrier

        monitored_barrier(_group(self), timeout, wait_all_ranks)


def _group(methods: GroupMethods) -> ProcessGroup:
    return methods  # type: ignore[return-value]


def _only(tensors: Tensors) -> Tensor:
    """The one tensor of a call; lists of several are for several GPUs in a process, which PyTorch had once."""
    if isinstance(tensors, Tensor):
        return tensors
    if len(tensors) != 1:
        raise ValueError(f"operations of a group take one tensor of each rank, not {len(tensors)}")
    return tensors[0]


def _inner(lists: Any) -> Any:
    """A list of tensors, given as one or as the only one in a list."""
    if lists and not isinstance(lists[0], Tensor):
        (lists,) = lists
    return lists


def _reduction(opts: Any) -> Any:
    from retrograd.distributed.reduce_op import ReduceOp

    return ReduceOp.SUM if opts is None else getattr(opts, "reduceOp", opts)


def _root(root: Any) -> int:
    return 0 if root is None else int(getattr(root, "rootRank", root))


def _limited(work: Work | None, opts: Any = None, timeout: timedelta | None = None) -> Work:
    """A work with the time that its options give it."""
    assert work is not None  # whoever has the group is in it
    limit = timeout or getattr(opts, "timeout", None)
    if limit is not None and limit >= timedelta(0):
        work.limit(limit)
    return work
