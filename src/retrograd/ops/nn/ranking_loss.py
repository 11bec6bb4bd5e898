"""Losses of pairs and triples: what belongs together must be nearer, or ahead, by a margin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from retrograd.backends.dtypes import SCALAR_NAMES
from retrograd.core.apply import apply1
from retrograd.core.autocast import autocasting, in_float32
from retrograd.core.tensor import Tensor
from retrograd.errors import DtypeError, ShapeError, sizes
from retrograd.ops.common import real_from, require_tensor
from retrograd.ops.elementwise.choose import ClampMin, Where
from retrograd.ops.elementwise.exponential import Sqrt
from retrograd.ops.nn.difference_loss import MEAN, SUM, reduced, reduction_code
from retrograd.ops.reduce.statistics import vector_norm
from retrograd.ops.reduce.sums import SumDim
from retrograd.ops.register import public
from retrograd.ops.shape.reshape import broadcast_shapes

# What PyTorch adds to squared lengths, so that those of zeros have a gradient.
TINY = float(np.float32(1e-12))


@public("hinge_embedding_loss")
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 0) -> Tensor:
    """`nn.functional.hinge_embedding_loss` with a number for `reduction`."""
    if autocasting():
        return in_float32(hinge_embedding_loss, input, target, margin, reduction)
    x: Any = require_tensor("hinge_embedding_loss", "input", 1, input)
    t = require_tensor("hinge_embedding_loss", "target", 2, target)
    if x.array.dtype.kind in "iu" and reduction == MEAN:
        raise DtypeError(
            "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: "
            f"{SCALAR_NAMES[x.array.dtype]}"
        )
    margin = float(real_from("hinge_embedding_loss", "margin", 3, margin))
    broadcast_shapes(x.array.shape, t.array.shape)  # complains in PyTorch's words
    none = 0 if x.array.dtype.kind in "iu" else 0.0
    short = Where().on(t.array != 1, apply1(ClampMin(none, None), _short_of(margin, x)), none)
    losses = short + Where().on(t.array != -1, x, none)
    found: Tensor = losses.sum() if reduction == SUM else reduced(losses, reduction)
    return found


def _short_of(margin: float, x: Any) -> Any:
    """What is missing to a margin, in the dtype of x."""
    return int(margin) - x if x.array.dtype.kind in "iu" else margin - x


@public("nn.functional.hinge_embedding_loss")
def functional_hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """`input` where `target` is 1; what is missing to `margin` where it is -1."""
    return hinge_embedding_loss(input, target, margin, reduction_code(reduction, size_average, reduce))


@public("margin_ranking_loss")
def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    """`nn.functional.margin_ranking_loss` with a number for `reduction`."""
    if autocasting():
        return in_float32(margin_ranking_loss, input1, input2, target, margin, reduction)
    name = "margin_ranking_loss"
    x: Any = require_tensor(name, "input1", 1, input1)
    y: Any = require_tensor(name, "input2", 2, input2)
    t: Any = require_tensor(name, "target", 3, target)
    limit = float(real_from(name, "margin", 4, margin))
    found: Tensor = reduced(apply1(ClampMin(0.0, None), -t * (x - y) + limit), reduction)
    return found


@public("nn.functional.margin_ranking_loss")
def functional_margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """What is missing until `input1` is ahead of `input2` by `margin` (or behind it, where `target` is -1).

    >>> import retrograd as rg
    >>> rg.nn.functional.margin_ranking_loss(rg.tensor([3.0]), rg.tensor([1.0]), rg.tensor([-1.0]))
    tensor(2.)
    """
    code = reduction_code(reduction, size_average, reduce)
    name = "margin_ranking_loss"
    shapes = [
        require_tensor(name, argument, i + 1, v).shape
        for i, (argument, v) in enumerate(
            zip(("input1", "input2", "target"), (input1, input2, target), strict=True)
        )
    ]
    if not len(shapes[0]) == len(shapes[1]) == len(shapes[2]):
        raise ShapeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: "
            f"{shapes[0]}, input2: {shapes[1]}, target: {shapes[2]} "
        )
    return margin_ranking_loss(input1, input2, target, margin, code)


def _distance(x: Any, y: Any, p: float, eps: float) -> Any:
    """The p-norm of the difference along the last dimension."""
    return vector_norm(x - y + eps, p, -1)


def _same_dims(function: str, anchor: Any, positive: Any, negative: Any) -> list[Any]:
    given = {"anchor": anchor, "positive": positive, "negative": negative}
    tensors = [require_tensor(function, name, i + 1, v) for i, (name, v) in enumerate(given.items())]
    if len({t.array.ndim for t in tensors}) > 1:
        shown = [f"{name} {t.array.ndim}D" for name, t in zip(given, tensors, strict=True)]
        raise ShapeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"{shown[0]}, {shown[1]}, and {shown[2]} inputs"
        )
    return tensors


@public("triplet_margin_loss")
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: int = 0,
) -> Tensor:
    """`nn.functional.triplet_margin_loss` with a number for `reduction`."""
    if autocasting():
        return in_float32(triplet_margin_loss, anchor, positive, negative, margin, p, eps, swap, reduction)
    name = "triplet_margin_loss"
    a, near, far = _same_dims(name, anchor, positive, negative)
    margin, eps = float(real_from(name, "margin", 4, margin)), float(real_from(name, "eps", 6, eps))
    to_near, to_far = _distance(a, near, p, eps), _distance(a, far, p, eps)
    if swap:
        to_far = to_far.minimum(_distance(near, far, p, eps))
    found: Tensor = reduced(apply1(ClampMin(0.0, None), to_near + margin - to_far), reduction)
    return found


@public("nn.functional.triplet_margin_loss")
def functional_triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """What is missing until `anchor` is nearer to `positive` than to `negative` by `margin`.

    Args:
        p: of the norm that measures distances.
        eps: added to each difference, so that the norm has a derivative.
        swap: whether the distance from `positive` to `negative` counts if it is smaller.

    >>> import retrograd as rg
    >>> rg.nn.functional.triplet_margin_loss(rg.zeros(1, 2), rg.zeros(1, 2), rg.tensor([[0.5, 0.0]]))
    tensor(0.5000)
    """
    code = reduction_code(reduction, size_average, reduce)
    _check_margin(margin)
    return triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, code)


def _check_margin(margin: float) -> None:
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")


@public("nn.functional.triplet_margin_with_distance_loss")
def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """`triplet_margin_loss` with a distance of one's own."""
    a, near, far = _same_dims("triplet_margin_with_distance_loss", anchor, positive, negative)
    _check_margin(margin)
    if distance_function is None:
        to_near, to_far = _distance(a, near, 2, 1e-6), _distance(a, far, 2, 1e-6)
    else:
        to_near, to_far = distance_function(a, near), distance_function(a, far)
    if swap:
        across = _distance(near, far, 2, 1e-6) if distance_function is None else distance_function(near, far)
        to_far = to_far.minimum(across)
    found: Tensor = reduced(apply1(ClampMin(0.0, None), to_near + margin - to_far), reduction_code(reduction))
    return found


