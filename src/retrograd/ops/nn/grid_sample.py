"""Images sampled at points of a grid, and grids made by affine maps.

Note [Sampling points]
~~~~~~~~~~~~~~~~~~~~~~
A sample is a sum over the elements around its point, each with a weight that is a product of one factor per dimension.
A factor is a polynomial of the point's coordinate; which polynomial, and of which elements, depends on where the point
lies and changes by steps, which have no derivative. So `Near` keeps the elements as plain arrays and the factors with
their slopes as values, and the formulas of GridSampler are sums of products of these.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from retrograd.backends.base import Backend, backend_of
from retrograd.core.apply import apply1, apply_n
from retrograd.core.autocast import autocasting, autocasting_on_gpu, in_float32, lowered, widest
from retrograd.core.families import Linear, added
from retrograd.core.op import Variadic, X
from retrograd.core.places import warn
from retrograd.core.tensor import Tensor
from retrograd.errors import (
    DTYPE_NAMES,
    DimensionError,
    DtypeError,
    ShapeError,
    dimension_error,
    sizes,
    unsupported_dtype,
)
from retrograd.ops.common import as_value, plain, require_sequence, require_tensor, zero_like
from retrograd.ops.index.gather import Gather, GatherAdjoint
from retrograd.ops.nn.host import as_constant, library_of
from retrograd.ops.register import public
from retrograd.ops.shape.reshape import integer
from retrograd.values import Array, Shape

MODES = ("bilinear", "nearest", "bicubic")
PADDINGS = ("zeros", "border", "reflection")


class Near(NamedTuple):
    """One of the elements near each point, along one dimension: which, its factor, and the slope of that."""

    index: Array
    factor: Any
    slope: Any


def reflected(c: Array, low: float, span: float) -> tuple[Array, Array]:
    """Coordinates mirrored into [low, low + span], and the sign by which they then move."""
    xp = backend_of(c)
    if span <= 0:
        return xp.zeros_like(c), xp.zeros_like(c)
    sign, distance = xp.where(c < low, -1.0, 1.0), abs(c - low)
    flips, rest = xp.floor(distance / span), xp.fmod(distance, span)
    odd = flips % 2 == 1
    return xp.where(odd, span - rest, rest) + low, xp.where(odd, -sign, sign)


def brought_in(c: Array, n: int, padding: str, align_corners: bool) -> tuple[Array, Array]:
    """Coordinates brought into an image of n elements, and the slope of that."""
    slope = backend_of(c).ones_like(c)
    if padding == "zeros":
        return c, slope
    if padding == "reflection":
        c, slope = reflected(c, 0.0, n - 1.0) if align_corners else reflected(c, -0.5, float(n))
    inside = (c > 0) & (c < n - 1)
    return c.clip(0, n - 1), slope * inside


def cubic_factors(t: Any) -> list[tuple[Any, Any]]:
    """The weights of four neighbours of a point, `t` beyond the second, and their slopes."""
    a = -0.75
    s = 1 - t
    outer = [((a * x - 2 * a) * x + a) * x for x in (t, s)]  # of the first and the last
    inner = [((a + 2) * x - (a + 3)) * x * x + 1 for x in (t, s)]
    outer_slopes = [(3 * a * x - 4 * a) * x + a for x in (t, s)]
    inner_slopes = [(3 * (a + 2) * x - 2 * (a + 3)) * x for x in (t, s)]
    return [
        (outer[0], outer_slopes[0]),
        (inner[0], inner_slopes[0]),
        (inner[1], -inner_slopes[1]),
        (outer[1], -outer_slopes[1]),
    ]


def neighbours(c: Any, n: int, mode: str, padding: str, align_corners: bool) -> list[Near]:
    """The elements near points whose coordinates, from -1 to 1 across n elements, are `c`."""
    scale = (n - 1) / 2 if align_corners else n / 2
    at = c * scale + (n - 1) / 2
    xp = library_of(at)
    bare = xp.nan_to_num(plain(at), nan=-2.0, posinf=1e9, neginf=-1e9).clip(-1e9, 1e9)
    if mode == "bicubic":
        low = xp.floor(bare)
        found = []
        for k, (factor, slope) in enumerate(cubic_factors(at - as_value(low, at))):
            index = brought_in(low + (k - 1), n, padding, align_corners)[0]
            found.append(masked(index, n, factor, slope * scale, at))
        return found
    inside, turn = brought_in(bare, n, padding, align_corners)
    if mode == "nearest":
        return [masked(xp.rint(inside), n, None, None, at)]
    low = xp.floor(inside)
    # Near each point its coordinate moves with `turn`; the part beyond `low` is a straight line in it.
    part = (at - as_value(bare, at)) * as_value(turn, at) + as_value(inside - low, at)
    slope = as_value(turn * scale, at)
    return [masked(low, n, 1 - part, -slope, at), masked(low + 1, n, part, slope, at)]


def masked(index: Array, n: int, factor: Any, slope: Any, like: Any) -> Near:
    """A neighbour whose factor is 0 where it lies outside."""
    inside = (index >= 0) & (index < n)
    here = as_value(inside.astype(plain(like).dtype), like)
    place = backend_of(index).where(inside, index, 0).astype(np.int64)
    if factor is None:
        return Near(place, here, None)
    return Near(place, factor * here, slope * here)


class GridSampler2D(Variadic):
    """an image sampled at the points of a grid, by one factor per dimension: see Note [Sampling points]"""

    params: ClassVar[tuple[str, ...]] = ("mode", "padding", "align_corners")
    keeps: ClassVar[int] = X
    shown: ClassVar[dict[str, str]] = {
        "input": "x:0", "grid": "x:1", "align_corners": "align_corners", "interpolation_mode": "interpolation_mode",
        "padding_mode": "padding_mode",
    }  # fmt: skip

    def __init__(self, mode: str, padding: str, align_corners: bool) -> None:
        self.mode, self.padding, self.align_corners = mode, padding, align_corners
        self.interpolation_mode, self.padding_mode = MODES.index(mode), PADDINGS.index(padding)

    def corners(self, shape: Shape, grid: Any) -> Iterator[tuple[Array, list[Near]]]:
        """Each combination of neighbours: their positions in the flattened image, and the neighbours themselves."""
        size, points = shape[2:], (shape[0], 1, math.prod(grid.shape[1:-1]))
        near = []
        for d, n in enumerate(size):
            # The last coordinate of a point belongs to the first dimension.
            c = grid[(..., len(size) - 1 - d)].reshape(points)
            near.append(neighbours(c, n, self.mode, self.padding, self.align_corners))
        for chosen in itertools.product(*near):
            place: Any = 0
            for n, one in zip(size, chosen, strict=True):
                place = place * n + one.index
            yield backend_of(place).broadcast_to(place, (shape[0], shape[1], points[2])), list(chosen)

    def forward(self, xp: Backend, xs: Sequence[Any]) -> Any:
        x, grid = xs
        self.in_shape, dtype = x.shape, x.dtype
        if dtype.char == "e":
            x, grid = x.astype("float32"), grid.astype("float32")
        n, c, size = x.shape[0], x.shape[1], math.prod(x.shape[2:])
        # All channels of an element side by side, so that it is fetched at once.
        rows = x.reshape(n, c, size).swapaxes(1, 2).reshape(n * size, c)
        first = xp.arange(n)[:, None] * size
        total: Any = 0
        for place, chosen in self.corners((n, 1, *x.shape[2:]), grid):
            total = total + rows.take(place[:, 0] + first, 0) * product(chosen).swapaxes(1, 2)
        return xp.ascontiguousarray(total.swapaxes(1, 2), dtype).reshape(n, c, *grid.shape[1:-1])

    def vjp(self, gs: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Sequence[Any]:
        x, grid = xs
        n, c, *size = self.in_shape
        g = gs[0].reshape((n, c, math.prod(gs[0].shape[2:])))
        flat_size = (n, c, math.prod(size))
        gx = ggrid = None
        for place, chosen in self.corners(self.in_shape, grid):
            if self.needs(0):
                gx = added(gx, GatherAdjoint(2, place, flat_size).on(g * product(chosen)))
            if self.needs(1):
                seen = (Gather(2, place).on(x.reshape(flat_size)) * g).sum(axis=1, keepdims=True)
                ggrid = added(ggrid, self.by_coordinate(seen, chosen, grid))
        return [
            None if gx is None else gx.reshape(self.in_shape),
            None if ggrid is None else ggrid.reshape(tuple(grid.shape)),
        ]

    def by_coordinate(self, seen: Any, chosen: list[Near], grid: Any) -> Any:
        """`seen` times the slopes of a corner's weight, the coordinates of a point in the last dimension."""
        total: Any = None
        for d, slope in enumerate(slopes(chosen)):
            unit = np.zeros(len(chosen), plain(grid).dtype)
            unit[len(chosen) - 1 - d] = 1
            part = (seen * slope).reshape((*tuple(seen.shape), 1)) * as_constant(unit, seen)
            total = added(total, part)
        if total is None:  # the nearest element changes by steps
            return zero_like(grid)
        return total

    def jvp(self, ts: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Any:
        x, grid = xs
        n, c, *size = self.in_shape
        shape = (n, c, math.prod(size))
        total: Any = None
        for place, chosen in self.corners(self.in_shape, grid):
            if ts[0] is not None:
                total = added(total, Gather(2, place).on(ts[0].reshape(shape)) * product(chosen))
            if ts[1] is not None:
                seen = Gather(2, place).on(x.reshape(shape))
                moved = ts[1].reshape((n, 1, -1, len(size)))
                for d, slope in enumerate(slopes(chosen)):
                    total = added(total, seen * slope * moved[(..., len(size) - 1 - d)])
        if total is None:
            return zero_like(outs[0])
        return total.reshape((n, c, *grid.shape[1:-1]))


class GridSampler3D(GridSampler2D):
    """a volume sampled at the points of a grid"""


def product(chosen: list[Near]) -> Any:
    """The weight of a corner."""
    total = chosen[0].factor
    for one in chosen[1:]:
        total = total * one.factor
    return total


def slopes(chosen: list[Near]) -> Iterator[Any]:
    """The slope of a corner's weight in each dimension; none where it has none."""
    for d, one in enumerate(chosen):
        if one.slope is not None:
            total = one.slope
            for other in chosen[:d] + chosen[d + 1 :]:
                total = total * other.factor
            yield total


class AffineGridGenerator(Linear):
    """the points of a regular grid, moved by affine maps"""

    params: ClassVar[tuple[str, ...]] = ("size", "align_corners")
    shown: ClassVar[dict[str, str]] = {"size": "size", "align_corners": "align_corners"}

    def __init__(self, size: Shape, align_corners: bool) -> None:
        self.size = size
        self.align_corners = align_corners

    def base(self, dtype: Any) -> Array:
        """The points before they are moved, with a 1 behind each: [point, coordinate]."""
        lines = []
        for n in self.size[2:]:
            line = np.linspace(-1, 1, n) if n > 1 else np.zeros(1)
            lines.append(line if self.align_corners else line * (n - 1) / n)
        axes = np.meshgrid(*lines, indexing="ij")
        points = np.stack([*reversed(axes), np.ones_like(axes[0])], axis=-1)
        return points.reshape(-1, len(lines) + 1).astype(dtype)

    def forward(self, xp: Backend, x: Array) -> Array:
        moved = xp.matmul(xp.asarray(self.base(x.dtype)), x.swapaxes(1, 2))
        return moved.reshape(len(x), *self.size[2:], x.shape[1])

    def transpose(self, g: Any) -> Any:
        n = len(self.size) - 2
        flat = g.reshape((g.shape[0], math.prod(self.size[2:]), n))
        return flat.swapaxes(1, 2) @ as_constant(self.base(plain(g).dtype), g)


# -- functions -----------------------------------------------------------------------------------------------------


def _corners_wanted(align_corners: Any) -> bool:
    if align_corners is None:
        warn(
            "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please "
            "specify align_corners=True if the old behavior is desired. See the documentation of grid_sample "
            "for details.",
            UserWarning,
        )
    return bool(align_corners)


@public("nn.functional.grid_sample")
def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """Images [batch, channel, height, width] sampled at a grid of points [batch, height, width, 2]; volumes alike.

    Args:
        grid: coordinates from -1 to 1, the one along the width first.
        mode: "bilinear", "nearest" or, for images, "bicubic".
        padding_mode: what is outside: "zeros", "border" (the outermost elements) or "reflection".
        align_corners: whether -1 and 1 are the centres of the corner elements, or their outer corners.

    >>> import retrograd as rg
    >>> points = rg.tensor([[[[-0.5, 0.0], [0.0, 0.0]]]])
    >>> rg.nn.functional.grid_sample(rg.tensor([[[[0.0, 4.0]]]]), points, align_corners=False)
    tensor([[[[0., 2.]]]])
    """
    if autocasting_on_gpu(input):
        return widest(grid_sample, input, grid, mode, padding_mode, align_corners)
    if autocasting():
        return in_float32(grid_sample, input, grid, mode, padding_mode, align_corners)
    if mode not in MODES:
        raise ValueError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'"
        )
    if padding_mode not in PADDINGS:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: "
            f"'{padding_mode}'"
        )
    return _sampled(input, grid, mode, padding_mode, _corners_wanted(align_corners))


