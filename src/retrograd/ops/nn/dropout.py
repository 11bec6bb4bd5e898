"""Variants of dropout: of whole channels, for self-normalising networks, with its mask; and Gumbel's softmax.

`dropout` itself is in `activation.py`.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from retrograd.backends.base import Backend, backend_of, common_backend, device_of
from retrograd.backends.casts import maker_of
from retrograd.backends.dtypes import SCALAR_NAMES
from retrograd.core.apply import apply1
from retrograd.core.autocast import autocasting_on_gpu, in_float32
from retrograd.core.families import Linear
from retrograd.core.inplace import check_writable, write_back
from retrograd.core.places import warn
from retrograd.core.saved import SavedConstant, constant_of
from retrograd.core.tensor import Tensor
from retrograd.errors import DtypeError
from retrograd.ops.common import beside, number_from, real_from, require_tensor, tensor_of, wrap_dim
from retrograd.ops.nn.activation import SELU_ALPHA, SELU_SCALE, dropout, scale_of_kept, unsupported
from retrograd.ops.nn.host import as_constant
from retrograd.ops.nn.softmax import Softmax
from retrograd.ops.random.generator import stream_of
from retrograd.ops.register import public
from retrograd.values import Array, Shape


class NativeDropout(Linear):
    """x where a mask is true, over the probability of that; else 0"""

    params: ClassVar[tuple[str, ...]] = ("mask", "p")
    shown: ClassVar[dict[str, str]] = {"result1": "constant:0", "p": "p"}

    def __init__(self, mask: Any, p: float) -> None:
        self.constants = (constant_of(mask),)
        self.p = p

    def forward(self, xp: Backend, x: Array) -> Array:
        return x * (self.mask.array * (1 / (1 - self.p) if self.p < 1 else 1.0)).astype(x.dtype)

    def transpose(self, g: Any) -> Any:
        return self.fresh().on(g)

    @property
    def mask(self) -> SavedConstant:
        """Where elements are kept."""
        return self.constant(0)


# -- functions -----------------------------------------------------------------------------------------------------


def _kept(a: Array, p: float, shape: Shape) -> Array:
    """1 with probability 1 - p, else 0."""
    if a.dtype.kind == "c":
        raise unsupported("bernoulli_scalar_cpu_", a)
    if a.dtype.kind != "f":
        raise DtypeError(
            f"result type Float can't be cast to the desired output type {SCALAR_NAMES[a.dtype]}. Convert with "
            ".float() first."
        )
    xp = backend_of(a)
    like = a if a.shape == shape else xp.empty(shape, a.dtype)
    return xp.noise(stream_of(None, device_of(a)), like, p, 1)


def _channels(x: Tensor) -> Shape:
    """The shape of a mask with one element per channel."""
    shape = x.array.shape
    if len(shape) < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    return (*shape[:2], *(1 for _ in shape[2:]))


def _check_rate(p: float) -> None:
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p}")


def _check_rate_of_function(p: Any) -> None:
    p = real_from("dropout", "p", 2, p)
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _dropped(input: Any, rate: Any, train: bool, inplace: bool, channels: bool, alpha: bool) -> Tensor:
    """Dropout of elements or whole channels, to 0 or to the limit of selu."""
    x = require_tensor("dropout", "input", 1, input)
    p: float = number_from("dropout", "p", 2, rate)
    _check_rate(p)
    if p == 0 or not train or x.array.size == 0:
        return x
    if inplace:
        check_writable(x)
    found: Tensor = (
        x * as_constant(maker_of(x.array.dtype).zeros((), x.array.dtype), x)
        if p == 1
        else _noisy(x, p, channels, alpha)
    )
    return write_back(x, found) if inplace else found


def _noisy(x: Any, p: float, channels: bool, alpha: bool) -> Any:
    """Dropout that leaves something of its input."""
    kept = _kept(x.array, p, _channels(x) if channels else x.array.shape)
    if not alpha:
        return x * Tensor(kept * scale_of_kept(kept, p), share=True)
    limit = SELU_ALPHA * SELU_SCALE
    a = 1 / math.sqrt((limit * limit * p + 1) * (1 - p))
    number = kept.dtype.type  # each product and sum is rounded, as PyTorch's are
    shift = ((kept - number(1)) * number(limit * a) + number(limit * a * p)).astype(kept.dtype)
    return x * Tensor(kept * number(a), share=True) + Tensor(shift, share=True)


@public("dropout")
def plain_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Zeroes each element with probability `p` and scales the others by `1 / (1 - p)`, if `train`."""
    rate = number_from("dropout", "p", 2, p)
    _check_rate(rate)
    return dropout(input, rate, train)


@public("feature_dropout")
def feature_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Zeroes whole channels (dimension 1) with probability `p` and scales the others by `1 / (1 - p)`, if `train`."""
    return _dropped(input, p, train, False, True, False)


@public("feature_dropout_")
def feature_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`feature_dropout`, in place."""
    return _dropped(input, p, train, True, True, False)


@public("alpha_dropout")
def plain_alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Sets elements to the limit of `selu` with probability `p`, and keeps mean and variance, if `train`."""
    return _dropped(input, p, train, False, False, True)


@public("alpha_dropout_")
def alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`alpha_dropout`, in place."""
    return _dropped(input, p, train, True, False, True)


@public("feature_alpha_dropout")
def plain_feature_alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """`alpha_dropout` of whole channels (dimension 1)."""
    return _dropped(input, p, train, False, True, True)


