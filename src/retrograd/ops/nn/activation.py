"""Activations: the functions between the layers of a network, and dropout. Softmax is in `softmax.py`."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from retrograd.backends.base import Backend, backend_of, device_of
from retrograd.backends.dtypes import SCALAR_NAMES
from retrograd.core.apply import apply1, apply2
from retrograd.core.families import ElementwiseUnary
from retrograd.core.inplace import check_writable, write_back
from retrograd.core.op import OUT, Unary, X
from retrograd.core.tensor import Tensor
from retrograd.core.variant import variant
from retrograd.errors import DtypeError, unsupported_dtype
from retrograd.ops.common import (
    as_value,
    deliver,
    number_from,
    plain,
    real_from,
    require_tensor,
    require_word,
    scalar_from,
)
from retrograd.ops.elementwise.arithmetic import Mul
from retrograd.ops.elementwise.choose import Where
from retrograd.ops.elementwise.exponential import Exp, Sigmoid
from retrograd.ops.elementwise.sign import abs as absolute
from retrograd.ops.elementwise.steps import tied
from retrograd.ops.elementwise.trigonometry import Tanh
from retrograd.ops.register import public
from retrograd.ops.special.erf import Erfc, erfc_array
from retrograd.ops.tensor.data import held_number, narrowed, number_for
from retrograd.values import Array

ROOT_HALF = 0.7071067811865476
ROOT_TWO_OVER_PI = 0.7978845608028654
ONE_OVER_ROOT_TWO_PI = 0.3989422804014327
GELU_CUBIC = 0.044715
SELU_ALPHA = 1.6732632423543772
SELU_SCALE = 1.0507009873554805


def unsupported(kernel: str, x: Any) -> NotImplementedError:
    """The error for a dtype that an activation or a loss does not take."""
    return unsupported_dtype(
        kernel, x.dtype, "it takes real floating point tensors. Convert with .float() first."
    )


class Activation(ElementwiseUnary):
    """A function of real floating point numbers. Owes `curve`, the forward without the check of the dtype."""

    kernel: ClassVar[str] = ""  # how PyTorch's messages call it
    keeps: ClassVar[int] = X

    def curve(self, xp: Backend, x: Array) -> Array:
        """The function."""
        raise NotImplementedError(f"{self.name()} has no curve()")

    def forward(self, xp: Backend, x: Array) -> Array:
        if x.dtype.kind != "f":
            raise unsupported(self.kernel, x)
        return self.curve(xp, x)


# -- piecewise linear: the gradient passes or not ------------------------------------------------------------------


class Gate(Unary):
    """A function whose slope is 1 where a gate is open and 0 elsewhere."""

    keeps: ClassVar[int] = X

    def gate(self, x: Any, out: Any) -> Array:
        """Where the gradient passes, as a bare boolean array."""
        raise NotImplementedError(f"{self.name()} has no gate()")

    def vjp(self, g: Any, x: Any, out: Any) -> Any:
        return tied(Where().on(self.gate(x, out), g, 0.0), x, self)

    def jvp(self, t: Any, x: Any, out: Any) -> Any:
        return Where().on(self.gate(x, out), t, 0.0)


class Relu(Gate):
    """x where it is positive, else 0"""

    keeps: ClassVar[int] = OUT

    def forward(self, xp: Backend, x: Array) -> Array:
        if x.dtype.kind == "b":
            raise DtypeError("Boolean inputs not supported for relu. Convert with .float() first.")
        if x.dtype.kind == "c":
            raise unsupported("relu", x)
        return xp.maximum(x, 0)

    def vjp(self, g: Any, x: Any, out: Any) -> Any:
        return tied(Where().on(self.gate(x, out), g, 0.0), out, self, "Threshold")

    def gate(self, x: Any, out: Any) -> Array:
        return ~(plain(out) <= 0)  # NaN passes


class Threshold(Gate):
    """x where it is above a threshold, else a number"""

    params: ClassVar[tuple[str, ...]] = ("threshold", "value")
    shown: ClassVar[dict[str, str]] = {"threshold": "threshold"}

    def __init__(self, threshold: Any, value: Any) -> None:
        # Whole numbers stay so: to integers they may be what a float may not.
        self.threshold: Any = threshold
        self.value: Any = value

    def forward(self, xp: Backend, x: Array) -> Array:
        if x.dtype.kind in "bc":
            raise unsupported("threshold_cpu", x)
        return xp.where(self.below(x), xp.asarray(number_for(self.value, x.dtype)), x)

    def below(self, x: Array) -> Array:
        """Where x is not above the threshold, which is of the dtype of x, as in C."""
        if x.dtype.kind == "f":
            return x <= self.threshold
        held_number(self.threshold, x.dtype)
        return x <= narrowed(np.asarray(self.threshold), x.dtype).item()

    def gate(self, x: Any, out: Any) -> Array:
        return ~self.below(plain(x))


ThresholdInPlace = variant(Threshold, "ThresholdBackward1", "Threshold, in its own memory")


class Hardtanh(Gate):
    """x limited to [min_val, max_val]; no gradient at the limits"""

    params: ClassVar[tuple[str, ...]] = ("min_val", "max_val")
    shown: ClassVar[dict[str, str]] = {"min_val": "min_val", "max_val": "max_val"}

    def __init__(self, min_val: float, max_val: float) -> None:
        self.min_val = min_val
        self.max_val = max_val

    def forward(self, xp: Backend, x: Array) -> Array:
        if x.dtype.kind == "b":
            raise DtypeError("Bool inputs not supported for hardtanh. Convert with .float() first.")
        if x.dtype.kind == "c":
            raise unsupported("hardtanh", x)
        if x.dtype.kind == "u" and (self.min_val <= -1 or self.max_val <= -1):
            raise DtypeError("cannot do hardtanh on an unsigned type with negative limits")
        return xp.minimum(xp.maximum(x, self.min_val), self.max_val).astype(x.dtype, copy=False)

    def gate(self, x: Any, out: Any) -> Array:
        a = plain(x)
        return ~((a <= self.min_val) | (a >= self.max_val))


class Leaky(Activation):
    """A function whose slope is constant on either side."""

    def vjp(self, g: Any, x: Any, out: Any) -> Any:
        return tied(super().vjp(g, x, out), x, self)


class LeakyRelu(Leaky):
    """x where it is positive, else x times a small slope"""

    kernel = "leaky_relu_cpu"
    params: ClassVar[tuple[str, ...]] = ("negative_slope",)
    shown: ClassVar[dict[str, str]] = {"negative_slope": "negative_slope"}

    def __init__(self, negative_slope: float) -> None:
        self.negative_slope = negative_slope

    def curve(self, xp: Backend, x: Array) -> Array:
        return xp.where(x > 0, x, x * self.negative_slope)

    def slope(self, x: Any, out: Any) -> Any:
        a = plain(x)
        return as_value(backend_of(a).where(a > 0, a.dtype.type(1), a.dtype.type(self.negative_slope)), x)


LeakyReluInPlace = variant(LeakyRelu, "LeakyReluBackward1", "LeakyRelu, in its own memory")


class Hardsigmoid(Leaky):
    """(x + 3) / 6 limited to [0, 1]"""

    kernel = "hardsigmoid_cpu"

    def curve(self, xp: Backend, x: Array) -> Array:
        return xp.minimum(xp.maximum(x + 3, 0), 6) / 6

    def slope(self, x: Any, out: Any) -> Any:
        a = plain(x)
        return as_value((abs(a) < 3).astype(a.dtype) / 6, x)


class Hardswish(Activation):
    """x * hardsigmoid(x)"""

    kernel = "hardswish_cpu"

    def curve(self, xp: Backend, x: Array) -> Array:
        return x * xp.minimum(xp.maximum(x + 3, 0), 6) / 6

    def slope(self, x: Any, out: Any) -> Any:
        a = plain(x)
        return Where().on(abs(a) < 3, x / 3 + 0.5, as_value((~(a <= -3)).astype(a.dtype), x))


# -- smooth ones ---------------------------------------------------------------------------------------------------


class Elu(Activation):
    """scale * x where x is positive, else scale * alpha * (exp(input_scale * x) - 1)"""

    kernel = "elu_cpu"
    params: ClassVar[tuple[str, ...]] = ("alpha", "scale", "input_scale")
    shown: ClassVar[dict[str, str]] = {"alpha": "alpha", "scale": "scale", "input_scale": "input_scale"}

    def __init__(self, alpha: float, scale: float = 1.0, input_scale: float = 1.0) -> None:
        self.alpha = alpha
        self.scale = scale
        self.input_scale = input_scale

    def curve(self, xp: Backend, x: Array) -> Array:
        low = xp.expm1(xp.minimum(x, 0) * self.input_scale) * (self.alpha * self.scale)
        return xp.where(x <= 0, low, x * self.scale)

    def slope(self, x: Any, out: Any) -> Any:
        a = plain(x)
        # Where x is positive, exp might overflow, and its derivative poison the second order.
        rise = Exp().on(Where().on(a < 0, x, 0.0) * self.input_scale)
        return Where().on(a <= 0, rise * (self.alpha * self.scale * self.input_scale), 1.0 * self.scale)


EluInPlace = variant(Elu, "EluBackward1", "Elu, in its own memory")


class Celu(Elu):
    """x where it is positive, else alpha * (exp(x / alpha) - 1)"""

    params: ClassVar[tuple[str, ...]] = ("alpha",)
    shown: ClassVar[dict[str, str]] = {"alpha": "alpha"}

    def __init__(self, alpha: float) -> None:
        super().__init__(alpha, 1.0, 1.0 / alpha)


CeluInPlace = variant(Celu, "CeluBackward1", "Celu, in its own memory")


class Softplus(Activation):
    """log(1 + exp(beta * x)) / beta, and x itself where beta * x is above a threshold"""

    widened: ClassVar[bool] = True
    kernel = "softplus_cpu"
    params: ClassVar[tuple[str, ...]] = ("beta", "threshold")
    shown: ClassVar[dict[str, str]] = {"beta": "beta", "threshold": "threshold"}

    def __init__(self, beta: float, threshold: float) -> None:
        self.beta = beta
        self.threshold = threshold

    def curve(self, xp: Backend, x: Array) -> Array:
        scaled = x * self.beta
        return xp.where(scaled > self.threshold, x, xp.logaddexp(scaled, 0) / self.beta)

    def slope(self, x: Any, out: Any) -> Any:
        return Where().on(plain(x) * self.beta > self.threshold, 1.0, Sigmoid().on(x * self.beta))


class LogSigmoid(Activation):
    """log(sigmoid(x)), without overflow"""

    kernel = "log_sigmoid_cpu"
    in_rows: ClassVar[bool] = True

    def curve(self, xp: Backend, x: Array) -> Array:
        return xp.minimum(x, 0) - xp.log1p(xp.exp(-xp.absolute(x)))

    def slope(self, x: Any, out: Any) -> Any:
        return Sigmoid().on(-x)


class Silu(Activation):
    """x * sigmoid(x), of complex numbers too"""

    kernel = "silu_cpu"

    def forward(self, xp: Backend, x: Array) -> Array:
        if x.dtype.kind not in "fc":
            raise unsupported(self.kernel, x)
        return x * Sigmoid().forward(xp, x)

    def slope(self, x: Any, out: Any) -> Any:
        s = Sigmoid().on(x)
        return s * (1 + x * (1 - s))


class Mish(Activation):
    """x * tanh(softplus(x))"""

    kernel = "mish_cpu"

    def curve(self, xp: Backend, x: Array) -> Array:
        return x * xp.tanh(xp.logaddexp(x, 0))

    def slope(self, x: Any, out: Any) -> Any:
        t = Tanh().on(Softplus(1.0, 20.0).on(x))
        return t + x * Sigmoid().on(x) * (1 - t * t)


class Gelu(Activation):
    """x times the probability that a normal variable is below x; or its approximation by tanh"""

    kernel = "GeluKernelImpl"
    params: ClassVar[tuple[str, ...]] = ("approximate",)
    shown: ClassVar[dict[str, str]] = {"approximate": "approximate"}

    def __init__(self, approximate: str) -> None:
        self.approximate = approximate

    def curve(self, xp: Backend, x: Array) -> Array:
        if self.approximate == "none":
            return x * erfc_array(x * -ROOT_HALF) * 0.5
        return 0.5 * x * (1 + xp.tanh((x + GELU_CUBIC * x * x * x) * ROOT_TWO_OVER_PI))

    def slope(self, x: Any, out: Any) -> Any:
        if self.approximate == "none":
            z = x * -ROOT_HALF
            return Erfc().on(z) * 0.5 + x * Exp().on(-(z * z)) * ONE_OVER_ROOT_TWO_PI
        square = x * x
        t = Tanh().on((x + square * x * GELU_CUBIC) * ROOT_TWO_OVER_PI)
        bend = x * (1 - t * t) * (square * (3 * GELU_CUBIC) + 1)
        return (t + 1) * 0.5 + bend * (0.5 * ROOT_TWO_OVER_PI)


# -- functions -----------------------------------------------------------------------------------------------------


def _activated(function: str, op: Unary, input: Any, inplace: bool = False) -> Tensor:
    """The op's result, in place of the input if wanted."""
    x = require_tensor(f"{function}_" if inplace else function, "input", 1, input)
    if not inplace:
        found: Tensor = apply1(op, x)
        return found
    check_writable(x)
    return write_back(x, apply1(op, x))


