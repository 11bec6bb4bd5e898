"""`torch.masked`: sums, means and their kind over the elements that a mask chooses.

An element that the mask leaves out is replaced by what changes nothing: 0 in a sum, -inf in a maximum. A mask is a
tensor of truth values that can be broadcast against the input; without one, all elements count. Where a mask leaves out
a whole row, the result is that of an empty one: 0 for a sum, NaN for a mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, nan
from typing import Any

import numpy as np

from retrograd.backends.dtype_class import dtype_of
from retrograd.core.tensor import Tensor
from retrograd.ops.common import wrap_dims
from retrograd.ops.elementwise.choose import where
from retrograd.ops.reduce.statistics import vector_norm
from retrograd.ops.tensor.create import ones_like
from retrograd.ops.tensor.data import tensor

__all__ = [
    "amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp", "logsumexp", "mean", "median",
    "norm", "normalize", "prod", "softmax", "softmin", "std", "sum", "var",
]  # fmt: skip

Dims = int | Sequence[int] | None


def _input_mask(input: Tensor, *args: Any, mask: Any = None, **named: Any) -> Tensor:
    """A mask in the input's shape; what else a function takes may be given too."""
    if mask is None:
        raise ValueError("_input_mask requires explicit mask")
    if mask.ndim > input.ndim:
        raise IndexError(
            f"_input_mask expected broadcastable mask (got mask dimensionality higher than of the input): the mask has "
            f"{mask.ndim} dimensions, the input {input.ndim}"
        )
    expanded: Tensor = mask.expand(input.shape) if mask.shape != input.shape else mask
    return expanded.bool()


def _filled(name: str, input: Tensor, mask: Any, least: Any) -> Any:
    """The input with a number in the place of what a mask leaves out; ±inf is the limit of whole numbers."""
    if mask is None:
        return input
    if least in (inf, -inf) and not input.is_floating_point():
        if input.dtype == np.bool_:
            raise NotImplementedError(f"identity of {name} on torch.bool input")
        if input.is_complex() and name != "logsumexp":
            raise TypeError(f"{name}(): complex numbers have no least or largest: take abs(), or the parts")
        if not input.is_complex():
            limits = np.iinfo(input.array.dtype)
            least = limits.max if least > 0 else limits.min
    return where(_input_mask(input, mask=mask), input, tensor(least, dtype=input.dtype, device=input.device))


def _dims(input: Tensor, dim: Dims) -> tuple[int, ...]:
    """The dimensions that are meant; all if none is named."""
    if dim is None or (isinstance(dim, Sequence) and not dim):
        return tuple(range(input.ndim))
    found: tuple[int, ...] = wrap_dims(dim, input.ndim)  # type: ignore[assignment]  # some are named
    return found


def _dtype_of_sum(input: Tensor) -> Any:
    """Whole numbers are added up in int64."""
    return input.dtype if input.is_floating_point() or input.is_complex() else dtype_of(np.dtype("int64"))


# -- reductions ------------------------------------------------------------------------------------------------------


def sum(
    input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None
) -> Tensor:
    """The sum of the elements that the mask chooses.

    >>> import retrograd as rg
    >>> x, mask = rg.tensor([[1.0, 2.0], [3.0, 4.0]]), rg.tensor([[True, False], [True, True]])
    >>> sum(x, 1, mask=mask)
    tensor([1., 7.])
    """
    wanted = dtype or _dtype_of_sum(input)
    dims = _dims(input, dim)
    found: Tensor = _filled("sum", input, mask, 0).sum(dims, keepdim=keepdim, dtype=wanted)
    return found


def prod(
    input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None
) -> Tensor:
    """Their product."""
    found = _filled("prod", input, mask, 1)
    wanted = dtype or _dtype_of_sum(input)
    for d in sorted(_dims(input, dim), reverse=True):
        found = found.prod(d, keepdim=keepdim, dtype=wanted)
    result: Tensor = found.to(wanted)
    return result


def amax(
    input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None
) -> Tensor:
    """The largest of them."""
    found = _filled("amax", input, mask, -inf)
    result: Tensor = found.amax(_dims(input, dim), keepdim).to(dtype or input.dtype)
    return result


def amin(
    input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None
) -> Tensor:
    """The smallest of them."""
    found = _filled("amin", input, mask, inf)
    result: Tensor = found.amin(_dims(input, dim), keepdim).to(dtype or input.dtype)
    return result


def argmax(
    input: Tensor, dim: int | None = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None
) -> Tensor:
    """Where the largest of them is, in the input's dtype."""
    found = _filled("argmax", input, mask, -inf)
    result: Tensor = found.argmax(dim, bool(keepdim)).to(dtype or input.dtype)
    return result


def argmin(
    input: Tensor, dim: int | None = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None
) -> Tensor:
    """Where the smallest of them is, in the input's dtype."""
    found = _filled("argmin", input, mask, inf)
    result: Tensor = found.argmin(dim, bool(keepdim)).to(dtype or input.dtype)
    return result


def _count(input: Tensor, dims: tuple[int, ...], keepdim: bool, mask: Any) -> Tensor:
    """How many elements count."""
    if mask is None:
        return sum(ones_like(input, dtype=dtype_of(np.dtype("int64"))), dims, keepdim=keepdim)
    found: Tensor = _input_mask(input, mask=mask).sum(dims, keepdim=keepdim)
    return found


def mean(
    input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None
) -> Tensor:
    """Their mean; NaN where there are none."""
    wanted = dtype or input.dtype
    if not (wanted.is_floating_point or wanted.is_complex):
        raise ValueError(
            "mean(): Could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: "
            f"{wanted}. Pass dtype=."
        )
    dims = _dims(input, dim)
    found: Tensor = sum(input, dims, keepdim=keepdim, dtype=wanted, mask=mask) / _count(
        input, dims, keepdim, mask
    )
    return found


