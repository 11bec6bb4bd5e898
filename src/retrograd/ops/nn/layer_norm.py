"""Normalisation within a sample: to mean 0 and variance 1, to a mean square of 1, by neighbouring channels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from retrograd.backends.base import Backend, as_array, backend_of, common_backend
from retrograd.backends.casts import cast
from retrograd.backends.dtypes import SCALAR_NAMES
from retrograd.backends.limits import finfo
from retrograd.core.apply import apply_n
from retrograd.core.autocast import autocasting_on_cpu, autocasting_on_gpu, in_float32
from retrograd.core.families import added
from retrograd.core.modes import current
from retrograd.core.tensor import Tensor
from retrograd.errors import DtypeError, ShapeError, dimension_error, sizes, type_name, unsupported_dtype
from retrograd.ops.common import int_from, number_from, optional_tensor, real_from, require_tensor, tensor_of
from retrograd.ops.constants import WithConstants
from retrograd.ops.elementwise.exponential import Rsqrt
from retrograd.ops.nn.activation import unsupported
from retrograd.ops.nn.pad import pad
from retrograd.ops.reduce.sums import MeanDim, SumDim, float32
from retrograd.ops.register import public
from retrograd.ops.tensor.convert import ToCopy, contiguous, convert
from retrograd.values import Array, Shape

# -- ops -----------------------------------------------------------------------------------------------------------


def wide(v: Any) -> Any:
    """Half precision as float32, in which statistics are computed; others as they are."""
    return ToCopy(float32).on(v) if v.dtype.itemsize == 2 else v


class Normalised(WithConstants):
    """x with mean 0 and variance 1 along `axes` of some arrangement, times a weight, plus a bias.

    The inputs are (x, weight, bias). The formulas compute the statistics again in backward: they are then formulas of x
    alone, which can be differentiated once more. Kernels of the native pack have noted them.
    """

    in_rows: ClassVar[bool] = True
    like_first: ClassVar[bool] = True
    tracked: ClassVar[int] = 3
    kernel: ClassVar[str] = ""  # how PyTorch's messages call it
    axes: Shape = ()  # along which x, as it is arranged, is normalised
    others: Shape = ()  # the dimensions of x that weight and bias do not have
    eps: float = 0.0
    moments: Any = (
        None  # what the forward's kernel noted for the backward's: an array with a few numbers a row
    )

    def keeps_input(self, i: int) -> bool:
        return self.needs(0) or (i == 0 and self.needs(1)) if i < 2 else False

    def arranged(self, v: Any) -> Any:
        """Something of x's shape in the shape in which it is normalised."""
        return v

    def spread(self, v: Any) -> Any:
        """A weight or bias in a shape that broadcasts against x."""
        return v

    def standardised(self, xs: Sequence[Any]) -> tuple[Any, Any]:
        """The arranged x with mean 0 and variance 1, and what it was multiplied by."""
        x = self.arranged(wide(xs[0]))
        d = x - MeanDim(self.axes, True).on(x)
        scale = Rsqrt().on(MeanDim(self.axes, True).on(d * d) + self.eps)
        return d * scale, scale

    def run(self, xp: Backend, xs: Sequence[Any]) -> tuple[Array, Any]:
        """The result by the kernel of the op's name, and the moments that it has noted."""
        raise NotImplementedError(f"{self.name()} has no run()")

    def run_backward(self, xp: Backend, g: Any, xs: Sequence[Any], wanted: int) -> Sequence[Any]:
        """The gradients of x, weight and bias by the kernel; `wanted` has a bit for each."""
        raise NotImplementedError(f"{self.name()} has no run_backward()")

    def product(self, v: Any, hat: Any, scale: Any) -> Any:
        """The (symmetric) Jacobian of `standardised` times `v`."""
        v = self.arranged(v)
        v = v - MeanDim(self.axes, True).on(v) - hat * MeanDim(self.axes, True).on(v * hat)
        return (v * scale).reshape(self.in_shape)

    def forward(self, xp: Backend, xs: Sequence[Any]) -> Any:
        x = xs[0]
        if x.dtype.kind != "f":
            raise unsupported(self.kernel, x)
        self.in_shape = x.shape
        out, self.moments = self.run(xp, xs)
        return out

    def computed(self, xp: Backend, xs: Sequence[Any]) -> Any:
        """The result by the array library."""
        x, weight, bias = xs[:3]
        out = self.standardised(xs)[0].reshape(x.shape)
        if weight is not None:
            out = out * self.spread(weight)
        if bias is not None:
            out = out + self.spread(bias)
        return xp.asarray(out, x.dtype)

    def summed(self, v: Any) -> Any:
        """Something of x's shape summed down to that of the weight."""
        return SumDim(self.others).on(v) if self.others else v

    def vjp(self, gs: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Sequence[Any]:
        wanted = self.needs(0) | self.needs(1) << 1 | self.needs(2) << 2
        return self.run_backward(common_backend((gs[0], *xs[:2])), gs[0], xs, wanted)

    def formula(self, g: Any, xs: Sequence[Any]) -> Sequence[Any]:
        """The gradients of x, weight and bias."""
        g = wide(g)
        grads: list[Any] = [None, None, self.summed(g) if self.needs(2) else None]
        if self.needs(0) or self.needs(1):
            hat, scale = self.standardised(xs)
            if self.needs(0):
                grads[0] = self.product(g if xs[1] is None else g * self.spread(xs[1]), hat, scale)
            if self.needs(1):
                grads[1] = self.summed(g * hat.reshape(self.in_shape))
        return grads

    def jvp(self, ts: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Any:
        hat, scale = self.standardised(xs)
        moved = None if ts[0] is None else self.product(ts[0], hat, scale)
        if moved is not None and xs[1] is not None:
            moved = moved * self.spread(xs[1])
        by_weight = None if ts[1] is None else hat.reshape(self.in_shape) * self.spread(ts[1])
        by_bias = None if ts[2] is None else hat.reshape(self.in_shape) * 0 + self.spread(ts[2])
        return added(added(moved, by_weight), by_bias)


class NativeLayerNorm(Normalised):
    """normalised along the last dimensions, which weight and bias share"""

    kernel = "LayerNormKernelImpl"
    params: ClassVar[tuple[str, ...]] = ("normalized_shape", "eps")
    shown: ClassVar[dict[str, str]] = {
        "normalized_shape": "normalized_shape", "input": "x:0", "weight": "x:1",
    }  # fmt: skip

    def __init__(self, normalized_shape: Shape, eps: float) -> None:
        self.normalized_shape = normalized_shape
        self.eps = eps

    def forward(self, xp: Backend, xs: Sequence[Any]) -> Any:
        ndim = xs[0].ndim
        first = ndim - len(self.normalized_shape)
        self.axes, self.others = tuple(range(first, ndim)), tuple(range(first))
        return super().forward(xp, xs)

    def computed(self, xp: Backend, xs: Sequence[Any]) -> Any:
        if xs[0].dtype.itemsize > 2:
            return super().computed(xp, xs)
        return xp.of_lines(
            partial(self.of_rows, xp, xs[1], xs[2]), xs[0], *self.axes
        )  # each is copied, wider

    def of_rows(self, xp: Backend, weight: Any, bias: Any, x: Array) -> Array:
        """Some rows, normalised."""
        found: Array = super().computed(xp, (x, weight, bias))
        return found

    def run(self, xp: Backend, xs: Sequence[Any]) -> tuple[Array, Any]:
        found: tuple[Array, Any] = xp.layer_norm(self, xs)
        return found

    def run_backward(self, xp: Backend, g: Any, xs: Sequence[Any], wanted: int) -> Sequence[Any]:
        found: Sequence[Any] = xp.layer_norm_backward(self, g, xs, wanted)
        return found


class FusedRmsNorm(NativeLayerNorm):
    """divided by the root of the mean square of the last dimensions; there is no bias"""

    def run(self, xp: Backend, xs: Sequence[Any]) -> tuple[Array, Any]:
        found: tuple[Array, Any] = xp.rms_norm(self, xs)
        return found

    def run_backward(self, xp: Backend, g: Any, xs: Sequence[Any], wanted: int) -> Sequence[Any]:
        found: Sequence[Any] = xp.rms_norm_backward(self, g, xs, wanted)
        return found

    def standardised(self, xs: Sequence[Any]) -> tuple[Any, Any]:
        x = wide(xs[0])
        scale = Rsqrt().on(MeanDim(self.axes, True).on(x * x) + self.eps)
        return x * scale, scale

    def product(self, v: Any, hat: Any, scale: Any) -> Any:
        return (v - hat * MeanDim(self.axes, True).on(v * hat)) * scale


class OfChannels(Normalised):
    """Normalised with a weight and a bias for each channel, that is, along dimension 1."""

    def forward(self, xp: Backend, xs: Sequence[Any]) -> Any:
        self.others = (0, *range(2, xs[0].ndim))
        return super().forward(xp, xs)

    def spread(self, v: Any) -> Any:
        return v.reshape((-1,) + (1,) * (len(self.in_shape) - 2))


class NativeGroupNorm(OfChannels):
    """normalised within each sample and group of channels"""

    kernel = "GroupNormKernelImpl"
    params: ClassVar[tuple[str, ...]] = ("group", "eps")
    shown: ClassVar[dict[str, str]] = {"group": "group", "eps": "eps", "input": "x:0", "weight": "x:1"}
    axes: Shape = (2,)

    def __init__(self, group: int, eps: float) -> None:
        self.group = group
        self.eps = eps

    def arranged(self, v: Any) -> Any:
        n, count = self.in_shape[0], int(np.prod(self.in_shape[1:]))
        return v.reshape((n, self.group, count // self.group))

    def run(self, xp: Backend, xs: Sequence[Any]) -> tuple[Array, Any]:
        found: tuple[Array, Any] = xp.group_norm(self, xs)
        return found

    def run_backward(self, xp: Backend, g: Any, xs: Sequence[Any], wanted: int) -> Sequence[Any]:
        found: Sequence[Any] = xp.group_norm_backward(self, g, xs, wanted)
        return found


# -- functions -----------------------------------------------------------------------------------------------------


def _sizes_given(function: str, normalized_shape: Any) -> Shape:
    if not isinstance(normalized_shape, (tuple, list)):
        raise TypeError(
            f"{function}(): argument 'normalized_shape' (position 2) must be tuple of ints, not "
            f"{type_name(normalized_shape)}"
        )
    for n in normalized_shape:
        if type(n) is not int and not hasattr(n, "__index__"):
            place = [other is n for other in normalized_shape].index(True)  # not by value: 1.0 equals 1
            raise TypeError(
                f"{function}(): argument 'normalized_shape' (position 2) must be tuple of ints, but found element of "
                f"type {type_name(n)} at pos {place}"
            )
    return tuple([n if type(n) is int else int(n.__index__()) for n in normalized_shape])


def _check_last(function: str, x: Tensor, shape: Shape, weight: Any, bias: Any) -> None:
    """The last dimensions of x are the ones to normalise, and the parameters have their shape."""
    if not shape:
        raise ShapeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
            "normalized_shape = []"
        )
    _check_parameter(function, "weight", 3, weight, shape)
    _check_parameter(function, "bias", 4, bias, shape)
    if x.array.shape[-len(shape) :] != shape:
        given = sizes(shape)
        raise ShapeError(
            f"Given normalized_shape={given}, expected input with shape [*, {given[1:]}, but got input of size"
            f"{sizes(x.array.shape)}"
        )


def _check_parameter(function: str, name: str, position: int, given: Any, shape: Shape) -> None:
    v = optional_tensor(function, name, position, given)
    if v is not None and v.array.shape != shape:
        raise ShapeError(
            f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape "
            f"{sizes(v.array.shape)} and normalized_shape = {sizes(shape)}"
        )


def check_mixed(x: Tensor, parameters: Sequence[Any]) -> None:
    """Parameters have the dtype of x; those of an input of half precision may also be float32."""
    allowed = (x.array.dtype, float32) if x.array.dtype.itemsize == 2 else (x.array.dtype,)
    for v in parameters:
        if v is None or v.array.dtype is x.array.dtype:
            continue
        if v.array.dtype not in allowed and x.array.dtype.kind == "f":
            raise DtypeError(
                f"mixed dtype (CPU): expect parameter to have scalar type of {SCALAR_NAMES[allowed[-1]]}, not "
                f"{SCALAR_NAMES[v.array.dtype]}. Convert it with .to(dtype)."
            )


@public("layer_norm", "nn.functional.layer_norm")
def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Tensor:
    """`input` with mean 0 and variance 1 over its last dimensions, times `weight`, plus `bias`.

    Args:
        normalized_shape: the sizes of the dimensions to normalise over.
        eps: added to the variance before the division.

    >>> import retrograd as rg
    >>> rg.layer_norm(rg.tensor([[1.0, 2.0, 3.0]]), (3,))
    tensor([[-1.2247,  0.0000,  1.2247]])
    """
    if autocasting_on_gpu(input):
        return in_float32(layer_norm, input, normalized_shape, weight, bias, eps)
    x, shape = require_tensor("layer_norm", "input", 1, input), _sizes_given("layer_norm", normalized_shape)
    _check_last("layer_norm", x, shape, weight, bias)
    check_mixed(x, (weight, bias))
    found: Tensor = apply_n(NativeLayerNorm(shape, eps), (x, weight, bias))
    return found


@public("native_layer_norm")
def native_layer_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """`layer_norm`, with the mean and the reciprocal standard deviation that it used."""
    out = layer_norm(input, normalized_shape, weight, bias, eps)
    ndim = input.array.ndim
    return out, *statistics(input.array, tuple(range(ndim - len(normalized_shape), ndim)), eps, True)


def statistics(x: Array, axes: Shape, eps: float, keepdims: bool) -> tuple[Tensor, Tensor]:
    """The mean and the reciprocal standard deviation, which have no gradient."""
    a = wide(x)
    mean, var = a.mean(axis=axes, keepdims=keepdims), a.var(axis=axes, keepdims=keepdims)
    mean, scale = as_array(mean), as_array(1 / backend_of(x).sqrt(var + eps))
    return tensor_of(cast(mean, x.dtype, copy=False)), tensor_of(cast(scale, x.dtype, copy=False))


@public("rms_norm", "nn.functional.rms_norm")
def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """`input` over its root mean square along the last dimensions, times `weight`.

    Args:
        eps: added to the mean of the squares; None for the machine epsilon of the dtype.
    """
    if autocasting_on_gpu(input):
        return in_float32(rms_norm, input, normalized_shape, weight, eps)
    x: Any = require_tensor("rms_norm", "input", 1, input)
    shape = _sizes_given("rms_norm", normalized_shape)
    if x.array.ndim < len(shape):
        raise ValueError(f"Input tensor must have at least {len(shape)} dimensions, but got {x.array.ndim}")
    _check_last("rms_norm", x, shape, weight, None)
    if x.array.dtype.kind not in "fc":
        raise unsupported_dtype("rms_norm", x.array.dtype)
    small = float(finfo(x.array.dtype).eps) if eps is None else real_from("rms_norm", "eps", 4, eps)
    if backend_of(x.array).fuses_rms_norm and x.array.dtype.kind == "f":
        found: Tensor = apply_n(FusedRmsNorm(shape, small), (x, weight, None))
        return found
    a = contiguous(convert(x, float32) if x.array.dtype.itemsize == 2 else x)
    axes = tuple(range(x.array.ndim - len(shape), x.array.ndim))
    out = a * Rsqrt().on(MeanDim(axes, True).on(a**2) + small)
    return convert(out if weight is None else out * weight, x.array.dtype)


@public("group_norm")
def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Tensor:
    """`input` with mean 0 and variance 1 within each sample and group of channels, times `weight`, plus `bias`.

    Args:
        input: of shape (N, C, ...).
        num_groups: into how many groups the C channels are split.
        weight, bias: one number per channel.
    """
    if autocasting_on_gpu(input):
        return in_float32(group_norm, input, num_groups, weight, bias, eps)
    x = require_tensor("group_norm", "input", 1, input)
    shape = x.array.shape
    if len(shape) < 2:
        raise dimension_error(len(shape), len(shape))
    if num_groups <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
    if shape[1] % num_groups:
        raise ShapeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{sizes(shape)} and num_groups={num_groups}"
        )
    for i, (name, given) in enumerate((("weight", weight), ("bias", bias))):
        v = optional_tensor("group_norm", name, 3 + i, given)
        if v is not None and v.array.shape != (shape[1],):
            raise ShapeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of "
                f"shape {sizes(v.array.shape)} and input of shape {sizes(shape)}"
            )
    check_mixed(x, (weight, bias))
    found: Tensor = apply_n(NativeGroupNorm(num_groups, eps), (x, weight, bias))
    return found


@public("nn.functional.group_norm")
def functional_group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """`group_norm` as `nn.functional` has it: one value per group is an error, because it would become 0.

    >>> import retrograd as rg
    >>> rg.nn.functional.group_norm(rg.tensor([[1.0, 3.0, 10.0, 30.0]]), 2)
    tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])
    """
    x = require_tensor("group_norm", "input", 1, input)
    if x.array.ndim < 2:
        raise ShapeError(f"Expected at least 2 dimensions for input tensor but received {x.array.ndim}")
    n, c = x.array.shape[:2]
    num_groups = int_from("group_norm", "num_groups", 2, num_groups)
    if num_groups == 0:
        raise ZeroDivisionError("group_norm: the channels cannot be split into 0 groups")
    check_several(x, n * c // num_groups * int(np.prod(x.array.shape[2:])), str(list(x.array.shape)))
    return group_norm(x, num_groups, weight, bias, eps)


def check_several(x: Tensor, count: int, shown: str) -> None:
    if count == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {shown}. The variance of one value "
            "is 0: use more samples, or evaluate with running statistics."
        )


@public("native_group_norm")
def native_group_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """`group_norm`, with the mean and the reciprocal standard deviation of each group."""
    out = group_norm(input, group, weight, bias, eps)
    x: Any = input
    if not (x.requires_grad and current().grad_enabled):
        return out, *statistics(x.array.reshape(N, group, C // group * HxW), (2,), eps, False)
    rows = wide(x).reshape((N, group, C // group * HxW))
    mean, scale = rows.mean(2), Rsqrt().on(rows.var(2, unbiased=False) + eps)
    return out, convert(mean, x.array.dtype), convert(scale, x.array.dtype)


@public("nn.functional.local_response_norm")
def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """`input / (k + alpha * m) ** beta`, where m is the mean square of `size` neighbouring channels."""
    x = require_tensor("local_response_norm", "input", 1, input)
    if autocasting_on_cpu() and x.array.ndim > 3:  # PyTorch takes the means by avg_pool3d
        return in_float32(local_response_norm, x, size, alpha, beta, k)
    if x.array.ndim < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {x.array.ndim} dimensions)")
    size = int_from("local_response_norm", "size", 2, size)
    if size < 1:
        raise RuntimeError(f"kernel size should be greater than zero, but got {size}")
    if not x.array.size:
        return x
    around = (0, 0) * (x.array.ndim - 2) + (size // 2, (size - 1) // 2)
    windows: Any = pad(x * x, around).unfold(1, size, 1)
    whole = x.array.dtype.kind in "iu"
    means = (
        windows.sum(-1).div(size, rounding_mode="trunc")
        if whole
        else MeanDim((x.array.ndim,), False).on(windows)
    )
    factor, exponent, base = (number_from("local_response_norm", "alpha", 3, v) for v in (alpha, beta, k))
    found: Tensor = x / (means * factor + base) ** exponent
    return found
