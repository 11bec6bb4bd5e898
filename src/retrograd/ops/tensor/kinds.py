"""Questions about tensors that are functions in PyTorch."""

from __future__ import annotations

from typing import Any

from retrograd.core.tensor import Tensor
from retrograd.ops.common import require_tensor
from retrograd.ops.register import public


@public("is_tensor")
def is_tensor(obj: Any) -> bool:
    """Whether `obj` is a Tensor."""
    return isinstance(obj, Tensor)


@public("is_nonzero", method=True)
def is_nonzero(input: Any) -> bool:
    """Whether the only element is not zero."""
    x = require_tensor("is_nonzero", "input", 1, input)
    if x.array.size != 1:
        count = "no" if x.array.size == 0 else "more than one"
        raise RuntimeError(
            f"Boolean value of Tensor with {count} value{'s' if x.array.size == 0 else ''} is ambiguous"
        )
    return bool(x)


@public("is_inference")
def is_inference(input: Any) -> bool:
    """Whether `input` was made in inference mode."""
    return require_tensor("is_inference", "input", 1, input).is_inference()


@public("is_signed")
def is_signed(input: Any) -> bool:
    """Whether the dtype can hold negative numbers."""
    return require_tensor("is_signed", "input", 1, input).is_signed()


@public("is_neg")
def is_neg(input: Any) -> bool:
    """Always false: negation is computed at once, never left pending."""
    return require_tensor("is_neg", "input", 1, input).is_neg()


@public("get_device")
def get_device(input: Any) -> int:
    """The GPU's number, or -1 on the CPU."""
    return require_tensor("get_device", "input", 1, input).get_device()