def _sampled(input: Any, grid: Any, mode: str, padding: str, align_corners: bool) -> Tensor:
    x = require_tensor("grid_sampler", "input", 1, input)
    points = require_tensor("grid_sampler", "grid", 2, grid)
    _check_sampler(x.array, points.array, mode)
    op = (GridSampler2D if x.array.ndim == 4 else GridSampler3D)(mode, padding, align_corners)
    found: Tensor = apply_n(op, (x, points))
    return found


def _check_sampler(x: Array, grid: Array, mode: str) -> None:
    both = f"input with sizes {sizes(x.shape)} and grid with sizes {sizes(grid.shape)}"
    if x.ndim not in (4, 5) or x.ndim != grid.ndim:
        raise ShapeError(
            f"grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but got {both}"
        )
    if len(x) != len(grid):
        raise ShapeError(f"grid_sampler(): expected grid and input to have same batch size, but got {both}")
    if grid.shape[-1] != x.ndim - 2:
        raise ShapeError(
            f"grid_sampler(): expected grid to have size {x.ndim - 2} in last dimension, but got grid with sizes "
            f"{sizes(grid.shape)}"
        )
    for d in range(2, x.ndim):
        if x.shape[d] == 0:
            raise ShapeError(
                "grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes "
                f"{sizes(x.shape)} with dimension {d} being empty"
            )
    if mode == "bicubic" and x.ndim == 5:
        raise ShapeError("grid_sampler(): bicubic interpolation only supports 4D input")
    if x.dtype.kind != "f":
        raise unsupported_dtype("grid_sampler_2d_cpu_kernel_impl", x.dtype, "convert it with .float()")
    if x.dtype != grid.dtype:
        raise DtypeError(
            f"grid_sampler(): expected scalar type {DTYPE_NAMES[x.dtype.name]} but found "
            f"{DTYPE_NAMES[grid.dtype.name]}. Convert the grid with .to(input.dtype)."
        )


