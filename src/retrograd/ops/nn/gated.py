"""Activations that shrink, leak or gate: hardshrink, softshrink, prelu, rrelu, glu."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, ClassVar

import numpy as np

from retrograd.backends.base import Backend, as_array, backend_of, common_backend, device_of
from retrograd.backends.casts import cast
from retrograd.backends.dtypes import SCALAR_NAMES
from retrograd.backends.limits import finfo
from retrograd.backends.mersenne import Mersenne
from retrograd.core.apply import apply1, apply2
from retrograd.core.autocast import autocasting, lowered
from retrograd.core.families import added
from retrograd.core.inplace import check_writable, write_back
from retrograd.core.op import Binary, Unary, X, Y
from retrograd.core.tensor import Tensor
from retrograd.core.variant import variant
from retrograd.errors import DtypeError, ShapeError
from retrograd.ops.common import as_value, deliver, number_from, plain, require_tensor, scalar_from, wrap_dim
from retrograd.ops.elementwise.choose import Where
from retrograd.ops.elementwise.exponential import Sigmoid
from retrograd.ops.elementwise.steps import tied
from retrograd.ops.nn.activation import Gate, Leaky, unsupported
from retrograd.ops.random.generator import Generator, stream_of
from retrograd.ops.register import public
from retrograd.ops.shape.join import Cat
from retrograd.values import Array, Number


class Hardshrink(Gate):
    """x where it is beyond -lambd or lambd, else 0"""

    params: ClassVar[tuple[str, ...]] = ("lambd",)
    shown: ClassVar[dict[str, str]] = {"lambd": "lambd"}

    def __init__(self, lambd: float) -> None:
        self.lambd = lambd

    def forward(self, xp: Backend, x: Array) -> Array:
        if x.dtype.kind != "f":
            raise unsupported("hardshrink_cpu", x)
        return xp.where(self.gate(x, None), x, x.dtype.type(0))

    def gate(self, x: Any, out: Any) -> Array:
        a = plain(x)
        return ~((a >= -self.lambd) & (a <= self.lambd))


class Softshrink(Hardshrink):
    """x moved towards 0 by lambd, and 0 where that would pass it"""

    def forward(self, xp: Backend, x: Array) -> Array:
        if x.dtype.kind != "f":
            raise unsupported("softshrink_check", x)
        return xp.where(x > self.lambd, x - self.lambd, xp.where(x < -self.lambd, x + self.lambd, x * 0))


class PreluKernel(Binary):
    """x where it is positive, else x times a weight"""

    elementwise: ClassVar[bool] = True
    keeps0: ClassVar[int] = X | Y
    keeps1: ClassVar[int] = X

    def forward(self, xp: Backend, x: Array, y: Array) -> Array:
        if x.dtype.kind != "f":
            raise unsupported("prelu_cpu", x)
        return xp.where(x > 0, x, x * y)

    def vjp(self, i: int, g: Any, x: Any, y: Any, out: Any) -> Any:
        if i == 1:
            return Where().on(plain(x) > 0, 0.0, g * x)
        return tied(Where().on(plain(x) > 0, g, g * y), x, self)

    def jvp(self, tx: Any, ty: Any, x: Any, y: Any, out: Any) -> Any:
        a = None if tx is None else self.vjp(0, tx, x, y, out)
        return added(a, None if ty is None else self.vjp(1, ty, x, y, out))

    def saved_slot(self, name: str) -> str:
        return super().saved_slot({"weight": "other"}.get(name, name))


class RreluWithNoise(Leaky):
    """x where it is positive, else x times a slope: drawn for each element in training, else the middle"""

    kernel = "leaky_relu_cpu"
    in_rows: ClassVar[bool] = True
    params: ClassVar[tuple[str, ...]] = ("lower", "upper", "training", "noise")
    array_params: ClassVar[tuple[str, ...]] = ("noise",)
    shown: ClassVar[dict[str, str]] = {"lower": "lower", "upper": "upper", "training": "training"}

    def __init__(self, lower: float, upper: float, training: bool, noise: Any) -> None:
        self.lower = lower
        self.upper = upper
        self.training = training
        self.noise = noise  # the slopes of all elements, None if not in training

    def slopes(self, x: Array) -> Array:
        """The slope at each element."""
        if self.training:
            return as_array(self.noise)
        middle = x.dtype.type((self.lower + self.upper) / 2)
        return backend_of(x).where(x > 0, x.dtype.type(1), middle)

    def curve(self, xp: Backend, x: Array) -> Array:
        return x * self.slopes(x)

    def slope(self, x: Any, out: Any) -> Any:
        return as_value(self.slopes(plain(x)), x)


RreluInPlace = variant(RreluWithNoise, "RreluWithNoiseBackward1", "RreluWithNoise, in its own memory")


class Glu(Unary):
    """the first half of a dimension times the sigmoid of the second"""

    params: ClassVar[tuple[str, ...]] = ("dim",)
    shown: ClassVar[dict[str, str]] = {"dim": "dim"}
    keeps: ClassVar[int] = X

    def __init__(self, dim: int) -> None:
        self.dim = dim

    def halves(self, v: Any) -> tuple[Any, Any]:
        """The two halves of a value."""
        before = (slice(None),) * self.dim
        middle = v.shape[self.dim] // 2
        return v[(*before, slice(None, middle))], v[(*before, slice(middle, None))]

    def forward(self, xp: Backend, x: Array) -> Array:
        if x.dtype.kind != "f":
            raise unsupported("glu_cpu", x)
        return xp.of_elements(partial(self.gated, xp), *self.halves(x))

    def gated(self, xp: Backend, a: Array, b: Array) -> Array:
        """Numbers times the sigmoid of others."""
        return a * Sigmoid().forward(xp, b)

    def vjp(self, g: Any, x: Any, out: Any) -> Any:
        a, b = self.halves(x)
        s = Sigmoid().on(b)
        return Cat(self.dim).on(g * s, g * a * s * (1 - s))

    def jvp(self, t: Any, x: Any, out: Any) -> Any:
        (a, b), (ta, tb) = self.halves(x), self.halves(t)
        s = Sigmoid().on(b)
        return ta * s + tb * a * s * (1 - s)


# -- functions -----------------------------------------------------------------------------------------------------


@public("hardshrink", "nn.functional.hardshrink", method=True)
def hardshrink(input: Tensor, lambd: Number = 0.5, *, out: Tensor | None = None) -> Tensor:
    """`input` where it is above `lambd` or below `-lambd`, else 0.

    >>> import retrograd as rg
    >>> rg.hardshrink(rg.tensor([-1.0, 0.25, 2.0]))
    tensor([-1.,  0.,  2.])
    """
    x, limit = require_tensor("hardshrink", "input", 1, input), number_from("hardshrink", "lambd", 2, lambd)
    if isinstance(limit, complex) and x.array.dtype.kind != "c":
        raise DtypeError("value cannot be converted to type float without overflow: lambd is complex")
    found: Tensor = deliver(apply1(Hardshrink(limit), x), out)
    return found


@public("nn.functional.softshrink")
def softshrink(input: Tensor, lambd: float = 0.5, *, out: Tensor | None = None) -> Tensor:
    """`input` moved towards 0 by `lambd`, and 0 where that would pass it."""
    x = require_tensor("softshrink", "input", 1, input)
    lambd = scalar_from("softshrink", "lambd", 2, lambd)
    if x.array.dtype.kind == "f" and not 0 <= lambd <= finfo(x.array.dtype).max:
        raise RuntimeError(
            f"lambda must be in range [0, {finfo(x.array.dtype).max:g}] for input dtype "
            f"{SCALAR_NAMES[x.array.dtype]}, but found {lambd:g}"
        )
    found: Tensor = deliver(apply1(Softshrink(lambd), x), out)
    return found


@public("prelu", "nn.functional.prelu", method=True)
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """`input` where it is positive, else `weight * input`: one weight for all, or one for each channel (dimension 1).

    >>> import retrograd as rg
    >>> rg.prelu(rg.tensor([-2.0, 1.0]), rg.tensor(0.25))
    tensor([-0.5000,  1.0000])
    """
    if autocasting():
        return lowered(prelu, input, weight)
    x: Any = require_tensor("prelu", "input", 1, input)
    w: Any = require_tensor("prelu", "weight", 2, weight)
    if x.array.dtype != w.array.dtype:
        a, b = SCALAR_NAMES[x.array.dtype], SCALAR_NAMES[w.array.dtype]
        raise DtypeError(f"prelu: Type promoting not supported. Got {a} and {b}")
    if w.array.ndim > 1:
        raise ShapeError(
            f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {w.array.ndim}"
        )
    shape, count = x.array.shape, w.array.size
    if count != 1:
        if not shape:
            raise ShapeError("Not allow zero-dim input tensor.")
        channels = shape[1] if len(shape) > 1 else 1
        if channels != count:
            raise ShapeError(
                f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {count} and "
                f"channel size = {channels}."
            )
    found: Tensor = apply2(PreluKernel(), x, w.view(tuple(count if d == 1 else 1 for d in range(len(shape)))))
    return found


@public("rrelu", "nn.functional.rrelu")
def rrelu(
    input: Tensor,
    lower: float = 1 / 8,
    upper: float = 1 / 3,
    training: bool = False,
    inplace: bool = False,
    *,
    generator: Generator | None = None,
) -> Tensor:
    """`input` where it is positive, else `input` times a slope between `lower` and `upper`.

    Args:
        training: whether each element gets a slope of its own, drawn at random; if not, all get the middle.
    """
    x = require_tensor("rrelu", "input", 1, input)
    lower, upper = scalar_from("rrelu", "lower", 2, lower), scalar_from("rrelu", "upper", 3, upper)
    for name, bound in (("lower", lower), ("upper", upper)):
        if not math.isfinite(bound):
            raise RuntimeError(f"rrelu: {name} bound must be finite, got {bound}")
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    noise = _noise(x.array, lower, upper, generator) if training and x.array.dtype.kind == "f" else None
    if not inplace:
        found: Tensor = apply1(RreluWithNoise(lower, upper, training, noise), x)
        return found
    check_writable(x)
    return write_back(x, apply1(RreluInPlace(lower, upper, training, noise), x))


def _noise(a: Array, lower: float, upper: float, generator: Any) -> Array:
    """The slopes: 1 where x is positive, else drawn; on the CPU only as many as are needed."""
    stream = stream_of(generator, device_of(a))
    if isinstance(stream, Mersenne) and isinstance(a, np.ndarray):
        slopes, places = np.ones(a.shape), np.asarray(a <= 0)
        slopes[places] = stream.uniform(lower, upper, int(np.count_nonzero(places)))
        return cast(slopes, a.dtype, copy=False)
    drawn = stream.uniform(lower, upper, a.shape)
    xp = common_backend((a, drawn))
    return xp.where(a <= 0, xp.asarray(drawn), 1.0).astype(a.dtype)


@public("rrelu_", "nn.functional.rrelu_")
def rrelu_(
    input: Tensor,
    lower: float = 1 / 8,
    upper: float = 1 / 3,
    training: bool = False,
    *,
    generator: Generator | None = None,
) -> Tensor:
    """`rrelu`, in place."""
    return rrelu(input, lower, upper, training, inplace=True, generator=generator)


@public("nn.functional.glu")
def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half of a dimension times the sigmoid of the second half.

    >>> import retrograd as rg
    >>> rg.nn.functional.glu(rg.tensor([2.0, 4.0, 0.0, 100.0]))
    tensor([1., 4.])
    """
    x = require_tensor("glu", "input", 1, input)
    if x.array.ndim == 0:
        raise ShapeError("glu does not support scalars because halving size must be even")
    d = wrap_dim(dim, x.array.ndim)
    if x.array.shape[d] % 2:
        raise ShapeError(f"Halving dimension must be even, but dimension {d} is size {x.array.shape[d]}")
    found: Tensor = apply1(Glu(d), x)
    return found
