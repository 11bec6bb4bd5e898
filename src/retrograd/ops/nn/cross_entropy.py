"""Losses of probabilities: negative log-likelihood, cross entropy, binary cross entropy, divergence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from retrograd.backends.base import Backend, as_array, backend_of, common_backend, is_array, whole
from retrograd.backends.dtypes import SCALAR_NAMES
from retrograd.core.apply import apply1, apply_n
from retrograd.core.autocast import autocasting, autocasting_on_gpu, in_float32
from retrograd.core.families import added
from retrograd.core.places import warn
from retrograd.core.tensor import Tensor
from retrograd.errors import DtypeError, ShapeError, sizes, unsupported_dtype
from retrograd.ops.common import (
    as_value,
    joint_shape,
    optional_tensor,
    plain,
    real_from,
    require_tensor,
    tensor_of,
)
from retrograd.ops.constants import WithConstants, constant
from retrograd.ops.elementwise.binary import Xlogy
from retrograd.ops.elementwise.choose import Clamp, Where
from retrograd.ops.elementwise.exponential import Exp, Log, Log1p, Sigmoid
from retrograd.ops.elementwise.steps import tied
from retrograd.ops.index.pick import Picked, PickedAdjoint
from retrograd.ops.nn.activation import LogSigmoid, unsupported
from retrograd.ops.nn.difference_loss import (
    BINARY,
    BINARY_OF_LOGITS,
    MEAN,
    NONE,
    SUM,
    reduced,
    reduction_code,
)
from retrograd.ops.nn.softmax import LogSoftmax
from retrograd.ops.reduce.calculus import over
from retrograd.ops.reduce.sums import Sum
from retrograd.ops.register import public
from retrograd.ops.shape.reshape import reshape
from retrograd.ops.tensor.convert import convert
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


class BinaryLoss(WithConstants):
    """A loss of two classes, for inputs (x, target, weight, ...): owes the losses and their two derivatives."""

    tracked: ClassVar[int] = 2
    kind: ClassVar[int] = BINARY  # how kernels call it
    params: ClassVar[tuple[str, ...]] = ("reduction",)
    shown: ClassVar[dict[str, str]] = {
        "reduction": "reduction", "self": "x:0", "target": "x:1", "weight": "x:2",
    }  # fmt: skip

    def __init__(self, reduction: int) -> None:
        self.reduction = reduction

    def losses(self, xp: Backend, xs: Sequence[Any]) -> Array:
        """The loss of each element, without its weight."""
        raise NotImplementedError(f"{self.name()} has no losses()")

    def partial(self, i: int, xs: Sequence[Any]) -> Any:
        """The derivative of each element's loss with respect to x or the target."""
        raise NotImplementedError(f"{self.name()} has no partial()")

    def check(self, xp: Backend, xs: Sequence[Any]) -> None:
        """Refuses inputs that have no such loss."""

    def forward(self, xp: Backend, xs: Sequence[Any]) -> Any:
        self.check(xp, xs)
        self.weighted = any(v is not None for v in xs[2:])
        if not self.weighted:
            self.count = xs[0].size
            return xp.loss(self, xs[0], xs[1])
        found = self.losses(xp, xs)
        self.count = found.size
        if xs[2] is not None:
            found = (found * xs[2]).astype(xs[1].dtype, copy=False)
        return reduced(xp.asarray(found), self.reduction)

    def computed(self, xp: Backend, x: Array, target: Array) -> Array:
        """The losses without weights, by the array library."""
        found = self.losses(xp, (x, target, None, None))
        self.count = found.size
        return reduced(xp.asarray(found), self.reduction)

    def parameter(self) -> float:
        """The number that the loss depends on: none."""
        return 0.0

    def share(self) -> float:
        """What the gradient of one element's loss is multiplied by."""
        return 1 / self.count if self.reduction == MEAN and self.count else 1.0

    def formula(self, i: int, g: Any, x: Any, target: Any) -> Any:
        """The gradient of x or of the target, without weights."""
        g = g / self.count if self.reduction == MEAN else g
        return self.partial(i, (x, target, None, None)) * g

    def vjp(self, gs: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Sequence[Any]:
        if not self.weighted and not self.needs(1):
            return [backend_of(gs[0]).loss_backward(self, 0, gs[0], xs[0], xs[1]), None]
        g = gs[0] / self.count if self.reduction == MEAN else gs[0]
        if xs[2] is not None:
            g = g * xs[2]
        return [self.partial(i, xs) * g if self.needs(i) else None for i in (0, 1)]

    def jvp(self, ts: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Any:
        parts = [None if t is None else self.partial(i, xs) * t for i, t in enumerate(ts[:2])]
        moved = added(parts[0], parts[1])
        return reduced(moved if xs[2] is None else moved * xs[2], self.reduction)


class BinaryCrossEntropy(BinaryLoss):
    """-(t log(x) + (1 - t) log(1 - x)), the logarithms at least -100"""

    def check(self, xp: Backend, xs: Sequence[Any]) -> None:
        if xs[0].dtype.kind != "f":
            raise unsupported("binary_cross_entropy", xs[0])
        for name, v in (("input", xs[0]), ("target", xs[1])):
            if not xp.within_0_1(v):
                raise RuntimeError(
                    f"all elements of {name} should be between 0 and 1. For logits, use "
                    "binary_cross_entropy_with_logits()."
                )

    def losses(self, xp: Backend, xs: Sequence[Any]) -> Array:
        x, t = xs[0], xs[1]
        return (t - 1) * xp.maximum(xp.log1p(-x), -100) - t * xp.maximum(xp.log(x), -100)

    def partial(self, i: int, xs: Sequence[Any]) -> Any:
        x = xs[0]
        if i == 1:
            return Log1p().on(-x) - Log().on(x)
        return (x - xs[1]) / Clamp(1e-12, None).on((1 - x) * x)


class BinaryCrossEntropyWithLogits(BinaryLoss):
    """binary cross entropy of sigmoid(x), without overflow; the fourth input is the weight of positive targets"""

    kind: ClassVar[int] = BINARY_OF_LOGITS
    shown: ClassVar[dict[str, str]] = {
        "reduction": "reduction", "self": "x:0", "target": "x:1", "weight": "x:2", "pos_weight": "x:3",
    }  # fmt: skip

    def losses(self, xp: Backend, xs: Sequence[Any]) -> Array:
        x, t, _, more = xs
        soft = LogSigmoid().forward(xp, x)
        found = (1 - t) * x - (soft if more is None else soft * ((more - 1) * t + 1))
        return found.astype(t.dtype, copy=False)  # as in PyTorch, the dtype of a loss is that of the target

    def partial(self, i: int, xs: Sequence[Any]) -> Any:
        x, t, _, more = xs
        if i == 1:
            return -x if more is None else -x - (more - 1) * LogSigmoid().on(x)
        if more is None:
            return Sigmoid().on(x) - t
        return (1 - t) - ((more - 1) * t + 1) * Sigmoid().on(-x)


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
    logs = apply1(LogSoftmax(axis), x)
    found = _likelihood(logs, t, constant("nll_loss_forward", "weight", weight), code, ignore_index)
    if not label_smoothing:
        return found
    spread = _spread(logs, t, weight, code, ignore_index, axis)
    result: Tensor = found * (1 - label_smoothing) + spread * (label_smoothing / x.array.shape[axis])
    return result


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


@public("nn.functional.binary_cross_entropy")
def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The binary cross entropy between probabilities and targets, both in [0, 1].

    >>> import retrograd as rg
    >>> binary_cross_entropy(rg.tensor([0.5, 0.5]), rg.tensor([1.0, 0.0]))
    tensor(0.6931)
    """
    if autocasting_on_gpu(input):
        raise RuntimeError(
            "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast. A probability in "
            "lower precision is 0 or 1 too early: use binary_cross_entropy_with_logits, which takes what sigmoid got."
        )
    if autocasting():
        return in_float32(binary_cross_entropy, input, target, weight, size_average, reduce, reduction)
    code = reduction_code(reduction, size_average, reduce)
    name = "binary_cross_entropy"
    x, t = require_tensor(name, "self", 1, input), require_tensor(name, "target", 2, target)
    if x.array.shape != t.array.shape:
        raise ValueError(
            f"Using a target size ({t.shape}) that is different to the input size ({x.shape}) is deprecated. Please "
            "ensure they have the same size."
        )
    w = constant(name, "weight", optional_tensor(name, "weight", 3, weight))
    for v in (t, w):
        if v is not None and v.array.dtype != x.array.dtype and (v is t or v.array.dtype.kind == "c"):
            raise DtypeError(
                f"Found dtype {SCALAR_NAMES[v.array.dtype]} but expected {SCALAR_NAMES[x.array.dtype]}"
            )
    _check_broadcast(w, x)
    weights = None if w is None else convert(w, x.array.dtype)
    found: Tensor = apply_n(BinaryCrossEntropy(code), (x, t, weights))
    return found


def _check_broadcast(weight: Any, x: Tensor) -> None:
    """A weight may be smaller than the input, never larger."""
    if weight is None:
        return
    try:
        fits = joint_shape(weight.array.shape, x.array.shape) == x.array.shape
    except ValueError:
        fits = False
    if not fits:
        raise ShapeError(
            f"Attempting to broadcast a weight of shape {sizes(weight.array.shape)}, but expected shape should be "
            f"broadcastable to {sizes(x.array.shape)}"
        )


@public("nn.functional.binary_cross_entropy_with_logits")
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """The binary cross entropy of `sigmoid(input)`, without overflow; `pos_weight` weighs positive targets."""
    if autocasting():
        return in_float32(
            binary_cross_entropy_with_logits,
            input,
            target,
            weight,
            size_average,
            reduce,
            reduction,
            pos_weight,
        )
    code = reduction_code(reduction, size_average, reduce)
    name = "binary_cross_entropy_with_logits"
    x, t = require_tensor(name, "self", 1, input), require_tensor(name, "target", 2, target)
    if x.array.shape != t.array.shape:
        raise ValueError(f"Target size ({t.shape}) must be the same as input size ({x.shape})")
    if t.array.dtype.kind != "f" and x.array.dtype.kind == "f":
        raise DtypeError(
            f"result type Float can't be cast to the desired output type {SCALAR_NAMES[t.array.dtype]}. Convert the "
            "target with .float()."
        )
    if x.array.dtype.kind != "f":
        raise unsupported_dtype("log_sigmoid_cpu", x.array.dtype, "convert it with .float()")
    for argument, v in (("weight", weight), ("pos_weight", pos_weight)):
        _check_broadcast(constant(name, argument, optional_tensor(name, argument, 3, v)), x)
    found: Tensor = apply_n(BinaryCrossEntropyWithLogits(code), (x, t, weight, pos_weight))
    return found


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
