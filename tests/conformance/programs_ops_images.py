"""Convolution, pooling, patches and resampling: values, gradients, nodes, dtypes, errors, edge cases."""

from __future__ import annotations

from typing import Any

from .derivatives import derivatives, ramp
from .harness import attempt, program


def numbers(*shape: int, seed: int = 1) -> Any:
    """Nested lists of numbers that look random and are not."""
    if not shape:
        return ((seed * 7919) % 101) / 17 - 3
    return [numbers(*shape[1:], seed=seed * 31 + i * 17 + 3) for i in range(shape[0])]


def leaf(torch: Any, *shape: int, seed: int = 1, dtype: str = "float64") -> Any:
    return torch.tensor(numbers(*shape, seed=seed), dtype=getattr(torch, dtype), requires_grad=True)


def backward(torch: Any, out: Any, *leaves: Any) -> Any:
    """An output with the gradients of the leaves."""
    seed = ramp(torch, out)
    return out, torch.autograd.grad(out, leaves, seed)


# -- convolution -------------------------------------------------------------------------------------------------


@program()
def conv1d_with_all_options(torch: Any) -> Any:
    f = torch.nn.functional.conv1d
    x, w, b = numbers(2, 4, 7), numbers(6, 2, 3, seed=2), numbers(6, seed=3)
    return [
        derivatives(torch, lambda x, w, b, o=o: f(x, w, b, groups=2, **o), x, w, b)
        for o in ({}, {"stride": 2, "padding": 1}, {"dilation": 2}, {"padding": "same"}, {"padding": "valid"})
    ]


@program()
def conv2d_with_all_options(torch: Any) -> Any:
    f = torch.conv2d
    x, w = numbers(2, 2, 5, 4), numbers(3, 2, 2, 3, seed=2)
    return [
        derivatives(torch, lambda x, w, o=o: f(x, w, **o), x, w)
        for o in (
            {},
            {"stride": (2, 1), "padding": (0, 2)},
            {"dilation": (2, 1)},
            {"padding": 1, "stride": 3},
        )
    ]


@program()
def conv2d_depthwise_and_pointwise(torch: Any) -> Any:
    f = torch.nn.functional.conv2d
    return (
        derivatives(
            torch, lambda x, w: f(x, w, groups=3, padding=1), numbers(1, 3, 3, 3), numbers(6, 1, 3, 3)
        ),
        derivatives(torch, lambda x, w: f(x, w), numbers(2, 3, 2, 2), numbers(4, 3, 1, 1)),
        derivatives(torch, lambda x, w: f(x, w, stride=2), numbers(2, 3, 3, 3), numbers(4, 3, 1, 1)),
    )


@program()
def conv3d_and_its_transpose(torch: Any) -> Any:
    f = torch.nn.functional
    x, w = numbers(1, 2, 3, 2, 3), numbers(2, 2, 2, 1, 2, seed=5)
    return (
        derivatives(torch, lambda x, w: f.conv3d(x, w, stride=(1, 2, 1)), x, w),
        derivatives(torch, lambda x, w: f.conv_transpose3d(x, w, padding=(1, 0, 0), stride=(2, 1, 1)), x, w),
    )


@program()
def conv_transpose_with_all_options(torch: Any) -> Any:
    f = torch.nn.functional.conv_transpose2d
    x, w, b = numbers(2, 4, 3, 2), numbers(4, 3, 2, 2, seed=2), numbers(6, seed=3)
    return [
        derivatives(torch, lambda x, w, b, o=o: f(x, w, b, groups=2, **o), x, w, b)
        for o in (
            {},
            {"stride": 2, "output_padding": (1, 0)},
            {"padding": 1},
            {"dilation": (3, 1), "output_padding": (2, 0)},
        )
    ]


@program()
def unbatched_convolutions(torch: Any) -> Any:
    f = torch.nn.functional
    x, w = leaf(torch, 2, 4), leaf(torch, 3, 2, 2, seed=2)
    out = f.conv1d(x, w)
    nodes = [out.grad_fn.name(), out.grad_fn.next_functions[0][0].name()]
    return nodes, backward(torch, out, x, w), backward(torch, f.conv_transpose1d(x, w.transpose(0, 1)), x, w)