@public("feature_alpha_dropout_")
def feature_alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`feature_alpha_dropout`, in place."""
    return _dropped(input, p, train, True, True, True)


@public("native_dropout")
def native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    """`dropout`, with the mask of the elements that it kept."""
    x, p = require_tensor("native_dropout", "input", 1, input), real_from("native_dropout", "p", 2, p)
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={1 - p}")
    shape = x.array.shape
    if p == 0 or train is False:
        kept = as_constant(np.ones(shape, bool), x)
        return apply1(NativeDropout(kept, 0.0), x), kept
    a = x.array
    # The mask is of truth values, whatever x is of.
    kept = tensor_of(_kept(a.real if a.dtype.kind == "c" else a, p, shape) != 0)
    return apply1(NativeDropout(kept, p), x), kept


@public("nn.functional.alpha_dropout")
def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Sets elements to the limit of `selu` with probability `p`, and keeps mean and variance, while training."""
    _check_rate_of_function(p)
    return _dropped(input, p, training, inplace, False, True)


@public("nn.functional.feature_alpha_dropout")
def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """`alpha_dropout` of whole channels (dimension 1)."""
    _check_rate_of_function(p)
    return _dropped(input, p, training, inplace, True, True)


@public("nn.functional.dropout1d")
def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeroes whole channels of an input (N, C, L) or (C, L) with probability `p`, while training."""
    _check_rate_of_function(p)
    x = require_tensor("dropout1d", "input", 1, input)
    if x.array.ndim not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {x.array.ndim}D input. {_purpose(1)}"
        )
    return _of_channels(x, p, training, inplace, 2)


@public("nn.functional.dropout2d")
def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeroes whole channels of an input (N, C, H, W) with probability `p`, while training."""
    _check_rate_of_function(p)
    x = require_tensor("dropout2d", "input", 1, input)
    if x.array.ndim == 3:
        warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired "
            "- input is interpreted as shape (N, C, L), where C is the channel dim. Use dropout1d to say so.",
            UserWarning,
        )
    elif x.array.ndim != 4:
        _warn_of_dims(2, x.array.ndim)
    return _dropped(x, p, training, inplace, True, False)


@public("nn.functional.dropout3d")
def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeroes whole channels of an input (N, C, D, H, W) or (C, D, H, W) with probability `p`, while training."""
    _check_rate_of_function(p)
    x = require_tensor("dropout3d", "input", 1, input)
    if x.array.ndim not in (4, 5):
        _warn_of_dims(3, x.array.ndim)
    return _of_channels(x, p, training, inplace, 4 if x.array.ndim == 5 else x.array.ndim)


def _of_channels(x: Any, p: Any, training: bool, inplace: bool, unbatched: int) -> Tensor:
    """Dropout of channels; an input with `unbatched` dimensions is one sample."""
    if x.array.ndim != unbatched:
        return _dropped(x, p, training, inplace, True, False)
    if inplace:
        return _dropped(x.unsqueeze_(0), p, training, True, True, False).squeeze_(0)
    return _dropped(x.unsqueeze(0), p, training, False, True, False).squeeze(0)


def _purpose(n: int) -> str:
    spatial = f"{n} spatial dimension{'s' if n > 1 else ''}"
    return (
        f"Note that dropout{n}d exists to provide channel-wise dropout on inputs with {spatial}, a channel dimension, "
        f"and an optional batch dimension (i.e. {n + 1}D or {n + 2}D inputs)."
    )


def _warn_of_dims(n: int, ndim: int) -> None:
    warn(
        f"dropout{n}d: Received a {ndim}-D input to dropout{n}d, which is deprecated and will result in an error in a "
        "future release. To retain the behavior and silence this warning, please use dropout instead. "
        + _purpose(n),
        UserWarning,
    )


@public("nn.functional.gumbel_softmax")
def gumbel_softmax(
    logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """A random choice of one class with the probabilities `softmax(logits)`, made differentiable.

    Args:
        tau: the smaller, the nearer the result is to a choice.
        hard: whether the result is exactly 0 and 1, with the gradient of the soft choice.
    """
    if autocasting_on_gpu(logits):
        return in_float32(gumbel_softmax, logits, tau, hard, eps, dim)
    x: Any = require_tensor("gumbel_softmax", "logits", 1, logits)
    if eps != 1e-10:
        warn("`eps` parameter is deprecated and has no effect.", UserWarning)
    a = x.array
    if a.dtype.kind != "f":
        raise RuntimeError(
            "Exponential distribution is a continuous probability distribution. dtype must be a floating point but you "
            f"specified {SCALAR_NAMES[a.dtype]}"
        )
    drawn = beside(stream_of(None, device_of(a)).standard_exponential(a.shape, np.float64), a)
    noise = -common_backend((a, drawn)).log(drawn).astype(a.dtype)
    axis = wrap_dim(dim, a.ndim)
    soft: Tensor = apply1(Softmax(axis if a.ndim else None), (x + Tensor(noise, share=True)) / tau)
    if not hard:
        return soft
    xp = backend_of(soft.array)
    choice = xp.zeros(soft.array.shape, soft.array.dtype)
    xp.put_along(choice, soft.array.argmax(axis=axis, keepdims=True), axis, xp.ones((), choice.dtype))
    found: Tensor = Tensor(choice, share=True) - soft.detach() + soft
    return found
