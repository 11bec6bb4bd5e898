"""Rows of convolution, pooling, patches and resampling, with references that go element by element."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from tests.ops.case import Case
from tests.ops.samples import call_with, distinct, each, inside_unit, nonzero, positive

REAL = {"complex": "not defined for complex numbers"}
SEVERAL = {"jvp": "one dimension is done as two: several nodes"}


def functional(name: str, samples: Any, reference: Any, excuses: Any = None, **options: Any) -> Case:
    unchecked = {} if reference else {"numpy": "a reference would repeat the formula; see test_oracle.py"}
    return Case(
        f"nn.functional.{name}",
        samples,
        reference,
        excuses={**REAL, **unchecked, **(excuses or {})},
        **options,
    )


def many(value: Any, n: int) -> tuple[int, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * n


# -- convolution -------------------------------------------------------------------------------------------------


def terms(size: Any, kernel: Any, stride: Any, padding: Any, dilation: Any) -> Any:
    """Each window, each place in the kernel, and the element of the unpadded input there, if it is one."""
    n = len(kernel)
    s, p, d = many(stride, n), many(padding, n), many(dilation, n)
    count = [(size[i] + 2 * p[i] - d[i] * (kernel[i] - 1) - 1) // s[i] + 1 for i in range(n)]
    for window in np.ndindex(*count):
        for k in np.ndindex(*kernel):
            at = tuple(window[i] * s[i] + k[i] * d[i] - p[i] for i in range(n))
            if all(0 <= at[i] < size[i] for i in range(n)):
                yield window, k, at


def convolved(
    x: Any, w: Any, b: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    n = w.ndim - 2
    if x.ndim == n + 1:
        return convolved(x[None], w, b, stride, padding, dilation, groups)[0]
    size, kernel = x.shape[2:], w.shape[2:]
    if padding == "same":
        padding = [(k - 1) * d // 2 for k, d in zip(kernel, many(dilation, n), strict=True)]
    ends = [many(v, n) for v in (stride, padding, dilation)]
    count = [
        (size[i] + 2 * ends[1][i] - ends[2][i] * (kernel[i] - 1) - 1) // ends[0][i] + 1 for i in range(n)
    ]
    out = np.zeros((len(x), len(w), *count), x.dtype)
    for window, k, at in terms(size, kernel, stride, padding, dilation):
        for o in range(len(w)):
            first = o // (len(w) // groups) * w.shape[1]
            out[(slice(None), o, *window)] += (
                x[(slice(None), slice(first, first + w.shape[1]), *at)] @ w[(o, slice(None), *k)]
            )
    return out if b is None else out + b.reshape(-1, *[1] * n)


def transposed(
    x: Any, w: Any, b: Any = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0, groups: int = 1,
    dilation: Any = 1,
) -> Any:  # fmt: skip
    n = w.ndim - 2
    s, p, d, e = (many(v, n) for v in (stride, padding, dilation, output_padding))
    size = [(x.shape[2 + i] - 1) * s[i] - 2 * p[i] + d[i] * (w.shape[2 + i] - 1) + e[i] + 1 for i in range(n)]
    each_in, each_out = len(w) // groups, w.shape[1]
    out = np.zeros((len(x), each_out * groups, *size), x.dtype)
    for window in np.ndindex(*x.shape[2:]):
        for k in np.ndindex(*w.shape[2:]):
            at = tuple(window[i] * s[i] + k[i] * d[i] - p[i] for i in range(n))
            if all(0 <= at[i] < size[i] for i in range(n)):
                for c in range(len(w)):
                    first = c // each_in * each_out
                    target = (slice(None), slice(first, first + each_out), *at)
                    out[target] += np.outer(x[(slice(None), c, *window)], w[(c, slice(None), *k)])
    return out if b is None else out + b.reshape(-1, *[1] * n)


def by_time(x: Any, w: Any, b: Any, pad: int = 0) -> Any:
    return convolved(x.transpose(1, 2, 0), w.T, b, padding=pad).transpose(2, 0, 1)


def complexly(name: str, reference: Any, *shapes: Any) -> Case:
    excuses = {"real": "has a row of its own", "name": "PyTorch makes complex convolutions of real ones"}
    return Case(f"nn.functional.{name}", (call_with(*shapes),), reference, excuses=excuses, form="complex")


CONVOLUTION = (
    functional("conv1d", (call_with((2, 2, 5), (3, 2, 3)), call_with((2, 2, 4), (2, 1, 2), (2,), groups=2),
         call_with((2, 1, 6), (1, 1, 2), stride=2, dilation=2, padding=1), call_with((0, 2, 4), (1, 2, 2)),
         call_with((1, 2, 4), (2, 2, 3), padding="same"), call_with((2, 2, 4), (2, 2, 1), layout="transposed")), convolved),
    functional("conv2d", (call_with((1, 2, 3, 3), (2, 2, 2, 2), (2,)), call_with((2, 2, 3, 2), (2, 2, 1, 1)),
         call_with((1, 2, 4, 3), (2, 1, 2, 2), groups=2, stride=(2, 1), padding=(1, 0), dilation=(1, 2)),
         call_with((1, 4, 2, 2), (2, 2, 1, 1), groups=2)), convolved),
    functional("conv2d", (call_with((2, 3, 3), (1, 2, 2, 2)),), convolved, {"jvp": "a batch of one is made: several nodes"},
         form="unbatched"),
    functional("conv3d", (call_with((1, 1, 3, 2, 2), (2, 1, 2, 2, 1), (2,), stride=(1, 2, 1), padding=(0, 1, 0)),), convolved),
    functional("conv_transpose1d", (call_with((1, 2, 3), (2, 1, 2), (2,), stride=2, output_padding=1, groups=2),
         call_with((2, 1, 3), (1, 2, 2), dilation=2, padding=1), call_with((1, 3, 2), (3, 1, 2))), transposed),
    functional("conv_transpose2d", (call_with((1, 2, 2, 2), (2, 1, 2, 2), stride=(2, 1), padding=(1, 0)),
         call_with((1, 1, 2, 2), (1, 2, 2, 1), (2,))), transposed),
    functional("conv_transpose3d", (call_with((1, 1, 2, 1, 2), (1, 2, 1, 2, 2), stride=(1, 2, 1)),), transposed),
    functional("conv_tbc", (call_with((4, 2, 2), (2, 2, 3), (3,)), call_with((3, 1, 2), (3, 2, 1), (1,), pad=1)), by_time),
    Case("convolution", (call_with((1, 2, 3, 3), (1, 2, 2, 2), (1,),
         args=((1, 1), (0, 1), (1, 1), False, (0, 0), 1)),), lambda x, w, b, *o: convolved(x, w, b, o[0], o[1]), excuses=REAL),
    complexly("conv1d", convolved, (2, 2, 4), (2, 2, 2), (2,)),
    complexly("conv_transpose1d", transposed, (1, 2, 2), (2, 1, 2)),
)  # fmt: skip


# -- pooling -----------------------------------------------------------------------------------------------------


def count_of(n: int, k: int, s: int, p: int, d: int, ceil: bool) -> int:
    """How many windows there are: with `ceil`, all that begin before the right border."""
    if not ceil:
        return (n + 2 * p - d * (k - 1) - 1) // s + 1
    starts = [i for i in range(n + 2 * p) if i * s < n + p and (i - 1) * s + d * (k - 1) < n + 2 * p - 1]
    return len(starts)


def pooled(x: Any, rank: int, options: Any, function: Any) -> Any:
    """`function` of the elements of each window, their positions, and the window's size with its border."""
    kernel, stride, padding, dilation, ceil = options
    k, p, d = many(kernel, rank), many(padding, rank), many(dilation, rank)
    s = k if stride is None else many(stride, rank)
    size = x.shape[-rank:]
    count = [count_of(size[i], k[i], s[i], p[i], d[i], ceil) for i in range(rank)]
    out = []
    for image in x.reshape(-1, *size):
        for window in np.ndindex(*count):
            starts = [window[i] * s[i] - p[i] for i in range(rank)]
            room = [min(starts[i] + k[i], size[i] + p[i]) - starts[i] for i in range(rank)]
            places = [[starts[i] + j * d[i] for j in range(k[i])] for i in range(rank)]
            inside = [
                at
                for at in itertools.product(*places)
                if all(0 <= a < n for a, n in zip(at, size, strict=True))
            ]
            flat = [int(np.ravel_multi_index(at, size)) for at in inside]
            out.append(function(np.array([image[at] for at in inside]), flat, int(np.prod(room))))
    return np.array(out).reshape(*x.shape[:-rank], *count) if out else np.zeros((*x.shape[:-rank], *count))


