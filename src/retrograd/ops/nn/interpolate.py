"""Images resized: `interpolate` in all its modes, and pixels or channels put in another order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from retrograd.backends.base import Backend
from retrograd.backends.shortage import SHORTAGE_TOLD
from retrograd.core.apply import apply1
from retrograd.core.families import Linear
from retrograd.core.places import warn
from retrograd.core.tensor import Tensor
from retrograd.errors import ShapeError, sizes, type_name, unsupported_dtype
from retrograd.ops.common import number_from, real_from, require_tensor
from retrograd.ops.linalg.product_arguments import element_count
from retrograd.ops.nn.adaptive_pool import adaptive_avg
from retrograd.ops.nn.arguments import Ints
from retrograd.ops.nn.resample import (
    CLASSES,
    SMOOTHED,
    cubic_taps,
    kept,
    linear_taps,
    nearest_taps,
    smooth_taps,
)
from retrograd.ops.register import public
from retrograd.ops.shape.reshape import integer
from retrograd.values import Array, Shape

RANKS = {"linear": 1, "bilinear": 2, "trilinear": 3}
ALIGNABLE = ("linear", "bilinear", "bicubic", "trilinear")
MODES = "nearest | linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact"

# -- interpolation -------------------------------------------------------------------------------------------------


@public("nn.functional.interpolate")
def interpolate(
    input: Tensor,
    size: Ints | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Signals, images or volumes [batch, channel, …] resized to `size`, or by `scale_factor`.

    Args:
        mode: "nearest", "nearest-exact", "area" (averages); "linear" for signals; "bilinear", "bicubic" and "lanczos"
            for images; "trilinear" for volumes.
        align_corners: whether the centres of the corner elements stay where they are, instead of their outer corners.
        recompute_scale_factor: whether the scale is that of the sizes, rather than the one given.
        antialias: whether to smooth what shrinks first; for images.

    >>> import retrograd as rg
    >>> rg.nn.functional.interpolate(rg.tensor([[[0.0, 4.0]]]), scale_factor=2.0, mode="linear")
    tensor([[[0., 1., 3., 4.]]])
    """
    if mode in ("nearest", "area", "nearest-exact") and align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: " + " | ".join(ALIGNABLE)
        )
    x = require_tensor("interpolate", "input", 1, input)
    rank = x.array.ndim - 2
    if not isinstance(mode, str):
        raise _unsupported(mode, x.array.ndim)
    _check_mode(mode, align_corners, antialias, rank)
    target, given = _target(x.array.shape[2:], size, scale_factor, recompute_scale_factor)
    if rank < 1 or rank > 3:
        raise _unsupported(mode, x.array.ndim)
    if mode in RANKS and RANKS[mode] != rank:
        raise NotImplementedError(f"Got {rank + 2}D input, but {mode} mode needs {RANKS[mode] + 2}D input")
    if mode == "area":
        return adaptive_avg(f"adaptive_avg_pool{rank}d", x, target)
    if (mode, rank) not in CLASSES and (mode, rank) != ("lanczos", 2):
        raise _unsupported(mode, x.array.ndim)
    _check_input(x, target, f"upsample_{mode.replace('-', '_')}{rank}d")
    maps = _maps(mode, x.array.shape[2:], target, given, bool(align_corners), antialias)
    cls = SMOOTHED[mode] if antialias else CLASSES[mode, rank]
    found: Tensor = apply1(cls(maps, given, bool(align_corners)), x)
    return found


def _maps(
    mode: str, shape: Shape, target: Shape, scales: Any, align_corners: bool, antialias: bool
) -> tuple[Any, ...]:
    """For each dimension, which elements of the input each output element is made of."""
    if mode == "nearest" and len(shape) == 2:
        # PyTorch keeps and doubles the size of images exactly, whatever the scale that led to it.
        scales = [None if m in (n, 2 * n) else s for n, m, s in zip(shape, target, scales, strict=True)]
    with SHORTAGE_TOLD:
        return tuple(
            [
                _taps(mode, n, m, scale, align_corners, antialias)
                for n, m, scale in zip(shape, target, scales, strict=True)
            ]
        )


def _taps(mode: str, n: int, m: int, scale: float | None, align_corners: bool, antialias: bool) -> Any:
    if antialias:
        return kept(smooth_taps, n, m, scale, align_corners, mode)
    if mode.startswith("nearest"):
        return kept(nearest_taps, n, m, scale, mode == "nearest-exact")
    return kept(cubic_taps if mode == "bicubic" else linear_taps, n, m, scale, align_corners)


def _check_mode(mode: Any, align_corners: Any, antialias: bool, rank: int) -> None:
    if mode == "lanczos" and not antialias:
        raise ValueError("Lanczos mode requires antialias=True")
    if mode == "lanczos" and align_corners:
        raise ValueError("Lanczos mode does not support align_corners=True")
    if antialias and (mode not in SMOOTHED or rank != 2):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input"
        )


