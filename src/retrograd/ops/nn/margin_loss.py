"""Losses of classes with a margin: the right ones must be ahead of the wrong ones by so much."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from retrograd.backends.base import Backend, common_backend
from retrograd.backends.dtypes import SCALAR_NAMES
from retrograd.backends.kernels.blocks import LIMIT
from retrograd.backends.pieces import look
from retrograd.core.apply import apply1, apply_n
from retrograd.core.autocast import autocasting, in_float32
from retrograd.core.tensor import Tensor
from retrograd.errors import DimensionError, DtypeError, ShapeError, broadcast_error, sizes
from retrograd.ops.common import as_value, joint_shape, plain, require_tensor, scalar_from
from retrograd.ops.constants import WithConstants, constant
from retrograd.ops.elementwise.choose import Where
from retrograd.ops.elementwise.exponential import Sigmoid
from retrograd.ops.index.gather import Gather, GatherAdjoint
from retrograd.ops.index.pick import Picked, PickedAdjoint
from retrograd.ops.nn.activation import LogSigmoid, unsupported
from retrograd.ops.nn.difference_loss import MEAN, NONE, reduced, reduction_code
from retrograd.ops.reduce.sums import SumDim
from retrograd.ops.register import public
from retrograd.values import Array

# -- ops -----------------------------------------------------------------------------------------------------------


class RowLoss(WithConstants):
    """A loss of each row of x (or of x itself, if it is one row), for inputs (x, target, ...).

    Owes `losses`; its vjp and jvp begin with `row_gradients` and end with `row_tangents`.
    """

    params: ClassVar[tuple[str, ...]] = ("reduction",)
    shown: ClassVar[dict[str, str]] = {"reduction": "reduction", "self": "x:0", "target": "x:1"}
    kernel: ClassVar[str] = ""  # how PyTorch's messages call it
    reduction: int = 1  # MEAN, written out because a compiled class takes literals only

    def losses(self, xp: Backend, x: Array, xs: Sequence[Any]) -> Array:
        """The loss of each row."""
        raise NotImplementedError(f"{self.name()} has no losses()")

    def row_work(self, width: int) -> int:
        """How many numbers are computed on the way to the loss of a row."""
        return width

    def by_rows(self, xp: Backend, x: Array, xs: Sequence[Any]) -> Array:
        """The loss of each row, of some rows at a time if they take much memory."""
        step = max(1, LIMIT // self.row_work(x.shape[1]))
        if not xp.is_plain or len(x) <= step:
            return self.losses(xp, x, xs)
        target = xs[1].reshape(len(x), -1)
        found = xp.empty(len(x), x.dtype)
        for i in range(0, len(x), step):
            look()
            found[i : i + step] = self.losses(
                xp, x[i : i + step], (x[i : i + step], target[i : i + step], *xs[2:])
            )
        return found

    def forward(self, xp: Backend, xs: Sequence[Any]) -> Any:
        x = xs[0]
        if x.dtype.kind != "f":
            raise unsupported(self.kernel, x)
        self.in_shape = x.shape
        self.rows_shape = (-1, x.shape[-1] if x.ndim else 1)
        found = self.by_rows(xp, x.reshape(self.rows_shape), xs)
        self.count = found.size
        if self.reduction != NONE:
            return reduced(found, self.reduction)
        return found.reshape(xs[1].shape[:1] if x.ndim == 2 or self.keeps_row(xs[1]) else ())

    def keeps_row(self, target: Array) -> bool:
        """Whether the loss of a single row has a dimension of its own."""
        return False

    def row_gradients(self, g: Any) -> Any:
        """The gradient of each row's loss, as a column or one number."""
        return g / self.count if self.reduction == MEAN else g if self.reduction else g.reshape((-1, 1))

    def row_tangents(self, t: Any) -> Any:
        """The tangent of the result from those of the rows."""
        return t.reshape(self.out_shape) if self.reduction == NONE else reduced(t, self.reduction)


