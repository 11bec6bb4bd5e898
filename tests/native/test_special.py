"""Special functions of real numbers: the pack's beside the formulas that they are written after."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from retrograd.backends.numpy_backend import NUMPY
from retrograd.backends.pack import PACK
from retrograd.ops.elementwise import binary
from retrograd.ops.special import bessel, gamma, incomplete_gamma, normal
from tests.native.networks import check_threads, needs_pack

pytestmark = needs_pack

ONE: dict[str, Callable[..., Any]] = {
    "lgamma": gamma._lgamma,
    "digamma": gamma._digamma,
    "erfcx": normal.erfcx_array,
    "log_ndtr": normal.log_ndtr_array,
    "erfinv": normal.erfinv_array,
    "ndtri": normal.ndtri_array,
    **{
        name: getattr(bessel, f"{name}_array")
        for name in ("i0", "i0e", "i1", "i1e", "j0", "j1", "y0", "y1", "k0", "k1", "k0e", "k1e")
    },
}
TWO: dict[str, Callable[..., Any]] = {
    "atan2": lambda xp, x, y: binary.Atan2().surface(xp, x, y),
    "copysign": lambda xp, x, y: binary.Copysign().surface(xp, x, y),
    "hypot": lambda xp, x, y: binary.Hypot().surface(xp, x, y),
    "xlogy": lambda xp, x, y: binary.Xlogy().surface(xp, x, y),
    "xlog1py": lambda xp, x, y: binary.Xlog1py().surface(xp, x, y),
    "zeta": gamma._zeta,
    "gammainc": lambda xp, a, x: incomplete_gamma.incomplete(xp, a, x, False),
    "gammaincc": lambda xp, a, x: incomplete_gamma.incomplete(xp, a, x, True),
}
EDGES = (
    *(0.0, -0.0, 0.125, 0.5, -0.5, 0.75, 0.875, 1, -1, 1.1, 2, -2, 2.5, -3.5, 8, 10, 170, 200),
    *(1e-300, 5e-324, 1e300, -1e300, np.inf, -np.inf, np.nan),
)


def numbers() -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(0)
    spread = [rng.normal(size=300) * scale for scale in (0.1, 1, 3, 10, 100, 1e4)]
    return np.concatenate([*spread, rng.uniform(0, 1, 300), EDGES])


def compare(name: str, *xs: np.ndarray[Any, Any]) -> None:
    with np.errstate(all="ignore"):
        wanted = {**ONE, **TWO}[name](NUMPY, *[x.copy() for x in xs])
        found = PACK.special(name, *xs)
        np.testing.assert_allclose(found, wanted, rtol=1e-13, atol=1e-290)
        narrow = [x.astype(np.float32) for x in xs]
        wide = {**ONE, **TWO}[name](NUMPY, *[x.astype(np.float64) for x in narrow])
        np.testing.assert_allclose(PACK.special(name, *narrow), wide.astype(np.float32), rtol=2e-7)


@pytest.mark.parametrize("name", ONE)
def test_of_one_number(name: str) -> None:
    compare(name, numbers())


@pytest.mark.parametrize("name", TWO)
def test_of_two_numbers(name: str) -> None:
    x, rng = numbers(), np.random.default_rng(1)
    edges = [edge.reshape(-1) for edge in np.meshgrid(EDGES, EDGES)]
    near = rng.uniform(150, 400, (2, 500))
    for first, second in ((x, x[::-1].copy()), (np.abs(x), rng.permutation(np.abs(x))), edges, near):
        compare(name, first, second)
        compare(name, np.rint(first), second)


def test_what_is_left_to_numpy() -> None:
    x = np.ones((3, 4))
    assert PACK.special("lgamma", x.T) is None
    assert PACK.special("lgamma", x.astype(np.int64)) is None
    assert PACK.special("lgamma", x, x) is None
    assert PACK.special("zeta", x, x[:1]) is None
    assert PACK.special("zeta", x, x.astype(np.float32)) is None
    assert PACK.special("nothing", x) is None
    assert PACK.special(None, x) is None
    assert PACK.special("lgamma", x[:0]).shape == (0, 4)


def test_threads_do_not_change_results() -> None:
    x = np.random.default_rng(2).uniform(0.1, 5, (300, 400))
    check_threads(lambda t: t.lgamma() + t.digamma() + t.i0(), [x], "g")
