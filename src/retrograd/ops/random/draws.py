"""More random numbers: binomial counts, and tensors filled with Cauchy, geometric and log-normal ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.backends.base import as_array
from retrograd.backends.dtypes import SCALAR_NAMES
from retrograd.core.apply import apply1, apply2
from retrograd.core.inplace import check_writable, write_back
from retrograd.core.op import Binary
from retrograd.core.tensor import Tensor
from retrograd.errors import broadcast_error, unsupported_dtype
from retrograd.ops.common import require_tensor
from retrograd.ops.inplace.write import Replaced
from retrograd.ops.random.generator import stream_of
from retrograd.ops.register import public
from retrograd.ops.tensor.create import number_from
from retrograd.values import Array


class BinomialDraw(Binary):
    """counts of successes among x trials of probability y, which PyTorch does not differentiate"""

    params = ("values",)

    def __init__(self, values: Array) -> None:
        self.values = values

    def forward(self, xp: Any, x: Array, y: Array) -> Array:
        return self.values

    def vjp(self, i: int, g: Any, x: Any, y: Any, out: Any) -> Any:
        raise RuntimeError(
            "derivative for aten::binomial is not implemented: a count jumps where the probability moves. Detach the "
            "result, or work with its probability."
        )

    def name(self) -> str:
        return "torch::autograd::NotImplemented"


class Cauchy(Replaced):
    """Cauchy numbers in place of x"""


class Geometric(Replaced):
    """geometric numbers in place of x"""


class LogNormal(Replaced):
    """log-normal numbers in place of x"""


@public("binomial")
def binomial(count: Any, prob: Any, generator: Any = None) -> Any:
    """How many of `count` trials succeed, each with probability `prob`; both are tensors.

    >>> import retrograd as rg
    >>> rg.binomial(rg.tensor([5.0, 7.0]), rg.tensor([0.0, 1.0]))
    tensor([0., 7.])
    """
    n, p = require_tensor("binomial", "count", 1, count), require_tensor("binomial", "prob", 2, prob)
    for name, x in (("count", n), ("prob", p)):
        if x.array.dtype.kind != "f":
            raise ValueError(
                f"binomial only supports floating-point dtypes for {name}, got: {SCALAR_NAMES[x.array.dtype]}"
            )
    try:
        trials, chance = np.broadcast_arrays(n.array, p.array)
    except ValueError:
        raise broadcast_error(n.array.shape, p.array.shape) from None
    known = ~(np.isnan(trials) | np.isnan(chance))
    whole = np.where(known, np.maximum(trials, 0), 0).astype(np.int64)
    drawn = stream_of(generator, n.array, p.array).binomial(whole, np.where(known, chance, 0).clip(0, 1))
    return apply2(BinomialDraw(np.where(known, drawn, np.nan).astype(n.array.dtype)), n, p)


@public("Tensor.cauchy_")
def cauchy_(self: Tensor, median: Any = 0, sigma: Any = 1, *, generator: Any = None) -> Tensor:
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
    values = middle + width * stream_of(generator).standard_cauchy(self.array.shape)
    return write_back(self, apply1(Cauchy(as_array(values).astype(dtype)), self))


@public("Tensor.geometric_")
def geometric_(self: Tensor, p: Any, *, generator: Any = None) -> Tensor:
    """Fills with the number of trials of probability `p` up to and with the first that succeeds."""
    check_writable(self)
    dtype = self.array.dtype
    chance = number_from("geometric_", "p", 1, p)
    if not 0 < chance < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={chance}")
    if dtype.kind in "cb":
        raise unsupported_dtype("geometric_cpu", dtype)
    values = as_array(stream_of(generator).geometric(chance, self.array.shape))
    return write_back(self, apply1(Geometric(values.astype(dtype)), self))


@public("Tensor.log_normal_")
def log_normal_(self: Tensor, mean: Any = 1, std: Any = 2, *, generator: Any = None) -> Tensor:
    """Fills with numbers whose logarithm is normal, with that mean and deviation."""
    check_writable(self)
    dtype = self.array.dtype
    middle, width = number_from("log_normal_", "mean", 1, mean), number_from("log_normal_", "std", 2, std)
    if not width > 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={width}")
    if dtype.kind != "f":
        raise unsupported_dtype("log_normal_cpu", dtype)
    values = stream_of(generator).lognormal(middle, width, self.array.shape)
    return write_back(self, apply1(LogNormal(as_array(values).astype(dtype)), self))
