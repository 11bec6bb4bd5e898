"""Arguments that no operation can be done with, told before anything is sent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from retrograd.backends.dtypes import SCALAR_NAMES
from retrograd.core.tensor import Tensor
from retrograd.distributed.groups import ProcessGroup, default_group, ranks_of
from retrograd.distributed.reduce_op import RedOpType, ReduceOp, supports_complex
from retrograd.errors import OperandError

_WHOLE = (RedOpType.BAND, RedOpType.BOR, RedOpType.BXOR)


def check_tensor(value: Any, name: str) -> None:
    """Refuses what is no tensor."""
    if not isinstance(value, Tensor):
        raise OperandError(
            f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor but got {type(value)} "
            "instead."
        )


def check_tensors(value: Any, name: str) -> None:
    """Refuses what is no list of tensors."""
    if not isinstance(value, (list, tuple)) or not all(isinstance(each, Tensor) for each in value):
        raise OperandError(
            f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor] but got "
            f"{type(value)} with elements of type {[type(each) for each in value]}."
        )


def check_dtypes(*groups: Tensor | Sequence[Tensor]) -> None:
    """Refuses tensors of several dtypes."""
    tensors = [each for some in groups for each in ([some] if isinstance(some, Tensor) else some)]
    for tensor in tensors[1:]:
        if tensor.dtype != tensors[0].dtype:
            raise ValueError(
                f"Invalid usage of tensors with different dtypes. Found {tensors[0].dtype} and {tensor.dtype}"
            )


def check_parts(what: str, parts: Sequence[Tensor], count: int, like: Tensor | None = None) -> None:
    """Refuses a list that has not one tensor for each rank, or some of another shape than `like`."""
    if len(parts) != count:
        raise RuntimeError(
            f"{what}: invalid tensor list (expected length {count}, got {len(parts)}). Give one tensor for each rank "
            "of the group."
        )
    for i, part in enumerate(parts):
        if like is not None and part.shape != like.shape:
            raise RuntimeError(
                f"{what}: invalid tensor size at index {i} (expected {tuple(like.shape)}, got {tuple(part.shape)})"
            )


def check_reduction(what: str, op: Any, tensor: Tensor) -> RedOpType:
    """The kind of a reduction that can be done with a tensor."""
    kind = op.op if isinstance(op, ReduceOp) else op
    if not isinstance(kind, RedOpType):
        raise OperandError(f"{what}(): incompatible function arguments: op is to be a ReduceOp, not {op!r}")
    dtype = tensor.dtype
    if dtype.is_complex and not supports_complex(kind):
        kind_of_error = ValueError if what == "all_reduce" else RuntimeError
        raise kind_of_error(f"{what} does not support {kind} on complex tensors")
    if kind in _WHOLE and dtype.is_floating_point:
        raise RuntimeError(f"Cannot use ReduceOp.{kind.name} with non-integral dtype")
    if kind is RedOpType.AVG and not (dtype.is_floating_point or dtype.is_complex):
        raise RuntimeError(
            f"result type Float can't be cast to the desired output type {SCALAR_NAMES[dtype]}"
        )
    return kind


def place_of(
    group: ProcessGroup | int | None, rank: int | None, group_rank: int | None, default: int | None
) -> int:
    """The place in the group of a rank that was given as one of the world or as one of the group."""
    ranks = ranks_of(default_group() if group is None else group)
    if rank is not None and group_rank is not None:
        raise ValueError("Can't specify both group_rank and global_rank")
    if rank is None and group_rank is None:
        if default is None:
            raise ValueError("Must specify global_rank or group_rank")
        return default
    if group_rank is None:
        if rank not in ranks:
            raise ValueError(f"Global rank {rank} is not part of group {group or default_group()}")
        return ranks.index(rank)
    if not 0 <= group_rank < len(ranks):
        raise ValueError(f"Group rank {group_rank} is not part of group {group or default_group()}")
    return group_rank
