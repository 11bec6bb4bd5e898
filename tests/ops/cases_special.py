"""Rows of special functions, of the rest of the functions of two tensors, and of the rest of the activations."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special as sp

import retrograd as rg
from tests.ops.case import Case
from tests.ops.samples import (
    ONE,
    TWO,
    Array,
    Domain,
    between_integers,
    call_with,
    each,
    inside_unit,
    nonzero,
    positive,
)

REAL = {"complex": "a function of real numbers"}
ALONG = (
    call_with((4,)),
    call_with((2, 3)),
    call_with(()),
    call_with((0,)),
    call_with((3, 2), layout="transposed"),
)


def probability(rng: np.random.Generator, count: int) -> Array:
    return rng.uniform(0.05, 0.95, count)


def off_poles(rng: np.random.Generator, count: int) -> Array:
    """Between -3 and 4, away from the integers."""
    return rng.integers(-3, 4, count) + rng.uniform(0.2, 0.8, count)


def large(rng: np.random.Generator, count: int) -> Array:
    return rng.uniform(2.2, 6.0, count)


def unary(name: str, function: Any, domain: Domain = nonzero, **options: Any) -> Case:
    return Case(name, ONE, function, domain, REAL, **options)


def beside(x: Any, numbers: list[float]) -> Any:
    """Numbers as a tensor of the dtype of `x`, where `x` is."""
    return rg.tensor(numbers, dtype=rg.float64).to(x.device, x.dtype)


GAMMAS = (
    unary("lgamma", sp.gammaln, off_poles),
    unary("digamma", sp.digamma, off_poles),
    unary("special.gammaln", sp.gammaln, positive),
    *(
        Case("polygamma", ONE, lambda x, n=n: sp.polygamma(n, x), off_poles if n < 3 else positive, REAL, form=f"order_{n}",
             call=lambda x, n=n: rg.polygamma(n, x))
        for n in (0, 1, 2, 3)
    ),
    Case("polygamma", ONE, lambda x: sp.polygamma(1, x), off_poles, {**REAL, "jvp": "a product before"},
         form="in_place", call=lambda x: (x * 1).polygamma_(1)),
    Case("mvlgamma", each(ONE, {"p": 1}, {"p": 4}),
         lambda x, p: sum(sp.gammaln(x - i / 2) for i in range(p)) + p * (p - 1) / 4 * np.log(np.pi), large, REAL),
    Case("special.zeta", ONE, lambda q: sp.zeta(2.5, q), positive, REAL, call=lambda q: rg.special.zeta(2.5, q),
         form="of_number"),
    Case("special.zeta", ALONG[:1], lambda q: sp.zeta([1.5, 2.0, 3.0, 6.5], q), positive, REAL,
         call=lambda q: rg.special.zeta(beside(q, [1.5, 2.0, 3.0, 6.5]), q), form="tensors"),
    *(
        Case(name, ALONG[:1], lambda x, f=f: f([0.3, 1.0, 2.5, 9.0], x), positive, REAL, form="second_argument",
             call=lambda x, name=name: getattr(rg, name)(beside(x, [0.3, 1.0, 2.5, 9.0]), x))
        for name, f in (("igamma", sp.gammainc), ("igammac", sp.gammaincc))
    ),
)  # fmt: skip

BESSEL = (
    unary("i0", sp.i0),
    unary("special.i0e", sp.i0e),
    unary("special.i1", sp.i1),
    unary("special.i1e", sp.i1e),
)

NORMAL = (
    unary("erfinv", sp.erfinv, inside_unit),
    unary("special.erfcx", sp.erfcx),
    unary("special.ndtri", sp.ndtri, probability),
    unary("special.log_ndtr", sp.log_ndtr),
    Case("special.ndtr", ONE, sp.ndtr, nonzero, {
        **REAL, "jvp": "a product, an error function and a product",
        "name": "PyTorch multiplies by numbers in C++, where that is another node",
    }),
)  # fmt: skip

CURVES = (
    unary("logit", sp.logit, probability),
    Case("logit", each(ONE, {"eps": 0.02}), lambda x, eps: sp.logit(x), probability, REAL, form="eps"),
    unary("special.entr", sp.entr, positive),
    Case("sinc", ONE, np.sinc, off_poles),
    unary("deg2rad", np.deg2rad),
    unary("rad2deg", np.rad2deg),
)

FLOATS = (
    Case("frexp", ONE, np.frexp, between_integers, REAL),
    Case("nan_to_num", (*ONE, *each(ONE[:2], {"nan": 1.0, "posinf": 2.0, "neginf": 3.0})),
         lambda x, **options: np.nan_to_num(x, **options),
         excuses={"complex": "PyTorch takes complex tensors only without a gradient"}),
)  # fmt: skip


def complex_logaddexp(x: Any, y: Any) -> Any:
    return np.log(np.exp(x) + np.exp(y))


def apart(rng: np.random.Generator, count: int) -> Array:
    """Powers of two times odd numbers, of which no two sizes are equal to those in `nonzero`."""
    return rng.choice([-3.0, -2.5, 2.5, 3.0], count)


PAIRS = (
    Case("atan2", TWO, np.arctan2, nonzero, REAL),
    Case("hypot", TWO, np.hypot, nonzero, REAL),
    Case("copysign", TWO, np.copysign, nonzero, REAL),
    Case("copysign", ONE, lambda x: np.copysign(x, -2.0), nonzero, REAL, lambda x: rg.copysign(x, -2.0), "number"),
    Case("ldexp", TWO, lambda x, y: x * 2**y),
    Case("fmax", TWO, np.fmax, (nonzero, apart), REAL),
    Case("fmin", TWO, np.fmin, (nonzero, apart), REAL),
    Case("fmod", TWO, np.fmod, (between_integers, lambda rng, n: np.full(n, -1.5)), REAL),
    Case("fmod", ONE, lambda x: np.fmod(x, 1.9), nonzero, REAL, lambda x: rg.fmod(x, 1.9), "number"),
    Case("nextafter", TWO, np.nextafter, (nonzero, apart), REAL),
    Case("xlogy", TWO, sp.xlogy, positive, REAL),
    Case("xlogy", ONE, lambda x: 1.7 * np.log(x), positive, REAL, lambda x: rg.xlogy(1.7, x), "of_number"),
    Case("xlogy", ONE, lambda x: x * np.log(1.7), positive, REAL, lambda x: rg.xlogy(x, 1.7), "by_number"),
    Case("special.xlog1py", TWO, sp.xlog1py, positive, REAL),
    Case("special.xlog1py", ONE, lambda x: 1.7 * np.log1p(x), positive, REAL,
         lambda x: rg.special.xlog1py(1.7, x), "of_number"),
    Case("special.xlog1py", ONE, lambda x: x * np.log1p(1.7), positive, REAL,
         lambda x: rg.special.xlog1py(x, 1.7), "by_number"),
    Case("logaddexp", TWO, complex_logaddexp),
    Case("logaddexp2", TWO, np.logaddexp2, nonzero, REAL),
)  # fmt: skip


def activation(
    name: str, function: Any, samples: Any = ONE, domain: Any = nonzero, excuses: Any = REAL, **kw: Any
) -> Case:
    return Case(f"nn.functional.{name}", samples, function, domain, excuses, **kw)


def off_half(rng: np.random.Generator, count: int) -> Array:
    """Both signs, not near a half nor 0."""
    return rng.choice([-2.0, -0.8, -0.3, 0.2, 0.7, 1.6], count)


def glu(x: Any, dim: int = -1) -> Any:
    a, b = np.split(x, 2, dim)
    return a / (1 + np.exp(-b))


def prelu(x: Any, w: Any) -> Any:
    shape = [len(w) if d == 1 else 1 for d in range(x.ndim)]
    return np.where(x > 0, x, x * w.reshape(shape))


def leaky(slope: float) -> Any:
    return lambda x, **_: np.where(x > 0, x, slope * x)


GATED = (
    activation("hardshrink", lambda x: np.where(np.abs(x) > 0.5, x, 0), domain=off_half),
    activation("softshrink", lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.5, 0), domain=off_half),
    activation("prelu", prelu, (call_with((2, 3), (3,)), call_with((2, 3, 2), (3,)), call_with((3,), (1,)),
               call_with((0, 2), (2,)), call_with((), (1,))), excuses={**REAL, "jvp": "a view of the weight"}),
    activation("rrelu", leaky((1 / 8 + 1 / 3) / 2)),
    activation("rrelu", leaky(0.2), each(ONE, {"lower": 0.2, "upper": 0.2, "training": True}), form="training"),
    activation("rrelu", leaky((1 / 8 + 1 / 3) / 2), call=lambda x: rg.nn.functional.rrelu_(x * 1), form="in_place",
               excuses={**REAL, "jvp": "a product before"}),
    activation("glu", glu, (call_with((4,)), call_with((3, 2)), call_with((0, 2)), call_with((4, 3), dim=0),
               call_with((2, 4), layout="transposed"))),
)  # fmt: skip

SPECIAL: tuple[Case, ...] = (*GAMMAS, *BESSEL, *NORMAL, *CURVES, *FLOATS, *PAIRS, *GATED)
