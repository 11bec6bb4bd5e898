"""Whether all ranks have the same parameters, and how they get the same values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from retrograd.autograd.modes import no_grad
from retrograd.core.tensor import Tensor
from retrograd.distributed.collectives import broadcast
from retrograd.distributed.objects import all_gather_object, broadcast_object_list
from retrograd.ops.shape.join import cat

MESSAGE_BYTES = 64 << 20  # of the messages that many tensors are sent in


def check_same_parameters(named: Sequence[tuple[str, Tensor]], group: Any, who: str) -> None:
    """Raises on all ranks if the lists of parameters differ, with the first difference of both sides."""
    own = [_described(name, param) for name, param in named]
    shared: list[Any] = [own]
    broadcast_object_list(shared, group=group, group_src=0)
    differences: list[Any] = [None] * group.size()
    all_gather_object(differences, _first_difference(shared[0], own), group=group)
    for rank, difference in enumerate(differences):
        if difference is not None:
            number, first, other = difference
            raise RuntimeError(
                f"{who} expects same model across all ranks, but params[{number}] of rank {rank} appears not to match "
                f"that of rank 0. Rank 0 has {first}; rank {rank} has {other}. Gradients are averaged by position: "
                "build the model in the same way, in the same order, on all ranks."
            )


def _described(name: str, param: Tensor) -> str:
    return f"{name} of shape {tuple(param.shape)} and {param.dtype}"


def _first_difference(first: list[str], own: list[str]) -> tuple[int, str, str] | None:
    """The number of the first parameter that differs, and what each side has there."""
    for number in range(max(len(first), len(own))):
        sides = [
            every[number] if number < len(every) else f"no more than {len(every)} params" for every in (first, own)
        ]
        if sides[0] != sides[1]:
            return number, sides[0], sides[1]
    return None


@no_grad()
def broadcast_all(tensors: Iterable[Tensor], group: Any, source: int = 0) -> None:
    """Gives the tensors of one rank of a group to all; small ones travel together."""
    for message in _messages(tensors):
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


def _messages(tensors: Iterable[Tensor]) -> list[list[Tensor]]:
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