def _unsupported(mode: Any, ndim: int) -> NotImplementedError:
    return NotImplementedError(
        f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {ndim}D) for the modes: {MODES} (got {mode})"
    )


def _target(
    size: Shape, wanted: Any, scale_factor: Any, recompute: Any
) -> tuple[Shape, Sequence[float | None]]:
    """The size of the output, and the scales to compute with, where they are not those of the sizes."""
    rank = len(size)
    if (wanted is None) == (scale_factor is None):
        only = "either" if wanted is None else "only one of"
        raise ValueError(f"{only} size or scale_factor should be defined")
    if wanted is not None:
        if recompute:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        given = wanted if isinstance(wanted, (tuple, list)) else (wanted,) * rank
        if not all(hasattr(n, "__index__") for n in given):
            raise TypeError(
                "expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, int, int], but got size "
                f"with types {[type(n) for n in given]}"
            )
        _check_count("output", "output size of", "o", size, given)
        return tuple([integer(n) for n in given]), [None] * rank
    factors = scale_factor if isinstance(scale_factor, (tuple, list)) else (scale_factor,) * rank
    factors = [number_from("interpolate", "scale_factor", 3, f) for f in factors]
    _check_count("scale_factor", "scale_factor of shape", "s", size, factors)
    lengths = [
        float(real_from("interpolate", "scale_factor", 3, n * f)) for n, f in zip(size, factors, strict=True)
    ]
    if not all(map(math.isfinite, lengths)):
        raise RuntimeError(
            f"value cannot be converted to type int64_t without overflow: interpolate got {scale_factor}"
        )
    target = tuple([math.floor(n) for n in lengths])
    return target, [None] * rank if recompute else [float(f) for f in factors]


def _check_count(name: str, label: str, letter: str, size: Shape, given: Any) -> None:
    if len(given) != len(size):
        raise ValueError(
            f"Input and {name} must have the same number of spatial dimensions, but got input with spatial dimensions "
            f"of {sizes(size)} and {label} {tuple(given)}. Please provide input tensor in (N, C, d1, d2, ...,dK) "
            f"format and {'output size' if letter == 'o' else name} in ({letter}1, {letter}2, ...,{letter}K) format."
        )


def _check_input(x: Tensor, target: Shape, kernel: str) -> None:
    shape = x.array.shape
    if min(*shape[2:], *target) < 1:
        names = "DHW"[3 - len(target) :]
        before, after = (
            ", ".join([f"{c}: {n}" for c, n in zip(names, v, strict=True)]) for v in (shape[2:], target)
        )
        raise ShapeError(
            f"Input and output sizes should be greater than 0, but got input ({before}) output ({after})"
        )
    if shape[1] == 0:
        raise ShapeError(
            f"Non-empty {len(shape)}D data tensor expected but got a tensor with sizes {sizes(shape)}"
        )
    if x.array.dtype.kind != "f" and x.array.dtype != "uint8":
        raise unsupported_dtype(kernel, x.array.dtype, "convert it with .float()")


