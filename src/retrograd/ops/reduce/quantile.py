"""Quantiles: sorted, then interpolated between the two neighbours of a rank."""

from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.backends.base import backend_of
from retrograd.backends.dtypes import SCALAR_NAMES
from retrograd.core.autocast import autocasting_on_cpu, in_float32
from retrograd.core.modes import current
from retrograd.core.tangent import tangent_of
from retrograd.core.tensor import Tensor
from retrograd.errors import DtypeError, type_name
from retrograd.ops.common import beside, deliver, require_tensor, require_word, tensor_of, wrap_dim
from retrograd.ops.elementwise.addcmul import lerp
from retrograd.ops.elementwise.arithmetic import mul, sub
from retrograd.ops.elementwise.choose import where
from retrograd.ops.index.gather import gather
from retrograd.ops.inplace.shape import squeeze_, transpose_, unsqueeze_
from retrograd.ops.reduce.sort import sort
from retrograd.ops.reduce.sums import dims_given
from retrograd.ops.register import public
from retrograd.ops.shape.reshape import expand, reshape, unsqueeze
from retrograd.ops.shape.transpose import transpose
from retrograd.values import Array

INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")
LARGEST = 2**24  # beyond it, ranks would not be exact in single precision


@public("quantile", method=True)
def quantile(
    input: Tensor, q: float | Tensor, dim: int | None = None, keepdim: bool = False, *,
    interpolation: str = "linear", out: Tensor | None = None, **numpy: Any,
) -> Tensor:  # fmt: skip
    """The `q`-quantiles, `0 <= q <= 1`, of all elements or along `dim`; NaN where there is one.

    Args:
        q: a number, or a 1-D tensor of numbers, whose dimension comes first in the result.
        interpolation: what to take between two elements: "linear", "lower", "higher", "midpoint" or "nearest".

    >>> import retrograd as rg
    >>> rg.quantile(rg.tensor([4.0, 1.0, 3.0, 2.0]), 0.5)
    tensor(2.5000)
    """
    if autocasting_on_cpu():
        return in_float32(quantile, input, q, dim, keepdim, interpolation=interpolation, out=out, **numpy)
    return _quantile("quantile", input, q, dim, keepdim, interpolation, out, numpy)


@public("nanquantile", method=True)
def nanquantile(
    input: Tensor, q: float | Tensor, dim: int | None = None, keepdim: bool = False, *,
    interpolation: str = "linear", out: Tensor | None = None, **numpy: Any,
) -> Tensor:  # fmt: skip
    """The `q`-quantiles of the elements that are not NaN; see `quantile`."""
    if autocasting_on_cpu():
        return in_float32(nanquantile, input, q, dim, keepdim, interpolation=interpolation, out=out, **numpy)
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation, out, numpy)


def _quantile(
    function: str, input: Any, q: Any, dim: Any, keepdim: Any, interpolation: Any, out: Any, numpy: dict[str, Any]
) -> Tensor:  # fmt: skip
    dim, keepdim = dims_given(function, dim, keepdim, numpy)
    x = require_tensor(function, "input", 1, input)
    level = _level(function, q, x)
    _check(function, x, level, require_word(function, "interpolation", interpolation), out)
    line = _sorted(x, None if dim is None else wrap_dim(dim, x.array.ndim), keepdim)
    found = _between(line, _ranks(line.array, level, function == "nanquantile"), interpolation)
    if level.array.ndim:
        found = transpose_(unsqueeze_(found, 0), 0, -1)
    return deliver(squeeze_(found, -1), out)


def _level(function: str, q: Any, x: Tensor) -> Tensor:
    """Q as a tensor of the input's dtype."""
    if isinstance(q, Tensor):
        return q
    if not isinstance(q, (int, float, np.number)):
        raise TypeError(
            f"{function}() received an invalid combination of arguments - q must be a float or a Tensor, not "
            f"{type_name(q)}"
        )
    if not 0 <= q <= 1:
        raise RuntimeError(f"{function}() q must be in the range [0, 1] but got {q}")
    dtype = x.array.dtype if x.array.dtype.kind == "f" else np.float64
    return Tensor(beside(np.asarray(q, dtype), x.array), share=True)


