"""Buckets: the gradients of several parameters side by side in one piece of memory, which travels as one message."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from retrograd.backends.layout import is_dense
from retrograd.core.tensor import Tensor
from retrograd.ops.tensor.create import empty

FIRST_BYTES = 1 << 20  # of the first bucket: a small one, so that something travels soon
OTHER_BYTES = 25 << 20


def plan_buckets(
    params: Sequence[Tensor],
    limits: Sequence[int],
    key: Callable[[int], Hashable] | None = None,
    order: Sequence[int] | None = None,
) -> list[list[int]]:
    """Which parameters share a bucket, by position; the bucket whose gradients come first is the first.

    Backward reaches the parameters of the last layers first, so they are taken from the last to the first, unless it
    is known better. A bucket is closed when it has as many bytes as its limit says; the last limit is that of all
    further buckets.

    Args:
        params: the parameters in the order in which the forward uses them.
        limits: bytes of the first bucket, of the second, …
        key: parameters with different keys (besides dtype and device) never share a bucket.
        order: the positions of all parameters in the order in which their gradients come.

    >>> import retrograd as rg
    >>> plan_buckets([rg.zeros(10), rg.zeros(10), rg.zeros(10), rg.zeros(1)], [1, 60])
    [[3], [2, 1], [0]]
    >>> plan_buckets([rg.zeros(10), rg.zeros(10), rg.zeros(10), rg.zeros(1)], [1, 60], order=[0, 3, 1, 2])
    [[0], [3, 1, 2]]
    """
    order = range(len(params))[::-1] if order is None else order
    turn = {position: i for i, position in enumerate(order)}
    closed: list[list[int]] = []
    open_buckets: dict[Hashable, list[int]] = {}
    sizes: dict[Hashable, int] = {}
    counts: dict[Hashable, int] = {}
    for position in order:
        param = params[position]
        kind = param.dtype, param.device, key and key(position)
        open_buckets.setdefault(kind, []).append(position)
        sizes[kind] = sizes.get(kind, 0) + param.numel() * param.element_size()
        number = counts.get(kind, 0)
        if sizes[kind] >= limits[min(number, len(limits) - 1)]:
            closed.append(open_buckets.pop(kind))
            sizes[kind], counts[kind] = 0, number + 1
    return sorted([*closed, *open_buckets.values()], key=lambda members: turn[members[-1]])


class Bucket:
    """Memory for the gradients of some parameters.

    Args:
        index: its number among the buckets, which is the order in which they travel.
        members: the positions of its parameters.
        params: all parameters.
        extra: how many numbers travel behind the gradients.
    """

    def __init__(self, index: int, members: list[int], params: Sequence[Tensor], extra: int = 0) -> None:
        self.index = index
        self.members = members
        self.params: list[Tensor] = [params[position] for position in members]
        self.length: int = sum(param.numel() for param in self.params)  # how many numbers the gradients are
        self.extra = extra
        self.missing: int = len(members)  # gradients of this backward that have not come yet
        self.under_way: Any = None  # what to wait for
        self.memory: Tensor | None = None
        self.views: list[Tensor] = []

    def allocate(self) -> Tensor:
        """Its memory, made at the first call."""
        if self.memory is None:
            first = self.params[0]
            self.memory = empty(self.length + self.extra, dtype=first.dtype, device=first.device)
            self.views = [
                _placed(self.memory, param, offset)
                for param, offset in zip(self.params, self.offsets(), strict=True)
            ]
        return self.memory

    def release(self) -> None:
        """Lets go of the memory."""
        self.memory, self.views = None, []

    def offsets(self) -> list[int]:
        """Where each gradient begins."""
        found = [0]
        for param in self.params[:-1]:
            found.append(found[-1] + param.numel())
        return found

    @property
    def gradients(self) -> Tensor:
        """The part of the memory that gradients are in, as one long tensor."""
        return self.allocate()[: self.length] if self.extra else self.allocate()

    @property
    def tail(self) -> Tensor:
        """The part of the memory behind the gradients."""
        return self.allocate()[self.length :]


def _placed(memory: Tensor, param: Tensor, offset: int) -> Tensor:
    """The piece of a bucket's memory that a parameter's gradient has, in the parameter's own order of dimensions."""
    if param.is_contiguous() or not is_dense(param.array):
        return memory[offset : offset + param.numel()].view(param.shape)
    return memory.as_strided(tuple(param.shape), tuple(param.stride()), offset)


class GradBucket:
    """What a communication hook is given: the gradients of some parameters, in one piece of memory."""

    def __init__(self, bucket: Bucket, last: bool, group: Any = None) -> None:
        self._bucket = bucket
        self._last = last
        self.group = group  # one that nobody else uses: see Note [Order of reductions]
        self._buffer = bucket.gradients

    def index(self) -> int:
        """The number of the bucket; 0 has the gradients of the last layers."""
        return self._bucket.index

    def buffer(self) -> Tensor:
        """All gradients, one after the other, as a tensor of one dimension."""
        return self._buffer

    def set_buffer(self, buffer: Tensor) -> None:
        """Has `buffer()` give another tensor from now on."""
        self._buffer = buffer

    def gradients(self) -> list[Tensor]:
        """The gradient of each parameter: views of the buffer."""
        if self._buffer.data_ptr() == self._bucket.allocate().data_ptr():
            return list(self._bucket.views)
        return [
            self._buffer[offset : offset + param.numel()].view(param.shape)
            for param, offset in zip(self._bucket.params, self._bucket.offsets(), strict=True)
        ]

    def parameters(self) -> list[Tensor]:
        """The parameters."""
        return list(self._bucket.params)

    def is_last(self) -> bool:
        """Whether this is the last bucket of a backward."""
        return self._last
