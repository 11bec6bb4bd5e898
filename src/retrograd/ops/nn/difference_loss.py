"""Losses of a difference: how far a prediction is from its target. Those of probabilities are in `cross_entropy.py`."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

from retrograd.backends.base import Backend, common_backend
from retrograd.core.apply import apply1, apply2
from retrograd.core.autocast import autocasting, in_float32
from retrograd.core.op import Binary, X, Y
from retrograd.core.places import warn
from retrograd.core.tensor import Tensor
from retrograd.errors import broadcast_error, sizes
from retrograd.ops.common import joint_shape, no_cast, real_from, require_tensor
from retrograd.ops.elementwise.sign import Abs
from retrograd.ops.nn.activation import Hardtanh, unsupported
from retrograd.ops.reduce.sums import Mean, Sum
from retrograd.ops.register import public
from retrograd.ops.shape.reshape import Expand
from retrograd.ops.tensor.convert import convert
from retrograd.values import Array

NONE, MEAN, SUM = 0, 1, 2  # PyTorch's numbers for `reduction`
# The kinds of loss, as kernels count them.
MSE, SMOOTH_L1, HUBER, BINARY, BINARY_OF_LOGITS = range(5)
_CODES = {"none": NONE, "mean": MEAN, "sum": SUM}


def reduction_name(size_average: Any, reduce: Any, emit_warning: bool = True) -> str:
    """The reduction that the arguments of old say; what is None there is true."""
    mean = size_average is None or size_average
    found = "none" if reduce is not None and not reduce else "mean" if mean else "sum"
    if emit_warning:
        warn(
            f"size_average and reduce args will be deprecated, please use reduction='{found}' instead.",
            UserWarning,
        )
    return found


def reduction_code(reduction: Any, size_average: Any = None, reduce: Any = None) -> int:
    """The number of a reduction; the arguments of old, if given, overrule it."""
    if size_average is not None or reduce is not None:
        reduction = reduction_name(size_average, reduce)
    if isinstance(reduction, str) and reduction == "elementwise_mean":
        warn("reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.", UserWarning)
        return MEAN
    if not isinstance(reduction, str) or reduction not in _CODES:
        raise ValueError(f"{reduction} is not a valid value for reduction: use 'none', 'mean' or 'sum'")
    return _CODES[reduction]


def reduced(losses: Any, reduction: int) -> Any:
    """The losses as they are, their mean or their sum; of arrays or Tensors."""
    if reduction not in (MEAN, SUM):
        return losses
    return (Mean() if reduction == MEAN else Sum()).on(losses)


# -- losses of the difference --------------------------------------------------------------------------------------


class DifferenceLoss(Binary):
    """A reduced function of x - y. Owes `height`, the function, and `tilt`, its derivative."""

    kernel: ClassVar[str] = ""  # how PyTorch's messages call it
    kind: ClassVar[int] = MSE  # how kernels call it
    params: ClassVar[tuple[str, ...]] = ("reduction",)
    shown: ClassVar[dict[str, str]] = {"reduction": "reduction", "target": "y"}
    keeps0: ClassVar[int] = X | Y
    keeps1: ClassVar[int] = X | Y

    def __init__(self, reduction: int) -> None:
        self.reduction = reduction

    def parameter(self) -> float:
        """The number that the function depends on, if any."""
        return 0.0

    def height(self, xp: Backend, d: Array) -> Array:
        """The loss of a difference."""
        raise NotImplementedError(f"{self.name()} has no height()")

    def tilt(self, d: Any) -> Any:
        """The derivative of the loss of a difference."""
        raise NotImplementedError(f"{self.name()} has no tilt()")

    def forward(self, xp: Backend, x: Array, y: Array) -> Array:
        if x.dtype.kind != "f":
            raise unsupported(self.kernel, x)
        self.count = x.size
        return xp.loss(self, x, y)

    def computed(self, xp: Backend, x: Array, y: Array) -> Array:
        """The result by the array library."""
        if (
            self.reduction != NONE
            and x.shape == y.shape
            and x.dtype == y.dtype
            and x.dtype.char in "fd"
            and x.size
        ):
            self.count = x.size
            total = xp.reduced("add", partial(self.of_pair, xp), x, None, False, y)
            return total / total.dtype.type(x.size) if self.reduction == MEAN else total
        d = xp.asarray(xp.subtract(x, y))
        self.count = d.size
        return reduced(self.height(xp, d), self.reduction)

    def of_pair(self, xp: Backend, x: Array, y: Array) -> Array:
        """The losses of all pairs."""
        return self.height(xp, xp.asarray(xp.subtract(x, y)))

    def vjp(self, i: int, g: Any, x: Any, y: Any, out: Any) -> Any:
        return common_backend((g, x, y)).loss_backward(self, i, g, x, y)

    def share(self) -> float:
        """What the gradient of one difference's loss is multiplied by."""
        return 1 / self.count if self.reduction == MEAN and self.count else 1.0

    def formula(self, i: int, g: Any, x: Any, y: Any) -> Any:
        """The gradient of x or y."""
        if self.reduction == MEAN:
            g = g / self.count
        return self.tilt(x - y) * (g if i == 0 else -g)

    def jvp(self, tx: Any, ty: Any, x: Any, y: Any, out: Any) -> Any:
        t = tx if ty is None else -ty if tx is None else tx - ty
        return reduced(self.tilt(x - y) * t, self.reduction)


