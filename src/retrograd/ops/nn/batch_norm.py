"""Normalisation of channels over a batch, or within each sample, with running statistics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from retrograd.backends.base import Backend, is_writable
from retrograd.backends.casts import maker_of
from retrograd.core.apply import apply_n
from retrograd.core.modes import before_write
from retrograd.core.tensor import Tensor
from retrograd.core.views import overlap_error
from retrograd.errors import DimensionError, ShapeError, dimension_error
from retrograd.ops.common import differ, number_from, optional_tensor, real_from, require_tensor
from retrograd.ops.constants import constant
from retrograd.ops.elementwise.exponential import Rsqrt
from retrograd.ops.nn.host import as_constant
from retrograd.ops.nn.layer_norm import OfChannels, check_mixed, check_several, statistics, wide
from retrograd.ops.register import public
from retrograd.ops.shape.reshape import reshape
from retrograd.values import Array


class NativeBatchNorm(OfChannels):
    """normalised within each channel, by its own statistics while training, else by given ones: inputs 3 and 4"""

    kernel = "batch_norm"
    params: ClassVar[tuple[str, ...]] = ("training", "momentum", "eps")
    shown: ClassVar[dict[str, str]] = {
        "training": "training", "eps": "eps", "input": "x:0", "weight": "x:1", "running_mean": "x:3",
        "running_var": "x:4",
    }  # fmt: skip

    followed: bool = False  # whether the forward's kernel has moved the running statistics

    def __init__(self, training: bool, momentum: float, eps: float) -> None:
        self.training = training
        self.momentum = momentum
        self.eps = eps

    def keeps_input(self, i: int) -> bool:
        if i < 3:
            return super().keeps_input(i)
        return not self.training and (self.needs(0) or self.needs(1))

    def forward(self, xp: Backend, xs: Sequence[Any]) -> Any:
        self.axes = (0, *range(2, xs[0].ndim))
        moves = self.training and xs[3] is not None
        if moves:
            for running in (xs[3], xs[4]):
                before_write(running)
                if not is_writable(running):
                    raise overlap_error()
        out = super().forward(xp, xs)
        if moves and not self.followed:
            self.follow(xs)
        return out

    def run(self, xp: Backend, xs: Sequence[Any]) -> tuple[Array, Any]:
        found: tuple[Array, Any] = xp.batch_norm(self, xs)
        return found

    def run_backward(self, xp: Backend, g: Any, xs: Sequence[Any], wanted: int) -> Sequence[Any]:
        found: Sequence[Any] = xp.batch_norm_backward(self, g, xs, wanted)
        return found

    def follow(self, xs: Sequence[Any]) -> None:
        """Moves the running statistics, which belong to the caller, towards those of x."""
        x = wide(xs[0])
        count = x.size // x.shape[1]
        noted = self.moments
        mean = x.mean(axis=self.axes) if noted is None else noted[0]
        var = x.var(axis=self.axes) if noted is None else noted[2]
        for running, value in ((xs[3], mean), (xs[4], var * (np.float64(count) / (count - 1)))):
            running[...] = self.momentum * value + (1 - self.momentum) * running

    def standardised(self, xs: Sequence[Any]) -> tuple[Any, Any]:
        if self.training:
            return super().standardised(xs)
        scale = self.spread(Rsqrt().on(wide(xs[4]) + self.eps))
        return (wide(xs[0]) - self.spread(xs[3])) * scale, scale

    def product(self, v: Any, hat: Any, scale: Any) -> Any:
        return super().product(v, hat, scale) if self.training else v * scale


# -- functions -----------------------------------------------------------------------------------------------------


@public("batch_norm")
def batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    """`input` with mean 0 and variance 1 within each channel, times `weight`, plus `bias`.

    While training, the statistics are those of the input, and the running ones move towards them; else the running
    ones are used. `nn.functional.batch_norm` has the arguments in a handier order.
    """
    x = require_tensor("batch_norm", "input", 1, input)
    if not x.array.size:
        return _of_nothing(x, weight, bias)
    running = (running_mean, running_var)
    if not training:
        for name, v in (("running_mean", running_mean), ("running_var", running_var)):
            if v is None:
                raise RuntimeError(f"{name} must be defined in evaluation mode")
    elif (running_mean is None) != (running_var is None):
        raise ValueError("running_mean and running_var must either both be None or neither be None")
    elif running_mean is not None and differ(x) and not differ(running_mean):
        raise RuntimeError(
            "Batch norm got a batched tensor as input while the running_mean or running_var, which will be updated "
            "in place, were not batched. Samples share them, and have statistics of their own: leave the running "
            "ones out (None), or normalise outside of vmap."
        )
    channels = x.array.shape[1] if x.array.ndim > 1 else 0
    named = {"running_mean": running_mean, "running_var": running_var, "weight": weight, "bias": bias}
    for position, (name, given) in zip((4, 5, 2, 3), named.items(), strict=True):
        v = optional_tensor("batch_norm", name, position, given)
        if v is not None and v.array.shape != (channels,):
            raise ShapeError(f"{name} should contain {channels} elements not {v.array.size}")
    constant("native_batch_norm", "running_mean", running_mean)
    constant("native_batch_norm", "running_var", running_var)
    check_mixed(x, (weight, bias, *running))
    step = number_from("batch_norm", "momentum", 7, momentum)
    found: Tensor = apply_n(NativeBatchNorm(bool(training), step, eps), (x, weight, bias, *running))
    return found


def _of_nothing(x: Any, weight: Any, bias: Any) -> Tensor:
    """`batch_norm` of no elements: a graph without a normalisation."""
    ones = (1,) * (x.array.ndim - 2)
    scaled = x.clone() if weight is None else x * reshape(weight, (-1, *ones))
    found: Tensor = scaled if bias is None else scaled + reshape(bias, (-1, *ones))
    return found


@public("nn.functional.batch_norm")
def functional_batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """`input` with mean 0 and variance 1 within each channel, times `weight`, plus `bias`.

    Args:
        input: of shape (N, C, ...).
        running_mean, running_var: one number per channel; used unless training, and else moved towards the
            statistics of the input, by `momentum`.
        training: whether the statistics are those of the input.

    >>> import retrograd as rg
    >>> mean, var = rg.zeros(1), rg.ones(1)
    >>> rg.nn.functional.batch_norm(rg.tensor([[1.0], [3.0]]), mean, var, training=True)
    tensor([[-1.0000],
            [ 1.0000]])
    >>> mean
    tensor([0.2000])
    """
    x = require_tensor("batch_norm", "input", 1, input)
    eps = real_from("batch_norm", "eps", 8, eps)
    if eps <= 0.0 and (training or eps < 0.0):
        bound = "positive during training" if training else "non-negative"
        raise ValueError(f"batch_norm eps must be {bound}, but got {eps}")
    if training and x.array.ndim == 0:
        raise DimensionError("batch_norm: the input has no dimensions; it should have a batch and channels")
    if training and x.array.ndim > 1:
        check_several(x, int(np.prod(x.array.shape[:1] + x.array.shape[2:])), str(x.shape))
    return batch_norm(x, weight, bias, running_mean, running_var, training, momentum, eps, True)


@public("native_batch_norm")
def native_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """`batch_norm`, with the mean and the reciprocal standard deviation of the batch (both empty if not training)."""
    out = batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, True)
    if not training:
        nothing = maker_of(input.array.dtype).empty(0, input.array.dtype)
        return out, as_constant(nothing, input), as_constant(nothing.copy(), input)
    return out, *statistics(input.array, (0, *range(2, input.array.ndim)), eps, False)


@public("instance_norm")
def instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    """`batch_norm` within each sample: `nn.functional.instance_norm` has the arguments in a handier order."""
    x = require_tensor("instance_norm", "input", 1, input)
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError(
            "Expected running_mean and running_var to be defined when use_input_stats is false"
        )
    if x.array.ndim < 2:
        raise dimension_error(x.array.ndim, x.array.ndim)
    n, c = x.array.shape[:2]
    w, b = _repeated("weight", 2, weight, n), _repeated("bias", 3, bias, n)
    mean, var = _repeated("running_mean", 4, running_mean, n), _repeated("running_var", 5, running_var, n)
    one = reshape(x, (1, n * c, *x.array.shape[2:]))
    out = batch_norm(one, w, b, mean, var, use_input_stats, momentum, eps, True)
    for running, moved in ((running_mean, mean), (running_var, var)):
        if running is not None and use_input_stats and n:
            before_write(running.array)
            running.array[...] = reshape(moved, (n, c)).array.mean(axis=0)
            running._bump_version()
    found: Tensor = reshape(out, x.array.shape)
    return found


def _repeated(name: str, position: int, v: Any, n: int) -> Any:
    return v if v is None else require_tensor("instance_norm", name, position, v).repeat(n)


@public("nn.functional.instance_norm")
def functional_instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """`input` with mean 0 and variance 1 within each sample and channel, times `weight`, plus `bias`."""
    x = require_tensor("instance_norm", "input", 1, input)
    if use_input_stats and int(np.prod(x.array.shape[2:])) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {x.shape}")
    return instance_norm(x, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, True)