@public("relu", "nn.functional.relu", "relu_", "nn.functional.relu_", method=True)
def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """`input` where it is positive, else 0.

    >>> import retrograd as rg
    >>> rg.relu(rg.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return _activated("relu", Relu(), input, inplace)


@public("nn.functional.relu6")
def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """`input` limited to the range from 0 to 6."""
    return _activated("relu6", Hardtanh(0.0, 6.0), input, inplace)


@public("threshold", "nn.functional.threshold")
def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """`input` where it is above `threshold`, else `value`.

    >>> import retrograd as rg
    >>> rg.nn.functional.threshold(rg.tensor([0.5, 2.0]), 1.0, -1.0)
    tensor([-1.,  2.])
    """
    limit = _factor("threshold", "threshold", 2, threshold, input)
    other = _factor("threshold", "value", 3, value, input)
    return _activated("threshold", (ThresholdInPlace if inplace else Threshold)(limit, other), input, inplace)


def _factor(function: str, argument: str, position: int, value: Any, x: Any) -> Any:
    """A number that the dtype of a tensor can hold: a complex one is refused where the tensor is real."""
    number = number_from(function, argument, position, value)
    if not isinstance(number, complex):
        return number
    dtype = require_tensor(function, "input", 1, x).array.dtype
    return number if dtype.kind in "bc" else number_for(number, dtype).item()


@public("nn.functional.hardtanh")
def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """`input` limited to the range from `min_val` to `max_val`.

    >>> import retrograd as rg
    >>> rg.nn.functional.hardtanh(rg.tensor([-3.0, 0.5, 3.0]))
    tensor([-1.0000,  0.5000,  1.0000])
    """
    low, high = real_from("hardtanh", "min_val", 2, min_val), real_from("hardtanh", "max_val", 3, max_val)
    if low > high:
        raise ValueError(f"min_val cannot be greater than max_val: hardtanh got {low} and {high}")
    return _activated("hardtanh", Hardtanh(low, high), input, inplace)


@public("nn.functional.hardtanh_")
def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """`hardtanh`, in place; where its limits are exchanged, `max_val` everywhere."""
    low, high = (
        scalar_from("hardtanh_", "min_val", 2, min_val),
        scalar_from("hardtanh_", "max_val", 3, max_val),
    )
    return _activated("hardtanh", Hardtanh(low, high), input, True)


@public("nn.functional.leaky_relu")
def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """`input` where it is positive, else `negative_slope * input`.

    >>> import retrograd as rg
    >>> rg.nn.functional.leaky_relu(rg.tensor([-1.0, 2.0]), 0.1)
    tensor([-0.1000,  2.0000])
    """
    slope = _factor("leaky_relu", "negative_slope", 2, negative_slope, input)
    return _activated("leaky_relu", (LeakyReluInPlace if inplace else LeakyRelu)(slope), input, inplace)


@public("nn.functional.hardsigmoid")
def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """`(input + 3) / 6`, limited to the range from 0 to 1."""
    return _activated("hardsigmoid", Hardsigmoid(), input, inplace)


@public("nn.functional.hardswish")
def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """`input * hardsigmoid(input)`."""
    return _activated("hardswish", Hardswish(), input, inplace)


@public("nn.functional.elu")
def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """`input` where it is positive, else `alpha * (exp(input) - 1)`."""
    factor = _factor("elu", "alpha", 2, alpha, input)
    return _activated("elu", (EluInPlace if inplace else Elu)(factor), input, inplace)


@public("nn.functional.elu_")
def elu_(input: Tensor, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Tensor:
    """`elu`, in place; its results are multiplied by `scale`, what it takes the exponential of by `input_scale`."""
    op = EluInPlace(
        _factor("elu_", "alpha", 2, alpha, input),
        _factor("elu_", "scale", 3, scale, input),
        _factor("elu_", "input_scale", 4, input_scale, input),
    )
    return _activated("elu", op, input, True)


@public("selu", "nn.functional.selu")
def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """`elu` scaled so that a deep network keeps mean 0 and variance 1."""
    return _activated("selu", (EluInPlace if inplace else Elu)(SELU_ALPHA, SELU_SCALE), input, inplace)


@public("celu", "nn.functional.celu")
def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """`input` where it is positive, else `alpha * (exp(input / alpha) - 1)`."""
    factor = _factor("celu", "alpha", 2, alpha, input)
    if factor == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return _activated("celu", (CeluInPlace if inplace else Celu)(factor), input, inplace)


@public("nn.functional.softplus")
def softplus(
    input: Tensor, beta: float = 1.0, threshold: float = 20.0, *, out: Tensor | None = None
) -> Tensor:
    """`log(1 + exp(beta * input)) / beta`, a smooth relu; `input` itself where `beta * input > threshold`."""
    factor = _factor("softplus", "beta", 2, beta, input)
    limit = _factor("softplus", "threshold", 3, threshold, input)
    found: Tensor = deliver(_activated("softplus", Softplus(factor, limit), input), out)
    return found


@public("nn.functional.logsigmoid")
def logsigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`log(sigmoid(input))`, without overflow."""
    found: Tensor = deliver(_activated("log_sigmoid", LogSigmoid(), input), out)
    return found