def median(
    input: Tensor, dim: int = -1, *, keepdim: bool = False, dtype: Any = None, mask: Any = None
) -> Tensor:
    """The lower one in the middle."""
    wanted = dtype or input.dtype
    (place,) = _dims(input, dim)
    plain: Any = input.real if input.is_complex() else input
    floats: Any = plain if plain.is_floating_point() else plain.to(dtype_of(np.dtype("float32")))
    if mask is not None and floats is not input and (_count(input, (place,), keepdim, mask) == 0).any():
        raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
    found: Tensor = _filled("median", floats, mask, nan).nanmedian(place, keepdim).values.to(wanted)
    return found


def logsumexp(
    input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None
) -> Tensor:
    """The logarithm of the sum of their exponentials."""
    wanted = dtype or input.dtype
    found = _filled("logsumexp", input, mask, -inf)
    result: Tensor = found.logsumexp(_dims(input, dim), keepdim).to(wanted)
    return result


def norm(
    input: Tensor,
    ord: float | None = 2.0,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Any = None,
) -> Tensor:
    """Their norm as a vector."""
    found = _filled("norm", input, mask, inf if ord == -inf else 0)
    result: Tensor = vector_norm(
        found, 2.0 if ord is None else ord, _dims(input, dim), bool(keepdim), dtype=dtype
    )
    return result


def var(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Any = None,
) -> Tensor:
    """Their variance."""
    return _spread("var", input, dim, unbiased, correction, keepdim, dtype, mask)


def std(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Any = None,
) -> Tensor:
    """Their standard deviation."""
    return _spread("std", input, dim, unbiased, correction, keepdim, dtype, mask)


def _spread(
    name: str, input: Tensor, dim: Dims, unbiased: Any, correction: Any, keepdim: bool, dtype: Any, mask: Any
) -> Tensor:
    """A variance, or its root."""
    if unbiased is not None and correction is not None:
        raise AssertionError(
            f"Only one of unbiased and correction may be given: {name}() counts by one of them"
        )
    less = (1 if unbiased in (None, True) else 0) if correction is None else correction
    wanted = dtype or input.dtype
    if not (wanted.is_floating_point or wanted.is_complex):
        wanted = dtype_of(np.dtype("float32"))
    dims = _dims(input, dim)
    count = _count(input, dims, True, mask)
    average = sum(input, dims, keepdim=True, dtype=wanted, mask=mask) / count
    away: Any = input - average
    squares = sum(away * away.conj(), dims, keepdim=keepdim, dtype=wanted, mask=mask)
    kept: Any = count if keepdim else count.reshape(squares.shape)
    found: Any = squares / (kept - less).clamp(min=0)
    result: Tensor = (found.sqrt() if name == "std" else found).to(wanted)
    return result


# -- row by row ------------------------------------------------------------------------------------------------------


def cumsum(input: Tensor, dim: int, *, dtype: Any = None, mask: Any = None) -> Tensor:
    """The sums up to each element, of those that the mask chooses."""
    (place,) = _dims(input, dim)
    wanted = dtype or input.dtype
    found: Tensor = _filled("cumsum", input, mask, 0).cumsum(place, dtype=wanted)
    return found


def cumprod(input: Tensor, dim: int, *, dtype: Any = None, mask: Any = None) -> Tensor:
    """Their products up to each element."""
    (place,) = _dims(input, dim)
    wanted = dtype or input.dtype
    found: Tensor = _filled("cumprod", input, mask, 1).cumprod(place, dtype=wanted)
    return found


def softmax(input: Tensor, dim: int, *, dtype: Any = None, mask: Any = None) -> Tensor:
    """Softmax over them; 0 elsewhere.

    >>> import retrograd as rg
    >>> softmax(rg.zeros(3), 0, mask=rg.tensor([True, False, True]))
    tensor([0.5000, 0.0000, 0.5000])
    """
    (place,) = _dims(input, dim)
    found: Tensor = _filled("amax", input, mask, -inf).softmax(place, dtype=dtype or input.dtype)
    return found


def log_softmax(input: Tensor, dim: int, *, dtype: Any = None, mask: Any = None) -> Tensor:
    """Its logarithm; -inf elsewhere."""
    (place,) = _dims(input, dim)
    found: Tensor = _filled("amax", input, mask, -inf).log_softmax(place, dtype=dtype or input.dtype)
    return found


def softmin(input: Tensor, dim: int, *, dtype: Any = None, mask: Any = None) -> Tensor:
    """Softmax of the negative of them; 0 elsewhere."""
    (place,) = _dims(input, dim)
    found: Tensor = (-_filled("amin", input, mask, inf)).softmax(place, dtype=dtype or input.dtype)
    return found


def normalize(
    input: Tensor, ord: float, dim: int, *, eps: float = 1e-12, dtype: Any = None, mask: Any = None
) -> Tensor:
    """The input divided by their norm, which is at least `eps`; 0 elsewhere."""
    (place,) = _dims(input, dim)
    size: Any = norm(input, ord, place, keepdim=True, dtype=dtype, mask=mask)
    found: Tensor = _filled("normalize", input, mask, 0) / size.clamp(min=eps)
    return found


def logaddexp(
    input: Tensor, other: Tensor, *, dtype: Any = None, input_mask: Any = None, other_mask: Any = None
) -> Tensor:
    """The logarithm of the sum of two exponentials, each of which a mask may leave out."""
    first = _filled("logaddexp", input, input_mask, -inf)
    second = _filled("logaddexp", other, other_mask, -inf)
    found: Tensor = first.logaddexp(second).to(dtype or input.dtype)
    return found
