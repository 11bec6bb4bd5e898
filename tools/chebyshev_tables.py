"""Computes the numbers behind the special functions, and writes `src/retrograd/ops/special/chebyshev_tables.py`.

    python tools/chebyshev_tables.py            write the file
    python tools/chebyshev_tables.py --check    say whether it is as it would be written

Needs mpmath, which the library itself does not. Each table is a Chebyshev series of a function that is smooth and,
where it matters, has no zero on its interval: computed in 50 digits and cut off below 1e-17 of its largest term.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from mpmath import mp, mpf

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "src" / "retrograd" / "ops" / "special" / "chebyshev_tables.py"
mp.dps = 50
SMALL = mpf(10) ** -17
NODES = 90  # even, so that no node is the middle of the interval


def chebyshev(f: Callable[[Any], Any]) -> list[float]:
    """The Chebyshev coefficients of a function on [-1, 1], lowest first."""
    angles = [mp.pi * (k + mpf(1) / 2) / NODES for k in range(NODES)]
    values = [f(mp.cos(a)) for a in angles]
    found = [
        2 * mp.fsum(v * mp.cos(j * a) for v, a in zip(values, angles, strict=True)) / NODES
        for j in range(NODES - 10)
    ]
    found[0] /= 2
    largest = max(abs(c) for c in found)
    while abs(found[-1]) < SMALL * largest:
        found.pop()
    if len(found) == NODES - 10:
        raise ValueError("the series has not converged: more nodes, or a shorter interval")
    return [float(c) for c in found]


def two_parts(x: Any) -> tuple[float, float]:
    """A number as the sum of two floats, the second being what the first misses."""
    high = float(x)
    return high, float(x - mpf(high))


# -- Bessel functions of the first and second kind: x in [0, 8] by x**2, beyond by (8 / x)**2 -------------------------

J0_ROOTS = [mp.besseljzero(0, k) for k in (1, 2)]
J1_ROOTS = [mp.besseljzero(1, k) for k in (1, 2)]


def near(t: Any) -> Any:
    return mp.sqrt(32 * (1 + t))


def far(t: Any) -> Any:
    return 8 / mp.sqrt((1 + t) / 2)


def without_roots(order: int, roots: list[Any]) -> Callable[[Any], Any]:
    def f(t: Any) -> Any:
        x = near(t)
        return mp.besselj(order, x) / x**order / mp.fprod(x * x - r * r for r in roots)

    return f


def y0_regular(t: Any) -> Any:
    x = near(t)
    return mp.bessely(0, x) - 2 / mp.pi * mp.log(x) * mp.besselj(0, x)


def y1_regular(t: Any) -> Any:
    x = near(t)
    return (mp.bessely(1, x) - 2 / mp.pi * (mp.log(x) * mp.besselj(1, x) - 1 / x)) / x


def amplitude(order: int, part: int) -> Callable[[Any], Any]:
    """What multiplies the cosine (part 0) or the sine (part 1) of x less its phase, in J = P cos - Q sin."""

    def f(t: Any) -> Any:
        x = far(t)
        chi = x - (2 * order + 1) * mp.pi / 4
        j, y, scale = mp.besselj(order, x), mp.bessely(order, x), mp.sqrt(mp.pi * x / 2)
        if part == 0:
            return scale * (j * mp.cos(chi) + y * mp.sin(chi))
        return scale * (y * mp.cos(chi) - j * mp.sin(chi)) * x

    return f


# -- modified Bessel functions ----------------------------------------------------------------------------------------


def i_near(order: int) -> Callable[[Any], Any]:
    return lambda t: mp.exp(-4 * (1 + t)) * mp.besseli(order, 4 * (1 + t)) / (4 * (1 + t)) ** order


def i_far(order: int) -> Callable[[Any], Any]:
    return lambda t: mp.sqrt(16 / (1 + t)) * mp.exp(-16 / (1 + t)) * mp.besseli(order, 16 / (1 + t))


def k0_regular(t: Any) -> Any:
    x = mp.sqrt(2 * (1 + t))
    return mp.besselk(0, x) + mp.log(x / 2) * mp.besseli(0, x)


def k1_regular(t: Any) -> Any:
    x = mp.sqrt(2 * (1 + t))
    return x * (mp.besselk(1, x) - mp.log(x / 2) * mp.besseli(1, x))


def k_far(order: int) -> Callable[[Any], Any]:
    return lambda t: mp.sqrt(4 / (1 + t)) * mp.exp(4 / (1 + t)) * mp.besselk(order, 4 / (1 + t))


# -- Airy's function --------------------------------------------------------------------------------------------------


def zeta_of(x: Any) -> Any:
    return mpf(2) / 3 * mp.sqrt(x) ** 3


def from_zeta(zeta: Any) -> Any:
    return mp.cbrt(zeta * 3 / 2) ** 2


def airy_right(t: Any) -> Any:
    zeta = 2 * zeta_of(2) / (1 + t)
    x = from_zeta(zeta)
    return mp.airyai(x) * 2 * mp.sqrt(mp.pi) * mp.root(x, 4) * mp.exp(zeta)


def airy_left(part: int) -> Callable[[Any], Any]:
    """The amplitudes in Ai(-x) = (P cos + Q sin) / (sqrt(pi) x**(1/4)), of zeta(x) - pi/4."""

    def f(t: Any) -> Any:
        zeta = zeta_of(8) / mp.sqrt((1 + t) / 2)
        x = from_zeta(zeta)
        chi, scale = zeta - mp.pi / 4, mp.sqrt(mp.pi) * mp.root(x, 4)
        a, b = mp.airyai(-x), mp.airybi(-x)
        if part == 0:
            return scale * (a * mp.cos(chi) - b * mp.sin(chi))
        return scale * (a * mp.sin(chi) + b * mp.cos(chi)) * zeta

    return f


# -- the gamma function -----------------------------------------------------------------------------------------------

DIGAMMA_ROOT = mp.findroot(mp.digamma, 1.4616321449683623)


def temme(count: int, length: int) -> list[list[float]]:
    """The functions c_k(eta) of the uniform expansion of the incomplete gamma function, as power series in eta.

    With eta**2 / 2 = mu - log(1 + mu):  c_0 = 1/mu - 1/eta  and  c_k = c_(k-1)' / eta + h_k / mu, where the number h_k
    is such that c_k has no pole.
    """
    size = length + 2 * count + 3
    # mu = eta + a_2 eta**2 + ..., from  mu mu' = eta (1 + mu).
    a = [Fraction(0), Fraction(1)]
    for n in range(2, size):
        known = sum((a[j] * (n + 1 - j) * a[n + 1 - j] for j in range(2, n)), Fraction(0))
        a.append((a[n - 1] - known) / (n + 1))
    # eta / mu
    inverse = [Fraction(1)]
    for n in range(1, size - 1):
        inverse.append(-sum((a[j + 1] * inverse[n - j] for j in range(1, n + 1)), Fraction(0)))
    current = inverse[1:]
    found = []
    for k in range(count):
        found.append([float(c) for c in current[: max(length - 2 * k, 2)]])
        slope = [n * c for n, c in enumerate(current)][1:]
        h = -slope[0]
        current = [s + h * i for s, i in zip(slope[1:], inverse[1 : len(slope)], strict=True)]
    return found


# -- the inverse of the error function --------------------------------------------------------------------------------


def erfinv_near(t: Any) -> Any:
    y = mp.sqrt(mpf(9) / 32 * (1 + t))
    return mp.erfinv(y) / y


LEAST, MOST = 1 / mpf(32), 1 / (mp.sqrt(mp.log(4)) + 4)  # q is the smallest float, or 1/4


def erfcinv_far(t: Any) -> Any:
    """erfcinv(q) / w by 1 / (w + 4), where w = sqrt(-log q)."""
    w = 1 / (LEAST + (MOST - LEAST) * (1 + t) / 2) - 4
    target = -w * w
    x = w - mp.log(w + 1) / (2 * w)
    for _ in range(60):
        step = (mp.log(mp.erfc(x)) - target) / (-2 / mp.sqrt(mp.pi) * mp.exp(-x * x) / mp.erfc(x))
        x -= step
        if abs(step) < mpf(10) ** -45:
            break
    return x / w


def tables() -> dict[str, tuple[str, Any]]:
    """Every table with what is said about it."""
    gamma = lambda t: mp.loggamma(2 + t) / (t * (1 + t))  # noqa: E731
    digamma = lambda t: mp.digamma((3 + t) / 2) / ((3 + t) / 2 - DIGAMMA_ROOT)  # noqa: E731
    return {
        "LGAMMA": ("the logarithm of gamma(2 + t), divided by t (1 + t)", chebyshev(gamma)),
        "DIGAMMA_ROOT": ("where digamma is 0, and what the float misses", two_parts(DIGAMMA_ROOT)),
        "DIGAMMA": ("digamma(x) / (x - root) for x = (3 + t) / 2", chebyshev(digamma)),
        "TEMME": ("the functions c_k(eta) of `tools/chebyshev_tables.py`, as powers of eta", temme(8, 18)),
        "ERFINV": ("erfinv(y) / y for y**2 = 9/32 (1 + t)", chebyshev(erfinv_near)),
        "ERFCINV_RANGE": ("1 / (w + 4) at t = -1 and t = 1", (float(LEAST), float(MOST))),
        "ERFCINV": ("erfcinv(q) / w by 1 / (w + 4), where w = sqrt(-log q)", chebyshev(erfcinv_far)),
        "J0_ROOTS": ("the first zeros of J0, and what the floats miss", [two_parts(r) for r in J0_ROOTS]),
        "J0": ("J0(x) without its first zeros, for x**2 = 32 (1 + t)", chebyshev(without_roots(0, J0_ROOTS))),
        "J1_ROOTS": ("the first zeros of J1, and what the floats miss", [two_parts(r) for r in J1_ROOTS]),
        "J1": ("J1(x) / x likewise", chebyshev(without_roots(1, J1_ROOTS))),
        "Y0": ("Y0(x) - 2/pi log(x) J0(x), for x**2 = 32 (1 + t)", chebyshev(y0_regular)),
        "Y1": ("(Y1(x) - 2/pi (log(x) J1(x) - 1/x)) / x likewise", chebyshev(y1_regular)),
        "P0": ("the amplitude of the cosine in J0(x), for (8/x)**2 = (1 + t) / 2", chebyshev(amplitude(0, 0))),
        "Q0": ("that of the sine, times x", chebyshev(amplitude(0, 1))),
        "P1": ("the amplitudes in J1 likewise", chebyshev(amplitude(1, 0))),
        "Q1": ("", chebyshev(amplitude(1, 1))),
        "I0_NEAR": ("exp(-x) I0(x) for x = 4 (1 + t)", chebyshev(i_near(0))),
        "I0_FAR": ("sqrt(x) exp(-x) I0(x) for 8/x = (1 + t) / 2", chebyshev(i_far(0))),
        "I1_NEAR": ("exp(-x) I1(x) / x for x = 4 (1 + t)", chebyshev(i_near(1))),
        "I1_FAR": ("sqrt(x) exp(-x) I1(x) for 8/x = (1 + t) / 2", chebyshev(i_far(1))),
        "K0_NEAR": ("K0(x) + log(x/2) I0(x) for x**2 = 2 (1 + t)", chebyshev(k0_regular)),
        "K0_FAR": ("sqrt(x) exp(x) K0(x) for 2/x = (1 + t) / 2", chebyshev(k_far(0))),
        "K1_NEAR": ("x (K1(x) - log(x/2) I1(x)) for x**2 = 2 (1 + t)", chebyshev(k1_regular)),
        "K1_FAR": ("sqrt(x) exp(x) K1(x) for 2/x = (1 + t) / 2", chebyshev(k_far(1))),
        "AIRY": ("Ai(x) for x = 5 t - 3", chebyshev(lambda t: mp.airyai(5 * t - 3))),
        "AIRY_RIGHT": ("2 sqrt(pi) x**(1/4) exp(zeta) Ai(x) for zeta(2)/zeta = (1 + t) / 2", chebyshev(airy_right)),
        "AIRY_LEFT_P": ("the amplitudes in Ai(-x), for (zeta(8)/zeta)**2 = (1 + t) / 2", chebyshev(airy_left(0))),
        "AIRY_LEFT_Q": ("", chebyshev(airy_left(1))),
    }  # fmt: skip


def text() -> str:
    """The text of `ops/special/chebyshev_tables.py`."""
    lines = [
        '"""The numbers behind the special functions: Chebyshev series in t from -1 to 1, unless said otherwise.',
        "",
        "Written by `tools/chebyshev_tables.py`, which says how they were computed.",
        '"""',
    ]
    for name, (said, values) in tables().items():
        lines += ["", f"# {said}"] if said else []
        lines += wrapped(name, values)
    return formatted("\n".join(lines) + "\n")