class MultiMarginLoss(RowLoss):
    """sum over the wrong classes of max(0, margin - x[right] + x[wrong])**p, over the number of classes"""

    kernel = "multi_margin_loss"
    params: ClassVar[tuple[str, ...]] = ("p", "margin", "reduction")
    shown: ClassVar[dict[str, str]] = {
        "p": "p", "margin": "margin", "reduction": "reduction", "self": "x:0", "target": "x:1", "weight": "x:2",
    }  # fmt: skip

    def __init__(self, p: int, margin: float, reduction: int) -> None:
        self.p = p
        self.margin = margin
        self.reduction = reduction

    def keeps_row(self, target: Array) -> bool:
        return bool(target.ndim == 1)

    def factors(self, x: Any, xs: Sequence[Any]) -> tuple[Array, Array]:
        """Where the right classes are, and what each excess counts: 0 where there is none."""
        a, target = plain(x), plain(xs[1]).reshape(-1, 1)
        xp = common_backend((a, target))
        ahead = self.margin - xp.take_along_axis(a, target, 1) + a > 0
        counts = (ahead & (xp.arange(a.shape[1]) != target)) / a.dtype.type(a.shape[1])
        return target, counts if xs[2] is None else counts * plain(xs[2])[target]

    def slopes(self, x: Any, xs: Sequence[Any]) -> tuple[Array, Any]:
        """Where the right classes are, and the derivatives by the excess of the others."""
        right, counts = self.factors(x, xs)
        if self.p == 1:
            return right, as_value(counts, x)
        excess = Where().on(counts != 0, self.margin - Picked(right, 1).on(x) + x, 0.0)
        return right, excess * as_value(2 * counts, x)

    def losses(self, xp: Backend, x: Array, xs: Sequence[Any]) -> Array:
        right, counts = self.factors(x, xs)
        excess = xp.where(counts != 0, self.margin - xp.take_along_axis(x, right, 1) + x, 0)  # without NaN
        return (counts * excess**self.p).sum(axis=1)

    def vjp(self, gs: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Sequence[Any]:
        right, slopes = self.slopes(xs[0].reshape(self.rows_shape), xs)
        h = slopes * self.row_gradients(gs[0])
        h = h - PickedAdjoint(right, 1, tuple(h.shape)).on(SumDim((1,), True).on(h))
        return [h.reshape(self.in_shape)]

    def jvp(self, ts: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Any:
        right, slopes = self.slopes(xs[0].reshape(self.rows_shape), xs)
        t = ts[0].reshape(self.rows_shape)
        return self.row_tangents(SumDim((1,)).on(slopes * (t - Picked(right, 1).on(t))))


class MultilabelMarginLoss(RowLoss):
    """sum over right and wrong classes of max(0, 1 - x[right] + x[wrong]), over the number of classes

    The right classes of a row stand at the front of the target's row, before the first -1.
    """

    kernel = "multilabel_margin_loss_forward_out_frame"

    def __init__(self, reduction: int) -> None:
        self.reduction = reduction

    def row_work(self, width: int) -> int:
        return width * width

    def excess(self, xs: Sequence[Any]) -> tuple[Array, Array, Array]:
        """The right classes (0 behind the last), and by right and wrong class the excess and what it counts."""
        x, target = plain(xs[0]).reshape(self.rows_shape), plain(xs[1]).reshape(self.rows_shape)
        xp = common_backend((x, target))
        listed = (target < 0).cumsum(axis=1) == 0
        right = xp.where(listed, target, 0)
        is_right = (listed[:, :, None] & (right[:, :, None] == xp.arange(x.shape[1]))).any(axis=1)
        z = 1 - xp.take_along_axis(x, right, 1)[:, :, None] + x[:, None, :]
        return right, z, ((z > 0) & listed[:, :, None] & ~is_right[:, None, :]) / x.dtype.type(x.shape[1])

    def losses(self, xp: Backend, x: Array, xs: Sequence[Any]) -> Array:
        _, z, counts = self.excess(xs)
        return (xp.where(counts != 0, z, 0) * counts).sum(axis=(1, 2)).astype(x.dtype, copy=False)

    def vjp(self, gs: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Sequence[Any]:
        right, _, counts = self.excess(xs)
        g = self.row_gradients(gs[0])
        ahead, behind = (as_value(counts.sum(axis=i).astype(g.dtype), g) for i in (2, 1))
        found = g * behind - GatherAdjoint(1, right, right.shape).on(g * ahead)
        return [found.reshape(self.in_shape)]

    def jvp(self, ts: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Any:
        right, _, counts = self.excess(xs)
        t = ts[0].reshape(self.rows_shape)
        ahead, behind = (as_value(counts.sum(axis=i).astype(t.dtype), t) for i in (2, 1))
        return self.row_tangents(SumDim((1,)).on(t * behind - Gather(1, right).on(t) * ahead))


class SoftMarginLoss(WithConstants):
    """log(1 + exp(-target * x)), for inputs (x, target)"""

    params: ClassVar[tuple[str, ...]] = ("reduction",)
    shown: ClassVar[dict[str, str]] = {"reduction": "reduction", "self": "x:0", "target": "x:1"}

    def __init__(self, reduction: int) -> None:
        self.reduction = reduction

    def forward(self, xp: Backend, xs: Sequence[Any]) -> Any:
        x, target = xs[0], xs[1]
        made = partial(self.losses, xp)
        losses = xp.asarray(xp.of_elements(made, x, target) if x.shape == target.shape else made(x, target))
        self.count = losses.size
        return reduced(losses, self.reduction)

    def losses(self, xp: Backend, x: Array, target: Array) -> Array:
        """The loss of each element."""
        return xp.log1p(xp.exp(-target.astype(x.dtype, copy=False) * x))

    def slopes(self, xs: Sequence[Any]) -> Any:
        """The derivative of each loss."""
        return -Sigmoid().on(-(xs[0] * xs[1])) * xs[1]

    def vjp(self, gs: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Sequence[Any]:
        return [self.slopes(xs) * (gs[0] / self.count if self.reduction == MEAN else gs[0])]

    def jvp(self, ts: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Any:
        return reduced(self.slopes(xs) * ts[0], self.reduction)


# -- losses of classes ---------------------------------------------------------------------------------------------


def _check_rows(x: Tensor) -> None:
    shape = x.array.shape
    if len(shape) > 2 or 0 in shape[-1:]:
        raise ShapeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {sizes(shape)}"
        )


def _check_long(target: Tensor) -> None:
    if target.array.dtype != np.int64:
        raise DtypeError(
            f"expected scalar type Long but found {SCALAR_NAMES[target.array.dtype]}. Convert class numbers with "
            ".long()."
        )


@public("nn.functional.multi_margin_loss")
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """How much the wrong classes come nearer to the right one than `margin`, over the number of classes.

    Args:
        input: scores of shape (N, C) or (C).
        target: the right classes, of shape (N) or ().
        p: 1, or 2 to square each excess.
        weight: a weight for each class.

    >>> import retrograd as rg
    >>> rg.nn.functional.multi_margin_loss(rg.tensor([[0.5, 0.0]]), rg.tensor([0]))
    tensor(0.2500)
    """
    if autocasting():
        return in_float32(
            multi_margin_loss, input, target, p, margin, weight, size_average, reduce, reduction
        )
    code = reduction_code(reduction, size_average, reduce)
    if p not in (1, 2):
        raise ValueError(f"only p == 1 and p == 2 supported, not {p}")
    name = "multi_margin_loss"
    p, margin = int(p), float(scalar_from(name, "margin", 4, margin))
    x, t = require_tensor(name, "self", 1, input), require_tensor(name, "target", 2, target)
    w = constant(name, "weight", weight)
    _check_rows(x)
    rows, classes = x.array.shape if x.array.ndim == 2 else (1, x.array.size)
    if w is not None and w.array.ndim != 1:
        raise ValueError("weight must be one-dimensional")
    if w is not None and w.array.shape != (classes,):
        raise ShapeError(f"inconsistent weight size, expected {classes} but got {sizes(w.array.shape)}")
    if t.array.ndim > 1 or t.array.size != rows:
        raise ShapeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch "
            f"size). Expected target size [{rows}], but got {sizes(t.array.shape)}. Input has shape "
            f"{sizes(x.array.shape)}."
        )
    _check_long(t)
    if ((t.array < 0) | (t.array >= classes)).any():
        raise RuntimeError(f"target out of range: there are {classes} classes, counted from 0")
    if w is not None and w.array.dtype != x.array.dtype:
        if x.array.size:
            raise DtypeError(
                f"expected scalar type {SCALAR_NAMES[x.array.dtype]} but found {SCALAR_NAMES[w.array.dtype]}. The "
                "weight has the dtype of the input."
            )
        w = None  # there is nothing to weigh
    found: Tensor = apply_n(MultiMarginLoss(p, margin, code), (x, t, w))
    return found


@public("nn.functional.multilabel_margin_loss")
def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """How much wrong classes come nearer to right ones than 1, over the number of classes.

    Args:
        input: scores of shape (N, C) or (C).
        target: of the same shape; each row begins with its right classes, and -1 ends them.
    """
    if autocasting():
        return in_float32(multilabel_margin_loss, input, target, size_average, reduce, reduction)
    code = reduction_code(reduction, size_average, reduce)
    name = "multilabel_margin_loss"
    x, t = require_tensor(name, "self", 1, input), require_tensor(name, "target", 2, target)
    _check_rows(x)
    if t.array.shape != x.array.shape:
        raise ShapeError(
            f"inconsistent target size: {sizes(t.array.shape)} for input of size: {sizes(x.array.shape)}"
        )
    _check_long(t)
    classes = x.array.shape[-1] if x.array.ndim else 1
    if ((t.array < -1) | (t.array >= classes)).any():
        raise RuntimeError(f"argument #2 'target' is out of range: there are {classes} classes, and -1")
    found: Tensor = apply_n(MultilabelMarginLoss(code), (x, t))
    return found


@public("nn.functional.multilabel_soft_margin_loss")
def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The binary cross entropy of each class with logits, averaged over the classes (the last dimension)."""
    code = reduction_code(reduction, size_average, reduce)
    name = "multilabel_soft_margin_loss"
    x: Any = require_tensor(name, "input", 1, input)
    t: Any = require_tensor(name, "target", 2, target)
    losses = -(t * apply1(LogSigmoid(), x) + (1 - t) * apply1(LogSigmoid(), -x))
    if weight is not None:
        losses = losses * require_tensor(name, "weight", 3, weight)
    axis = x.array.ndim - 1
    if axis < 0:
        raise DimensionError(
            f"Dimension specified as -1 but tensor has no dimensions: {name}() has classes in its last one"
        )
    found: Tensor = reduced(SumDim((axis,)).on(losses) / x.array.shape[axis], code)
    return found


@public("nn.functional.soft_margin_loss")
def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """`log(1 + exp(-target * input))`, for targets 1 and -1."""
    if autocasting():
        return in_float32(soft_margin_loss, input, target, size_average, reduce, reduction)
    code = reduction_code(reduction, size_average, reduce)
    x = require_tensor("soft_margin_loss", "self", 1, input)
    t = require_tensor("soft_margin_loss", "target", 2, target)
    if x.array.dtype.kind in "biu":
        raise DtypeError(
            f"result type Float can't be cast to the desired output type {SCALAR_NAMES[x.array.dtype]}: "
            "soft_margin_loss takes floating point inputs. Convert with .float() first."
        )
    shapes = x.array.shape, t.array.shape
    if not all(a in (b, 1) or b == 1 for a, b in zip(shapes[0][::-1], shapes[1][::-1], strict=False)):
        raise broadcast_error(*shapes)
    joint = joint_shape(*shapes)
    if joint != x.array.shape:
        raise ShapeError(
            f"output with shape {sizes(x.array.shape)} doesn't match the broadcast shape {sizes(joint)}: there is one "
            "loss for each input, and the targets are more."
        )
    found: Tensor = apply_n(SoftMarginLoss(code), (x, constant("soft_margin_loss", "target", t)))
    return found
