"""Operations that bring tensors to other ranks as they are: `broadcast`, `gather`, `scatter`, `all_to_all` and kin."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from retrograd.core.tensor import Tensor
from retrograd.distributed.calls import Act, call
from retrograd.distributed.checks import check_dtypes, check_parts, check_tensor, check_tensors, place_of
from retrograd.distributed.groups import ProcessGroup, member
from retrograd.distributed.work import Work
from retrograd.futures import Future
from retrograd.values import Array


def broadcast(
    tensor: Tensor,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Gives the tensor of rank `src` to all ranks of a group."""
    check_tensor(tensor, "tensor")
    found = member(group, "broadcast")
    if found is None:
        return None
    root = place_of(found, src, group_src, None)
    transport = found.transport
    act: Act = lambda _, outs: transport.broadcast(outs[0], root)  # noqa: E731
    return call(found, "broadcast", act, (), [tensor], async_op, f"(from {found.ranks[root]})")


def all_gather(
    tensor_list: Sequence[Tensor], tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """Gives the tensors of all ranks to all: `tensor_list[i]` becomes that of rank i.

    Ranks may give tensors of different shapes, if each list has them.
    """
    check_tensors(tensor_list, "tensor_list")
    check_tensor(tensor, "tensor")
    check_dtypes(tensor_list, tensor)
    found = member(group, "all_gather")
    if found is None:
        return None
    check_parts("all_gather", tensor_list, found.size())
    own = tensor_list[found.rank()]
    if own.shape != tensor.shape:
        raise RuntimeError(
            f"all_gather: invalid tensor size at index {found.rank()} (expected {tuple(tensor.shape)}, got "
            f"{tuple(own.shape)})"
        )
    transport = found.transport
    act: Act = lambda ins, outs: transport.all_gather(outs, ins[0])  # noqa: E731
    return call(found, "all_gather", act, [tensor], list(tensor_list), async_op)


def all_gather_single(
    output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """Gives the tensors of all ranks to all, one after the other in one tensor, or stacked in it."""
    check_tensor(output_tensor, "output_tensor")
    check_tensor(input_tensor, "input_tensor")
    check_dtypes(output_tensor, input_tensor)
    found = member(group, "all_gather_single")
    if found is None:
        return None
    if output_tensor.numel() != input_tensor.numel() * found.size():
        raise RuntimeError(
            f"all_gather: invalid tensor size: the output must have world size times as many elements as the input, "
            f"{found.size()} * {input_tensor.numel()}, and it has {output_tensor.numel()}"
        )
    transport = found.transport
    act: Act = lambda ins, outs: transport.all_gather_into(outs[0], ins[0])  # noqa: E731
    return call(found, "all_gather_single", act, [input_tensor], [output_tensor], async_op)


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """The older name of `all_gather_single`."""
    return all_gather_single(output_tensor, input_tensor, group, async_op)


def all_gather_coalesced(
    output_tensor_lists: Sequence[Sequence[Tensor]],
    input_tensor_list: Sequence[Tensor],
    group: Any = None,
    async_op: bool = False,
) -> Future[list[Tensor]] | None:
    """`all_gather` of several tensors: `output_tensor_lists[i][k]` becomes the k-th tensor of rank i.

    With `async_op` it returns the Future of its Work.
    """
    check_tensors(input_tensor_list, "input_tensor_list")
    for each in output_tensor_lists:
        check_tensors(each, "output_tensor_lists")
    found = member(group, "all_gather_coalesced")
    if found is None or not input_tensor_list:
        return None
    if len(output_tensor_lists) != found.size():
        raise RuntimeError("all_gather_coalesced: give one list of output tensors for each rank of the group")
    transport, number = found.transport, len(input_tensor_list)

    def act(ins: list[Array], outs: list[Array]) -> Any:
        for k, array in enumerate(ins):
            yield from transport.all_gather(outs[k::number], array)

    writes = [tensor for each in output_tensor_lists for tensor in each]
    work = call(found, "all_gather_coalesced", act, list(input_tensor_list), writes, async_op)
    return None if work is None else work.get_future()


def gather(
    tensor: Tensor,
    gather_list: Sequence[Tensor] | None = None,
    dst: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Gives the tensors of all ranks to rank `dst`, by default the first: `gather_list[i]` becomes that of rank i."""
    frame = _frame("gather", tensor, gather_list, group, dst, group_dst)
    if frame is None:
        return None
    found, root, listed = frame
    act: Act = lambda ins, outs: found.transport.gather(outs or None, ins[0], root)  # noqa: E731
    return call(found, "gather", act, [tensor], listed, async_op, f"(to {found.ranks[root]})")


def scatter(
    tensor: Tensor,
    scatter_list: Sequence[Tensor] | None = None,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Gives each rank its tensor of the list that rank `src`, by default the first, has."""
    frame = _frame("scatter", tensor, scatter_list, group, src, group_src)
    if frame is None:
        return None
    found, root, listed = frame
    act: Act = lambda ins, outs: found.transport.scatter(outs[0], ins or None, root)  # noqa: E731
    return call(found, "scatter", act, listed, [tensor], async_op, f"(from {found.ranks[root]})")


def _frame(
    what: str, tensor: Tensor, given: Any, group: Any, rank: int | None, group_rank: int | None
) -> tuple[ProcessGroup, int, list[Tensor]] | None:
    """The group, the root, and the list that the root gives and the others do not; None outside of the group."""
    check_tensor(tensor, "tensor")
    found = member(group, what)
    if found is None:
        return None
    root = place_of(group, rank, group_rank, 0)
    name, role = f"{what}_list", "destination" if what == "gather" else "source"
    if found.rank() != root:
        if given:
            raise ValueError(f"Argument ``{name}`` must NOT be specified on non-{role} ranks.")
        return found, root, []
    if not given:
        raise ValueError(f"Argument ``{name}`` must be specified on {role} rank.")
    check_tensors(given, name)
    check_dtypes(tensor, given)
    check_parts(what, given, found.size(), tensor)
    return found, root, list(given)


def all_to_all(
    output_tensor_list: Sequence[Tensor],
    input_tensor_list: Sequence[Tensor],
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Gives `input_tensor_list[i]` to rank i; `output_tensor_list[i]` becomes what rank i has for this one."""
    check_tensors(output_tensor_list, "output_tensor_list")
    check_tensors(input_tensor_list, "input_tensor_list")
    check_dtypes(output_tensor_list, input_tensor_list)
    found = member(group, "all_to_all")
    if found is None:
        return None
    check_parts("all_to_all", output_tensor_list, found.size())
    check_parts("all_to_all", input_tensor_list, found.size())
    transport = found.transport
    act: Act = lambda ins, outs: transport.all_to_all(outs, ins)  # noqa: E731
    return call(found, "all_to_all", act, list(input_tensor_list), list(output_tensor_list), async_op)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """`all_to_all` of the rows of one tensor: as many to each rank, and from each, as the sizes say."""
    check_tensor(output, "output")
    check_tensor(input, "input")
    check_dtypes(output, input)
    found = member(group, "all_to_all_single")
    if found is None:
        return None
    size, transport = found.size(), found.transport
    ends_in = _ends(input, input_split_sizes, size)
    ends_out = _ends(output, output_split_sizes, size)

    def act(ins: list[Array], outs: list[Array]) -> Any:
        parts = [ins[0][a:b] for a, b in pairwise(ends_in)]
        rooms = [outs[0][a:b] for a, b in pairwise(ends_out)]
        return transport.all_to_all(rooms, parts)

    return call(found, "all_to_all_single", act, [input], [output], async_op)


def _ends(tensor: Tensor, sizes: Sequence[int] | None, count: int) -> list[int]:
    """Where the parts of a tensor begin and end, in elements."""
    rows = tensor.shape[0] if tensor.dim() else 1
    if not sizes:
        if rows % count:
            raise RuntimeError(
                f"Tensor's dim 0 does not divide equally across group size: {rows} rows, {count} ranks"
            )
        sizes = [rows // count] * count
    if len(sizes) != count:
        raise RuntimeError("Number of tensor splits not equal to group size")
    if sum(sizes) != rows:
        raise RuntimeError("Split sizes doesn't match total dim 0 size")
    width = tensor.numel() // rows if rows else 0
    ends = [0]
    for each in sizes:
        ends.append(ends[-1] + each * width)
    return ends