@program(warns="even kernel lengths and odd dilation")
def padding_same_of_odd_width(torch: Any) -> Any:
    x, w = leaf(torch, 1, 1, 4), leaf(torch, 1, 1, 2, seed=2)
    return backward(torch, torch.conv1d(x, w, padding="same"), x, w)


@program()
def convolution_by_its_general_name(torch: Any) -> Any:
    x, w, b = leaf(torch, 1, 2, 4), leaf(torch, 3, 2, 2, seed=2), leaf(torch, 3, seed=3)
    return (
        backward(torch, torch.convolution(x, w, b, (1,), (1,), (2,), False, (0,), 1), x, w, b),
        backward(torch, torch.convolution(x, w.transpose(0, 1), None, [2], [0], [1], True, [1], 1), x, w),
    )


@program()
def conv_tbc(torch: Any) -> Any:
    f = torch.nn.functional.conv_tbc
    return derivatives(torch, lambda x, w, b: f(x, w, b, 1), numbers(4, 2, 3), numbers(2, 3, 2), numbers(2))


@program()
def convolutions_of_other_dtypes(torch: Any) -> Any:
    f = torch.nn.functional.conv2d
    whole = torch.arange(18).reshape(1, 2, 3, 3)
    half = leaf(torch, 1, 2, 3, 3, dtype="float16")
    return (
        f(whole, torch.ones(1, 2, 2, 2, dtype=torch.int64)),
        f(whole.to(torch.int32), torch.ones(1, 2, 2, 2, dtype=torch.int32)).dtype,
        f(half, torch.ones(1, 2, 2, 2, dtype=torch.float16)),
        f(leaf(torch, 1, 2, 3, 3, dtype="float32"), torch.ones(1, 2, 2, 2)),
    )


@program()
def complex_convolution(torch: Any) -> Any:
    f = torch.nn.functional.conv1d
    x = torch.complex(leaf(torch, 2, 2, 4), leaf(torch, 2, 2, 4, seed=8)).detach().requires_grad_()
    w = torch.complex(leaf(torch, 3, 2, 2), leaf(torch, 3, 2, 2, seed=9)).detach().requires_grad_()
    out = f(x, w, padding=1)
    return out.detach(), torch.autograd.grad(out, (x, w), ramp(torch, out))


@program()
def empty_batches_convolve(torch: Any) -> Any:
    x, w = torch.zeros(0, 2, 4, 4, requires_grad=True), torch.ones(3, 2, 2, 2, requires_grad=True)
    out = torch.conv2d(x, w)
    out.sum().backward()
    return out, x.grad, w.grad, torch.conv_transpose2d(x, w.transpose(0, 1).detach())


@program()
def a_nan_and_an_infinity_stay_in_their_windows(torch: Any) -> Any:
    x = torch.ones(1, 1, 1, 6, dtype=torch.float64)
    x[0, 0, 0, 1], x[0, 0, 0, 4] = float("nan"), float("inf")
    f = torch.nn.functional
    return (
        f.conv1d(x[0], torch.ones(1, 1, 2, dtype=torch.float64)),
        f.max_pool2d(x, (1, 2)),
        f.avg_pool2d(x, (1, 2)),
        f.adaptive_avg_pool2d(x, (1, 4)),
        f.adaptive_max_pool2d(x, (1, 4), return_indices=True),
        f.interpolate(x, size=(1, 3), mode="nearest"),
    )


