"""Running a function on the GPU and on the CPU, in double precision there, and comparing values and derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import retrograd as rg

TOLERANCE = {rg.float64: 1e-9, rg.float32: 2e-4, rg.float16: 2e-2, rg.bfloat16: 8e-2}
DTYPES = tuple(TOLERANCE)


def numbers(*shapes: Any, seed: int = 0) -> list[Any]:
    """Arrays of random numbers."""
    drawn = np.random.default_rng(seed)
    return [drawn.standard_normal(shape) for shape in shapes]


def results(
    function: Callable[..., Any], arrays: Sequence[Any], dtype: Any, where: str, order: int, rounded: Any
) -> list[Any]:
    """Values, gradients and, if order is 2, gradients of gradients, as NumPy's arrays of float64."""
    # Both sides begin with the same numbers.
    inputs = [rg.tensor(a).to(rounded).to(where).to(dtype).detach().requires_grad_() for a in arrays]
    out = function(*inputs)
    found = [out]
    if out.requires_grad:
        g = (
            rg.tensor(np.cos(np.arange(out.numel())).reshape(tuple(out.shape)))
            .to(rounded)
            .to(where)
            .to(dtype)
        )
        first = rg.autograd.grad(out, inputs, g, create_graph=order == 2, allow_unused=True)
        found += [f for f in first if f is not None]
        again = [f for f in first if f is not None and f.requires_grad]
        if order == 2 and again:
            seeds = [rg.ones_like(f) for f in again]
            found += [f for f in rg.autograd.grad(again, inputs, seeds, allow_unused=True) if f is not None]
    return [f.detach().cpu().double().numpy() for f in found]


def check(
    function: Callable[..., Any], arrays: Sequence[Any], dtype: Any = rg.float32, order: int = 1,
    tolerance: float | None = None,
) -> None:  # fmt: skip
    """The GPU's results in a dtype are the CPU's in double precision, but for rounding."""
    ours = results(function, arrays, dtype, "cuda", order, dtype)
    theirs = results(function, arrays, rg.float64, "cpu", order, dtype)
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        assert a.shape == b.shape
        np.testing.assert_array_equal(np.isnan(a), np.isnan(b))
        size = np.abs(b[np.isfinite(b)]).max(initial=1.0)
        t = (TOLERANCE[dtype] if tolerance is None else tolerance) * size
        np.testing.assert_allclose(a, b, rtol=0, atol=t)