class MseLoss(DifferenceLoss):
    """(x - y)**2"""

    kernel = "mse_cpu"

    def height(self, xp: Backend, d: Array) -> Array:
        return d * d

    def tilt(self, d: Any) -> Any:
        return d * 2


class SmoothL1Loss(DifferenceLoss):
    """d**2 / (2 beta) where |d| < beta, else |d| - beta / 2"""

    kernel = "smooth_l1_cpu"
    kind: ClassVar[int] = SMOOTH_L1
    params: ClassVar[tuple[str, ...]] = ("reduction", "beta")
    shown: ClassVar[dict[str, str]] = {"reduction": "reduction", "beta": "beta", "target": "y"}

    def __init__(self, reduction: int, beta: float) -> None:
        super().__init__(reduction)
        self.beta = beta

    def parameter(self) -> float:
        return self.beta

    def height(self, xp: Backend, d: Array) -> Array:
        size = xp.absolute(d)
        return xp.where(size < self.beta, d * d * (0.5 / self.beta), size - 0.5 * self.beta)

    def tilt(self, d: Any) -> Any:
        return Hardtanh(-1.0, 1.0).on(d * (1 / self.beta))


class HuberLoss(DifferenceLoss):
    """d**2 / 2 where |d| < delta, else delta * (|d| - delta / 2)"""

    kernel = "huber_cpu"
    kind: ClassVar[int] = HUBER
    params: ClassVar[tuple[str, ...]] = ("reduction", "delta")
    shown: ClassVar[dict[str, str]] = {"reduction": "reduction", "delta": "delta", "target": "y"}

    def __init__(self, reduction: int, delta: float) -> None:
        super().__init__(reduction)
        self.delta = delta

    def parameter(self) -> float:
        return self.delta

    def height(self, xp: Backend, d: Array) -> Array:
        size = xp.absolute(d)
        return xp.where(size < self.delta, d * d * 0.5, (size - 0.5 * self.delta) * self.delta)

    def tilt(self, d: Any) -> Any:
        return Hardtanh(-float(self.delta), float(self.delta)).on(d)


# -- functions -----------------------------------------------------------------------------------------------------


def _pair(function: str, input: Any, target: Any) -> tuple[Tensor, Tensor]:
    """Prediction and target as tensors; if their sizes differ, expanded to a common one, with a warning."""
    x, t = require_tensor(function, "input", 1, input), require_tensor(function, "target", 2, target)
    if x.array.shape != t.array.shape:
        warn(
            f"Using a target size ({t.shape}) that is different to the input size ({x.shape}). This will likely "
            "lead to incorrect results due to broadcasting. Please ensure they have the same size.",
            UserWarning,
        )
        return _expanded(x, t)
    return x, t


def _expanded(x: Tensor, t: Tensor) -> tuple[Tensor, Tensor]:
    """Two tensors, each broadcast to the size of both."""
    try:
        size = joint_shape(x.array.shape, t.array.shape)
    except ValueError:
        raise broadcast_error(x.array.shape, t.array.shape) from None
    wide_x = x if x.array.shape == size else apply1(Expand(size), x)
    return wide_x, t if t.array.shape == size else apply1(Expand(size), t)