@program()
def wrong_convolutions(torch: Any) -> Any:
    x, w, f = torch.ones(1, 4, 8, 8), torch.ones(6, 4, 3, 3), torch.nn.functional.conv2d
    return [
        attempt("to have 4 channels, but got 3 channels", f, torch.ones(1, 3, 8, 8), w),
        attempt(r"Expected 3D \(unbatched\) or 4D \(batched\) input to conv2d", f, torch.ones(3, 3), w),
        attempt(
            "expected stride to be a single integer value or a list of 1 values", f, x, torch.ones(6, 4, 3)
        ),
        attempt("weight should have at least three dimensions", f, x, torch.ones(6)),
        attempt("Kernel size can't be greater than actual input size", f, torch.ones(1, 4, 2, 8), w),
        attempt("expected bias to be 1-dimensional with 6 elements", f, x, w, torch.ones(5)),
        attempt(
            "expected weight to be divisible by 4 at dimension 0", f, x, torch.ones(6, 1, 3, 3), groups=4
        ),
        attempt("expected weight to be at least 4 at dimension 0", f, x, torch.ones(2, 1, 3, 3), groups=4),
        attempt("non-positive groups is not supported", f, x, w, groups=0),
        attempt("non-positive stride is not supported", f, x, w, stride=0),
        attempt("negative padding is not supported", f, x, w, padding=-1),
        attempt("dilation should be greater than zero", f, x, w, dilation=0),
        attempt("a list of 2 values to match the convolution dimensions", f, x, w, stride=(1, 1, 1)),
        attempt("Invalid padding string", f, x, w, padding="full"),
        attempt("padding='same' is not supported for strided", f, x, w, padding="same", stride=2),
        attempt("expected scalar type Float but found Double", f, x, w.double()),
        attempt("bias type .* should be the same", f, x, w, torch.ones(6).double()),
        attempt(r"Input type \(double\) and bias type \(float\)", f, x.double(), w, torch.ones(6)),
        attempt("invalid combination of arguments", f, x, w, stride=1.5),
        attempt("invalid combination of arguments", f, [1.0], w),
        attempt("not implemented for 'Bool'", f, x > 0, w > 0),
    ]


@program()
def wrong_transposed_convolutions(torch: Any) -> Any:
    x, w, b = torch.ones(1, 4, 8, 8), torch.ones(4, 6, 3, 3), torch.ones(6)
    f = torch.nn.functional.conv_transpose2d
    return [
        attempt("to have 4 channels, but got 3 channels", f, torch.ones(1, 3, 8, 8), w),
        attempt("output padding must be smaller than either stride or dilation", f, x, w, output_padding=1),
        attempt("negative output_padding is not supported", f, x, w, output_padding=-1),
        attempt("Output size is too small", f, torch.ones(1, 4, 1, 1), w, padding=3),
        attempt("expected bias to be 1-dimensional with 6 elements", f, x, w, torch.ones(4)),
        attempt("Only zero batch or zero channel inputs", f, torch.ones(1, 4, 0, 8), w),
        attempt("Input must have 3 dims", torch.conv_tbc, torch.ones(9, 2), torch.ones(3, 4, 6), b),
        attempt("is not == dim 1 in the weight", torch.conv_tbc, torch.ones(9, 2, 3), torch.ones(3, 4, 6), b),
    ]


# -- pooling -----------------------------------------------------------------------------------------------------


@program()
def max_pool_with_all_options(torch: Any) -> Any:
    f = torch.nn.functional
    return [
        [
            derivatives(torch, lambda x, o=o, f=g: f(x, 2, **o), numbers(1, 2, *[4] * n))
            for o in (
                {},
                {"stride": 3, "ceil_mode": True},
                {"stride": 1, "padding": 1},
                {"dilation": 2, "stride": 1},
            )
        ]
        for n, g in ((1, f.max_pool1d), (2, f.max_pool2d), (3, f.max_pool3d))
    ]


@program()
def max_pool_says_where(torch: Any) -> Any:
    f = torch.nn.functional
    x = leaf(torch, 2, 1, 5, 4)
    values, indices = f.max_pool2d(x, 3, 2, 1, return_indices=True)
    lines = f.max_pool1d(x[0], 2, return_indices=True), torch.max_pool1d_with_indices(x[0], 2)
    return values, indices, values.grad_fn.name(), lines


@program()
def max_pool_of_ties_takes_the_first(torch: Any) -> Any:
    x = torch.ones(1, 1, 4, 4, requires_grad=True)
    out, where = torch.nn.functional.max_pool2d(x, 2, stride=1, return_indices=True)
    out.sum().backward()
    return out, where, x.grad


@program()
def max_pool_of_nan_and_infinities(torch: Any) -> Any:
    nan, inf = float("nan"), float("inf")
    x = torch.tensor(
        [[[[1.0, nan, -inf, -inf], [nan, 2.0, -inf, -inf], [inf, inf, -inf, 0.0], [1.0, 2.0, 3.0, 4.0]]]]
    )
    x.requires_grad_()
    out, where = torch.nn.functional.max_pool2d(x, 2, padding=1, return_indices=True)
    out.backward(torch.ones_like(out))
    return out, where, x.grad


