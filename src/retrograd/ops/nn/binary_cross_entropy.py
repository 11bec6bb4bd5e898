"""Losses of two classes: binary cross entropy, of probabilities and of logits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from retrograd.backends.base import Backend, backend_of
from retrograd.backends.dtypes import SCALAR_NAMES
from retrograd.core.apply import apply_n
from retrograd.core.autocast import autocasting, autocasting_on_gpu, in_float32
from retrograd.core.families import added
from retrograd.core.tensor import Tensor
from retrograd.errors import DtypeError, ShapeError, sizes, unsupported_dtype
from retrograd.ops.common import (
    joint_shape,
    optional_tensor,
    require_tensor,
)
from retrograd.ops.constants import WithConstants, constant
from retrograd.ops.elementwise.choose import Clamp
from retrograd.ops.elementwise.exponential import Log, Log1p, Sigmoid
from retrograd.ops.nn.activation import LogSigmoid, unsupported
from retrograd.ops.nn.difference_loss import (
    BINARY,
    BINARY_OF_LOGITS,
    MEAN,
    reduced,
    reduction_code,
)
from retrograd.ops.register import public
from retrograd.ops.tensor.convert import convert
from retrograd.values import Array


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
    """The binary cross entropy of `sigmoid(input)`, without overflow; `pos_weight` weighs positive targets.

    >>> import retrograd as rg
    >>> rg.nn.functional.binary_cross_entropy_with_logits(rg.tensor([0.0, 100.0]), rg.tensor([1.0, 1.0]))
    tensor(0.3466)
    """
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
