"""Rows of operations that reduce or scan dimensions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special

import retrograd as rg
from tests.ops.case import Case
from tests.ops.samples import along, call_with, distinct, each, nonzero

NO_ORDER = {"complex": "complex numbers have no order"}
REAL = {"complex": "not defined for complex numbers"}
SAMPLES = (
    call_with((3,)),
    call_with((2, 3)),
    call_with(()),
    call_with((2, 3), layout="transposed"),
    call_with((2, 3), layout="strided"),
    *along(0, 1, -1),
    *along(0, -1, keepdim=True),
    *along(0, shape=(3, 0)),
    *along(1, -2, shape=(2, 3, 2)),
    call_with((2, 3), layout="transposed", dim=0),
)
SEVERAL = (
    *along((0, 1), (1,), (-1, 0)),
    *along((0, 2), shape=(2, 3, 2), keepdim=True),
    *along((0, 2), shape=(2, 3, 2)),
)
EMPTY = (call_with((0,)), call_with((2, 0)), *along(1, shape=(2, 0)))


def over(function: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's function under PyTorch's names of arguments."""

    def reference(x: Any, dim: Any = None, keepdim: bool = False, **options: Any) -> Any:
        axis = dim if x.ndim else None
        return function(x, axis=axis, keepdims=keepdim, **options)

    return reference


def scan(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, dim: function(x, axis=dim) if x.ndim else x


def variance(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, dim=None, keepdim=False, correction=1: function(
        x, axis=dim, keepdims=keepdim, ddof=correction
    )


def extremum(value: Callable[..., Any], place: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, dim, keepdim=False: (
        value(x, axis=dim if x.ndim else None, keepdims=keepdim),
        place(x, axis=dim if x.ndim else None, keepdims=keepdim),
    )


SUMS = (
    Case("sum", (*SAMPLES, *SEVERAL, *EMPTY), over(np.sum)),
    Case("sum", each(SAMPLES[1:2], {"axis": 0, "keepdims": True}), np.sum, form="numpy_names"),
    Case("nansum", (*SAMPLES, *SEVERAL, *EMPTY), over(np.nansum), excuses=REAL),
    Case("mean", (*SAMPLES, *SEVERAL), over(np.mean)),
    Case("prod", (*SAMPLES, *EMPTY), over(np.prod)),
    Case("logsumexp", (*along(0, 1, (0, 1)), *along(-1, keepdim=True), *along(0, shape=(3,)), *along(0, shape=())),
         over(scipy.special.logsumexp), excuses=REAL),
    Case("cumsum", (*along(0, 1, -1), *along(0, shape=()), *along(0, shape=(0,)),
         call_with((2, 3), layout="strided", dim=1)),
         scan(np.cumsum)),
    Case("cumprod", (*along(0, 1, -1), *along(0, shape=()), *along(0, shape=(0,)),
         call_with((2, 3), layout="strided", dim=1)),
         scan(np.cumprod)),
)  # fmt: skip

WITH_ZEROS = (
    # Products where an element is 0: its gradient is the product of the others.
    Case("prod", (call_with((3,)), *along(0, 1)), over(np.prod), form="one_zero",
         domain=lambda rng, n: np.where(np.arange(n) == 1, 0.0, nonzero(rng, n))),
    Case("prod", (call_with((3,)), *along(0, 1)), over(np.prod), form="two_zeros",
         domain=lambda rng, n: np.where(np.arange(n) < 2, 0.0, nonzero(rng, n))),
    Case("cumprod", tuple(along(0, shape=(4,))), scan(np.cumprod), form="zeros",
         domain=lambda rng, n: np.where(np.arange(n) % 2 == 1, 0.0, nonzero(rng, n))),
)  # fmt: skip

EXTREMA = (
    Case("max", SAMPLES[:5], np.max, distinct, NO_ORDER),
    Case("min", SAMPLES[:5], np.min, distinct, NO_ORDER),
    Case("max", SAMPLES[5:], extremum(np.max, np.argmax), distinct, NO_ORDER, form="dim"),
    Case("min", SAMPLES[5:], extremum(np.min, np.argmin), distinct, NO_ORDER, form="dim"),
    Case("max", (call_with((2, 3), (3,)), call_with((), (2,))), np.maximum, nonzero, NO_ORDER, form="two"),
    Case("min", (call_with((2, 3), (3,)), call_with((), (2,))), np.minimum, nonzero, NO_ORDER, form="two"),
    Case("amax", (*SAMPLES, *SEVERAL), over(np.max), distinct, NO_ORDER),
    Case("amin", (*SAMPLES, *SEVERAL), over(np.min), distinct, NO_ORDER),
    Case("aminmax", SAMPLES[:7], lambda x, dim=None: (np.min(x, dim), np.max(x, dim)), distinct, NO_ORDER),
)

STATISTICS = (
    Case("var", (*SAMPLES[:2], *SAMPLES[3:], *SEVERAL, *each(SAMPLES[5:7], {"correction": 0})), variance(np.var)),
    Case("std", (*SAMPLES[:2], *SAMPLES[3:], *SEVERAL, *each(SAMPLES[5:7], {"correction": 0})), variance(np.std)),
    Case("var_mean", (*SAMPLES[:2], *SAMPLES[5:7]), lambda x, dim=None: (np.var(x, dim, ddof=1), np.mean(x, dim))),
    Case("std_mean", (*SAMPLES[:2], *SAMPLES[5:7]), lambda x, dim=None: (np.std(x, dim, ddof=1), np.mean(x, dim))),
    *(
        Case("norm", (*SAMPLES[:4], *SAMPLES[5:7], *SEVERAL), lambda x, dim=None, keepdim=False, p=p: p_norm(x,
             dim, keepdim, p),
             domain=distinct, form=f"order_{p}", call=lambda x, dim=None, keepdim=False, p=p: rg.norm(x, p,
             dim, keepdim))
        for p in (1, 2, 3, 0.5, float("inf"), float("-inf"))
    ),
)  # fmt: skip


def p_norm(x: Any, dim: Any, keepdim: bool, p: float) -> Any:
    size = np.abs(x)
    if p in (float("inf"), float("-inf")):
        return (np.max if p > 0 else np.min)(size, axis=dim, keepdims=keepdim)
    return np.sum(size**p, axis=dim, keepdims=keepdim) ** (1 / p)


SOFTMAX_SAMPLES = (
    *along(0, 1, -1),
    *along(0, shape=()),
    *along(0, shape=(0,)),
    call_with((2, 3), layout="transposed", dim=0),
)


def softmax(x: Any, dim: int) -> Any:
    powers = np.exp(x)
    return powers / powers.sum(axis=dim if x.ndim else None, keepdims=True)


SOFTMAX = (
    Case("softmax", SOFTMAX_SAMPLES, softmax, excuses=REAL),
    Case("log_softmax", SOFTMAX_SAMPLES, lambda x, dim: np.log(softmax(x, dim)), excuses=REAL),
    Case("nn.functional.softmin", SOFTMAX_SAMPLES, lambda x, dim: softmax(-x, dim),
         excuses={**REAL, "jvp": "the softmax of the negative"}),
)  # fmt: skip

REDUCE = (*SUMS, *WITH_ZEROS, *EXTREMA, *STATISTICS, *SOFTMAX)
