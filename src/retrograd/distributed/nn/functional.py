"""Collectives as operations of the graph: what a rank has got from others, it sends gradients back for.

All ranks of a group must run the backward, too: each collective has another one as its derivative. An `all_gather` of
features, of which each rank computes a loss against all others, is what these are used for most.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from retrograd.autograd.function import Function
from retrograd.core.tensor import Tensor
from retrograd.distributed import movements, reductions
from retrograd.distributed.groups import get_rank, get_world_size
from retrograd.distributed.reduce_op import ReduceOp
from retrograd.ops.tensor.create import empty_like, zeros_like


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """What the tensors of all ranks come to; the gradient is reduced in the same way.

    >>> import retrograd as rg
    >>> from retrograd.distributed import nn
    >>> rg.distributed.init_process_group()
    >>> x = rg.ones(2, requires_grad=True)
    >>> nn.all_reduce(x * 3).sum().backward()
    >>> x.grad
    tensor([3., 3.])
    >>> rg.distributed.destroy_process_group()
    """
    return _AllReduce.apply(tensor, op, group)  # type: ignore[no-any-return]


def broadcast(tensor: Tensor, src: int, group: Any = None) -> Tensor:
    """The tensor of rank `src`, to which all gradients go."""
    return _Broadcast.apply(tensor, src, group)  # type: ignore[no-any-return]


def reduce(tensor: Tensor, dst: int, op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """What the tensors of all ranks come to, on rank `dst`, whose gradient all get."""
    return _Reduce.apply(tensor, dst, op, group)  # type: ignore[no-any-return]


def gather(tensor: Tensor, dst: int = 0, group: Any = None) -> tuple[Tensor, ...]:
    """The tensors of all ranks, on rank `dst`; zeros elsewhere."""
    return _Gather.apply(tensor, dst, group)  # type: ignore[no-any-return]


def scatter(tensors: Sequence[Tensor], src: int = 0, group: Any = None) -> Tensor:
    """The tensor for this rank of those that rank `src` has; the others give tensors of the same shape."""
    return _Scatter.apply(src, group, *tensors)  # type: ignore[no-any-return]


def reduce_scatter(
    output: Tensor, input_list: Sequence[Tensor], op: Any = ReduceOp.SUM, group: Any = None
) -> Tensor:
    """What the tensors of all ranks for this rank come to; it is also written into `output`."""
    return _ReduceScatter.apply(output, op, group, *input_list)  # type: ignore[no-any-return]


def all_gather(tensor: Tensor, group: Any = None) -> tuple[Tensor, ...]:
    """The tensors of all ranks; the gradient is the sum over all ranks of the gradients of this one's."""
    return _AllGather.apply(tensor, group)  # type: ignore[no-any-return]


def all_to_all(
    output_tensor_list: Sequence[Tensor], input_tensor_list: Sequence[Tensor], group: Any = None
) -> tuple[Tensor, ...]:
    """What each rank has for this one; it is also written into the outputs."""
    return _AllToAll.apply(list(output_tensor_list), group, *input_tensor_list)  # type: ignore[no-any-return]


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Any = None,
) -> Tensor:
    """`all_to_all` of the rows of one tensor."""
    sizes = output_split_sizes, input_split_sizes
    return _AllToAllSingle.apply(input, output, sizes, group)  # type: ignore[no-any-return]


class _AllReduce(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, op: Any, group: Any) -> Tensor:
        ctx.op, ctx.group = op, group
        total = tensor.detach().clone()
        reductions.all_reduce(total, op, group)
        return total

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return _AllReduce.apply(grads[0], ctx.op, ctx.group), None, None


class _Broadcast(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, src: int, group: Any) -> Tensor:
        ctx.src, ctx.group = src, group
        given = tensor.detach().clone()
        movements.broadcast(given, src, group)
        return given

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        total = _Reduce.apply(grads[0], ctx.src, ReduceOp.SUM, ctx.group)
        return (total if get_rank() == ctx.src else zeros_like(total)), None, None


class _Reduce(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, dst: int, op: Any, group: Any) -> Tensor:
        ctx.dst, ctx.group = dst, group
        total = tensor.detach().clone()
        reductions.reduce(total, dst, op, group)
        return total

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return _Broadcast.apply(grads[0], ctx.dst, ctx.group), None, None, None


class _Gather(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, dst: int, group: Any) -> tuple[Tensor, ...]:
        ctx.dst, ctx.group = dst, group
        outs = [zeros_like(tensor) for _ in range(get_world_size(group))]
        movements.gather(tensor.detach().contiguous(), outs if get_rank() == dst else None, dst, group)
        return tuple(outs)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return _Scatter.apply(ctx.dst, ctx.group, *grads), None, None


class _Scatter(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Any, *tensors: Tensor) -> Tensor:
        ctx.src, ctx.group = src, group
        out = zeros_like(tensors[0])
        parts = [tensor.detach().contiguous() for tensor in tensors]
        movements.scatter(out, parts if get_rank() == src else None, src, group)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return (None, None, *_Gather.apply(grads[0], ctx.src, ctx.group))


class _ReduceScatter(Function):
    @staticmethod
    def forward(ctx: Any, output: Tensor, op: Any, group: Any, *tensors: Tensor) -> Tensor:
        ctx.group = group
        reductions.reduce_scatter(output, [tensor.detach().contiguous() for tensor in tensors], op, group)
        return output.detach()

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return (None, None, None, *_AllGather.apply(grads[0], ctx.group))


class _AllGather(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, group: Any) -> tuple[Tensor, ...]:
        ctx.group = group
        outs = [empty_like(tensor.detach().contiguous()) for _ in range(get_world_size(group))]
        movements.all_gather(outs, tensor.detach().contiguous(), group)
        return tuple(outs)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return _ReduceScatter.apply(empty_like(grads[0]), ReduceOp.SUM, ctx.group, *grads), None


class _AllToAll(Function):
    @staticmethod
    def forward(ctx: Any, outs: list[Tensor], group: Any, *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.group = group
        ctx.shapes = [tensor.shape for tensor in tensors]
        movements.all_to_all(outs, [tensor.detach().contiguous() for tensor in tensors], group)
        return tuple(out.detach() for out in outs)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        rooms = [grads[0].new_empty(shape) for shape in ctx.shapes]
        return (None, None, *_AllToAll.apply(rooms, ctx.group, *grads))


class _AllToAllSingle(Function):
    @staticmethod
    def forward(ctx: Any, input: Tensor, output: Tensor, sizes: tuple[Any, Any], group: Any) -> Tensor:
        ctx.sizes, ctx.group, ctx.shape = sizes, group, input.shape
        movements.all_to_all_single(output, input.detach().contiguous(), *sizes, group=group)
        return output.detach()

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        room = grads[0].new_empty(ctx.shape)
        return _AllToAllSingle.apply(grads[0], room, ctx.sizes[::-1], ctx.group), None, None, None