@program()
def max_pool_of_integers(torch: Any) -> Any:
    x = torch.arange(16).reshape(1, 4, 4)
    f = torch.nn.functional
    return f.max_pool2d(x, 2), f.max_pool2d(x - 20, 3, 2, 1), f.avg_pool2d(x - 7, 3, 1), f.avg_pool1d(x, 2)


@program()
def the_output_of_max_pool_may_be_overwritten(torch: Any) -> Any:
    x = leaf(torch, 1, 1, 4, 4)
    out = torch.nn.functional.max_pool2d(x, 2)
    torch.relu_(out)
    out.sum().backward()
    return x.grad


@program("has been modified by an inplace operation")
def the_indices_of_max_pool_may_not(torch: Any) -> Any:
    x = leaf(torch, 1, 1, 4, 4)
    out, where = torch.nn.functional.max_pool2d(x, 2, return_indices=True)
    where.zero_()
    out.sum().backward()


@program()
def max_unpool_puts_back(torch: Any) -> Any:
    f = torch.nn.functional
    found = []
    for n in (1, 2, 3):
        x = leaf(torch, 1, 2, *[5] * n)
        values, where = getattr(f, f"max_pool{n}d")(x, 2, return_indices=True)
        back = getattr(f, f"max_unpool{n}d")
        found.append(
            (backward(torch, back(values, where, 2), x), back(values, where, 2, output_size=[5] * n))
        )
    return found


@program()
def avg_pool_with_all_options(torch: Any) -> Any:
    f = torch.nn.functional
    options: tuple[dict[str, Any], ...] = (
        {},
        {"stride": 2, "padding": 1, "ceil_mode": True},
        {"padding": 1, "count_include_pad": False},
        {"divisor_override": 2},
        {"stride": 2, "ceil_mode": True},
    )
    return [
        [derivatives(torch, lambda x, o=o, f=g: f(x, 3, **o), numbers(1, 2, *[4] * n)) for o in options]
        for n, g in ((2, f.avg_pool2d), (3, f.avg_pool3d))
    ] + [derivatives(torch, lambda x, o=o: f.avg_pool1d(x, 2, **o), numbers(2, 5)) for o in options[:3]]


@program()
def adaptive_pools(torch: Any) -> Any:
    f = torch.nn.functional
    return [
        [
            derivatives(torch, lambda x, f=g, o=o: f(x, o), numbers(1, 2, *[5, 3, 4][:n]))
            for g in (getattr(f, f"adaptive_avg_pool{n}d"), getattr(f, f"adaptive_max_pool{n}d"))
            for o in (1, 2, 3, 7)
        ]
        for n in (1, 2, 3)
    ]


@program()
def adaptive_pools_say_where_and_keep_dimensions(torch: Any) -> Any:
    f, x = torch.nn.functional, leaf(torch, 2, 5, 4)
    return (
        f.adaptive_max_pool2d(x, (2, None), return_indices=True),
        f.adaptive_avg_pool2d(x, (None, 3)),
        torch.adaptive_max_pool1d(x, 2),
        f.adaptive_max_pool1d(x, 2),
        torch.adaptive_avg_pool1d(x, 1).grad_fn.name(),
    )


@program()
def lp_pools(torch: Any) -> Any:
    f = torch.nn.functional
    x = [[[abs(v) for v in row] for row in image] for image in numbers(2, 4, 5)]
    return (
        derivatives(torch, lambda x: f.lp_pool2d(x, 2, 2), x),
        derivatives(torch, lambda x: f.lp_pool1d(x, 3.0, 2, stride=1), x),
        derivatives(torch, lambda x: f.lp_pool3d(x[None], 2.5, (1, 2, 2), ceil_mode=True), x),
    )


@program()
def fractional_pools_with_given_samples(torch: Any) -> Any:
    f = torch.nn.functional
    x, y = leaf(torch, 2, 1, 6, 7), leaf(torch, 1, 2, 5, 6, 6)
    s, t = (
        torch.tensor(numbers(2, 1, 2)).double().sigmoid(),
        torch.tensor(numbers(1, 2, 3)).double().sigmoid(),
    )
    return (
        backward(torch, f.fractional_max_pool2d(x, 2, output_size=(3, 4), _random_samples=s), x),
        f.fractional_max_pool2d(x, 2, output_ratio=(0.5, 0.5), _random_samples=s, return_indices=True),
        backward(torch, f.fractional_max_pool3d(y, 2, output_size=3, _random_samples=t), y),
    )


