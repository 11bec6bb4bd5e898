"""More losses of probabilities: of counts and of normal numbers, and PyTorch's functions outside `nn.functional`."""

from __future__ import annotations

import math
import warnings
from typing import Any

from retrograd.backends.base import backend_of
from retrograd.backends.casts import maker_of
from retrograd.backends.dtypes import SCALAR_NAMES
from retrograd.core.autocast import autocasting, in_float32
from retrograd.core.tensor import Tensor
from retrograd.errors import DtypeError, ShapeError, broadcast_error, sizes, unsupported_dtype
from retrograd.ops.common import int_from, real_from, require_tensor
from retrograd.ops.elementwise.exponential import Exp, Log
from retrograd.ops.index.mask import masked_fill
from retrograd.ops.linalg.addmm import linear
from retrograd.ops.nn.binary_cross_entropy import binary_cross_entropy_with_logits
from retrograd.ops.nn.cross_entropy import cross_entropy, kl_div
from retrograd.ops.nn.difference_loss import MEAN, NONE, SUM, reduced, reduction_code
from retrograd.ops.nn.host import as_constant
from retrograd.ops.register import public
from retrograd.ops.tensor.convert import clone, convert

NAMES = {NONE: "none", MEAN: "mean", SUM: "sum"}


@public("poisson_nll_loss")
def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int
) -> Tensor:
    """Minus the log-likelihood of counts: `nn.functional.poisson_nll_loss` with a number for `reduction`."""
    if autocasting():
        return in_float32(poisson_nll_loss, input, target, log_input, full, eps, reduction)
    x: Any = require_tensor("poisson_nll_loss", "input", 1, input)
    t: Any = require_tensor("poisson_nll_loss", "target", 2, target)
    eps = float(real_from("poisson_nll_loss", "eps", 5, eps))
    losses = Exp().on(x) - t * x if log_input else x - t * Log().on(x + eps)
    if full:
        approximation = t * Log().on(t) - t + Log().on(t * (2 * math.pi)) * 0.5
        added = masked_fill(approximation, Tensor(t.array <= 1, share=True), 0)
        losses = losses + convert(added, losses.array.dtype)  # PyTorch adds in place
    found: Tensor = reduced(losses, reduction)
    return found


