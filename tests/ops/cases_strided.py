"""Rows of views by strides, and of in-place forms whose nodes have names of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

import retrograd as rg
from tests.ops.case import Case
from tests.ops.samples import call_with

IN_A_COPY = {"jvp": "a copy is written into"}
REAL = {**IN_A_COPY, "complex": "complex numbers have no order"}


def pattern(x: Any, size: Any, stride: Any, offset: int = 0) -> Any:
    """Elements of a dense array by their strides."""
    flat = np.ascontiguousarray(x).reshape(-1)
    where = offset + sum(i * s for i, s in zip(np.indices(size), stride, strict=True))
    return flat[where]


def with_pattern(x: Any, y: Any, size: Any, stride: Any, offset: int = 0) -> Any:
    out = np.array(x, order="C")
    out.reshape(-1)[offset + sum(i * s for i, s in zip(np.indices(size), stride, strict=True))] = y
    return out


def windows(x: Any, dim: int, size: int, step: int) -> Any:
    found = np.lib.stride_tricks.sliding_window_view(x, size, dim)
    return found[(slice(None),) * (dim % x.ndim) + (slice(None, None, step),)]


# Disjoint, overlapping, stretched, with an offset, of no dimensions.
PATTERNS = (((2, 2), (1, 2)), ((3, 2), (1, 1)), ((2, 3), (0, 2)), ((2,), (3,), 2), ((), (), 4))

VIEWS = (
    Case("as_strided", tuple(call_with((2, 3), args=p) for p in PATTERNS), pattern),
    Case("as_strided_copy", tuple(call_with((2, 3), args=p) for p in PATTERNS), pattern),
    Case("as_strided_scatter", tuple(call_with((2, 3), p[0], args=p) for p in (PATTERNS[0], *PATTERNS[3:])),
         with_pattern, call=rg.as_strided_scatter),
    Case("Tensor.as_strided_", tuple(call_with((2, 3), args=p) for p in PATTERNS), pattern,
         call=lambda x, *geometry: (x * 1).as_strided_(*geometry), excuses=IN_A_COPY),
    Case("Tensor.unfold", (*(call_with((5,), args=a) for a in ((0, 2, 1), (0, 3, 2), (0, 5, 1), (-1, 1, 4))),
         *(call_with((3, 4), args=a) for a in ((0, 2, 1), (1, 3, 1), (1, 2, 2))),
         call_with((3, 4), args=(0, 2, 1), layout="transposed"), call_with((2, 0), args=(0, 1, 1))), windows),
)  # fmt: skip


def compared(name: str, function: Any) -> tuple[Case, ...]:
    """A comparison in place: with a number and with a tensor."""
    excuses = IN_A_COPY if name in ("eq_", "ne_") else REAL
    return (
        Case(f"Tensor.{name}", (call_with((2, 3)),), lambda x: function(x, 0.5).astype(x.dtype),
             call=lambda x: getattr(x * 1, name)(0.5), excuses=excuses, form="number"),
        Case(f"Tensor.{name}", (call_with((2, 3), (3,)),), lambda x, y: function(x, y).astype(x.dtype),
             call=lambda x, y: getattr(x * 1, name)(y), excuses=excuses, form="tensor"),
    )  # fmt: skip


def activated(name: str, function: Any, *args: float) -> Case:
    return Case(f"nn.functional.{name}", (call_with((2, 3)),), function,
                call=lambda x: getattr(rg.nn.functional, name)(x * 1, *args), excuses=REAL)  # fmt: skip


IN_PLACE = (
    *compared("eq_", np.equal), *compared("ne_", np.not_equal), *compared("lt_", np.less),
    *compared("le_", np.less_equal), *compared("gt_", np.greater), *compared("ge_", np.greater_equal),
    Case("Tensor.conj_physical_", (call_with((2, 3)),), np.conj, call=lambda x: (x * 1).conj_physical_(),
         excuses=IN_A_COPY),
    activated("elu_", lambda x: np.where(x > 0, x, np.expm1(x))),
    activated("celu_", lambda x: np.where(x > 0, x, 2 * np.expm1(x / 2)), 2.0),
    activated("leaky_relu_", lambda x: np.where(x > 0, x, 0.1 * x), 0.1),
    activated("threshold_", lambda x: np.where(x > 0.1, x, 3.0), 0.1, 3.0),
)  # fmt: skip

STRIDED: tuple[Case, ...] = (*VIEWS, *IN_PLACE)