@program()
def fractional_pools_draw_their_own(torch: Any) -> Any:
    f, x = torch.nn.functional, torch.ones(2, 3, 8, 8, 8)
    return f.fractional_max_pool3d(x, 2, output_size=3), f.fractional_max_pool2d(x[0], 3, output_size=(4, 5))


@program()
def wrong_pools(torch: Any) -> Any:
    f, x, y = torch.nn.functional, torch.ones(1, 2, 6, 6), torch.ones(2, 6)
    return [
        attempt("at most half of kernel size", f.max_pool1d, y, 2, padding=2),
        attempt("at most half of effective kernel size", f.max_pool2d, x, 2, padding=2),
        attempt("at most half of effective kernel size", f.avg_pool2d, x, 2, padding=2),
        attempt("pad must be non-negative", f.max_pool2d, x, 2, padding=-1),
        attempt("stride should not be zero", f.max_pool2d, x, 2, 0),
        attempt("stride must be greater than zero", f.max_pool1d, y, 2, 0),
        attempt("dilation should be greater than zero", f.max_pool2d, x, 2, dilation=0),
        attempt("Output size is too small", f.max_pool2d, x, 7),
        attempt("Invalid computed output size: 0", f.max_pool1d, y, 7),
        attempt("Output size is too small", f.avg_pool1d, y, 7),
        attempt("smaller than kernel size", f.avg_pool3d, x, 7),
        attempt(r"non-empty 3D or 4D \(batch mode\) tensor expected", f.max_pool2d, torch.ones(6), 2),
        attempt("Expected 2 to 3 dimensions", f.avg_pool1d, torch.ones(6), 2),
        attempt(
            "kernel_size must either be a single int, or a tuple of two ints", f.max_pool2d, x, (2, 2, 2)
        ),
        attempt("stride must either be omitted, a single int", f.max_pool2d, x, 2, (2, 2, 2)),
        attempt("must be tuple of ints, not float", f.max_pool2d, x, 2.0),
        attempt("must be Tensor, not list", f.max_pool2d, [1.0], 2),
        attempt("\"max_pool2d\" not implemented for 'Bool'", f.max_pool2d, x > 0, 2),
        attempt("\"max_pool1d_impl\" not implemented for 'Long'", f.max_pool1d, y.long(), 2),
        attempt("\"avg_pool2d\" not implemented for 'Int'", f.avg_pool2d, x.int(), 2),
        attempt("divisor must be not zero", f.avg_pool2d, x, 2, divisor_override=0),
        attempt("should contain one int", f.avg_pool1d, y, (2, 2)),
    ]


@program()
def wrong_adaptive_and_inverse_pools(torch: Any) -> Any:
    f, x = torch.nn.functional, torch.ones(1, 2, 6, 6)
    values, where = f.max_pool2d(x, 2, return_indices=True)
    return [
        attempt("Expected 3D or 4D tensor", f.adaptive_avg_pool2d, torch.ones(6), 2),
        attempt("elements of output_size must be greater than or equal to 0", f.adaptive_avg_pool2d, x, -1),
        attempt("output_size must be 2", f.adaptive_avg_pool2d, x, (2, 2, 2)),
        attempt("not implemented for 'Long'", f.adaptive_avg_pool2d, x.long(), 2),
        attempt("negative dimension", f.adaptive_max_pool2d, x, -1),
        attempt("non-zero size for non-batch dimensions", f.adaptive_max_pool2d, torch.ones(2, 3, 0, 0), 1),
        attempt("must be between 4 and 8", f.max_unpool2d, values, where, 2, output_size=(99, 99)),
        attempt("containing 2 or 4 elements", f.max_unpool2d, values, where, 2, output_size=[6] * 6),
        attempt("Found an invalid max index: 10", f.max_unpool2d, values, where + 1000, 2),
        attempt("Expected shape of indices to be same", f.max_unpool2d, values, where[:, :1], 2),
        attempt("should be type int64", f.max_unpool2d, values, where.int(), 2),
        attempt("either an output_size or an output_ratio", f.fractional_max_pool2d, x, 2),
        attempt("too large relative to input", f.fractional_max_pool2d, x, 2, output_size=6),
    ]


