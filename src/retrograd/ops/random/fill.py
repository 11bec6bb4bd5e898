"""Random numbers in place: `t.uniform_()`, `t.normal_()`."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from retrograd.backends.base import as_array, device_of
from retrograd.backends.casts import cast
from retrograd.backends.dtypes import C_NAMES, SCALAR_NAMES
from retrograd.backends.limits import finfo
from retrograd.backends.mersenne import in_memory_order, lies_in_rows
from retrograd.core.apply import apply1, apply2
from retrograd.core.inplace import check_writable, is_followed, put_values, write_back
from retrograd.core.modes import current
from retrograd.core.tensor import Tensor
from retrograd.core.variant import variant
from retrograd.errors import unsupported_dtype
from retrograd.ops.common import beside, number_from
from retrograd.ops.inplace.write import Replaced
from retrograd.ops.random.generator import Generator, stream_of
from retrograd.ops.random.sampling import (
    NormalBoth,
    any_integer_array,
    bernoulli_array,
    check_std,
    integer_array,
    largest_exact,
    normal_array,
    scale_noise,
    uniform_array,
)
from retrograd.ops.register import public
from retrograd.values import Array, DType, Shape


class Normal(Replaced):
    """normal numbers in place of x"""


BernoulliOf = variant(NormalBoth, "BernoulliBackward1", "0 or 1 in place of x, with probability y for 1")
BernoulliBy = variant(Replaced, "BernoulliBackward2", "0 or 1 in place of x")


class Uniform(Replaced):
    """uniform numbers in place of x"""


class Exponential(Replaced):
    """exponential numbers in place of x"""


class Random(Replaced):
    """integers between two numbers in place of x"""


RandomBelow = variant(Replaced, "RandomBackward1", "integers below a number in place of x")
RandomAny = variant(Replaced, "RandomBackward2", "any integers in place of x")


class Cauchy(Replaced):
    """Cauchy numbers in place of x"""


class Geometric(Replaced):
    """geometric numbers in place of x"""


class LogNormal(Replaced):
    """log-normal numbers in place of x"""


def _stream(target: Tensor, generator: Generator | None, *parameters: Any) -> Any:
    """What draws the numbers that are to be written into a tensor."""
    stream = stream_of(generator, device_of(target.array), *parameters)
    levels = current().batch_levels
    if levels:
        levels[-1].check_target(target.array, levels)
    return stream


def _drawn_into(target: Tensor, op: Any, values: Array) -> Tensor:
    """Writes what was drawn into a tensor; by an op of that class, if there is anybody to see one."""
    values, state = beside(values, target.array), current()
    if is_followed(target) or state.special or state.transforms or state.write_guard is not None:
        return write_back(target, apply1(op(values), target))
    put_values(target.array, values)
    target._bump_version()
    return target


@public("Tensor.uniform_")
def uniform_(self: Tensor, low: float = 0, to: float = 1, *, generator: Generator | None = None) -> Tensor:
    """Fills with numbers uniform between `low` and `to`."""
    check_writable(self)
    dtype = self.array.dtype
    _check_range(low, to, dtype)
    rng, array = _stream(self, generator), self.array
    if lies_in_rows(array):
        return _drawn_into(self, Uniform, uniform_array(rng, array.shape, dtype, low, to))
    return _drawn_into(self, Uniform, in_memory_order(partial(_uniform, rng, dtype, low, to), array))


def _uniform(rng: Any, dtype: DType, low: float, to: float, shape: Shape) -> Array:
    return uniform_array(rng, shape, dtype, low, to)


def _check_range(low: float, to: float, dtype: DType) -> None:
    """The ends of a range in order, and it and its width within the dtype."""
    if low > to:
        raise RuntimeError(
            f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={to:g}"
        )
    if dtype.kind != "f":
        return
    name, most = SCALAR_NAMES[dtype], float(finfo(dtype).max)
    for end, value in (("from", low), ("to", to)):
        if not -most <= value <= most:
            raise RuntimeError(f"{end} is out of bounds for {C_NAMES[dtype]}, got {value}")
    if to - low > most:
        raise RuntimeError(
            f"uniform_ expects to-from <= std::numeric_limits<{name}>::max(), but found to={to} and from={low} which "
            "result in to-from to exceed the limit: draw from half of the range, and scale"
        )


@public("Tensor.normal_")
def normal_(self: Tensor, mean: float = 0, std: float = 1, *, generator: Generator | None = None) -> Tensor:
    """Fills with normal numbers."""
    check_writable(self)
    check_std(std)
    rng, array = _stream(self, generator), self.array
    if lies_in_rows(array):
        noise = normal_array(rng, array.shape, array.dtype)
    else:
        noise = in_memory_order(partial(_normal_in_turn, rng, array.dtype), array)
    return _drawn_into(self, Normal, scale_noise(noise, mean, std))


def _normal_in_turn(rng: Any, dtype: DType, shape: Shape) -> Array:
    return normal_array(rng, shape, dtype, False)


@public("Tensor.bernoulli_")
def bernoulli_(self: Tensor, p: Tensor | float = 0.5, *, generator: Generator | None = None) -> Tensor:
    """Fills with 1 with probability `p` (a number or a tensor), else 0."""
    check_writable(self)
    chances = p.array if isinstance(p, Tensor) else number_from("bernoulli_", "p", 1, p)
    rng = _stream(self, generator, chances)
    if isinstance(p, Tensor):
        drawn = bernoulli_array(rng, chances, self.array.shape, self.array.dtype, self.array)
    else:
        drawn = in_memory_order(
            lambda shape: bernoulli_array(rng, chances, shape, self.array.dtype), self.array
        )
    if isinstance(p, Tensor) and p.requires_grad:
        return write_back(self, apply2(BernoulliOf(beside(drawn, self.array)), self, p))
    return _drawn_into(self, BernoulliBy, drawn)


@public("Tensor.random_")
def random_(
    self: Tensor, low: int | None = None, to: Any = ..., *, generator: Generator | None = None
) -> Tensor:
    """Fills with integers: `random_(to)`, `random_(low, to)`, or all that the dtype holds exactly.

    With `None` for `to`, those from `low` on.
    """
    check_writable(self)
    dtype = self.array.dtype
    op = Random if to is not ... else RandomAny if low is None else RandomBelow
    if to is ...:
        low, to = 0, low
    rng = _stream(self, generator)
    if op is RandomAny:
        values = in_memory_order(lambda shape: any_integer_array(rng, shape, dtype), self.array)
    else:
        least, end = 0 if low is None else low, largest_exact(dtype) + 1 if to is None else to
        values = in_memory_order(lambda shape: integer_array(rng, least, end, shape, dtype), self.array)
    return _drawn_into(self, op, values)


@public("Tensor.exponential_")
def exponential_(self: Tensor, lambd: float = 1, *, generator: Generator | None = None) -> Tensor:
    """Fills with exponential numbers of rate `lambd`."""
    check_writable(self)
    dtype = self.array.dtype
    if dtype.kind != "f":
        raise RuntimeError(
            "Exponential distribution is a continuous probability distribution. dtype must be a floating point but you "
            f"specified {SCALAR_NAMES[dtype]}"
        )
    if not lambd > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd}")
    rng = _stream(self, generator)
    drawn = in_memory_order(lambda shape: rng.standard_exponential(shape, np.float64), self.array)
    values = cast(as_array(drawn / lambd), dtype)
    return _drawn_into(self, Exponential, values)


@public("Tensor.cauchy_")
def cauchy_(
    self: Tensor, median: float = 0, sigma: float = 1, *, generator: Generator | None = None
) -> Tensor:
    """Fills with numbers of the Cauchy distribution around `median`, of width `sigma`."""
    check_writable(self)
    dtype = self.array.dtype
    if dtype.kind != "f":
        raise RuntimeError(
            "Cauchy distribution is a continuous probability distribution. dtype must be a floating point but you "
            f"specified {SCALAR_NAMES[dtype]}"
        )
    middle, width = number_from("cauchy_", "median", 1, median), number_from("cauchy_", "sigma", 2, sigma)
    if not width > 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={width}")
    rng = _stream(self, generator)
    values = middle + width * in_memory_order(rng.standard_cauchy, self.array)
    return _drawn_into(self, Cauchy, cast(as_array(values), dtype))


@public("Tensor.geometric_")
def geometric_(self: Tensor, p: float, *, generator: Generator | None = None) -> Tensor:
    """Fills with the number of trials of probability `p` up to and with the first that succeeds."""
    check_writable(self)
    dtype = self.array.dtype
    chance = number_from("geometric_", "p", 1, p)
    if not 0 < chance < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={chance}")
    if dtype.kind in "cb":
        raise unsupported_dtype("geometric_cpu", dtype)
    rng = _stream(self, generator)
    values = as_array(in_memory_order(lambda shape: rng.geometric(chance, shape), self.array))
    return _drawn_into(self, Geometric, cast(values, dtype))


@public("Tensor.log_normal_")
def log_normal_(
    self: Tensor, mean: float = 1, std: float = 2, *, generator: Generator | None = None
) -> Tensor:
    """Fills with numbers whose logarithm is normal, with that mean and deviation."""
    check_writable(self)
    dtype = self.array.dtype
    middle, width = number_from("log_normal_", "mean", 1, mean), number_from("log_normal_", "std", 2, std)
    if not width > 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={width}")
    if dtype.kind != "f":
        raise unsupported_dtype("log_normal_cpu", dtype)
    rng = _stream(self, generator)
    values = in_memory_order(lambda shape: rng.lognormal(middle, width, shape), self.array)
    return _drawn_into(self, LogNormal, cast(as_array(values), dtype))