def max_of(rank: int, both: bool = False) -> Any:
    def reference(
        x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:  # fmt: skip
        options = (kernel_size, stride, padding, dilation, ceil_mode)
        values = pooled(x, rank, options, lambda v, flat, _: v.max())
        if not (both or return_indices):
            return values
        return values, pooled(x, rank, options, lambda v, flat, _: flat[int(v.argmax())])

    return reference


def mean_of(rank: int) -> Any:
    def reference(
        x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
        count_include_pad: bool = True, divisor_override: Any = None,
    ) -> Any:  # fmt: skip
        options = (kernel_size, stride, padding, 1, ceil_mode)
        return pooled(x, rank, options, lambda v, flat, room: v.sum()
                      / (divisor_override or (room if count_include_pad else len(v))))  # fmt: skip

    return reference


def norm_of(rank: int) -> Any:
    def reference(x: Any, p: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Any:
        return pooled(
            x, rank, (kernel_size, stride, 0, 1, ceil_mode), lambda v, flat, _: (v**p).sum() ** (1 / p)
        )

    return reference


def divided(n: int, m: int) -> list[range]:
    return [range(i * n // m, -(-(i + 1) * n // m)) for i in range(m)]


def adaptive(rank: int, function: Any) -> Any:
    def reference(x: Any, output_size: Any, return_indices: bool = False) -> Any:
        size = x.shape[-rank:]
        target = [n if o is None else o for o, n in zip(many(output_size, rank), size, strict=True)]
        parts = list(itertools.product(*[divided(n, m) for n, m in zip(size, target, strict=True)]))
        images = x.reshape(-1, *size)
        values = [function(image[np.ix_(*part)]) for image in images for part in parts]
        return np.array(values).reshape(*x.shape[:-rank], *target)

    return reference


LINE, IMAGE, VOLUME = (2, 2, 6), (1, 2, 4, 5), (1, 1, 3, 3, 2)
WINDOWS = ({"kernel_size": 2}, {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True})
FLAT = call_with(LINE, layout="strided")
BATCHES = (
    call_with(IMAGE),
    call_with((2, 3, 3)),
    call_with((0, 2, 4, 4)),
    call_with(IMAGE, layout="transposed"),
)
INDICES = np.array([[[[5, 3], [8, 14]]]])
SAMPLES = np.array([[[0.3, 0.7], [0.9, 0.1]]])
DISTANCES = np.array([[[0.3, 0.7, 0.5]]])


def unpooled(x: Any, indices: Any, kernel_size: Any) -> Any:
    rank = x.ndim - 2
    size = [n * kernel_size for n in x.shape[2:]]
    out = np.zeros((*x.shape[:2], int(np.prod(size))), x.dtype)
    np.put_along_axis(out, indices.reshape(*x.shape[:2], -1), x.reshape(*x.shape[:2], -1), 2)
    assert rank == len(size)
    return out.reshape(*x.shape[:2], *size)


POOLING = (
    functional("max_pool1d", each((call_with(LINE), FLAT), *WINDOWS, {"kernel_size": 2, "dilation": 2}), max_of(1), SEVERAL, domain=distinct),
    functional("max_pool2d", each(BATCHES, *WINDOWS, {"kernel_size": (2, 1), "stride": (1, 2), "dilation": (2, 1)}), max_of(2), domain=distinct),
    functional("max_pool2d", each(BATCHES[:1], {"kernel_size": 2, "stride": 1, "return_indices": True}), max_of(2), domain=distinct, form="indices"),
    functional("max_pool3d", each((call_with(VOLUME),), {"kernel_size": 2, "stride": 1}), max_of(3), domain=distinct),
    functional("max_pool1d_with_indices", each((call_with(LINE),), *WINDOWS), max_of(1, True), SEVERAL, domain=distinct),
    functional("max_pool2d_with_indices", each(BATCHES[:1], *WINDOWS), max_of(2, True), domain=distinct),
    functional("max_pool3d_with_indices", each((call_with(VOLUME),), {"kernel_size": 2, "stride": 1}), max_of(3, True), domain=distinct),
    functional("max_unpool1d", (call_with((1, 1, 2), args=(np.array([[[0, 3]]]), 2)),), unpooled, SEVERAL),
    functional("max_unpool2d", (call_with((1, 1, 2, 2), args=(INDICES, 2)),), unpooled),
    functional("max_unpool3d", (call_with((1, 1, 1, 2, 1), args=(np.array([[[[[0], [9]]]]]), 2)),), unpooled),
    functional("avg_pool1d", each((call_with(LINE), FLAT), *WINDOWS, {"kernel_size": 3, "padding": 1, "count_include_pad": False}), mean_of(1), SEVERAL),
    functional("avg_pool2d", each(BATCHES, *WINDOWS, {"kernel_size": (2, 3), "stride": 1, "divisor_override": 5}), mean_of(2)),
    functional("avg_pool3d", each((call_with(VOLUME),), {"kernel_size": 2, "stride": 1, "padding": 1, "count_include_pad": False}), mean_of(3)),
    *(functional(f"lp_pool{n}d", each((call_with(shape),), {"norm_type": 3.0, "kernel_size": 2, "stride": 1}),
         lambda x, norm_type, kernel_size, stride, n=n: norm_of(n)(x, norm_type, kernel_size, stride),
         {"jvp": "several nodes"}, domain=positive) for n, shape in ((1, LINE), (2, IMAGE), (3, VOLUME))),
    functional("adaptive_avg_pool1d", each((call_with(LINE),), {"output_size": 4}), adaptive(1, np.mean), SEVERAL),
    functional("adaptive_avg_pool2d", each(BATCHES, {"output_size": (3, 2)}, {"output_size": (None, 7)}), adaptive(2, np.mean)),
    functional("adaptive_avg_pool2d", (call_with((1, 1, 40, 2), output_size=(2, 1)),), adaptive(2, np.mean), form="wide windows"),
    functional("adaptive_avg_pool3d", each((call_with(VOLUME),), {"output_size": 2}), adaptive(3, np.mean)),
    functional("adaptive_max_pool1d", each((call_with(LINE),), {"output_size": 4}), adaptive(1, np.max), SEVERAL, domain=distinct),
    functional("adaptive_max_pool2d", each(BATCHES, {"output_size": (3, 2)}), adaptive(2, np.max), domain=distinct),
    functional("adaptive_max_pool3d", each((call_with(VOLUME),), {"output_size": 2}), adaptive(3, np.max), domain=distinct),
    functional("adaptive_max_pool1d_with_indices", each((call_with(LINE),), {"output_size": 4}), None, SEVERAL, domain=distinct),
    functional("adaptive_max_pool2d_with_indices", each(BATCHES[:1], {"output_size": (3, 2)}), None, domain=distinct),
    functional("adaptive_max_pool3d_with_indices", each((call_with(VOLUME),), {"output_size": 2}), None, domain=distinct),
    functional("fractional_max_pool2d", each(BATCHES[:1], {"kernel_size": 2, "output_size": (2, 3), "_random_samples": SAMPLES}), None, domain=distinct),
    functional("fractional_max_pool3d", (call_with((1, 1, 4, 4, 3), kernel_size=2, output_size=(2, 2, 1), _random_samples=DISTANCES),), None, domain=distinct),
    functional("fractional_max_pool2d_with_indices", each(BATCHES[:1], {"kernel_size": 2, "output_size": (2, 3), "_random_samples": SAMPLES}), None, domain=distinct),
    functional("fractional_max_pool3d_with_indices", (call_with((1, 1, 4, 4, 3), kernel_size=2, output_size=(2, 2, 1), _random_samples=DISTANCES),), None, domain=distinct),
)  # fmt: skip


# -- patches and resampling ----------------------------------------------------------------------------------------


def columns(x: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """Each window by hand: a convolution with kernels that pick one element."""
    if x.ndim == 3:
        return columns(x[None], kernel_size, dilation, padding, stride)[0]
    kernel = many(kernel_size, 2)
    picks = np.eye(int(np.prod(kernel))).reshape(-1, 1, *kernel).astype(x.dtype)
    each_channel = [convolved(x[:, [c]], picks, None, stride, padding, dilation) for c in range(x.shape[1])]
    found = np.concatenate(each_channel, 1)
    return found.reshape(*found.shape[:2], found.shape[2] * found.shape[3])


def summed(
    x: Any, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Any:
    """The adjoint of `columns`, from its matrix."""
    channels = x.shape[-2] // int(np.prod(many(kernel_size, 2)))
    shape = (channels, *many(output_size, 2))
    units = np.eye(int(np.prod(shape))).reshape(-1, *shape)
    matrix = columns(units, kernel_size, dilation, padding, stride)
    return np.einsum("krl,...rl->...k", matrix, x).reshape(*x.shape[:-2], *shape)


def along_last(x: Any, m: int, mode: str, align_corners: bool, scale: Any) -> Any:
    n = x.shape[-1]
    step = ((n - 1) / max(m - 1, 1)) if align_corners else (1 / scale if scale else n / m)
    if mode == "nearest":
        return x[..., [min(int(j * step), n - 1) for j in range(m)]]
    if mode == "nearest-exact":
        return x[..., [min(int((j + 0.5) * step), n - 1) for j in range(m)]]
    at = np.arange(m) * step if align_corners else (np.arange(m) + 0.5) * step - 0.5
    if mode != "bicubic":
        return np.apply_along_axis(lambda line: np.interp(at, np.arange(n), line), -1, x)
    out = np.zeros((*x.shape[:-1], m), x.dtype)
    for j, place in enumerate(at):
        for i in range(int(np.floor(place)) - 1, int(np.floor(place)) + 3):
            r, a = abs(place - i), -0.75
            weight = (a + 2) * r**3 - (a + 3) * r**2 + 1 if r <= 1 else a * (r**3 - 5 * r**2 + 8 * r - 4)
            out[..., j] += weight * x[..., min(max(i, 0), n - 1)]
    return out


def resized(
    x: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool = False
) -> Any:
    rank = x.ndim - 2
    scales = many(scale_factor, rank)
    target = many(size, rank) if size else [int(n * s) for n, s in zip(x.shape[2:], scales, strict=True)]
    for axis in range(rank):
        moved = along_last(np.moveaxis(x, 2 + axis, -1), target[axis], mode, align_corners, scales[axis])
        x = np.moveaxis(moved, -1, 2 + axis)
    return x


def spots(image: Any, points: Any) -> Any:
    """Bilinear samples inside an image, from its corners' weights."""
    out = np.zeros((image.shape[0], len(points)), image.dtype)
    for j, (cx, cy) in enumerate(points):
        fx, fy = ((cx + 1) * image.shape[2] - 1) / 2, ((cy + 1) * image.shape[1] - 1) / 2
        for y in range(image.shape[1]):
            for x in range(image.shape[2]):
                out[:, j] += max(0, 1 - abs(fx - x)) * max(0, 1 - abs(fy - y)) * image[:, y, x]
    return out


def sampled(x: Any, grid: Any, align_corners: bool) -> Any:
    return np.stack([
        spots(image, points.reshape(-1, 2)).reshape(-1, *points.shape[:-1]) for image, points in zip(x, grid, strict=True)
    ])  # fmt: skip


def grids(theta: Any, size: Any, align_corners: bool) -> Any:
    lines = [(2 * np.arange(n) + 1) / n - 1 for n in size[2:]]
    if align_corners:
        lines = [np.linspace(-1, 1, n) for n in size[2:]]
    out = np.zeros((len(theta), *size[2:], len(lines)), theta.dtype)
    for at in np.ndindex(*size[2:]):
        point = [lines[d][at[d]] for d in reversed(range(len(lines)))]
        out[(slice(None), *at)] = theta @ np.array([*point, 1.0])
    return out


def finer(x: Any, r: int) -> Any:
    out = np.zeros((*x.shape[:-3], x.shape[-3] // r**2, x.shape[-2] * r, x.shape[-1] * r), x.dtype)
    for i, j in itertools.product(range(r), range(r)):
        out[..., i::r, j::r] = x[..., i * r + j :: r * r, :, :]
    return out


def mix(rng: Any, count: int) -> Any:
    """Coordinates of which some lie outside, none near the middle or the edge of an element of a few."""
    return inside_unit(rng, count) * rng.choice([0.93, 1.87], count)


SIZES = ({"size": (3, 7)}, {"size": (2, 9)}, {"scale_factor": 1.7})
POINTS = (call_with((1, 2, 3, 4), (1, 2, 2, 2)),)
MODES = tuple({"mode": m, "padding_mode": p, "align_corners": a} for m, p, a in (
    ("bilinear", "zeros", True), ("bilinear", "border", False), ("bilinear", "reflection", False),
    ("bilinear", "reflection", True), ("nearest", "zeros", False), ("bicubic", "zeros", False),
    ("bicubic", "border", True), ("bicubic", "reflection", False)))  # fmt: skip

RESAMPLING = (
    Case("nn.functional.unfold", (*each((call_with((1, 2, 3, 3)), call_with((0, 1, 3, 3)), call_with((2, 3, 4), layout="strided")),
         {"kernel_size": 2}, {"kernel_size": (1, 2), "dilation": 2, "padding": 1, "stride": (2, 1)}),), columns),
    Case("nn.functional.fold", (call_with((1, 8, 4), output_size=3, kernel_size=2),
         call_with((8, 6), output_size=(3, 5), kernel_size=2, padding=(1, 0), stride=(1, 2), dilation=(2, 1))), summed),
    *(functional("interpolate", each((call_with(shape),), {"mode": mode, "size": 5}, {"mode": mode, "scale_factor": 1.6}), resized, form=f"{mode} {len(shape) - 2}")
      for mode in ("nearest", "nearest-exact") for shape in ((1, 2, 4), (1, 1, 3, 2), (1, 1, 2, 3, 2))),
    *(functional("interpolate", each((call_with(shape),), {"mode": mode, "size": 5}, {"mode": mode, "size": 2},
         {"mode": mode, "scale_factor": 1.6}, {"mode": mode, "size": 5, "align_corners": True}), resized, form=mode)
      for mode, shape in (("linear", (1, 2, 4)), ("bilinear", (1, 1, 3, 4)), ("trilinear", (1, 1, 2, 3, 2)), ("bicubic", (1, 1, 3, 4)))),
    *(functional("interpolate", each((call_with((1, 1, 5, 4)),), *[{"mode": mode, "antialias": True, **s} for s in SIZES]), None, form=f"{mode} smooth")
      for mode in ("bilinear", "bicubic", "lanczos")),
    functional("interpolate", (call_with((1, 1, 3, 5), size=(2, 3), mode="area"),),
         lambda x, size, mode: adaptive(2, np.mean)(x, size), form="area"),
    functional("grid_sample", each(POINTS, {"align_corners": False}), sampled, domain=(nonzero, inside_unit)),
    functional("grid_sample", each(POINTS, *MODES), None, domain=(nonzero, mix), form="modes"),
    functional("grid_sample", each((call_with((1, 1, 2, 3, 2), (1, 1, 2, 1, 3)),), *[{**m, "padding_mode": "border"} for m in MODES[:5]]), None,
         domain=(nonzero, mix), form="volumes"),
    Case("grid_sampler", (call_with((1, 2, 3, 4), (1, 2, 2, 2), args=(0, 0, False)),), lambda x, g, *o: sampled(x, g, False),
         (nonzero, inside_unit), REAL),
    functional("affine_grid", each((call_with((2, 2, 3), args=((2, 1, 3, 2),)), call_with((1, 3, 4), args=((1, 1, 2, 3, 2),))),
         {"align_corners": True}, {"align_corners": False}), grids),
    Case("affine_grid_generator", (call_with((1, 2, 3), args=((1, 1, 2, 2), False)),), grids, excuses=REAL),
    Case("pixel_shuffle", (call_with((1, 8, 2, 3), args=(2,)), call_with((4, 1, 1), args=(2,))), finer),
    Case("pixel_unshuffle", (call_with((1, 2, 4, 6), args=(2,)), call_with((1, 2, 2), args=(2,))),
         lambda x, r: np.stack([x[..., i::r, j::r] for i in range(r) for j in range(r)], -3)
         .reshape(*x.shape[:-3], -1, x.shape[-2] // r, x.shape[-1] // r)),
    Case("channel_shuffle", (call_with((1, 6, 2), args=(3,)), call_with((2, 4, 1, 2), args=(2,))),
         lambda x, g: np.stack(np.split(x, g, 1), 2).reshape(x.shape)),
)  # fmt: skip


IMAGES = (*CONVOLUTION, *POOLING, *RESAMPLING)
