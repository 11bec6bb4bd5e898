"""Gamma, Poisson and binomial numbers, one at a time, from uniform and normal ones: as PyTorch draws them on the CPU.

Candidates are drawn and refused until one is accepted: gamma numbers by Marsaglia and Tsang's method, large counts by
Hörmann's. Small counts are counted: events until a time is over, failures until there are no trials left. The native
pack has the same in `native/rejection.h`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

Unit = Callable[[], float]  # draws a uniform number on [0, 1)

MANY: Final = 10.0  # expected events from which candidates are drawn

# What Stirling's approximation of log k! leaves out, for k below 10.
STIRLING_REST: Final = tuple(
    [
        math.lgamma(k + 1) - (k + 0.5) * math.log(k + 1) + (k + 1) - 0.5 * math.log(2 * math.pi)
        for k in range(10)
    ]
)


def stirling_rest(k: float) -> float:
    """Log k! less Stirling's approximation of it."""
    if k < len(STIRLING_REST):
        return STIRLING_REST[int(k)]
    square = (k + 1) * (k + 1)
    return (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (k + 1)


def quotient(a: float, b: float) -> float:
    """The quotient a / b, which is infinite for b = 0."""
    return a / b if b else math.copysign(math.inf, a)


def log(x: float) -> float:
    """The logarithm, also that of 0."""
    return math.log(x) if x > 0 else -math.inf


def floor(x: float) -> float:
    """The whole number below, also of what is infinite."""
    return float(math.floor(x)) if math.isfinite(x) else x


def gamma_number(unit: Unit, normal: Callable[[], float], shape: float) -> float:
    """A number of the gamma distribution with scale 1."""
    if not shape > 0:
        return 0.0
    scale = 1.0
    if shape < 1:
        scale = (1 - unit()) ** (1 / shape) if 1 / shape < math.inf else 0.0
        shape += 1
    d = shape - 1 / 3
    c = 1 / math.sqrt(9 * d)
    while True:
        x = normal()
        root = 1 + c * x
        while root <= 0:
            x = normal()
            root = 1 + c * x
        v, u, square = root * root * root, 1 - unit(), x * x
        if u < 1 - 0.0331 * square * square or math.log(u) < 0.5 * square + d * (1 - v + math.log(v)):
            return scale * d * v


def poisson_number(unit: Unit, rate: float) -> float:
    """How many events happen, of which `rate` are expected."""
    if rate >= MANY:
        return _large_poisson_number(unit, rate)
    if not rate > 0:
        return 0.0
    count, least, product = 0.0, math.exp(-rate), unit()
    while product > least:
        count += 1
        product *= unit()
    return count


def _large_poisson_number(unit: Unit, rate: float) -> float:
    root, logarithm = math.sqrt(rate), math.log(rate)
    b = 0.931 + 2.53 * root
    a = -0.059 + 0.02483 * b
    inverse, limit = 1.1239 + 1.1328 / (b - 3.4), 0.9277 - 3.6224 / (b - 2)
    while True:
        u, v = unit() - 0.5, unit()
        near = 0.5 - abs(u)
        k = floor((quotient(2 * a, near) + b) * u + rate + 0.43)
        if near >= 0.07 and v <= limit:
            return k
        if k < 0 or (near < 0.013 and v > near):
            continue
        height = log(v) + math.log(inverse) - log(quotient(a, near * near) + b)
        if height <= -rate + k * logarithm - math.lgamma(k + 1):
            return k


def binomial_number(unit: Unit, trials: float, chance: float) -> float:
    """How many of `trials` succeed."""
    if not (trials > 0 and chance > 0):
        return 0.0
    if chance >= 1:
        return trials
    rarer = min(chance, 1 - chance)
    draw = _large_binomial_number if trials * rarer >= MANY else _small_binomial_number
    found = draw(unit, trials, rarer)
    return found if chance <= 0.5 else trials - found


def _small_binomial_number(unit: Unit, trials: float, chance: float) -> float:
    """Counts successes, with the trials from each to the next drawn as one number."""
    count, past, rate = -1.0, 0.0, math.log1p(-chance)
    while past <= trials:
        distance = log(unit()) / rate
        past += math.ceil(distance) if distance < math.inf else distance
        count += 1
    return count


def _large_binomial_number(unit: Unit, trials: float, chance: float) -> float:
    deviation = math.sqrt(trials * chance * (1 - chance))
    b = 1.15 + 2.53 * deviation
    a, middle = -0.0873 + 0.0248 * b + 0.01 * chance, trials * chance + 0.5
    limit, odds = 0.92 - 4.2 / b, chance / (1 - chance)
    alpha, mode = (2.83 + 5.1 / b) * deviation, floor((trials + 1) * chance)
    while True:
        u, v = unit() - 0.5, unit()
        near = 0.5 - abs(u)
        k = floor((quotient(2 * a, near) + b) * u + middle)
        if near >= 0.07 and v <= limit:
            return k
        if k < 0 or k > trials:
            continue
        height = log(v * alpha / (quotient(a, near * near) + b))
        bound = (
            (mode + 0.5) * math.log((mode + 1) / (odds * (trials - mode + 1)))
            + (trials + 1) * math.log((trials - mode + 1) / (trials - k + 1))
            + (k + 0.5) * math.log(odds * (trials - k + 1) / (k + 1))
            + stirling_rest(mode)
            + stirling_rest(trials - mode)
            - stirling_rest(k)
            - stirling_rest(trials - k)
        )
        if height <= bound:
            return k