@public("nn.functional.silu")
def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """`input * sigmoid(input)`, also known as swish."""
    return _activated("silu", Silu(), input, inplace)


@public("nn.functional.mish")
def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """`input * tanh(softplus(input))`."""
    return _activated("mish", Mish(), input, inplace)


@public("nn.functional.gelu")
def gelu(input: Tensor, *, approximate: str = "none", out: Tensor | None = None) -> Tensor:
    """`input` times the normal distribution function of `input`.

    Args:
        approximate: "none" for the exact function, "tanh" for its usual approximation.
    """
    if require_word("gelu", "approximate", approximate) not in ("none", "tanh"):
        raise RuntimeError(f"approximate argument must be either none or tanh. gelu got {approximate!r}.")
    found: Tensor = deliver(_activated("gelu", Gelu(approximate), input), out)
    return found


@public("nn.functional.softsign")
def softsign(input: Tensor) -> Tensor:
    """`input / (1 + |input|)`."""
    x: Any = require_tensor("softsign", "input", 1, input)
    found: Tensor = x / (absolute(x) + 1)
    return found


@public("nn.functional.tanhshrink")
def tanhshrink(input: Tensor) -> Tensor:
    """`input - tanh(input)`."""
    x: Any = require_tensor("tanhshrink", "input", 1, input)
    found: Tensor = x - Tanh().on(x)
    return found


