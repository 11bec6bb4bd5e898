"""The tensors of one rank, given to all; small ones travel together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from retrograd.autograd.modes import no_grad
from retrograd.core.tensor import Tensor
from retrograd.distributed.movements import broadcast
from retrograd.distributed.work import Work
from retrograd.ops.shape.join import cat

MESSAGE_BYTES = 64 << 20  # of the messages that many tensors are sent in


@no_grad()
def broadcast_all(tensors: Iterable[Tensor], group: Any, source: int = 0) -> None:
    """Gives the tensors of one rank of a group to all; small ones travel together."""
    for message in messages(tensors):
        if len(message) == 1 and message[0].is_contiguous():
            broadcast(message[0], group=group, group_src=source)
            continue
        flat = cat([tensor.reshape(-1) for tensor in message])
        broadcast(flat, group=group, group_src=source)
        if group.rank() != source:
            place = 0
            for tensor in message:
                tensor.copy_(flat[place : place + tensor.numel()].view(tensor.shape))
                place += tensor.numel()


def messages(tensors: Iterable[Tensor]) -> list[list[Tensor]]:
    """Tensors of one dtype and device together, up to some size."""
    closed: list[list[Tensor]] = []
    started: dict[Any, list[Tensor]] = {}
    for tensor in tensors:
        kind = tensor.dtype, tensor.device
        message = started.setdefault(kind, [])
        message.append(tensor.detach())
        if sum(each.numel() * each.element_size() for each in message) >= MESSAGE_BYTES:
            closed.append(started.pop(kind))
    return [*closed, *started.values()]


class Works:
    """The works of a block of operations."""

    def __init__(self) -> None:
        self.works: list[Work] = []

    def append(self, work: Work | None = None) -> None:
        """Adds a work to wait for."""
        if work is not None:
            self.works.append(work)

    def wait(self) -> None:
        """Waits for all of them."""
        for work in self.works:
            work.wait()


@contextmanager
def coalescing_manager(group: Any = None, device: Any = None, async_ops: bool = False) -> Iterator[Works]:
    """A block of operations that PyTorch's NCCL sends as one; here each is done when it is called."""
    yield Works()
