"""Rows of in-place activations, limits that are tensors, and reductions of stretches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import retrograd as rg
from tests.ops.case import Case
from tests.ops.samples import ONE, TWO, call_with, distinct, each, nonzero

REAL = {"complex": "real floating point numbers only"}
NO_ORDER = {"complex": "complex numbers have no order"}
IN_PLACE = {**REAL, "jvp": "two nodes, a copy and the activation of it"}
LENGTHS = np.array([2, 0, 3])
ROWS = np.array([[1, 2], [3, 0]])


def in_place(name: str, *args: float) -> Callable[[Any], Any]:
    return lambda x: getattr(rg.nn.functional, name)(x.clone(), *args, inplace=True)


def reduced(x: Any, reduce: str, lengths: Any, axis: int = 0, initial: Any = None) -> Any:
    """Each stretch by itself."""
    if axis:
        return np.stack(
            [reduced(part, reduce, row, 0, initial) for part, row in zip(x, lengths, strict=True)]
        )
    call = {"sum": np.sum, "mean": np.sum, "max": np.max, "min": np.min, "prod": np.prod}[reduce]
    empty = (
        {"sum": 0, "mean": 0, "max": -np.inf, "min": np.inf, "prod": 1}[reduce]
        if initial is None
        else initial
    )
    parts = np.split(x, np.cumsum(lengths)[:-1])
    found = np.stack([call(part, axis=0, initial=empty) for part in parts])
    if reduce != "mean":
        return found
    shape = (-1,) + (1,) * (x.ndim - 1)
    return np.where(lengths.reshape(shape) == 0, empty, found / np.maximum(lengths, 1).reshape(shape))


def segments(x: Any, reduce: str, lengths: Any, axis: int = 0, initial: Any = None) -> Any:
    return rg.segment_reduce(x, reduce, lengths=lengths, axis=axis, initial=initial)


def stretches(reduce: str, **kwargs: Any) -> tuple[Any, ...]:
    one = {"reduce": reduce, "lengths": LENGTHS, **kwargs}
    return (
        call_with((5,), **one),
        call_with((5, 2), **one),
        call_with((5, 2), layout="transposed", **one),
        call_with((2, 3, 2), reduce=reduce, lengths=ROWS, axis=1, **kwargs),
    )


POLISH = (
    Case("nn.functional.elu", ONE, lambda x: np.where(x > 0, x, 1.5 * np.expm1(x)), nonzero, IN_PLACE,
         in_place("elu", 1.5), "in_place"),
    Case("nn.functional.celu", ONE, lambda x: np.where(x > 0, x, 1.5 * np.expm1(x / 1.5)), nonzero, IN_PLACE,
         in_place("celu", 1.5), "in_place"),
    Case("nn.functional.leaky_relu", ONE, lambda x: np.where(x > 0, x, 0.2 * x), nonzero, IN_PLACE,
         in_place("leaky_relu", 0.2), "in_place"),
    Case("nn.functional.threshold", ONE, lambda x: np.where(x > 0.05, x, 7.0), nonzero, IN_PLACE,
         in_place("threshold", 0.05, 7.0), "in_place"),
    Case("clamp_min", TWO, np.maximum, nonzero, NO_ORDER, form="tensor"),
    Case("clamp_max", TWO, np.minimum, nonzero, NO_ORDER, form="tensor"),
    Case("frobenius_norm", each((call_with((2, 3)), call_with((3, 2), layout="transposed")), {"dim": 1}, {"dim": (0, 1)},
                                {"dim": 0, "keepdim": True}),
         lambda x, dim, keepdim=False: np.sqrt((np.abs(x) ** 2).sum(axis=dim, keepdims=keepdim))),
    *(
        Case("segment_reduce", stretches(how, initial=0.25), reduced, distinct, REAL, segments, how)
        for how in ("sum", "mean", "max", "min", "prod")
    ),
)  # fmt: skip