def _check(function: str, x: Tensor, q: Tensor, interpolation: str, out: Any) -> None:
    """Whether these are arguments of a quantile, in PyTorch's order."""
    if x.array.size == 0:
        raise RuntimeError(f"{function}() input tensor must be non-empty")
    if q.array.ndim > 1:
        raise RuntimeError(
            f"{function}() q must be a scalar or 1D tensor, but it has {q.array.ndim} dimensions"
        )
    if str(x.array.dtype) not in ("float32", "float64"):
        raise DtypeError(
            f"{function}() input tensor must be either float or double dtype, not {SCALAR_NAMES[x.array.dtype]}"
        )
    if q.array.dtype != x.array.dtype:
        raise DtypeError(
            f"{function}() q tensor must be same dtype as the input tensor: {SCALAR_NAMES[q.array.dtype]} is not "
            f"{SCALAR_NAMES[x.array.dtype]}"
        )
    if interpolation not in INTERPOLATIONS:
        raise RuntimeError(
            f"{function}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got "
            f"{interpolation}"
        )
    if out is not None and out.array.dtype != x.array.dtype:
        raise DtypeError(f"{function}() out tensor must be same dtype as the input tensor")
    if not ((q.array >= 0) & (q.array <= 1)).all():
        raise RuntimeError(f"{function}() q values must be in the range [0, 1]")


def _sorted(x: Tensor, dim: int | None, keepdim: bool) -> Any:
    """The elements sorted along a last dimension, behind the dimensions that the result keeps."""
    shape = x.array.shape
    if dim is None:
        line, kept = _in_order(reshape(x, -1)), (1,) * len(shape) if keepdim else ()
    else:
        moved = x if dim >= len(shape) - 1 else transpose(unsqueeze(x, -1), dim, -1)
        line = _in_order(moved)
        kept = shape[:dim] + ((1,) if keepdim and shape else ()) + shape[dim + 1 :]
    count = line.array.shape[-1] if line.array.ndim else 1
    if count > LARGEST:
        raise RuntimeError(
            "quantile() input tensor is too large: its ranks must be exact in single precision"
        )
    return reshape(line, (*kept, count))


def _in_order(x: Tensor) -> Tensor:
    """The elements sorted along the last dimension; where they were is kept only for a derivative."""
    state = current()
    if (x.requires_grad and state.grad_enabled) or tangent_of(x, state) is not None:
        return sort(x).values
    a = x.array
    return tensor_of(backend_of(a).sort(a, axis=-1, kind="stable") if a.ndim else a.copy())


def _ranks(line: Array, level: Tensor, skip_nan: bool) -> Any:
    """The place of each quantile in each sorted line, a number that need not be whole; differentiable by q."""
    xp = backend_of(line)
    lost = xp.isnan(line)
    last = line.shape[-1] - 1
    if skip_nan:
        counts = (~lost).sum(axis=-1, keepdims=True).astype(line.dtype)
        ranks = mul(level, Tensor(xp.maximum(counts - 1, 0), share=True))
    else:
        ranks = mul(level, last)
        ranks = (
            where(Tensor(lost.any(axis=-1, keepdims=True), share=True), float(last), ranks)
            if lost.any()
            else ranks
        )
    return expand(ranks, (*line.shape[:-1], level.array.size))


def _between(line: Any, ranks: Any, interpolation: str) -> Any:
    """The elements at the ranks, or what lies between two."""
    at = ranks.detach().array
    xp = backend_of(at)
    if interpolation in ("lower", "higher", "nearest"):
        whole = {"lower": xp.floor, "higher": xp.ceil, "nearest": xp.rint}[interpolation](at)
        return gather(line, -1, Tensor(whole.astype(np.int64), share=True))
    low = xp.floor(at)
    below = gather(line, -1, Tensor(low.astype(np.int64), share=True))
    above = gather(line, -1, Tensor(xp.ceil(at).astype(np.int64), share=True))
    weight = (
        sub(ranks, Tensor(low, share=True))
        if interpolation == "linear"
        else Tensor(xp.full_like(at, 0.5), share=True)
    )
    return lerp(below, above, weight)
