"""Reducer: averages gradients over the ranks of a group, bucket by bucket, while backward still runs.

Note [Order of reductions]
~~~~~~~~~~~~~~~~~~~~~~~~~~
Ranks wait for each other for ever if they begin collectives in different orders. Nothing that differs between ranks may
therefore decide which collective comes next: not which gradients arrive, nor in what order, nor whether a parameter is
used at all.

- The buckets are planned at construction from what all ranks have been found to agree on: the list of parameters. After
  the first backward that is reduced they are planned once more, in the order in which the gradients of the first rank
  have come, of which it tells the others: a graph need not use parameters in the order in which a module lists them.
- Each backward that is reduced reduces each bucket exactly once, in the order of their numbers. A bucket that is
  complete waits for those before it.
- What is not complete when the backward ends (the graph does not contain some parameter) goes with what there is: the
  gradient from before, or zeros. The last bucket always goes at the end, because it also carries flags: for each
  parameter, whether this rank has used it, and whether its gradient came too late (see below). Their sums say the same
  to all ranks. A parameter that no rank has used keeps the `.grad` it had.
- A parameter can get a second part of its gradient after its bucket has gone, from a backward inside the backward:
  re-entrant checkpoints that share it. Then all ranks, having seen the flag, reduce those parameters once more.
- One backward may go through parameters of several reducers, which begin in whatever order the graph has. They end
  together, in the order in which they were made: first each sends what it has left, then each waits.
- Other collectives may run in between, of SyncBatchNorm for example, and at other places of the order on other ranks.
  They cannot be mistaken for ours: buckets travel in a group of their own, and do not block (see Note [Who calls MPI]).
- A communication hook is called on the calling thread, in the order of the buckets, and what it does `then` runs in the
  same order at the end: Note [Futures are lazy].

What is left to the program: each rank must run as many reduced backwards as the others. `join` is for those that
cannot.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Sequence
from itertools import count
from operator import attrgetter
from typing import Any

import numpy as np

from retrograd.core.modes import current
from retrograd.core.tensor import Tensor
from retrograd.distributed.buckets import Bucket, GradBucket, plan_buckets
from retrograd.distributed.groups import WORLD
from retrograd.distributed.movements import broadcast
from retrograd.distributed.reductions import all_reduce, start_all_reduce
from retrograd.engine.task import GraphTask
from retrograd.futures import Future
from retrograd.ops.elementwise.arithmetic import mul
from retrograd.ops.tensor.data import from_numpy
from retrograd.values import Array

_NUMBERS = count()  # of reducers, in the order in which they are made
CommHook = Callable[[Any, GradBucket], "Future[Tensor]"]


class Reducer:
    """Averages the gradients of `params` over the ranks of `group` in the backwards that are to be reduced.

    Args:
        params: leaves that require a gradient, the same on all ranks.
        group: a process group that nobody else uses.
        limits: bytes of the first bucket, of the second, …
        as_views: whether `.grad` becomes a view of its bucket.
        always: whether every backward is reduced that reaches one of the parameters; otherwise the next one after
            `expected` was set, and those that `watch` sees.
    """

    expected: bool
    next: int
    arrived: bytearray

    def __init__(
        self,
        params: Sequence[Tensor],
        group: Any,
        limits: Sequence[int],
        as_views: bool = False,
        always: bool = False,
    ) -> None:
        self.number: int = next(_NUMBERS)
        self.params: list[Tensor] = list(params)
        self.group = group
        self.divisor: Any = group.size()
        self.as_views = as_views
        self.always = always
        self.expected = always
        self.hook: CommHook | None = None
        self.hook_state: Any = None
        self.task: GraphTask | None = None  # the backward that is being reduced
        self.next = 0  # the bucket that goes next
        number = len(self.params)
        self.used: Array = np.zeros(number, np.uint8)  # by this rank, since gradients were reduced last
        self.late: Array = np.zeros(number, np.uint8)
        self.arrived = bytearray(number)
        self.kept: dict[int, Tensor] = {}  # gradients in buckets that may turn out to be unused
        self.times: dict[str, Any] = {}
        self.limits = limits
        self.order: list[int] | None = []  # in which gradients come; None when the buckets follow it
        self._set_buckets(None)
        self._follow()

    def _set_buckets(self, order: Sequence[int] | None) -> None:
        """Plans the buckets, for gradients that come in an order."""
        self.buckets: list[Bucket] = self.plan(order)
        self.bucket_of: dict[int, Bucket] = {
            position: bucket for bucket in self.buckets for position in bucket.members
        }

    def plan(self, order: Sequence[int] | None) -> list[Bucket]:
        """The buckets; the last one has room for the flags."""
        planned = plan_buckets(self.params, self.limits, order=order)
        flags = [0] * (len(planned) - 1) + [2 * len(self.params)]
        return [Bucket(i, members, self.params, flags[i]) for i, members in enumerate(planned)]

    def _follow(self) -> None:
        """Has each parameter tell when its gradient has come, as long as the reducer lives."""
        own = weakref.ref(self)
        handles = [
            param.register_post_accumulate_grad_hook(_GradientHook(own, position))
            for position, param in enumerate(self.params)
        ]
        self.stop: Any = weakref.finalize(self, _remove, handles)

    # -- which backwards are reduced -------------------------------------------------------------------------------

    def watch(self, outputs: Sequence[Tensor]) -> None:
        """Has the backwards that go through one of these tensors reduced."""
        own = weakref.ref(self)
        for output in outputs:
            if output.requires_grad and not output.is_leaf:
                output.register_hook(_OutputHook(own))

    def begin(self, task: GraphTask) -> None:
        """Has a backward reduced that is running."""
        if task.create_graph:
            raise RuntimeError(
                "backward(create_graph=True) through parameters whose gradients are averaged over ranks: the averages "
                "are made outside of the graph, so a second backward would miss the other ranks. Compute inner "
                "gradients with autograd.grad(..., create_graph=True), which is not averaged, and end with a "
                "backward() without create_graph."
            )
        if self.task is not None:
            self._abandon()
        self.task = task
        self.times = {"begin": time.perf_counter(), "launch": []}
        _ending_of(task).reducers.append(self)

    def covers(self, task: GraphTask) -> bool:
        """Whether a running backward is the one that is reduced, or runs inside it."""
        around: GraphTask | None = task
        while around is not None and around is not self.task:
            around = around.outer
        return around is not None

    def _takes(self, task: GraphTask) -> bool:
        """Whether gradients of a running backward are reduced; begins with it if that is expected."""
        if self.covers(task):
            return True
        if not self.expected:
            return False
        outermost = task
        while outermost.outer is not None:
            outermost = outermost.outer
        self.begin(outermost)
        return True

    def _abandon(self) -> None:
        """Forgets a backward that ended with an error."""
        launched = [bucket for bucket in self.buckets[: self.next] if bucket.under_way is not None]
        self._reset()
        self.order = None if self.order is None else []
        for bucket in launched:
            bucket.under_way.wait()

    # -- while it runs ---------------------------------------------------------------------------------------------

    def arrive(self, position: int) -> None:
        """A gradient has come."""
        self.used[position] = 1
        task: GraphTask | None = current().task
        if task is None or (task is not self.task and not self._takes(task)):
            return
        bucket = self.bucket_of[position]
        if self.arrived[position]:
            self._arrive_again(position, bucket)
            return
        self.arrived[position] = 1
        bucket.missing -= 1
        if self.order is not None:
            self.order.append(position)
        self.times["last gradient"] = time.perf_counter()
        if bucket.missing:
            if self.next:  # this thread is at hand, and the helper thread would have to wait for it
                WORLD.progress.poll()
            return
        while self.next < len(self.buckets) - 1 and not self.buckets[self.next].missing:
            self._launch(self.buckets[self.next])
            WORLD.progress.help()

    def _arrive_again(self, position: int, bucket: Bucket) -> None:
        """Another part of a gradient has come, from a backward inside this one."""
        if bucket.index >= self.next:
            return
        if self.as_views:
            raise RuntimeError(
                f"parameter {position} of shape {tuple(self.params[position].shape)} got more of its gradient after "
                "the first part had gone to the other ranks: it is shared by re-entrant checkpoints, and its .grad "
                "is part of the message. Use checkpoint(..., use_reentrant=False), or gradient_as_bucket_view=False."
            )
        self.late[position] = 1

    def _launch(self, bucket: Bucket) -> None:
        """Sends a bucket on its way, with what gradients there are."""
        self.next += 1
        bucket.under_way = None
        self.times["launch"].append(time.perf_counter())
        self._pack(bucket)
        bucket.under_way = self._send(bucket)

    def _pack(self, bucket: Bucket) -> None:
        """Copies gradients into their bucket, as parts of the mean."""
        bucket.allocate()
        scale = 1.0 if self.hook is not None else 1.0 / self.divisor
        for position, param, view in zip(bucket.members, bucket.params, bucket.views, strict=True):
            grad = param.grad
            if grad is None:
                view.zero_()
            elif grad is not view:
                _write(view, grad, scale)
            else:
                if not self.used[position]:
                    self.kept[position] = view.clone()
                if scale != 1.0:
                    view.mul_(scale)

    def _send(self, bucket: Bucket) -> Any:
        """Begins the reduction of a bucket; returns what can be waited for."""
        if self.hook is None:
            return start_all_reduce(bucket.allocate(), self.group)
        future = self.hook(self.hook_state, GradBucket(bucket, bucket is self.buckets[-1], self.group))
        if not isinstance(future, Future):
            raise TypeError(
                f"a communication hook must return a Future of a tensor, but returned {type(future).__name__}: "
                "all_reduce(..., async_op=True).get_future() is one"
            )
        return future

    # -- at its end ------------------------------------------------------------------------------------------------

    def send_rest(self) -> None:
        """Sends what has not gone yet."""
        self.times["end"] = time.perf_counter()
        self._raise_flags()
        while self.next < len(self.buckets):
            self._launch(self.buckets[self.next])

    def finish(self) -> None:
        """Waits for all buckets, and puts the means into `.grad`."""
        for bucket in self.buckets:
            self._wait(bucket)
        used, late = self._flags()
        if late:
            self._reduce_again(late)
        for bucket in self.buckets:
            self._store(bucket, used)
        self.times["reduced"] = time.perf_counter()
        self._reset()
        if self.order is not None:
            self._plan_again()
        self.used[:] = 0
        self.expected = self.always

    def _plan_again(self) -> None:
        """Has the buckets follow the order in which gradients have come on the first rank."""
        came, self.order = self.order or [], None
        if len(self.buckets) == 1:
            return
        rest = set(range(len(self.params))) - set(came)
        order = from_numpy(np.array([*came, *sorted(rest, reverse=True)])).to(self.params[0].device)
        broadcast(order, group=self.group, group_src=0)
        self._set_buckets(order.tolist())
        for bucket in self.buckets if self.as_views else ():
            bucket.allocate()
            for param, view in zip(bucket.params, bucket.views, strict=True):
                if param.grad is not None:
                    view.copy_(param.grad)
                    param.grad = view

    def _wait(self, bucket: Bucket) -> None:
        """Waits for a bucket; what a hook made of it takes the place of what was in it."""
        result = bucket.under_way.wait()
        if self.hook is None:
            return
        if isinstance(result, (list, tuple)):
            (result,) = result
        if not isinstance(result, Tensor) or result.numel() != bucket.length:
            raise ValueError(
                f"the future of a communication hook must give a tensor of {bucket.length} elements, those of "
                f"bucket.buffer(), but gave {getattr(result, 'shape', type(result).__name__)}"
            )
        if result.data_ptr() != bucket.allocate().data_ptr():
            bucket.gradients.copy_(result.reshape(-1))

    def _raise_flags(self) -> None:
        """Writes behind the last bucket which parameters this rank has used, and which came late."""
        self.buckets[-1].tail.copy_(from_numpy(np.concatenate([self.used, self.late])))

    def _flags(self) -> tuple[list[bool], list[int]]:
        """Of each parameter, whether some rank has used it; and the positions of those that came late."""
        flags = self.buckets[-1].tail
        if self.hook is not None:  # it has not seen them
            all_reduce(flags, group=self.group)
        found = (flags != 0).tolist()
        middle = len(self.params)
        return found[:middle], [position for position, is_late in enumerate(found[middle:]) if is_late]

    def _reduce_again(self, late: Sequence[int]) -> None:
        """Reduces the gradients of some parameters once more: they were not complete the first time."""
        under_way: list[tuple[Tensor, Tensor, Any]] = []
        for position in late:
            bucket = self.bucket_of[position]
            view = bucket.views[bucket.members.index(position)]
            whole = view.clone()
            grad = self.params[position].grad
            whole.zero_() if grad is None else _write(whole, grad, 1.0 / self.divisor)
            under_way.append((view, whole, all_reduce(whole, group=self.group, async_op=True)))
        for view, whole, work in under_way:
            work.wait()
            view.copy_(whole)

    def _store(self, bucket: Bucket, used: Sequence[bool]) -> None:
        """Puts the means of a bucket into `.grad`; what no rank has used stays as it was."""
        for position, param, view in zip(bucket.members, bucket.params, bucket.views, strict=True):
            grad = param.grad
            if not used[position]:
                if position in self.kept:
                    view.copy_(self.kept[position])
            elif self.as_views:
                if grad is not view:
                    param.grad = view
            elif grad is None:
                param.grad = view.clone()
            else:
                grad.copy_(view)

    def _reset(self) -> None:
        """Is ready for the next backward."""
        self.task = None
        self.next = 0
        self.arrived = bytearray(len(self.params))
        self.late[:] = 0
        self.kept.clear()
        for bucket in self.buckets:
            bucket.missing = len(bucket.members)

    def shadow(self) -> None:
        """Takes part in a reduction of the other ranks without a backward: adds nothing, and takes the means."""
        for param in self.params:
            param.grad = None
        self.used[:] = 0
        self.times = {"launch": []}
        self.send_rest()
        self.finish()


class _Ending:
    """What happens at the end of a backward to all gradients that are reduced in it. See Note [Order of reductions]."""

    def __init__(self) -> None:
        self.reducers: list[Reducer] = []

    def __call__(self) -> None:
        ordered = sorted(self.reducers, key=attrgetter("number"))
        for reducer in ordered:
            reducer.send_rest()
        for reducer in ordered:
            reducer.finish()


def _ending_of(task: GraphTask) -> _Ending:
    """The ending of a backward, made by the first who asks."""
    for callback in task.callbacks:
        if isinstance(callback, _Ending):
            return callback
    ending = _Ending()
    task.callbacks.append(ending)
    return ending


class _GradientHook:
    """The hook of a parameter. Does not keep the reducer alive."""

    __slots__ = ("position", "reducer")

    def __init__(self, reducer: weakref.ref[Reducer], position: int) -> None:
        self.reducer, self.position = reducer, position

    def __call__(self, param: Tensor) -> None:
        reducer = self.reducer()
        if reducer is not None:
            reducer.arrive(self.position)


class _OutputHook:
    """The hook of a tensor that backwards are recognised by. Does not keep the reducer alive."""

    __slots__ = ("reducer",)

    def __init__(self, reducer: weakref.ref[Reducer]) -> None:
        self.reducer = reducer

    def __call__(self, grad: Tensor) -> None:
        reducer, task = self.reducer(), current().task
        # What autograd.grad computes is the caller's own, and no .grad of anybody.
        if reducer is not None and task is not None and not task.captured and not reducer.covers(task):
            reducer.begin(task)


def _write(target: Tensor, grad: Tensor, scale: float) -> None:
    """Writes a multiple of a gradient into a bucket: on the CPU without the detour over an operation."""
    if type(grad.array) is np.ndarray and type(target.array) is np.ndarray:
        np.multiply(grad.array, scale, out=target.array)
    else:
        mul(grad, scale, out=target)


def _remove(handles: Sequence[Any]) -> None:
    for handle in handles:
        handle.remove()