@public("nn.functional.upsample")
def upsample(
    input: Tensor,
    size: Ints | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """`interpolate` under its former name; deprecated."""
    _deprecated("upsample")
    return interpolate(input, size, scale_factor, mode, align_corners)


@public("nn.functional.upsample_nearest")
def upsample_nearest(
    input: Tensor, size: Ints | None = None, scale_factor: float | Sequence[float] | None = None
) -> Tensor:
    """`interpolate` with mode "nearest"; deprecated."""
    _deprecated("upsample_nearest")
    return interpolate(input, size, scale_factor, "nearest")


@public("nn.functional.upsample_bilinear")
def upsample_bilinear(
    input: Tensor, size: Ints | None = None, scale_factor: float | Sequence[float] | None = None
) -> Tensor:
    """`interpolate` with mode "bilinear" and align_corners; deprecated."""
    _deprecated("upsample_bilinear")
    return interpolate(input, size, scale_factor, "bilinear", True)


def _deprecated(name: str) -> None:
    warn(
        f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead.",
        UserWarning,
    )


# -- another order -------------------------------------------------------------------------------------------------


class PixelShuffle(Linear):
    """channels turned into finer pixels: blocks of factor² channels become squares"""

    in_rows: ClassVar[bool] = True
    params: ClassVar[tuple[str, ...]] = ("factor",)
    shown: ClassVar[dict[str, str]] = {"upscale_factor": "factor"}

    def __init__(self, factor: int) -> None:
        self.factor = factor

    def forward(self, xp: Backend, x: Array) -> Array:
        r, (c, h, w) = self.factor, x.shape[-3:]
        blocks = x.reshape(element_count(x.shape[:-3]), c // (r * r), r, r, h, w).transpose(0, 1, 4, 2, 5, 3)
        return blocks.copy().reshape(*x.shape[:-3], c // (r * r), h * r, w * r)

    def transpose(self, g: Any) -> Any:
        return PixelUnshuffle(self.factor).on(g)


class PixelUnshuffle(Linear):
    """squares of pixels turned into channels"""

    in_rows: ClassVar[bool] = True
    params: ClassVar[tuple[str, ...]] = ("factor",)
    shown: ClassVar[dict[str, str]] = {"downscale_factor": "factor"}

    def __init__(self, factor: int) -> None:
        self.factor = factor

    def forward(self, xp: Backend, x: Array) -> Array:
        r, (c, h, w) = self.factor, x.shape[-3:]
        blocks = x.reshape(element_count(x.shape[:-3]), c, h // r, r, w // r, r).transpose(0, 1, 3, 5, 2, 4)
        return blocks.copy().reshape(*x.shape[:-3], c * r * r, h // r, w // r)

    def transpose(self, g: Any) -> Any:
        return PixelShuffle(self.factor).on(g)


class ChannelShuffle(Linear):
    """the channels of groups, dealt out in turn: like a matrix transposed"""

    in_rows: ClassVar[bool] = True
    params: ClassVar[tuple[str, ...]] = ("groups",)
    shown: ClassVar[dict[str, str]] = {"groups": "groups"}

    def __init__(self, groups: int) -> None:
        self.groups = groups

    def forward(self, xp: Backend, x: Array) -> Array:
        self.each = x.shape[1] // self.groups
        parts = x.reshape(x.shape[0], self.groups, self.each, *x.shape[2:])
        return parts.swapaxes(1, 2).copy().reshape(x.shape)

    def transpose(self, g: Any) -> Any:
        return ChannelShuffle(self.each).on(g)


MOST_FACTOR = 3037000499  # its square is the last that fits an int64


def _factor(function: str, name: str, value: Any, x: Tensor) -> int:
    if not hasattr(value, "__index__"):
        raise TypeError(f"{function}(): argument '{name}' (position 2) must be int, not {type_name(value)}")
    if x.array.ndim < 3:
        raise ShapeError(
            f"{function} expects input to have at least 3 dimensions, but got input with {x.array.ndim} dimension(s)"
        )
    factor = integer(value)
    if factor <= 0:
        raise ShapeError(f"{function} expects a positive {name}, but got {factor}")
    return factor


@public("pixel_shuffle", "nn.functional.pixel_shuffle")
def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Channels turned into finer pixels: […, channel * factor², height, width] to […, channel, height * factor, …].

    >>> import retrograd as rg
    >>> rg.pixel_shuffle(rg.arange(4.0).reshape(1, 4, 1, 1), 2)
    tensor([[[[0., 1.],
              [2., 3.]]]])
    """
    x = require_tensor("pixel_shuffle", "input", 1, input)
    factor = _factor("pixel_shuffle", "upscale_factor", upscale_factor, x)
    channels = x.array.shape[-3]
    if factor > MOST_FACTOR:
        raise ValueError(
            f"upscale factor is too large, (upscale_factor)^2 overflowed: upscale_factor={factor}"
        )
    if channels % factor**2:
        raise ShapeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, "
            f"but input.size(-3)={channels} is not divisible by {factor**2}"
        )
    found: Tensor = apply1(PixelShuffle(factor), x)
    return found


@public("pixel_unshuffle", "nn.functional.pixel_unshuffle")
def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """The inverse of pixel_shuffle: squares of pixels turned into channels.

    >>> import retrograd as rg
    >>> rg.nn.functional.pixel_unshuffle(rg.zeros(1, 1, 4, 4), 2).shape
    torch.Size([1, 4, 2, 2])
    """
    x = require_tensor("pixel_unshuffle", "input", 1, input)
    factor = _factor("pixel_unshuffle", "downscale_factor", downscale_factor, x)
    for name, d in (("height", -2), ("width", -1)):
        if x.array.shape[d] % factor:
            raise ShapeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but input.size({d})="
                f"{x.array.shape[d]} is not divisible by {factor}"
            )
    found: Tensor = apply1(PixelUnshuffle(factor), x)
    return found


@public(
    "channel_shuffle",
    "native_channel_shuffle",
    "nn.functional.channel_shuffle",
    "nn.functional.native_channel_shuffle",
)
def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """The channels of `groups` groups dealt out in turn, so that each group gets some of every other.

    >>> import retrograd as rg
    >>> rg.channel_shuffle(rg.arange(4.0).reshape(1, 4, 1), 2).flatten()
    tensor([0., 2., 1., 3.])
    """
    x = require_tensor("channel_shuffle", "input", 1, input)
    if x.array.ndim < 3:
        raise ShapeError(
            f"channel_shuffle expects input with > 2 dims, but got input with sizes {sizes(x.array.shape)}"
        )
    count = integer(groups)
    if count <= 0:
        raise ShapeError(f"Number of groups to divide channels in must be positive. Value of groups:{count}")
    if x.array.shape[1] % count:
        raise ShapeError(
            f"Number of channels must be divisible by groups. Got {x.array.shape[1]} channels and {count} groups."
        )
    found: Tensor = apply1(ChannelShuffle(count), x)
    return found
