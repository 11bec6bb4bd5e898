"""Losses of probabilities: negative log-likelihood, cross entropy, divergence. See `binary_cross_entropy.py` too."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from retrograd.backends.base import Backend, as_array, backend_of, common_backend, is_array, whole
from retrograd.backends.dtypes import SCALAR_NAMES
from retrograd.core.apply import apply1, apply_n
from retrograd.core.autocast import autocasting, in_float32
from retrograd.core.places import warn
from retrograd.core.tensor import Tensor
from retrograd.errors import DtypeError, ShapeError, sizes
from retrograd.ops.common import (
    as_value,
    optional_tensor,
    plain,
    real_from,
    require_tensor,
    tensor_of,
)
from retrograd.ops.constants import WithConstants, constant
from retrograd.ops.elementwise.binary import Xlogy
from retrograd.ops.elementwise.choose import Where
from retrograd.ops.elementwise.exponential import Exp
from retrograd.ops.elementwise.steps import tied
from retrograd.ops.index.pick import Picked, PickedAdjoint
from retrograd.ops.nn.activation import unsupported
from retrograd.ops.nn.difference_loss import (
    MEAN,
    NONE,
    SUM,
    reduction_code,
)
from retrograd.ops.nn.softmax import LogSoftmax
from retrograd.ops.reduce.calculus import over
from retrograd.ops.reduce.sums import Sum
from retrograd.ops.register import public
from retrograd.ops.shape.reshape import reshape
from retrograd.values import Array

# -- ops ---------------------------------------------------------------------------------------------------------


class NllLoss(WithConstants):
    """minus the log-probability of the target class, times the class's weight: linear in the log-probabilities"""

    params: ClassVar[tuple[str, ...]] = ("reduction", "ignore_index")
    shown: ClassVar[dict[str, str]] = {
        "reduction": "reduction", "ignore_index": "ignore_index", "self": "x:0", "target": "x:1", "weight": "x:2",
    }  # fmt: skip

    total: Any = None  # what the mean was divided by, where a kernel has noted it for the backward

    def __init__(self, reduction: int, ignore_index: int) -> None:
        self.reduction = reduction
        self.ignore_index = ignore_index

    def forward(self, xp: Backend, xs: Sequence[Any]) -> Any:
        x = xs[0]
        if x.dtype.kind != "f":
            raise unsupported("nll_loss_out_frame", x)
        self.in_shape, self.in_dtype = x.shape, x.dtype
        self.axis = 0 if x.ndim == 1 else 1
        return xp.nll(self, xs)

    def computed(self, xp: Backend, xs: Sequence[Any]) -> Any:
        """The result by the array library."""
        x = xs[0]
        self.check_range(xs[1])
        places, factors, total = self.factors(xs[1], xs[2])
        losses = xp.take_along(x, places, self.axis) * factors
        if is_array(factors):
            losses[factors == 0] = 0  # an ignored loss may be infinite
        if self.reduction == NONE:
            return losses.squeeze(self.axis)
        found = Sum().on(losses)
        return found / total if self.reduction == MEAN else found

    def check_range(self, target: Array) -> None:
        """Every target must be a class, or ignored."""
        classes = self.in_shape[self.axis]
        wrong = (target < 0) | (target >= classes)
        if wrong.any() and (wrong := wrong & (target != self.ignore_index)).any():
            target, wrong = whole(target), whole(wrong)
            first = target[wrong].reshape(-1)[0] if target.ndim else target
            raise IndexError(
                f"Target {int(first)} is out of bounds. The input has {classes} classes, counted from 0."
            )

    def factors(self, target: Array, weight: Any) -> tuple[Array, Any, Any]:
        """Where the target classes are, minus their weights (an array, or one number), and the sum of the weights."""
        used = as_array(target != self.ignore_index)
        shape = (*target.shape[: self.axis], 1, *target.shape[self.axis :])
        if weight is None and used.all():
            return target.reshape(shape).astype(np.int64, copy=False), -1.0, float(target.size)
        safe = backend_of(target).where(used, target, 0).astype(np.int64)
        weights = used.astype(self.in_dtype)
        if weight is not None:
            weights = weights * backend_of(safe).take(weight, safe)
        return safe.reshape(shape), -weights.reshape(shape), weights.sum()

    def slopes(self, v: Any, factors: Any, total: Any) -> Any:
        """`v` times the derivatives that are not 0."""
        if isinstance(factors, float):
            return v * (factors / (total or np.nan) if self.reduction == MEAN else factors)
        if self.reduction == MEAN:
            factors = backend_of(factors).where(factors == 0, 0, factors / total)
        return v * as_value(factors, v)

    def vjp(self, gs: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Sequence[Any]:
        return [common_backend((gs[0], *xs[1:])).nll_backward(self, gs[0], xs)]

    def formula(self, g: Any, xs: Sequence[Any]) -> Any:
        """The gradient of the log-probabilities."""
        places, factors, total = self.factors(plain(xs[1]), None if xs[2] is None else plain(xs[2]))
        if self.reduction == NONE:
            g = g.reshape(tuple(places.shape))
        found = PickedAdjoint(places, self.axis, self.in_shape).on(self.slopes(g, factors, total))
        return tied(found, xs[0], self)

    def jvp(self, ts: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Any:
        places, factors, total = self.factors(plain(xs[1]), None if xs[2] is None else plain(xs[2]))
        moved = self.slopes(Picked(places, self.axis).on(ts[0]), factors, total)
        return moved.reshape(tuple(plain(xs[1]).shape)) if self.reduction == NONE else moved.sum()


class NllLoss2D(NllLoss):
    """the same for images of classes"""


# -- functions -----------------------------------------------------------------------------------------------------


@public("nn.functional.nll_loss")
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The negative log-likelihood of the target classes, given log-probabilities.

    Args:
        input: log-probabilities of shape (C), (N, C) or (N, C, d1, ...).
        target: class indices, of the same shape without C.
        weight: a weight for each class.
        ignore_index: targets of this value do not count.

    >>> import retrograd as rg
    >>> nll_loss(rg.tensor([[-0.5, -1.0], [-2.0, -0.1]]), rg.tensor([0, 1]))
    tensor(0.3000)
    """
    if autocasting():
        return in_float32(nll_loss, input, target, weight, size_average, ignore_index, reduce, reduction)
    code = reduction_code(reduction, size_average, reduce)
    x, t = require_tensor("nll_loss_nd", "self", 1, input), require_tensor("nll_loss_nd", "target", 2, target)
    return _likelihood(x, t, constant("nll_loss_forward", "weight", weight), code, ignore_index)


def _likelihood(x: Tensor, t: Tensor, weight: Any, code: int, ignore_index: int) -> Tensor:
    """nll_loss by the number of dimensions, after its checks."""
    shape, ndim = x.array.shape, x.array.ndim
    if ndim == 0:
        raise ValueError(
            "Expected 1 or more dimensions (got 0). The input must be (C), (N, C) or (N, C, d1, ...)."
        )
    batch = t.array.shape[0] if t.array.ndim else 0
    if ndim > 1 and shape[0] != batch:
        raise ValueError(f"Expected input batch_size ({shape[0]}) to match target batch_size ({batch}).")
    if ndim < 3:
        if t.array.ndim > 1:
            raise ShapeError(
                "0D or 1D target tensor expected, multi-target not supported. The input is "
                f"{sizes(shape)}, the target {sizes(t.array.shape)}."
            )
        _check_classes(x, t, weight)
        if t.array.shape != shape[:-1]:
            if t.array.size != 1:
                raise ValueError(
                    f"For 1D input, 1D target must have size 1, but got target size: {t.array.size}"
                )
            t = reshape(t, shape[:-1])
        found: Tensor = apply_n(NllLoss(code, ignore_index), (x, t, weight))
        return found
    if ndim == 4:
        _check_image(x, t)
        _check_classes(x, t, weight)
        found = apply_n(NllLoss2D(code, ignore_index), (x, t, weight))
        return found
    if t.array.shape != (shape[0], *shape[2:]):
        raise ShapeError(f"Expected target size {sizes((shape[0], *shape[2:]))}, got {sizes(t.array.shape)}")
    count = int(np.prod(shape[2:]))
    _check_classes(x, t, weight)
    op = NllLoss2D(code, ignore_index)
    found = apply_n(op, (reshape(x, (*shape[:2], 1, count)), reshape(t, (shape[0], 1, count)), weight))
    return reshape(found, (shape[0], *shape[2:])) if code == NONE else found


def _check_image(x: Tensor, t: Tensor) -> None:
    if t.array.ndim != 3:
        raise ShapeError(
            f"only batches of spatial targets supported (3D tensors) but got targets of dimension: {t.array.ndim}"
        )
    if t.array.shape[1:] != x.array.shape[2:]:
        raise ShapeError(
            f"size mismatch (got input: {sizes(x.array.shape)} , target: {sizes(t.array.shape)})"
        )


def _check_classes(x: Tensor, t: Tensor, weight: Any) -> None:
    """Targets are class numbers; the weights fit the classes."""
    if t.array.dtype not in (np.int64, np.uint8):
        raise DtypeError(
            f"expected target dtype to be Long or Byte, but got {SCALAR_NAMES[t.array.dtype]}. Convert class "
            "numbers with .long()."
        )
    weight = optional_tensor("nll_loss", "weight", 3, weight)
    if weight is None:
        return
    classes = x.array.shape[0 if x.array.ndim == 1 else 1]
    if weight.array.shape != (classes,):
        raise ShapeError(
            f"weight tensor should be defined either for all {classes} classes or no classes but got weight tensor of "
            f"shape: {sizes(weight.array.shape)}"
        )
    if weight.array.dtype != x.array.dtype:
        raise DtypeError(
            f"expected scalar type {SCALAR_NAMES[x.array.dtype]} but found {SCALAR_NAMES[weight.array.dtype]} "
            "(the weight)"
        )


@public("nn.functional.cross_entropy")
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """The cross entropy between logits and targets, which are class indices or probabilities.

    Args:
        input: logits of shape (C), (N, C) or (N, C, d1, ...).
        target: class indices, of the same shape without C; or probabilities, of the same shape.
        weight: a weight for each class.
        ignore_index: class indices of this value do not count.
        label_smoothing: how much of each target is spread evenly over all classes.

    >>> import retrograd as rg
    >>> cross_entropy(rg.tensor([[2.0, 0.0], [0.0, 2.0]]), rg.tensor([0, 1]))
    tensor(0.1269)
    """
    if autocasting():
        return in_float32(
            cross_entropy,
            input,
            target,
            weight,
            size_average,
            ignore_index,
            reduce,
            reduction,
            label_smoothing,
        )
    code = reduction_code(reduction, size_average, reduce)
    x = require_tensor("cross_entropy_loss", "input", 1, input)
    t = require_tensor("cross_entropy_loss", "target", 2, target)
    optional_tensor("cross_entropy_loss", "weight", 3, weight)
    label_smoothing = real_from("cross_entropy_loss", "label_smoothing", 6, label_smoothing)
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    axis = 0 if x.array.ndim < 2 else 1
    if x.array.shape == t.array.shape:
        _check_probabilities(x, t, weight, axis, ignore_index)
        return _soft_entropy(apply1(LogSoftmax(axis), x), t, weight, code, label_smoothing, axis)
    if x.array.ndim == 0:
        raise ValueError(
            "Expected 1 or more dimensions (got 0). The input must be (C), (N, C) or (N, C, d1, ...)."
        )
    return _hard_entropy(apply1(LogSoftmax(axis), x), t, weight, code, ignore_index, label_smoothing, axis)


def _check_probabilities(x: Tensor, t: Tensor, weight: Any, axis: int, ignore_index: int) -> None:
    if t.array.dtype.kind != "f":
        raise DtypeError(
            "Expected floating point type for target with class probabilities, got "
            f"{SCALAR_NAMES[t.array.dtype]}. (Class indices would have the input's shape without its classes.)"
        )
    if ignore_index >= 0:
        raise RuntimeError("ignore_index is not supported for floating point target")
    classes = x.array.shape[axis] if x.array.ndim else 1
    if weight is not None and weight.array.shape != (classes,):
        raise ShapeError(
            f"cross_entropy: weight tensor should be defined either for all {classes} classes or no classes but got "
            f"weight tensor of shape: {sizes(weight.array.shape)}"
        )


def _hard_entropy(
    logs: Tensor, t: Tensor, weight: Any, code: int, ignore_index: int, smoothing: float, axis: int
) -> Tensor:
    """The cross entropy with class indices as targets."""
    found = _likelihood(logs, t, constant("nll_loss_forward", "weight", weight), code, ignore_index)
    if not smoothing:
        return found
    spread = _spread(logs, t, weight, code, ignore_index, axis)
    result: Tensor = found * (1 - smoothing) + spread * (smoothing / logs.array.shape[axis])
    return result


def _along(weight: Tensor, ndim: int, axis: int) -> Any:
    """Weights of classes, ready to broadcast against an input of `ndim` dimensions."""
    return reshape(weight, tuple(-1 if i == axis else 1 for i in range(ndim)))


def _soft_entropy(logs: Any, t: Any, weight: Any, code: int, smoothing: float, axis: int) -> Tensor:
    """The cross entropy with probabilities as targets."""
    shape = logs.array.shape
    if smoothing:
        t = t * (1 - smoothing) + smoothing / shape[axis]
    terms = logs * t
    if weight is not None:
        terms = terms * _along(weight, len(shape), axis)
    if code == NONE:
        losses: Tensor = -terms.sum(axis)
        return losses
    found: Tensor = -terms.sum()
    classes = shape[axis]
    return over(found, logs.array.size / classes if classes else math.nan) if code == MEAN else found


def _spread(logs: Any, t: Tensor, weight: Any, code: int, ignore_index: int, axis: int) -> Any:
    """The part of a smoothed target that all classes share, before its factor."""
    ignored = t.array == ignore_index
    if weight is not None:
        logs = logs * _along(weight, logs.array.ndim, axis)
    losses = Where().on(
        ignored.reshape(logs.array.shape[:axis] + logs.array.shape[axis + 1 :]), 0.0, -logs.sum(axis)
    )
    if code == NONE:
        return losses
    if code == SUM:
        return losses.sum()
    share = (~ignored).astype(logs.array.dtype)
    if weight is not None:
        xp = backend_of(t.array)
        share = share * xp.take(weight.array, xp.where(ignored, 0, t.array))
    return losses.sum() / tensor_of(share.sum())


@public("nn.functional.kl_div")
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """The Kullback-Leibler divergence of `target` from the distribution whose logarithm is `input`.

    Args:
        reduction: "none", "sum", "mean" (over all elements) or "batchmean" (the sum over the size of the batch).
        log_target: whether `target` is a logarithm too.

    >>> import retrograd as rg
    >>> rg.nn.functional.kl_div(rg.tensor([[0.5, 0.5]]).log(), rg.tensor([[0.25, 0.75]]), reduction="batchmean")
    tensor(0.1308)
    """
    if autocasting():
        return in_float32(kl_div, input, target, size_average, reduce, reduction, log_target)
    x: Any = require_tensor("kl_div", "input", 1, input)
    t: Any = require_tensor("kl_div", "target", 2, target)
    if reduction == "mean" and size_average is None and reduce is None:
        warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size. 'batchmean' "
            "divides only by the batch size, and aligns with the KL div math definition.",
            UserWarning,
        )
    if any(v.array.dtype.kind in "biu" for v in (x, t)):
        raise DtypeError("kl_div: Integral inputs not supported. Convert them with .float() first.")
    if any(v.array.dtype.kind == "c" for v in (x, t)):
        raise DtypeError("kl_div: Complex inputs not supported.")
    code = SUM if reduction == "batchmean" else reduction_code(reduction, size_average, reduce)
    if log_target:
        losses: Tensor = Exp().on(t) * (t - x)
    else:
        losses = Xlogy().on(t, t) - t * x
    if reduction == "batchmean":
        total: Tensor = losses.sum()
        return total / x.array.shape[0] if x.array.ndim else total
    return losses if code == NONE else losses.mean() if code == MEAN else losses.sum()
