"""Names of PyTorch's file `torch/nn/functional.py` that programs import, though its documentation leaves them out.

They are reached as `torch.nn.functional._pair` and the like, by copies of PyTorch's own functions above all.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, Optional

import numpy as np

from retrograd.core.places import warn
from retrograd.core.tensor import Tensor
from retrograd.nn import _reduction as _Reduction
from retrograd.nn import grad
from retrograd.nn.tuples import _pair, _single, _triple
from retrograd.ops.linalg.addmm import linear
from retrograd.ops.nn.multi_head_attention import additive_mask
from retrograd.ops.nn.multi_head_attention import check_shapes as _mha_shape_check
from retrograd.ops.nn.multi_head_attention import projected_together as _in_projection_packed
from retrograd.ops.nn.softmax import softmax_dim
from retrograd.overrides.protocol import (
    handle_torch_function,
    has_torch_function,
    has_torch_function_unary,
    has_torch_function_variadic,
)

__all__ = [
    "Callable", "Optional", "Tensor", "_Reduction", "_canonical_mask", "_get_softmax_dim", "_in_projection",
    "_in_projection_packed", "_mha_shape_check", "_none_or_dtype", "_pair", "_single", "_triple", "boolean_dispatch",
    "grad", "handle_torch_function", "has_torch_function", "has_torch_function_unary", "has_torch_function_variadic",
    "math", "np", "warnings",
]  # fmt: skip


def boolean_dispatch(
    arg_name: str, arg_index: int, default: bool, if_true: Callable[..., Any], if_false: Callable[..., Any],
    module_name: str, func_name: str,
) -> Callable[..., Any]:  # fmt: skip
    """A function that is one of two others, by the truth of an argument."""

    def chosen(*args: Any, **kwargs: Any) -> Any:
        given = args[arg_index] if arg_index < len(args) else kwargs.get(arg_name, default)
        return (if_true if given else if_false)(*args, **kwargs)

    chosen.__name__, chosen.__module__ = func_name, module_name
    chosen.__doc__ = if_true.__doc__ or if_false.__doc__
    return chosen


def _get_softmax_dim(name: str, ndim: int, stacklevel: int) -> int:
    """The dimension that a softmax takes if none is said, with a warning."""
    return softmax_dim(name, ndim)


def _none_or_dtype(input: Tensor | None) -> Any:
    """The dtype of a mask that is there."""
    return None if input is None else input.dtype


def _canonical_mask(
    mask: Tensor | None,
    mask_name: str,
    other_type: Any,
    other_name: str,
    target_type: Any,
    check_other: bool = True,
) -> Tensor | None:
    """A mask as numbers to add: -inf where a boolean one is true."""
    if mask is not None and check_other and other_type is not None and mask.dtype != other_type:
        warn(
            f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for both instead.",
            UserWarning,
        )
    found: Tensor | None = additive_mask(mask, mask_name, None, target_type)
    return found


def _in_projection(
    q: Tensor, k: Tensor, v: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor,
    b_q: Tensor | None = None, b_k: Tensor | None = None, b_v: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Queries, keys and values, each by a weight of its own."""
    return linear(q, w_q, b_q), linear(k, w_k, b_k), linear(v, w_v, b_v)