@public("nn.functional.poisson_nll_loss")
def functional_poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Minus the log-likelihood of counts, given the rate or its logarithm.

    Args:
        log_input: whether `input` is the logarithm of the rate.
        full: whether Stirling's approximation of the term without `input` is added, for counts above 1.
        eps: added to the rate before its logarithm, if `log_input` is false.

    >>> import retrograd as rg
    >>> rg.nn.functional.poisson_nll_loss(rg.tensor([0.0]), rg.tensor([2.0]))
    tensor(1.)
    """
    code = reduction_code(reduction, size_average, reduce)
    return poisson_nll_loss(input, target, log_input, full, eps, code)


@public("nn.functional.gaussian_nll_loss")
def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """Minus the log-likelihood of normal numbers, given their mean and variance.

    Args:
        var: a number, or a tensor like `input`, in which one dimension may have size 1 or the last may be missing.
        full: whether the constant term is added.
        eps: the variance is at least this; its gradient does not know.
    """
    x: Any = require_tensor("gaussian_nll_loss", "input", 1, input)
    t: Any = require_tensor("gaussian_nll_loss", "target", 2, target)
    v = _variance(x, var)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not valid: use 'none', 'mean' or 'sum'")
    if (v.array < 0).any():
        raise ValueError("var has negative entry/entries")
    if v.array.dtype.kind in "biu":
        raise DtypeError(
            f"result type Float can't be cast to the desired output type {SCALAR_NAMES[v.array.dtype]}: "
            "gaussian_nll_loss takes a floating point variance. Convert it with .float() first."
        )
    v, eps = clone(v), real_from("gaussian_nll_loss", "eps", 5, eps)
    backend_of(v.array).maximum(v.array, eps, out=v.array)
    losses = (Log().on(v) + (x - t) ** 2 / v) * 0.5
    if full:
        losses = losses + 0.5 * math.log(2 * math.pi)
    found: Tensor = reduced(losses, reduction_code(reduction))
    return found


def _variance(x: Tensor, var: Any) -> Any:
    """The variance as a tensor that broadcasts against x."""
    if isinstance(var, float | int):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        return as_constant(maker_of(x.array.dtype).full(x.array.shape, var, x.array.dtype), x)
    v: Any = require_tensor("gaussian_nll_loss", "var", 3, var)
    shape, given = x.array.shape, v.array.shape
    if given == shape:
        return v
    if given == shape[:-1]:
        return v.unsqueeze(-1)
    differing = [n for n, m in zip(given, shape, strict=False) if n != m]
    if len(given) != len(shape) or differing != [1]:
        raise ValueError(f"var is of incorrect size: {sizes(given)} for an input of {sizes(shape)}")
    return v


@public("nn.functional.linear_cross_entropy")
def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: object = None,
) -> Tensor:
    """`cross_entropy(linear(input, linear_weight, linear_bias), target)`.

    Args:
        linear_weight: of shape (C, features), or (C, d1, ..., features) for targets of shape (N, d1, ...).
        options: how PyTorch cuts the work to save memory; there is nothing to choose here.
    """
    x: Any = require_tensor("linear_cross_entropy", "input", 1, input)
    w: Any = require_tensor("linear_cross_entropy", "linear_weight", 2, linear_weight)
    if x.array.ndim not in (1, 2):
        raise ShapeError(f"expected input with dimensionality 1 or 2, got {x.array.ndim}")
    if w.array.ndim < 2:
        raise ShapeError(f"expected linear_weight with dimensionality at least 2, got {w.array.ndim}")
    if x.array.shape[-1] != w.array.shape[-1]:
        raise ShapeError(
            "expected equal input and linear_weight last dimensions (in_features), got "
            f"{x.array.shape[-1]} and {w.array.shape[-1]}, respectively"
        )
    logits = _scores(x, w, linear_bias)
    if (
        ignore_index is not None
        and logits.array.shape == require_tensor("linear_cross_entropy", "target", 3, target).array.shape
    ):
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    ignored = -100 if ignore_index is None else ignore_index
    return cross_entropy(
        logits, target, weight, ignore_index=ignored, reduction=reduction, label_smoothing=label_smoothing
    )


def _scores(x: Any, w: Any, bias: Any) -> Any:
    """The scores of all classes of `linear_cross_entropy`, where w may have several dimensions of them."""
    shape = w.array.shape[:-1]
    if len(shape) > 1 and x.array.ndim == 1:
        raise ShapeError(
            f"K-dimensional loss defined by linear_weight shape {w.array.shape} requires batched input, "
            f"(N, {x.array.shape[0]}), got unbatched input with shape {x.array.shape}"
        )
    scores = linear(x, w.reshape((-1, w.array.shape[-1]))).view((*x.array.shape[:-1], *shape))
    if bias is None:
        return scores
    given = require_tensor("linear_cross_entropy", "linear_bias", 4, bias)
    if given.array.shape != shape:
        raise ShapeError(f"expected linear_bias shape {shape}, got {given.array.shape}")
    return scores + given


@public("kl_div")
def coded_kl_div(input: Tensor, target: Tensor, reduction: int = 0, *, log_target: bool = False) -> Tensor:
    """`nn.functional.kl_div` with a number for `reduction`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        name = NAMES.get(int_from("kl_div", "reduction", 3, reduction), "none")
        return kl_div(input, target, reduction=name, log_target=log_target)


@public("binary_cross_entropy_with_logits")
def coded_binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    pos_weight: Tensor | None = None,
    reduction: int = 0,
) -> Tensor:
    """`nn.functional.binary_cross_entropy_with_logits` with a number for `reduction`."""
    name = NAMES.get(int_from("binary_cross_entropy_with_logits", "reduction", 5, reduction), "none")
    x = require_tensor("binary_cross_entropy_with_logits", "input", 1, input)
    t = require_tensor("binary_cross_entropy_with_logits", "target", 2, target)
    if x.array.dtype.kind != "f":
        raise unsupported_dtype("log_sigmoid_cpu", x.array.dtype, "convert it with .float()")
    if x.array.shape != t.array.shape:
        raise broadcast_error(x.array.shape, t.array.shape)
    return binary_cross_entropy_with_logits(input, target, weight, reduction=name, pos_weight=pos_weight)
