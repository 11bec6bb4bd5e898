"""Operations that combine the tensors of all ranks: `all_reduce`, `reduce`, `reduce_scatter`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from retrograd.backends.base import backend_of
from retrograd.core.tensor import Tensor
from retrograd.distributed.calls import Act, Call, call, start
from retrograd.distributed.checks import (
    check_dtypes,
    check_parts,
    check_reduction,
    check_tensor,
    check_tensors,
    place_of,
)
from retrograd.distributed.groups import ProcessGroup, member
from retrograd.distributed.reduce_op import RedOpType, ReduceOp
from retrograd.distributed.work import Work
from retrograd.futures import Future
from retrograd.ops.elementwise.complex_numbers import view_as_real
from retrograd.values import Array


def all_reduce(
    tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Combines the tensors of all ranks; each has the result afterwards, in the same memory.

    >>> import retrograd as rg
    >>> rg.distributed.init_process_group("mpi")  # one process: started without mpirun
    >>> x = rg.ones(3)
    >>> rg.distributed.all_reduce(x)
    >>> x
    tensor([1., 1., 1.])
    >>> rg.distributed.destroy_process_group()
    """
    check_tensor(tensor, "tensor")
    found = member(group, "all_reduce")
    if found is None:
        return None
    kind = check_reduction("all_reduce", op, tensor)
    transport = found.transport
    act: Act = lambda _, outs: transport.all_reduce(_scaled(outs[0], op), kind)  # noqa: E731
    return call(found, "all_reduce", act, (), [tensor], async_op, f"({kind.name})")


def start_all_reduce(tensor: Tensor, group: ProcessGroup) -> Work:
    """Begins the sum of a tensor over a group. It goes on when somebody polls, or the helper thread is woken."""
    act: Act = lambda _, outs: group.transport.all_reduce(outs[0], RedOpType.SUM)  # noqa: E731
    made = Call(group, "all_reduce", (), [tensor])
    made.details = "(SUM)"
    return start(made, act)


def _scaled(array: Array, op: Any) -> Array:
    """An array that was multiplied by the factor of PREMUL_SUM, in its memory."""
    if isinstance(op, ReduceOp) and op.op is RedOpType.PREMUL_SUM:
        factor = op.factor.item() if isinstance(op.factor, Tensor) else op.factor
        array[...] = array * factor
    return array


def all_reduce_coalesced(
    tensors: Tensor | Sequence[Tensor], op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Future[list[Tensor]] | None:
    """`all_reduce` of several tensors of one dtype, with the messages of one; complex numbers count as pairs.

    With `async_op` it returns the Future of its Work.
    """
    tensors = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    check_tensors(tensors, "tensors")
    found = member(group, "all_reduce_coalesced")
    if found is None or not tensors:
        return None
    for tensor in tensors:
        kind = check_reduction("all_reduce", op, tensor)
    pairs = [view_as_real(tensor.detach()) if tensor.is_complex() else tensor for tensor in tensors]
    check_dtypes(pairs)

    def act(_: list[Array], outs: list[Array]) -> Any:
        joined = backend_of(outs[0]).concatenate(outs)
        yield from found.transport.all_reduce(_scaled(joined, op), kind)
        at = 0
        for out in outs:
            out[...] = joined[at : at + out.size]
            at += out.size

    work = call(found, "all_reduce_coalesced", act, (), pairs, async_op, f"({kind.name})")
    return None if work is None else work.get_future().then(lambda _: tensors)


def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: Any = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Combines the tensors of all ranks on rank `dst`; those of the others stay what they are."""
    root = place_of(group, dst, group_dst, None)
    check_tensor(tensor, "tensor")
    found = member(group, "reduce")
    if found is None:
        return None
    kind = check_reduction("reduce", op, tensor)
    transport = found.transport
    details = f"({kind.name}, to {found.ranks[root]})"
    if kind is RedOpType.PREMUL_SUM and found.rank() != root:
        act: Act = lambda ins, _: transport.reduce(_scaled(ins[0].copy(), op), root, kind)  # noqa: E731
        return call(found, "reduce", act, [tensor], (), async_op, details)
    act = lambda _, outs: transport.reduce(_scaled(outs[0], op), root, kind)  # noqa: E731
    return call(found, "reduce", act, (), [tensor], async_op, details)


def reduce_scatter(
    output: Tensor,
    input_list: Sequence[Tensor],
    op: Any = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Combines the lists of all ranks, tensor by tensor; rank i gets the i-th result."""
    check_tensor(output, "output")
    check_tensors(input_list, "input_list")
    check_dtypes(output, input_list)
    found = member(group, "reduce_scatter")
    if found is None:
        return None
    check_parts("reduce_scatter", input_list, found.size())
    if input_list[found.rank()].shape != output.shape:
        raise RuntimeError(
            f"reduce_scatter: the output has the shape {tuple(output.shape)}, and the input for this rank has "
            f"{tuple(input_list[found.rank()].shape)}"
        )
    kind = check_reduction("reduce_scatter", op, output)

    def act(ins: list[Array], outs: list[Array]) -> Any:
        parts = [_scaled(part.copy(), op) for part in ins] if kind is RedOpType.PREMUL_SUM else ins
        return found.transport.reduce_scatter(outs[0], parts, kind)

    return call(found, "reduce_scatter", act, list(input_list), [output], async_op, f"({kind.name})")


def reduce_scatter_single(
    output: Tensor, input: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Combines the tensors of all ranks; each rank gets its own part of the result, in the order of the ranks."""
    check_tensor(output, "output")
    check_tensor(input, "input")
    check_dtypes(output, input)
    found = member(group, "reduce_scatter_single")
    if found is None:
        return None
    size = found.size()
    if input.numel() != output.numel() * size:
        raise RuntimeError(
            f"reduce_scatter: the input must have world size times as many elements as the output: {size} * "
            f"{output.numel()}, and it has {input.numel()}"
        )
    kind = check_reduction("reduce_scatter_single", op, output)

    def act(ins: list[Array], outs: list[Array]) -> Any:
        whole = _scaled(ins[0].copy(), op) if kind is RedOpType.PREMUL_SUM else ins[0]
        return found.transport.reduce_scatter(outs[0], list(whole.reshape(size, -1)), kind)

    return call(found, "reduce_scatter_single", act, [input], [output], async_op, f"({kind.name})")


def reduce_scatter_tensor(
    output: Tensor, input: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """The older name of `reduce_scatter_single`."""
    return reduce_scatter_single(output, input, op, group, async_op)
