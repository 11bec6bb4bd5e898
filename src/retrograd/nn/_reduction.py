"""Reductions by PyTorch's numbers, and by the arguments that once said the same: its private `torch.nn._reduction`."""

from __future__ import annotations

from retrograd.ops.nn.difference_loss import reduction_code as get_enum
from retrograd.ops.nn.difference_loss import reduction_name as legacy_get_string

__all__ = ["get_enum", "legacy_get_enum", "legacy_get_string"]


def legacy_get_enum(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> int:
    """The number of the reduction that the arguments of old say."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))