@public("nn.functional.dropout")
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeroes each element with probability `p` and scales the others by `1 / (1 - p)`, while training.

    >>> import retrograd as rg
    >>> x = rg.ones(3)
    >>> dropout(x, 0.5, training=False) is x
    True
    """
    p = real_from("dropout", "p", 2, p)
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    x = require_tensor("dropout", "input", 1, input)
    if p == 0 or not training or x.array.size == 0:
        return x
    factors = Tensor(_noise(x.array, p), share=True)
    if not inplace:
        found: Tensor = apply2(Mul(), x, factors)
        return found
    check_writable(x)
    return write_back(x, apply2(Mul(), x, factors))


def scale_of_kept(a: Array, p: float) -> Any:
    """1 / (1 - p) as PyTorch rounds it: 1 - p to the dtype of a, to float32 if that is a half."""
    wide = np.float64 if a.dtype.itemsize == 8 else np.float32
    return a.dtype.type(1 / wide(1 - p))


def _noise(a: Array, p: float) -> Array:
    """What dropout multiplies by: 0 with probability p, else 1 / (1 - p)."""
    from retrograd.ops.random.generator import stream_of

    if p == 1:
        return backend_of(a).asarray(0, a.dtype)  # nothing is drawn
    if a.dtype.kind == "c":
        raise unsupported("bernoulli_scalar_cpu_", a)
    if a.dtype.kind != "f":
        raise DtypeError(
            f"result type Float can't be cast to the desired output type {SCALAR_NAMES[a.dtype]}"
        )
    return backend_of(a).noise(stream_of(None, device_of(a)), a, p, scale_of_kept(a, p))


# What nn.functional offers, by name; several of these are nowhere else.