# -- patches -----------------------------------------------------------------------------------------------------


@program()
def unfold_and_fold(torch: Any) -> Any:
    f = torch.nn.functional
    options: tuple[dict[str, Any], ...] = ({}, {"padding": 1, "stride": 2}, {"dilation": (1, 2)})
    return [
        (
            derivatives(torch, lambda x, o=o: f.unfold(x, 2, **o), numbers(1, 2, 4, 5)),
            derivatives(torch, lambda x, o=o: f.fold(f.unfold(x, 2, **o), (4, 5), 2, **o), numbers(2, 4, 5)),
        )
        for o in options
    ]


@program()
def wrong_patches(torch: Any) -> Any:
    f, x, y = torch.nn.functional, torch.ones(1, 1, 6, 6), torch.ones(1, 8, 9)
    return [
        attempt(r"Expected 3D or 4D \(batch mode\) tensor", f.unfold, torch.ones(1, 1, 2, 2, 2), 2),
        attempt("its components must be at least one", f.unfold, x, 7),
        attempt("kernel size should be greater than zero", f.unfold, x, 0),
        attempt("stride should be greater than zero", f.unfold, x, 2, stride=0),
        attempt("padding should be non-negative", f.unfold, x, 2, padding=-1),
        attempt("\"im2col_out_cpu\" not implemented for 'Long'", f.unfold, x.long(), 2),
        attempt("equals to 2, but got size 3", f.unfold, x, (2, 2, 2)),
        attempt("divisible by the product of kernel_size", f.fold, torch.ones(1, 7, 9), (4, 4), 2),
        attempt("number of sliding blocks 4 \\* 4 = 16", f.fold, y, (5, 5), 2),
        attempt(r"Expected 2D or 3D \(batch mode\) tensor", f.fold, torch.ones(6), (4, 4), 2),
    ]


# -- resampling --------------------------------------------------------------------------------------------------


@program()
def interpolate_in_every_mode(torch: Any) -> Any:
    f = torch.nn.functional.interpolate
    modes = {1: ("linear",), 2: ("bilinear", "bicubic"), 3: ("trilinear",)}
    return [
        derivatives(torch, lambda x, m=mode, s=size: f(x, size=s, mode=m), numbers(1, 2, *[4, 3, 2][:n]))
        for n in (1, 2, 3)
        for mode in ("nearest", "nearest-exact", "area", *modes[n])
        for size in (1, 2, 5)
    ]


@program()
def interpolate_nodes(torch: Any) -> Any:
    f = torch.nn.functional.interpolate
    x = leaf(torch, 1, 1, 4, 4)
    return [
        f(x, size=3, **o).grad_fn.name()
        for o in ({}, {"mode": "nearest-exact"}, {"mode": "bilinear"}, {"mode": "bicubic"}, {"mode": "area"},
                  {"mode": "bilinear", "antialias": True}, {"mode": "bicubic", "antialias": True},
                  {"mode": "lanczos", "antialias": True})
    ]  # fmt: skip


@program()
def interpolate_with_aligned_corners(torch: Any) -> Any:
    f = torch.nn.functional.interpolate
    return [
        derivatives(torch, lambda x, m=m, s=s: f(x, size=s, mode=m, align_corners=True), numbers(1, 1, 3, 4))
        for m in ("bilinear", "bicubic")
        for s in ((5, 2), (1, 1), (3, 4))
    ]


@program()
def interpolate_by_a_scale(torch: Any) -> Any:
    f = torch.nn.functional.interpolate
    x = leaf(torch, 1, 1, 5, 4)
    return [
        backward(torch, f(x, scale_factor=s, mode=m, recompute_scale_factor=r), x)
        for m in ("nearest", "nearest-exact", "bilinear", "bicubic", "area")
        for s in (0.7, 1.3, (2.0, 1.6), 2)
        for r in (None, True)
    ]


@program()
def interpolate_smoothly(torch: Any) -> Any:
    f = torch.nn.functional.interpolate
    return [
        derivatives(torch, lambda x, m=m, o=o: f(x, mode=m, antialias=True, **o), numbers(1, 1, 7, 6))
        for m in ("bilinear", "bicubic", "lanczos")
        for o in ({"size": (3, 2)}, {"size": (9, 4)}, {"scale_factor": 0.6})
    ]


