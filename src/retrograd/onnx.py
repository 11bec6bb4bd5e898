"""`torch.onnx`: what files call in passing. Nothing here writes ONNX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["is_in_onnx_export", "register_custom_op_symbolic", "unregister_custom_op_symbolic"]

T = TypeVar("T")


def is_in_onnx_export() -> bool:
    """Whether a model is being exported: never."""
    return False


def register_custom_op_symbolic(
    symbolic_name: str, symbolic_fn: Callable[..., Any], opset_version: int
) -> None:
    """Accepts how an operation would be exported, and forgets it."""


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Nothing: nothing was kept."""


def parse_args(*kinds: str) -> Callable[[T], T]:
    """Leaves a function that would export an operation as it is; `torch.onnx.symbolic_helper` has it."""
    return lambda function: function
