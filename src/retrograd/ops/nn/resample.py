"""Resampling as an op: along each dimension, every output element is a weighted sum of a few input elements.

Note [Taps]
~~~~~~~~~~~
Interpolation and averages over uneven windows are products with one matrix per dimension, and most of each matrix is
zero. `Taps` keeps what is not: for output j the inputs `index[:, j]` with the weights `weight[:, j]`, filled up with
weights 0 where one output has fewer than another. Its transpose has the same form, so the adjoint of the op is
the op itself with transposed taps. Weights of 0 are not multiplied: an infinity elsewhere must not turn into NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np

from retrograd.backends.base import Backend
from retrograd.core.families import Linear
from retrograd.values import Array, Shape

WIDE = 16  # from how many taps on a product with the whole matrix is faster


class Taps(NamedTuple):
    """A sparse matrix by its rows. See Note [Taps]."""

    index: Array
    weight: Array
    size: int  # how many inputs there are

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def transposed(self) -> Taps:
        """The transposed matrix."""
        count = self.index.shape[1]
        live = (self.weight != 0).reshape(-1)
        inputs = self.index.reshape(-1)[live]
        outputs = np.broadcast_to(np.arange(count), self.index.shape).reshape(-1)[live]
        order = np.argsort(inputs, kind="stable")
        inputs, outputs = inputs[order], outputs[order]
        numbers = np.bincount(inputs, minlength=self.size)
        rank = np.arange(len(inputs)) - (numbers.cumsum() - numbers)[inputs]
        shape = (int(numbers.max(initial=0)), self.size)
        index, weight = np.zeros(shape, np.int64), np.zeros(shape)
        index[rank, inputs] = outputs
        weight[rank, inputs] = self.weight.reshape(-1)[live][order]
        return Taps(index, weight, count)

    def along(self, xp: Backend, x: Array, axis: int) -> Array:
        """The product with a dimension of x, which lies in front of others."""
        if not 0 < len(self.index) <= WIDE or not x.size:
            out = self.by_matrix(xp, x, axis)
            if xp.isfinite(out).all():
                return out
        found: Array = xp.by_kernel("resample", self.by_taps, x, self.index, self.weight, axis)
        return found

    def by_taps(self, xp: Backend, x: Array, index: Array, weight: Array, axis: int) -> Array:
        """The product, tap after tap."""
        line = (-1,) + (1,) * (x.ndim - 1 - axis)
        out: Any = None
        for places, factors in zip(index, weight.astype(x.dtype), strict=True):
            part, live = x.take(xp.asarray(places), axis), factors != 0
            if not live.all():
                part = xp.where(xp.asarray(live.reshape(line)), part, x.dtype.type(0))
            if (factors != 1).any():
                part *= xp.asarray(factors.reshape(line))
            out = part if out is None else xp.add(out, part, out=out)
        return out

    def whole(self) -> tuple[Taps, int]:
        """With integers for weights, and how many of their bits are behind the point: as many as 16 bits hold."""
        weight = self.weight.copy()
        for k in range(len(weight) - 1, 0, -1):  # at a border, several taps are of one input
            same = self.index[k] == self.index[k - 1]
            weight[k - 1] += np.where(same, weight[k], 0)
            weight[k] = np.where(same, 0, weight[k])
        largest, bits = float(weight.max(initial=0.0)), 0
        while bits < 22 and largest * 2 ** (bits + 1) + 0.5 < 2**15:
            bits += 1
        rounded = np.trunc(weight * 2**bits + np.where(weight < 0, -0.5, 0.5))
        return Taps(self.index, rounded, self.size), bits

    def by_matrix(self, xp: Backend, x: Array, axis: int) -> Array:
        """The product with the whole matrix."""
        count = self.index.shape[1]
        matrix = np.zeros((self.size, count))
        np.add.at(matrix, (self.index, np.arange(count)), self.weight)
        return xp.matmul(x.swapaxes(axis, -1), xp.asarray(matrix.astype(x.dtype))).swapaxes(axis, -1)


class Resample(Linear):
    """the last dimensions of x, each multiplied by a sparse matrix"""

    widened: ClassVar[bool] = True
    params: ClassVar[tuple[str, ...]] = ("maps",)
    array_params: ClassVar[tuple[str, ...]] = ("maps",)
    shown: ClassVar[dict[str, str]] = {"output_size": "output_size", "self_sym_sizes": "in_shape"}

    def __init__(
        self, maps: tuple[Taps, ...], scales: Sequence[float | None] = (), align_corners: bool = False
    ) -> None:
        self.maps = maps
        self.scales = scales  # as they were given; this and the next are for people who look at the node
        self.align_corners = align_corners

    @property
    def scale_w(self) -> float | None:
        return self.scales[-1] if self.scales else None

    @property
    def scale_h(self) -> float | None:
        return self.scales[-2] if self.scales else None

    @property
    def scale_d(self) -> float | None:
        return self.scales[-3] if self.scales else None

    @property
    def output_size(self) -> Shape:
        return tuple([taps.index.shape[1] for taps in self.maps])

    def forward(self, xp: Backend, x: Array) -> Array:
        self.in_shape, dtype = x.shape, x.dtype
        if dtype.kind == "u" and not self.exact:
            return self.of_bytes(xp, x)
        if dtype.itemsize < 4 and not self.exact:
            x = x.astype("float32")
        for i, taps in enumerate(self.maps):
            x = taps.along(xp, x, x.ndim - len(self.maps) + i)
        return xp.ascontiguousarray(x, dtype)

    def of_bytes(self, xp: Backend, x: Array) -> Array:
        """In integers, rounded after each dimension, the last one first: to the bit as PyTorch does it."""
        first = x.ndim - len(self.maps)
        for axis in range(x.ndim - 1, first - 1, -1):
            taps, bits = self.maps[axis - first].whole()
            sums = taps.along(xp, x.astype("int32"), axis)
            x = ((sums + (1 << bits >> 1)) >> bits).clip(0, 255)
        return xp.ascontiguousarray(x, "uint8")

    @property
    def exact(self) -> bool:
        """Whether elements are only copied."""
        return all(len(taps.index) == 1 for taps in self.maps)

    def transpose(self, g: Any) -> Any:
        return Resample(tuple([turned(taps) for taps in self.maps])).on(g)


_OF_ALL = Resample.shown
_SCALES: tuple[dict[str, str], ...] = (
    {"scales": "scale_w"},
    {"scales_h": "scale_h", "scales_w": "scale_w"},
    {"scales_d": "scale_d", "scales_h": "scale_h", "scales_w": "scale_w"},
)
_CORNERS = {"align_corners": "align_corners"}


class UpsampleNearest1D(Resample):
    """the nearest elements of signals"""

    shown: ClassVar[dict[str, str]] = _OF_ALL | _SCALES[0]


class UpsampleNearest2D(Resample):
    """the nearest elements of images"""

    shown: ClassVar[dict[str, str]] = _OF_ALL | _SCALES[1]


class UpsampleNearest3D(Resample):
    """the nearest elements of volumes"""

    shown: ClassVar[dict[str, str]] = _OF_ALL | _SCALES[2]


class UpsampleNearestExact1D(Resample):
    """the nearest elements of signals, from the centres of elements"""

    shown: ClassVar[dict[str, str]] = _OF_ALL | _SCALES[0]


class UpsampleNearestExact2D(Resample):
    """the nearest elements of images, from the centres of elements"""

    shown: ClassVar[dict[str, str]] = _OF_ALL | _SCALES[1]


class UpsampleNearestExact3D(Resample):
    """the nearest elements of volumes, from the centres of elements"""

    shown: ClassVar[dict[str, str]] = _OF_ALL | _SCALES[2]


class UpsampleLinear1D(Resample):
    """signals interpolated linearly"""

    shown: ClassVar[dict[str, str]] = _OF_ALL | _SCALES[0] | _CORNERS


class UpsampleBilinear2D(Resample):
    """images interpolated linearly"""

    shown: ClassVar[dict[str, str]] = _OF_ALL | _SCALES[1] | _CORNERS


class UpsampleTrilinear3D(Resample):
    """volumes interpolated linearly"""

    shown: ClassVar[dict[str, str]] = _OF_ALL | _SCALES[2] | _CORNERS


class UpsampleBicubic2D(Resample):
    """images interpolated by cubic polynomials"""

    shown: ClassVar[dict[str, str]] = _OF_ALL | _SCALES[1] | _CORNERS


class UpsampleBilinear2DAa(Resample):
    """images interpolated linearly, smoothed first where they shrink"""

    shown: ClassVar[dict[str, str]] = _OF_ALL | _SCALES[1] | _CORNERS


class UpsampleBicubic2DAa(Resample):
    """images interpolated by cubic polynomials, smoothed first where they shrink"""

    shown: ClassVar[dict[str, str]] = _OF_ALL | _SCALES[1] | _CORNERS


class UpsampleLanczos2DAa(Resample):
    """images interpolated by a windowed sinc, smoothed first where they shrink"""

    shown: ClassVar[dict[str, str]] = _OF_ALL | _SCALES[1] | _CORNERS


class AdaptiveAvgPool2D(Resample):
    """the averages of windows that divide two dimensions evenly"""

    widened: ClassVar[bool] = False


class AdaptiveAvgPool3D(Resample):
    """the averages of windows that divide three dimensions evenly"""

    widened: ClassVar[bool] = False


CLASSES: dict[tuple[str, int], type[Resample]] = {
    ("nearest", 1): UpsampleNearest1D,
    ("nearest", 2): UpsampleNearest2D,
    ("nearest", 3): UpsampleNearest3D,
    ("nearest-exact", 1): UpsampleNearestExact1D,
    ("nearest-exact", 2): UpsampleNearestExact2D,
    ("nearest-exact", 3): UpsampleNearestExact3D,
    ("linear", 1): UpsampleLinear1D,
    ("bilinear", 2): UpsampleBilinear2D,
    ("trilinear", 3): UpsampleTrilinear3D,
    ("bicubic", 2): UpsampleBicubic2D,
}
SMOOTHED: dict[str, type[Resample]] = {
    "bilinear": UpsampleBilinear2DAa,
    "bicubic": UpsampleBicubic2DAa,
    "lanczos": UpsampleLanczos2DAa,
}


# -- taps of the various methods -----------------------------------------------------------------------------------


def step_of(n: int, m: int, scale: float | None, align_corners: bool) -> float:
    """How far apart in n inputs two of m neighbouring outputs are."""
    if align_corners:
        return (n - 1) / (m - 1) if m > 1 else 0.0
    return 1.0 / scale if scale is not None and scale > 0 else n / m


def nearest_taps(n: int, m: int, scale: float | None, exact: bool) -> Taps:
    """The nearest input of each output: counted from the corners of elements, or exactly, from their centres."""
    # In single precision whatever the input, as in PyTorch: rounding decides which of two neighbours is nearest.
    step = np.float32(step_of(n, m, scale, False))
    place = np.floor((np.arange(m, dtype=np.float32) + np.float32(0.5 if exact else 0)) * step)
    return Taps(place.astype(np.int64).clip(0, n - 1)[None], np.ones((1, m)), n)


def linear_taps(n: int, m: int, scale: float | None, align_corners: bool) -> Taps:
    """The two inputs on either side; the inputs themselves if there are as many, whatever the scale."""
    step = 1.0 if n == m else step_of(n, m, scale, align_corners)
    place = np.arange(m) * step if align_corners else np.maximum((np.arange(m) + 0.5) * step - 0.5, 0)
    low = np.minimum(place.astype(np.int64), n - 1)
    part = (place - low).clip(0, 1)
    return Taps(np.stack([low, np.minimum(low + 1, n - 1)]), np.stack([1 - part, part]), n)


def cubic(x: Any, a: float) -> Any:
    """The cubic convolution kernel with slope `a` at 1: 1 at 0, 0 at the other integers and beyond 2."""
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((x - 5) * x + 8) * x * a - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0))


def cubic_taps(n: int, m: int, scale: float | None, align_corners: bool) -> Taps:
    """Two inputs on either side; the outermost stand for what is beyond them."""
    step = step_of(n, m, scale, align_corners)
    place = np.arange(m) * step if align_corners else (np.arange(m) + 0.5) * step - 0.5
    low = np.floor(place)
    index = low + np.arange(-1, 3)[:, None]
    return Taps(index.astype(np.int64).clip(0, n - 1), cubic(np.abs(place - index), -0.75), n)


def triangle(x: Any) -> Any:
    """The kernel of linear interpolation."""
    return np.maximum(1 - x, 0)


def keys(x: Any) -> Any:
    """The cubic kernel that images are shrunk with."""
    return cubic(x, -0.5)


def lanczos(x: Any) -> Any:
    """A sinc windowed by the middle of a wider one."""
    return np.where(x < 3, np.sinc(x) * np.sinc(x / 3), 0)


FILTERS: dict[str, tuple[Any, float]] = {
    "bilinear": (triangle, 1),
    "bicubic": (keys, 2),
    "lanczos": (lanczos, 3),
}


def smooth_taps(n: int, m: int, scale: float | None, align_corners: bool, mode: str) -> Taps:
    """All inputs under a kernel as wide as one output, if that is wider than one input."""
    kernel, reach = FILTERS[mode]
    step = 1.0 if n == m else step_of(n, m, scale, align_corners)
    width = max(step, 1.0)
    centre = step * (np.arange(m) + 0.5)
    first = np.maximum((centre - reach * width + 0.5).astype(np.int64), 0)
    last = np.minimum((centre + reach * width + 0.5).astype(np.int64), n)
    index = first + np.arange(max(int((last - first).max(initial=1)), 1))[:, None]
    weight = np.where(index < last, kernel(np.abs(index - centre + 0.5) / width), 0.0)
    total = weight.sum(axis=0)
    return Taps(index.clip(0, n - 1), weight / np.where(total == 0, 1, total), n)


def average_taps(n: int, m: int) -> Taps:
    """The inputs of m windows that divide n inputs as evenly as they can."""
    first = np.arange(m) * n // max(m, 1)
    last = -(-(np.arange(m) + 1) * n // max(m, 1))
    index = first + np.arange(int((last - first).max(initial=1)))[:, None]
    return Taps(np.minimum(index, last - 1), (index < last) / (last - first), n)


def _made(make: Any, *sizes: Any) -> Taps:
    found: Taps = make(*sizes)
    return found


turned: Final[Any] = lru_cache(maxsize=64)(Taps.transposed)  # made once, as what is transposed is
# What `kept(make, *sizes)` gives is `make(*sizes)`, made once: networks ask for the same taps in every step.
kept: Final[Any] = lru_cache(maxsize=64)(_made)