@public("cosine_embedding_loss")
def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    """`nn.functional.cosine_embedding_loss` with a number for `reduction`."""
    if autocasting():
        return in_float32(cosine_embedding_loss, input1, input2, target, margin, reduction)
    name = "cosine_embedding_loss"
    x: Any = require_tensor(name, "input1", 1, input1)
    y: Any = require_tensor(name, "input2", 2, input2)
    t = require_tensor(name, "target", 3, target).array
    if t.ndim > 1:
        raise ShapeError("0D or 1D target tensor expected, multi-target not supported")
    wanted = t.ndim + 1
    if x.array.ndim != wanted or y.array.ndim != wanted:
        raise ShapeError(
            f"{t.ndim}D target tensor expects {wanted}D input tensors, but found inputs with sizes "
            f"{sizes(x.array.shape)} and {sizes(y.array.shape)}."
        )
    margin = real_from("cosine_embedding_loss", "margin", 4, margin)
    broadcast_shapes(t.shape, x.array.shape[:-1])  # complains in PyTorch's words
    along = SumDim((t.ndim,))
    lengths = (along.fresh().on(x * x) + TINY) * (along.fresh().on(y * y) + TINY)
    cosine = along.on(x * y) / apply1(Sqrt(), lengths)
    near = Where().on(t == 1, 1 - cosine, 0.0)
    found: Tensor = reduced(
        near + Where().on(t == -1, apply1(ClampMin(0.0, None), cosine - margin), 0.0), reduction
    )
    return found


@public("nn.functional.cosine_embedding_loss")
def functional_cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """1 minus the cosine between vectors where `target` is 1; the cosine above `margin` where it is -1.

    >>> import retrograd as rg
    >>> rg.nn.functional.cosine_embedding_loss(rg.tensor([[1.0, 0.0]]), rg.tensor([[0.0, 1.0]]), rg.tensor([1]))
    tensor(1.)
    """
    code = reduction_code(reduction, size_average, reduce)
    return cosine_embedding_loss(input1, input2, target, margin, code)
