"""Poolings whose windows begin at random distances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, overload

import numpy as np

from retrograd.backends.base import backend_of, device_of
from retrograd.core.autocast import autocasting_on_cpu, in_float32
from retrograd.core.tensor import Tensor
from retrograd.errors import ShapeError, sizes, unsupported_dtype
from retrograd.ops.common import require_tensor
from retrograd.ops.nn.adaptive_pool import MaximaAt
from retrograd.ops.nn.arguments import Ints
from retrograd.ops.nn.pool_arguments import both
from retrograd.ops.nn.sliding import ints, spread_ints
from retrograd.ops.random.generator import stream_of
from retrograd.ops.random.sampling import uniform_array
from retrograd.ops.register import public
from retrograd.values import Array, Shape


class FractionalMaxPool2D(MaximaAt):
    """the largest elements of windows that begin at random distances, in two dimensions"""


class FractionalMaxPool3D(MaximaAt):
    """the largest elements of windows that begin at random distances, in three dimensions"""

    rank = 3


def _starts(n: int, m: int, k: int, samples: Array) -> Array:
    """Where m windows of k elements begin in n, for each random number; the last ends at the end."""
    xp, one = backend_of(samples), samples.dtype.type
    alpha = one(n - k) / one(max(m - 1, 1))
    steps = (xp.arange(m, dtype=samples.dtype) + samples[..., None]) * alpha
    found = steps.astype(np.int64) - (samples * alpha).astype(np.int64)[..., None]
    found[..., m - 1 :] = n - k
    return found


def _ratio_size(function: str, shape: Shape, output_ratio: Any, rank: int) -> Shape:
    ratios = output_ratio if isinstance(output_ratio, (tuple, list)) else (output_ratio,) * rank
    if len(ratios) != rank:
        raise ValueError(f"{function} requires output_ratio to either be a single Int or tuple of Ints.")
    return tuple([int(n * r) for n, r in zip(shape[-rank:], ratios, strict=True)])


def _samples(x: Tensor, given: Any, rank: int) -> Array:
    """A random number per sample, channel and dimension."""
    shape = x.array.shape if x.array.ndim == rank + 2 else (1, *x.array.shape)
    wanted = (shape[0], shape[1], rank)
    if given is None:
        return uniform_array(stream_of(None, device_of(x.array)), wanted, x.array.dtype)
    samples = require_tensor("fractional_max_pool", "_random_samples", 6, given).array
    if samples.ndim != 3:
        raise ShapeError(f"Expect _random_samples to have 3 dimensions, got {samples.ndim}")
    for d, name in enumerate(
        ("no less then input batch size", "equals to input channel size", f"equals to {rank}")
    ):
        if samples.shape[d] < wanted[d] or (d > 0 and samples.shape[d] != wanted[d]):
            raise ShapeError(
                f"Expect _random_samples.size({d}) {name}. They are of shapes {sizes(samples.shape)} "
                f"and {sizes(x.array.shape)}."
            )
    return samples[: wanted[0]]


def _fractional(
    function: str,
    rank: int,
    input: Any,
    kernel_size: Any,
    output_size: Any,
    output_ratio: Any,
    return_indices: bool,
    given: Any,
) -> Any:
    x = require_tensor(function, "input", 1, input)
    if output_size is None and output_ratio is None:
        raise ValueError(f"{function} requires specifying either an output_size or an output_ratio")
    shape = x.array.shape
    if len(shape) not in (rank + 1, rank + 2):
        raise ShapeError(f"{function}(): Expected {rank + 1}D or {rank + 2}D tensor, but got: {sizes(shape)}")
    if x.array.dtype.kind != "f":
        raise unsupported_dtype("check_uniform_bounds", x.array.dtype, "convert it with .float()")
    message = f"{function}: kernel_size and output_size must either be a single Int or tuple of Ints"
    kernel = spread_ints(ints(function, "kernel_size", 2, kernel_size), rank, message)
    size = _ratio_size(function, shape, output_ratio, rank) if output_size is None else None
    target = size or spread_ints(ints(function, "output_size", 3, output_size), rank, message)
    if 0 in shape[1:]:
        raise ShapeError(
            f"{function}(): Expected input to have non-zero size for non-batch dimensions, but it is of shape "
            f"{sizes(shape)}"
        )
    _check_fit(function, shape[-rank:], target, kernel)
    samples = _samples(x, given, rank)
    # PyTorch draws for the width first in two dimensions, and last in three.
    samples = samples[..., ::-1] if rank == 2 else samples
    covers = []
    for d, (n, m, k) in enumerate(zip(shape[-rank:], target, kernel, strict=True)):
        cover = _starts(n, m, k, samples[..., d])[..., None, :] + backend_of(samples).arange(k)[:, None]
        covers.append(cover if len(shape) == rank + 2 else cover[0])
    op = (FractionalMaxPool2D if rank == 2 else FractionalMaxPool3D)(tuple(covers))
    values, indices = both(op, x)
    return (values, indices) if return_indices else values


def _check_fit(function: str, size: Sequence[int], target: Shape, kernel: Shape) -> None:
    names = ("time", "height", "width")[3 - len(size) :]
    for name, n, m, k in zip(names, size, target, kernel, strict=True):
        if m < 0:
            raise ShapeError(f"{function}(): there are no {m} windows")
        if k < 1:
            raise ShapeError(
                f"{function}(): windows need an element in each dimension, but kernel_size is {k}"
            )
        if m + k - 1 > n - (len(size) == 3):  # PyTorch wants one more element in volumes
            raise ShapeError(f"{function}(): pool {name} {k} too large relative to input {name} {n}")


@overload
def fractional_max_pool2d(
    input: Tensor,
    kernel_size: Ints,
    output_size: Ints | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: Literal[False] = False,
    _random_samples: Tensor | None = None,
) -> Tensor: ...


@overload
def fractional_max_pool2d(
    input: Tensor,
    kernel_size: Ints,
    output_size: Ints | None = None,
    output_ratio: float | Sequence[float] | None = None,
    *,
    return_indices: Literal[True],
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]: ...


@overload
def fractional_max_pool2d(
    input: Tensor,
    kernel_size: Ints,
    output_size: Ints | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Tensor | tuple[Tensor, Tensor]: ...


@public("nn.functional.fractional_max_pool2d")
def fractional_max_pool2d(
    input: Tensor,
    kernel_size: Ints,
    output_size: Ints | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Tensor | tuple[Tensor, Tensor]:
    """The largest elements of windows that begin at random distances, for images.

    Args:
        output_size, output_ratio: how many windows there are, or what part of the input's size.
        return_indices: whether to return where the largest elements are, too.
        _random_samples: the random numbers in [0, 1), of shape [batch, channel, 2].
    """
    if autocasting_on_cpu():
        return in_float32(
            fractional_max_pool2d,
            input,
            kernel_size,
            output_size,
            output_ratio,
            return_indices,
            _random_samples,
        )
    found: Tensor | tuple[Tensor, Tensor] = _fractional(
        "fractional_max_pool2d",
        2,
        input,
        kernel_size,
        output_size,
        output_ratio,
        return_indices,
        _random_samples,
    )
    return found


@overload
def fractional_max_pool3d(
    input: Tensor,
    kernel_size: Ints,
    output_size: Ints | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: Literal[False] = False,
    _random_samples: Tensor | None = None,
) -> Tensor: ...


@overload
def fractional_max_pool3d(
    input: Tensor,
    kernel_size: Ints,
    output_size: Ints | None = None,
    output_ratio: float | Sequence[float] | None = None,
    *,
    return_indices: Literal[True],
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]: ...


@overload
def fractional_max_pool3d(
    input: Tensor,
    kernel_size: Ints,
    output_size: Ints | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Tensor | tuple[Tensor, Tensor]: ...


@public("nn.functional.fractional_max_pool3d")
def fractional_max_pool3d(
    input: Tensor,
    kernel_size: Ints,
    output_size: Ints | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Tensor | tuple[Tensor, Tensor]:
    """The largest elements of windows that begin at random distances, for volumes; see fractional_max_pool2d."""
    if autocasting_on_cpu():
        return in_float32(
            fractional_max_pool3d,
            input,
            kernel_size,
            output_size,
            output_ratio,
            return_indices,
            _random_samples,
        )
    found: Tensor | tuple[Tensor, Tensor] = _fractional(
        "fractional_max_pool3d",
        3,
        input,
        kernel_size,
        output_size,
        output_ratio,
        return_indices,
        _random_samples,
    )
    return found


@public("nn.functional.fractional_max_pool2d_with_indices")
def fractional_max_pool2d_with_indices(
    input: Tensor,
    kernel_size: Ints,
    output_size: Ints | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = True,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """`fractional_max_pool2d(…, return_indices=True)`."""
    return fractional_max_pool2d(
        input, kernel_size, output_size, output_ratio, return_indices=True, _random_samples=_random_samples
    )


@public("nn.functional.fractional_max_pool3d_with_indices")
def fractional_max_pool3d_with_indices(
    input: Tensor,
    kernel_size: Ints,
    output_size: Ints | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = True,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """`fractional_max_pool3d(…, return_indices=True)`."""
    return fractional_max_pool3d(
        input, kernel_size, output_size, output_ratio, return_indices=True, _random_samples=_random_samples
    )
