"""`asarray`: whatever has numbers, as a tensor."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np

from retrograd.backends.dtypes import SCALAR_NAMES, as_dtype, get_default_dtype
from retrograd.core.tensor import Tensor
from retrograd.errors import type_name
from retrograd.ops.register import public
from retrograd.ops.tensor.buffers import frombuffer
from retrograd.ops.tensor.convert import DeviceLike, clone
from retrograd.ops.tensor.data import Data, as_tensor
from retrograd.values import DType


@public("asarray")
def asarray(
    obj: Data,
    *,
    dtype: DType | None = None,
    device: DeviceLike = None,
    copy: bool | None = None,
    requires_grad: bool | None = None,
) -> Tensor:
    """`obj` as a tensor: with a copy, without, or (by default) only if one is needed. A tensor keeps its history.

    Of bytes, such as a bytearray, it shows the memory, as elements of `dtype`.

    Args:
        copy: True copies always, False never (and raises where it would have to).
        requires_grad: None leaves a tensor as it is; False detaches it.
    """
    if dtype is None and _is_buffer(obj):
        dtype = get_default_dtype()
    if dtype is not None and _is_buffer(obj):
        obj = frombuffer(obj, dtype=dtype)
    if copy is False:
        _check_alias(obj, dtype)
    if isinstance(obj, Tensor) and requires_grad is False and obj.requires_grad:
        obj = obj.detach()
    made = as_tensor(obj, dtype=dtype, device=device)
    if copy and (made is obj or (isinstance(obj, np.ndarray) and np.may_share_memory(made.array, obj))):
        made = clone(made)
    return made.requires_grad_() if requires_grad and not made.requires_grad else made


def _check_alias(obj: Any, dtype: Any) -> None:
    """Refuses `copy=False` where the memory cannot be shared."""
    if not isinstance(obj, (Tensor, np.ndarray)):
        raise ValueError(
            f"can't alias arbitrary sequence into a tensor: {type_name(obj)} has no array to share"
        )
    if dtype is not None and as_dtype(dtype) != obj.dtype:
        have, wanted = SCALAR_NAMES[obj.dtype], SCALAR_NAMES[as_dtype(dtype)]
        raise ValueError(f"can't alias tensor with dtype '{have}' into dtype '{wanted}'.")


def _is_buffer(obj: Any) -> bool:
    """Whether an object is memory that says nothing of numbers in it."""
    return isinstance(obj, (bytes, bytearray, memoryview, mmap.mmap))