@program()
def interpolate_other_dtypes(torch: Any) -> Any:
    f = torch.nn.functional.interpolate
    whole = torch.arange(12, dtype=torch.uint8).reshape(1, 1, 3, 4)
    return (
        f(whole, size=(5, 2)),
        f(leaf(torch, 1, 1, 3, 4, dtype="float16"), size=(5, 2), mode="bilinear"),
        f(leaf(torch, 1, 1, 3, 4, dtype="float32"), size=(5, 2), mode="bicubic"),
    )


@program(warns="is deprecated. Use `nn.functional.interpolate` instead")
def former_names_of_interpolate(torch: Any) -> Any:
    f, x = torch.nn.functional, leaf(torch, 1, 1, 3, 4)
    return (
        f.upsample(x, size=(5, 2)),
        f.upsample_nearest(x, scale_factor=2),
        f.upsample_bilinear(x, scale_factor=2),
    )


@program()
def wrong_interpolations(torch: Any) -> Any:
    f, x = torch.nn.functional.interpolate, torch.ones(1, 2, 4, 4)
    return [
        attempt("either size or scale_factor should be defined", f, x),
        attempt("only one of size or scale_factor should be defined", f, x, 3, 2),
        attempt("Only 3D, 4D and 5D input Tensors supported", f, x, 3, mode="cubic"),
        attempt("Only 3D, 4D and 5D input Tensors supported", f, torch.ones(3, 4), 3),
        attempt("align_corners option can only be set", f, x, 3, align_corners=True),
        attempt("Got 4D input, but linear mode needs 3D input", f, x, 3, mode="linear"),
        attempt("Got 3D input, but bilinear mode needs 4D input", f, torch.ones(1, 2, 4), 3, mode="bilinear"),
        attempt("same number of spatial dimensions", f, x, (3, 3, 3)),
        attempt("same number of spatial dimensions", f, x, scale_factor=(2.0,)),
        attempt("sizes should be greater than 0", f, x, 0),
        attempt("sizes should be greater than 0", f, x, scale_factor=0.1),
        attempt("expected size to be one of int", f, x, [3.5, 2]),
        attempt("not implemented for 'Long'", f, x.long(), 3),
        attempt("not meaningful with an explicit size", f, x, 3, recompute_scale_factor=True),
        attempt("Anti-alias option is restricted", f, x, 3, antialias=True),
        attempt("Non-empty 4D data tensor expected", f, torch.ones(1, 0, 4, 4), 3),
        attempt("Lanczos mode requires antialias=True", f, x, 3, mode="lanczos"),
    ]


@program()
def grid_sample_in_every_mode(torch: Any) -> Any:
    f = torch.nn.functional.grid_sample
    x, grid = leaf(torch, 2, 2, 4, 3), leaf(torch, 2, 3, 2, 2, seed=4)
    return [
        backward(torch, f(x, grid * 0.6 + 0.01, m, p, a), x, grid)
        for m in ("bilinear", "nearest", "bicubic")
        for p in ("zeros", "border", "reflection")
        for a in (True, False)
    ]


@program()
def grid_sample_of_volumes(torch: Any) -> Any:
    f = torch.nn.functional.grid_sample
    x, grid = leaf(torch, 1, 2, 3, 2, 3), leaf(torch, 1, 2, 1, 2, 3, seed=4)
    return [
        backward(torch, f(x, grid * 0.5, m, p, a), x, grid)
        for m in ("bilinear", "nearest")
        for p in ("zeros", "border", "reflection")
        for a in (True, False)
    ]


@program(warns="Default grid_sample and affine_grid behavior has changed")
def grids_whose_corners_are_not_said(torch: Any) -> Any:
    f = torch.nn.functional
    theta = leaf(torch, 1, 2, 3)
    grid = f.affine_grid(theta, (1, 1, 2, 3))
    return backward(torch, f.grid_sample(leaf(torch, 1, 1, 3, 3), grid), theta)


@program()
def affine_grids(torch: Any) -> Any:
    f = torch.nn.functional.affine_grid
    return [
        derivatives(torch, lambda t, s=s, a=a: f(t, s, a), theta)
        for theta, s in ((numbers(2, 2, 3), (2, 1, 3, 2)), (numbers(1, 3, 4), (1, 2, 2, 3, 2)))
        for a in (True, False)
    ]