@public("grid_sampler", "grid_sampler_2d", "grid_sampler_3d")
def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """`grid_sample` with its modes as numbers: bilinear, nearest, bicubic; zeros, border, reflection."""
    if autocasting_on_gpu(input):
        return widest(grid_sampler, input, grid, interpolation_mode, padding_mode, align_corners)
    if autocasting():
        return in_float32(grid_sampler, input, grid, interpolation_mode, padding_mode, align_corners)
    mode, padding = integer(interpolation_mode), integer(padding_mode)
    for name, position, v in (("input", 1, input), ("grid", 2, grid)):
        if require_tensor("grid_sampler", name, position, v).array.ndim == 0:
            raise dimension_error(0, 0)
    if not (0 <= mode < len(MODES) and 0 <= padding < len(PADDINGS)):
        raise RuntimeError(
            f"grid_sampler(): modes are 0, 1 or 2, but got {mode} for interpolation and {padding} for padding"
        )
    return _sampled(input, grid, MODES[mode], PADDINGS[padding], bool(align_corners))


@public("nn.functional.affine_grid")
def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The grid of points for grid_sample that affine maps `theta` [batch, 2, 3] (or [batch, 3, 4]) make.

    Args:
        size: that of the images to be sampled: [batch, channel, height, width], or with a depth before the height.
        align_corners: whether -1 and 1 are the centres of the corner elements, or their outer corners.

    >>> import retrograd as rg
    >>> theta = rg.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    >>> rg.nn.functional.affine_grid(theta, (1, 1, 1, 2), align_corners=False)
    tensor([[[[-0.5000,  0.0000],
              [ 0.5000,  0.0000]]]])
    """
    x = require_tensor("affine_grid", "theta", 1, theta)
    if x.array.dtype.kind != "f":
        raise ValueError(f"Expected theta to have floating point type, but got torch.{x.array.dtype}")
    target = tuple([integer(n) for n in require_sequence("affine_grid", "size", 2, size)])
    if len(target) not in (4, 5):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size "
            f"{target}."
        )
    n = len(target) - 2
    if x.array.ndim != 3 or x.array.shape[1:] != (n, n + 1):
        raise ValueError(
            f"Expected a batch of {n}D affine matrices of shape Nx{n}x{n + 1} for size {target}. Got "
            f"torch.Size({sizes(x.array.shape)})."
        )
    if min(target) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {target}")
    aligned = _corners_wanted(align_corners)
    if aligned and min(target[2:]) == 1:
        warn(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when align_corners=True. This "
            "is not an intended use case of affine_grid. See the documentation of affine_grid for details.",
            UserWarning,
        )
    return affine_grid_generator(x, target, aligned)


@public("affine_grid_generator")
def affine_grid_generator(theta: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
    """`affine_grid`, all arguments given."""
    if autocasting():
        return lowered(affine_grid_generator, theta, size, align_corners)
    x: Tensor = require_tensor("affine_grid_generator", "theta", 1, theta)
    target = tuple([integer(n) for n in require_sequence("affine_grid_generator", "size", 2, size)])
    if len(target) not in (4, 5):
        raise ShapeError(
            f"AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs: size has {len(target)} numbers"
        )
    if x.array.ndim != 3:
        raise DimensionError(
            f"Dimension out of range: theta has the shape {sizes(x.array.shape)}, not that of matrices"
        )
    if len(x.array) != target[0]:
        raise ShapeError(
            f"affine_grid_generator(): Expected size for first two dimensions of batch2 tensor to be: [{target[0]}, "
            f"{len(target) - 1}] but got: [{len(x.array)}, {x.array.shape[-1]}]. theta needs one map per image."
        )
    found: Tensor = apply1(AffineGridGenerator(target, bool(align_corners)), x)
    return found
