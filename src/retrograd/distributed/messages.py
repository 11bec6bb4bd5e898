"""Messages from one rank to another: `send`, `recv` and those that do not wait."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from retrograd.core.tensor import Tensor
from retrograd.distributed.calls import Call, finish, start
from retrograd.distributed.checks import check_tensor, is_outside, place_of
from retrograd.distributed.groups import get_rank, member
from retrograd.distributed.work import Work


def isend(
    tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None
) -> Work | None:
    """Sends a tensor to rank `dst`, and returns at once; the tensor is not to be written before the work is over."""
    if is_outside(group):
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
    if is_outside(group):
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
    if not is_outside(group):
        peer = place_of(group, dst, group_dst, None)
        if get_rank(group) == peer:
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
        place_of(group, peer, group_peer, None)
        self.op, self.tensor, self.peer, self.group, self.tag = op, tensor, peer, group, tag
        self.group_peer = group_peer

    def __repr__(self) -> str:
        return f"P2POp({self.op.__name__} peer={self.peer}, group_peer={self.group_peer}, tag={self.tag})"


def batch_isend_irecv(p2p_op_list: Sequence[P2POp]) -> list[Work]:
    """Starts several messages, and returns their works."""
    if not all(isinstance(each, P2POp) for each in p2p_op_list):
        raise ValueError(
            "Invalid ``p2p_op_list``. Each op is expected to to be of type ``torch.distributed.P2POp``."
        )
    if not p2p_op_list:
        raise IndexError("batch_isend_irecv: the list of messages is empty")
    works = [each.op(each.tensor, each.peer, each.group, each.tag, each.group_peer) for each in p2p_op_list]
    return [work for work in works if work is not None]