@program(warns="affine_grid behavior has changed for unit-size grids")
def affine_grids_of_one_row(torch: Any) -> Any:
    return torch.nn.functional.affine_grid(leaf(torch, 1, 2, 3), (1, 1, 1, 3), True)


@program()
def samplers_by_their_general_names(torch: Any) -> Any:
    x, grid = leaf(torch, 1, 1, 3, 3), leaf(torch, 1, 2, 2, 2) * 0.3
    return (
        torch.grid_sampler(x, grid, 0, 1, True),
        torch.grid_sampler_2d(x, grid, 2, 0, False),
        torch.affine_grid_generator(leaf(torch, 1, 2, 3), (1, 1, 2, 2), True),
    )


@program()
def wrong_grids(torch: Any) -> Any:
    f, x, g = torch.nn.functional, torch.ones(1, 2, 4, 4), torch.ones(1, 2, 2, 2)
    sample, volume = f.grid_sample, torch.ones(1, 1, 2, 2, 2)
    return [
        attempt("expected mode to be 'bilinear'", sample, x, g, "linear", align_corners=False),
        attempt("expected padding_mode to be 'zeros'", sample, x, g, "nearest", "wrap", False),
        attempt("same batch size", sample, x, torch.ones(2, 2, 2, 2), align_corners=False),
        attempt("same number of dimensions", sample, x, torch.ones(1, 2, 2, 2, 2), align_corners=False),
        attempt("size 2 in last dimension", sample, x, torch.ones(1, 2, 2, 3), align_corners=False),
        attempt("only supports 4D input", sample, volume, torch.ones(1, 1, 1, 1, 3), "bicubic", "zeros", False),
        attempt("expected scalar type Float but found Double", sample, x, g.double(), align_corners=False),
        attempt("non-empty spatial dimensions", sample, torch.ones(1, 2, 0, 3), g, align_corners=False),
        attempt("only supports 4D and 5D sizes", f.affine_grid, torch.ones(1, 2, 3), (1, 1, 2), False),
        attempt("Expected a batch of 2D affine matrices", f.affine_grid, torch.ones(2, 3), (1, 1, 2, 2), False),
        attempt("Expected non-zero, positive output size", f.affine_grid, torch.ones(1, 2, 3), (1, 1, 0, 2), False),
        attempt("floating point type", f.affine_grid, torch.ones(1, 2, 3, dtype=torch.int64), (1, 1, 2, 2), False),
    ]  # fmt: skip


@program()
def shuffles(torch: Any) -> Any:
    f = torch.nn.functional
    return (
        derivatives(torch, lambda x: f.pixel_shuffle(x, 2), numbers(1, 8, 2, 3)),
        derivatives(torch, lambda x: f.pixel_unshuffle(x, 2), numbers(2, 4, 6)),
        derivatives(torch, lambda x: f.channel_shuffle(x, 3), numbers(2, 6, 2)),
        torch.pixel_shuffle(torch.arange(9).reshape(9, 1, 1), 3),
        torch.native_channel_shuffle(torch.ones(1, 4, 2, 2), 2).shape,
    )


@program()
def wrong_shuffles(torch: Any) -> Any:
    f = torch.nn.functional
    return [
        attempt("at least 3 dimensions", f.pixel_shuffle, torch.ones(4, 4), 2),
        attempt("divisible by the square of upscale_factor", f.pixel_shuffle, torch.ones(1, 3, 2, 2), 2),
        attempt("expects a positive upscale_factor", f.pixel_shuffle, torch.ones(1, 4, 2, 2), -2),
        attempt("must be int, not float", f.pixel_shuffle, torch.ones(1, 4, 2, 2), 2.0),
        attempt("expects height to be divisible", f.pixel_unshuffle, torch.ones(1, 3, 3, 2), 2),
        attempt("expects width to be divisible", f.pixel_unshuffle, torch.ones(1, 3, 2, 3), 2),
        attempt("expects input with > 2 dims", f.channel_shuffle, torch.ones(4, 4), 2),
        attempt(
            "Number of channels must be divisible by groups", f.channel_shuffle, torch.ones(1, 3, 2, 2), 2
        ),
    ]
