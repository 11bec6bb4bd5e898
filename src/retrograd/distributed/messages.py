"""Messages from one rank to another: `send`, `recv` and those that do not wait."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from retrograd.core.tensor import Tensor
from retrograd.distributed.calls import Call, finish, start
from retrograd.distributed.checks import check_tensor, place_of
from retrograd.distributed.groups import check_inside, default_group, get_rank, member, rank_not_in_group
from retrograd.distributed.nccl_backend import NCCLBackend
from retrograd.distributed.progress import Steps
from retrograd.distributed.work import Work
from retrograd.values import Array


def isend(
    tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None
) -> Work | None:
    """Sends a tensor to rank `dst`, and returns at once; the tensor is not to be written before the work is over."""
    if rank_not_in_group(group):
        member(group, "isend")
        return None
    peer = place_of(group, dst, group_dst, None)
    check_tensor(tensor, "tensor")
    found = member(group, "isend")
    assert found is not None
    made = Call(found, "isend", [tensor], ())
    made.details = f"(to {found.ranks[peer]}, tag {tag})"
    return finish(start(made, lambda ins, _: found.transport.send(ins[0], peer, tag), alone=True), True)


def irecv(
    tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None
) -> Work | None:
    """Receives a tensor from rank `src`, or from whoever sends one, and returns at once."""
    if rank_not_in_group(group):
        member(group, "irecv")
        return None
    anyone = src is None and group_src is None
    peer = None if anyone else place_of(group, src, group_src, None)
    check_tensor(tensor, "tensor")
    found = member(group, "irecv")
    assert found is not None
    made = Call(found, "irecv", (), [tensor])
    made.details = f"(from {'anyone' if peer is None else found.ranks[peer]}, tag {tag})"
    work = start(made, lambda _, outs: found.transport.receive(outs[0], peer, tag, made.source), alone=True)
    return finish(work, True)


def send(
    tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None
) -> None:
    """Sends a tensor to rank `dst`."""
    check_inside(group)
    if get_rank(group) == place_of(group, dst, group_dst, None):
        raise ValueError(
            "Invalid destination rank: destination rank should not be the same as the rank of the current process."
        )
    work = isend(tensor, dst, group, tag, group_dst)
    if work is not None:
        work.wait()


def recv(
    tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None
) -> int:
    """Receives a tensor from rank `src`, or from whoever sends one; returns the rank that has sent it."""
    work = irecv(tensor, src, group, tag, group_src)
    if work is None:
        return -1
    work.wait()
    return work.source_rank()


class P2POp:
    """One message for `batch_isend_irecv`."""

    op: Callable[..., Any]
    tensor: Tensor
    peer: int | None
    group: Any
    tag: int

    def __init__(
        self,
        op: Callable[..., Any],
        tensor: Tensor,
        peer: int | None = None,
        group: Any = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        if op not in (isend, irecv):
            raise ValueError(
                "Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or "
                "``torch.distributed.irecv``."
            )
        check_tensor(tensor, "tensor")
        self.op, self.tensor, self.peer, self.group, self.tag = op, tensor, peer, group, tag
        self.group_peer = group_peer
        self.place()

    def place(self) -> int:
        """The place of the other rank in the group."""
        return place_of(self.group, self.peer, self.group_peer, None)

    def __repr__(self) -> str:
        found = default_group() if self.group is None else self.group
        own, other = found.rank(), self.place()
        source, target = (own, other) if self.op is isend else (other, own)
        return (
            f"P2POp({self.op.__name__} pg={found.group_name}, group_src={source}, group_dst={target},  "
            f"{self.tensor.shape}, {self.tensor.dtype})"
        )


def batch_isend_irecv(p2p_op_list: Sequence[P2POp]) -> list[Work]:
    """Starts several messages, and returns their works."""
    if not all(isinstance(each, P2POp) for each in p2p_op_list):
        raise ValueError(
            "Invalid ``p2p_op_list``. Each op is expected to to be of type ``torch.distributed.P2POp``."
        )
    if not p2p_op_list:
        raise IndexError("batch_isend_irecv: the list of messages is empty")
    together = _coalesced(p2p_op_list)
    if together is not None:
        return [together]
    works = [each.op(each.tensor, each.peer, each.group, each.tag, each.group_peer) for each in p2p_op_list]
    return [work for work in works if work is not None]


def _coalesced(messages: Sequence[P2POp]) -> Work | None:
    """Messages between GPUs as one operation: over NCCL each would wait for those before it. None for others."""
    group = messages[0].group
    found = None if rank_not_in_group(group) else member(group, "batch_isend_irecv")
    transport = None if found is None else found.transport
    if not isinstance(transport, NCCLBackend) or not all(
        transport.reaches(each.tensor.array) for each in messages
    ):
        return None
    sent = [each for each in messages if each.op is isend]
    received = [each for each in messages if each.op is irecv]

    def act(ins: list[Array], outs: list[Array]) -> Steps:
        return transport.exchange(
            [(each.place(), array) for each, array in zip(sent, ins, strict=True)],
            [(each.place(), array) for each, array in zip(received, outs, strict=True)],
        )

    assert found is not None
    made = Call(
        found, "batch_isend_irecv", [each.tensor for each in sent], [each.tensor for each in received]
    )
    return finish(start(made, act, alone=True), True)