def _weighted(losses: Any, x: Tensor, weight: Any, code: int) -> Tensor:
    """Weighted losses; their mean divides by the sum of the weights."""
    _check_weight(x, weight)
    found: Tensor = losses * weight
    return found if code == NONE else found.sum() / weight.sum() if code == MEAN else found.sum()


def _check_weight(x: Tensor, weight: Tensor) -> None:
    if weight.array.shape != x.array.shape:
        raise ValueError(
            "Weights and input must have the same size. They are "
            f"{sizes(weight.array.shape)} and {sizes(x.array.shape)}."
        )


@public("nn.functional.mse_loss")
def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The squared difference, its mean or its sum.

    >>> import retrograd as rg
    >>> mse_loss(rg.tensor([1.0, 2.0]), rg.tensor([0.0, 4.0]))
    tensor(2.5000)
    """
    if autocasting():
        return in_float32(mse_loss, input, target, size_average, reduce, reduction, weight)
    x, t = _pair("mse_loss", input, target)
    code = reduction_code(reduction, size_average, reduce)
    if weight is not None:
        return _weighted((x - t) ** 2, input, weight, code)
    found: Tensor = apply2(MseLoss(code), x, t)
    return found


@public("nn.functional.l1_loss")
def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The absolute difference, its mean or its sum.

    >>> import retrograd as rg
    >>> rg.nn.functional.l1_loss(rg.tensor([1.0, 4.0]), rg.tensor([2.0, 2.0]))
    tensor(1.5000)
    """
    if autocasting():
        return in_float32(l1_loss, input, target, size_average, reduce, reduction, weight)
    x, t = _pair("l1_loss", input, target)
    code = reduction_code(reduction, size_average, reduce)
    losses: Tensor = Abs().on(x - t)
    if weight is not None:
        return _weighted(losses, input, weight, code)
    return losses if code == NONE else losses.mean() if code == MEAN else losses.sum()


@public("nn.functional.smooth_l1_loss")
def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """Squared differences (halved, over `beta`) below `beta`, absolute ones above.

    >>> import retrograd as rg
    >>> rg.nn.functional.smooth_l1_loss(rg.tensor([0.5, 4.0]), rg.zeros(2), reduction="none")
    tensor([0.1250, 3.5000])
    """
    if autocasting():
        return in_float32(smooth_l1_loss, input, target, size_average, reduce, reduction, beta)
    x, t = _pair("smooth_l1_loss", input, target)
    code = reduction_code(reduction, size_average, reduce)
    beta = real_from("smooth_l1_loss", "beta", 4, beta)
    if beta < 0:
        raise RuntimeError(f"smooth_l1_loss does not support negative values for beta. It got {beta}.")
    return apply2(SmoothL1Loss(code, beta), x, t) if beta else l1_loss(x, t, reduction=_name_of(code))


@public("nn.functional.huber_loss")
def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """Half the squared difference below `delta`, `delta` times the absolute one above.

    >>> import retrograd as rg
    >>> rg.nn.functional.huber_loss(rg.tensor([0.5, 4.0]), rg.zeros(2), reduction="none")
    tensor([0.1250, 3.5000])
    """
    if autocasting():
        return in_float32(huber_loss, input, target, reduction, delta, weight)
    x, t = _pair("huber_loss", input, target)
    code = reduction_code(reduction)
    delta = real_from("huber_loss", "delta", 4, delta)
    if delta <= 0:
        raise RuntimeError(f"huber_loss does not support non-positive values for delta. It got {delta}.")
    if x.array.dtype.kind in "biu" and t.array.dtype.kind == "f":
        raise no_cast(t.array.dtype, x.array.dtype)
    t = convert(t, x.array.dtype)
    if weight is None:
        found: Tensor = apply2(HuberLoss(code, delta), x, t)
        return found
    _check_weight(input, weight)
    losses: Tensor = apply2(HuberLoss(NONE, delta), x, t) * weight
    return losses if code == NONE else losses.mean() if code == MEAN else losses.sum()


def _name_of(code: int) -> str:
    return next(name for name, number in _CODES.items() if number == code)