def wrapped(name: str, values: Any) -> list[str]:
    """An assignment, as many numbers to a line as fit."""
    if isinstance(values[0], (list, tuple)):
        rows = [line for row in values for line in filled(row, "    (", "     ", "),")]
        return [f"{name} = (", *rows, ")  # fmt: skip"]
    return [f"{name} = (", *filled(values, "    ", "    ", ""), ")  # fmt: skip"]


def filled(values: Any, first: str, rest: str, end: str) -> list[str]:
    lines, line = [], first
    for v in values:
        piece = f"{v!r}, "
        if len(line) + len(piece) > 108:
            lines.append(line.rstrip())
            line = rest
        line += piece
    return [*lines, line.rstrip() + end]


def formatted(source: str) -> str:
    """The text as ruff would have it."""
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(TARGET), "-"]
    return subprocess.run(command, input=source, capture_output=True, text=True, check=True, cwd=ROOT).stdout


def main() -> int:
    """Writes the file, or says whether it is out of date."""
    made = text()
    if TARGET.exists() and TARGET.read_text() == made:
        return 0
    if "--check" in sys.argv:
        print(f"{TARGET.relative_to(ROOT)} is out of date: run python tools/chebyshev_tables.py")
        return 1
    TARGET.write_text(made)
    print(f"wrote {TARGET.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
