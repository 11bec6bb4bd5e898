"""Special functions to the last digits: against SciPy where it is exact, against known numbers where it is not."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.special as sp

import retrograd as rg

S = rg.special
INF, NAN = math.inf, math.nan
RNG = np.random.default_rng(11)


def spread(*intervals: tuple[float, float], count: int = 400) -> Any:
    return np.concatenate([RNG.uniform(a, b, count) for a, b in intervals])


def decades(low: float, high: float, count: int = 400) -> Any:
    return 10 ** RNG.uniform(low, high, count)


def of(function: Any, *arrays: Any) -> Any:
    return function(*(rg.Tensor(np.asarray(a, np.float64), share=True) for a in arrays)).array


POSITIVE = np.concatenate([spread((0, 1), (1, 3), (3, 20)), decades(-300, 2.8)])
SIGNED = np.concatenate([POSITIVE, -POSITIVE])
UNIT = np.concatenate([spread((-1, 1)), decades(-300, 0), 1 - decades(-15, 0), [0.75, -0.75]])
PROBABILITY = np.concatenate([spread((0, 1)), decades(-320, 0), 1 - decades(-15, 0)])

RELATIVE: dict[str, tuple[Any, Any, Any]] = {
    "gammaln": (S.gammaln, sp.gammaln, spread((0.01, 0.95), (1.05, 1.95), (2.05, 40), (1e2, 1e9))),
    "digamma": (S.digamma, sp.digamma, np.concatenate([POSITIVE, 1.4616321449683623 + decades(-12, -1)])),
    "trigamma": (lambda x: S.polygamma(1, x), lambda x: sp.polygamma(1, x), POSITIVE[POSITIVE > 1e-100]),
    "polygamma 5": (lambda x: S.polygamma(5, x), lambda x: sp.polygamma(5, x), POSITIVE[POSITIVE > 1e-40]),
    "i0": (S.i0, sp.i0, SIGNED),
    "i1": (S.i1, sp.i1, SIGNED),
    "i0e": (S.i0e, sp.i0e, np.concatenate([SIGNED, decades(2, 300)])),
    "i1e": (S.i1e, sp.i1e, np.concatenate([SIGNED, decades(2, 300)])),
    "modified_bessel_i0": (S.modified_bessel_i0, sp.i0, SIGNED),
    "modified_bessel_i1": (S.modified_bessel_i1, sp.i1, SIGNED),
    "modified_bessel_k0": (S.modified_bessel_k0, sp.k0, POSITIVE[POSITIVE < 600]),
    "modified_bessel_k1": (S.modified_bessel_k1, sp.k1, POSITIVE[POSITIVE < 600]),
    "scaled_modified_bessel_k0": (S.scaled_modified_bessel_k0, sp.k0e, POSITIVE),
    "scaled_modified_bessel_k1": (S.scaled_modified_bessel_k1, sp.k1e, POSITIVE),
    "spherical_bessel_j0": (S.spherical_bessel_j0, lambda x: sp.spherical_jn(0, x), spread((0.1, 3), (3.3, 6))),
    "airy_ai right of 0": (S.airy_ai, lambda x: sp.airy(x)[0], POSITIVE[POSITIVE < 50]),
    "erfinv": (S.erfinv, sp.erfinv, UNIT),
    "ndtri": (S.ndtri, sp.ndtri, PROBABILITY),
    "ndtr": (S.ndtr, sp.ndtr, spread((-37, 9))),
    "log_ndtr": (S.log_ndtr, sp.log_ndtr, np.concatenate([spread((-40, 8)), -decades(0, 150)])),
    "erfcx": (S.erfcx, sp.erfcx, np.concatenate([spread((-10, 30), (-1.1, 1.1)), decades(1, 300)])),
    "logit": (S.logit, sp.logit, np.concatenate([PROBABILITY, 0.5 + decades(-12, -2)])),
    "entr": (S.entr, sp.entr, POSITIVE[np.abs(POSITIVE - 1) > 1e-3]),
}  # fmt: skip


@pytest.mark.parametrize("name", RELATIVE)
def test_all_digits_are_those_of_scipy(name):
    ours, theirs, x = RELATIVE[name]
    wanted = theirs(x)
    normal = np.abs(wanted) > 1e-290  # below, numbers have fewer digits
    np.testing.assert_allclose(of(ours, x)[normal], wanted[normal], rtol=1e-13, atol=0)


# Near their zeros, functions that oscillate have as many digits as their envelope allows.
WAVES: dict[str, tuple[Any, Any, Any]] = {
    "gammaln left of 0": (S.gammaln, sp.gammaln, -spread((0, 1), (1, 12))),
    "digamma left of 0": (S.digamma, sp.digamma, -(RNG.integers(0, 12, 400) + RNG.uniform(0.1, 0.9, 400))),
    "trigamma left of 0": (lambda x: S.polygamma(1, x), lambda x: sp.polygamma(1, x), -spread((0.1, 0.9), (2.1, 2.9))),
    "bessel_j0": (S.bessel_j0, sp.j0, np.concatenate([-spread((0, 60)), spread((0, 60))])),
    "bessel_j1": (S.bessel_j1, sp.j1, np.concatenate([-spread((0, 60)), spread((0, 60))])),
    "bessel_y0": (S.bessel_y0, sp.y0, spread((0.01, 8), (8, 60))),
    "bessel_y1": (S.bessel_y1, sp.y1, spread((0.1, 8), (8, 60))),
    "airy_ai left of 0": (S.airy_ai, lambda x: sp.airy(x)[0], -spread((0, 8), (8, 20))),
}  # fmt: skip


@pytest.mark.parametrize("name", WAVES)
def test_near_zeros_the_absolute_error_is_small(name):
    ours, theirs, x = WAVES[name]
    np.testing.assert_allclose(of(ours, x), theirs(x), rtol=1e-12, atol=5e-15)


# Computed in 50 digits elsewhere: at the floats next to the first zeros, and a little further.
SMALL = {
    "bessel_j0": {
        2.404825557695773: -6.10876525973673e-17, 2.4048255576966824: -4.722229858759537e-13,
        2.4048265113700893: -4.950975364829089e-07, 5.520078110286311: -2.7522649432621832e-17,
        5.52007811028722: 3.0944151611516803e-13, 5.520079063960627: 3.2450177873286886e-07,
    },
    "bessel_j1": {
        3.8317059702075125: -6.149807356994906e-17, 3.831705970208422: -3.6636903455426467e-13,
        7.015586669815619: 2.825339409478929e-17, 7.015586669816528: 2.7298194023518995e-13,
    },
}  # fmt: skip


@pytest.mark.parametrize("name", SMALL)
def test_bessel_functions_are_exact_also_next_to_their_zeros(name):
    found = of(getattr(S, name), [*SMALL[name]])
    np.testing.assert_allclose(found, [*SMALL[name].values()], rtol=1e-13, atol=0)


@pytest.mark.parametrize(("upper", "theirs"), [(False, sp.gammainc), (True, sp.gammaincc)])
def test_incomplete_gamma_functions(upper, theirs):
    a = np.concatenate([decades(-10, 0), spread((0, 20), (1, 100))])
    x = np.concatenate([decades(-10, 0.3), spread((0, 40)), a[-400:] * RNG.uniform(0.5, 2, 400)])
    wanted = theirs(a, x)
    found = of(S.gammaincc if upper else S.gammainc, a, x)
    normal = wanted > 1e-290
    np.testing.assert_allclose(found[normal], wanted[normal], rtol=5e-13, atol=0)


# Computed in 50 digits elsewhere: P and Q. SciPy has 11 digits at some of these points, and none at the last.
LARGE = {
    (300.0, 310.0): (0.7224887541718611, 0.2775112458281389),
    (542.8583234387695, 780.9890338228241): (1.0, 8.236793486096123e-20),
    (880.7208996733211, 535.5398041532112): (1.4684253050649306e-42, 1.0),
    (39223.25, 41054.75): (1.0, 4.147073778088476e-20),
    (100000.0, 99000.0): (0.0007574199211747679, 0.9992425800788253),
    (850279659.2937402, 850144765.1348191): (1.8612462058014432e-06, 1 - 1.8612462058014432e-06),
}


@pytest.mark.parametrize("point", LARGE)
def test_incomplete_gamma_functions_of_large_arguments(point):
    found = [float(of(f, *point)) for f in (S.gammainc, S.gammaincc)]
    np.testing.assert_allclose(found, LARGE[point], rtol=1e-13, atol=0)


def test_the_two_ways_to_incomplete_gamma_functions_meet():
    """Just below and just above the point where the uniform expansion takes over."""
    x = np.linspace(150, 260, 56)
    below, above = np.full_like(x, np.nextafter(200.0, 0)), np.full_like(x, 200.0)
    for function in (S.gammainc, S.gammaincc):
        np.testing.assert_allclose(of(function, below, x), of(function, above, x), rtol=5e-13)


def test_zeta():
    s, q = 1 + decades(-8, 1.5), decades(-2, 4)
    wanted = sp.zeta(s, q)
    normal = (wanted > 1e-290) & (wanted < 1e290)
    np.testing.assert_allclose(of(S.zeta, s, q)[normal], wanted[normal], rtol=1e-13)
    left = -(RNG.integers(0, 40, 200) + RNG.uniform(0.2, 0.8, 200))
    whole = 2.0 * RNG.integers(1, 5, 200)
    np.testing.assert_allclose(of(S.zeta, whole, left), sp.zeta(whole, left), rtol=1e-12)


def test_log_gamma_near_its_zeros():
    # Where it is small it is nearly linear: the slopes are digamma(1) and digamma(2).
    for root, slope, bend in (
        (1.0, -0.5772156649015329, 1.6449340668482264),
        (2.0, 0.42278433509846714, 0.6449340668482264),
    ):
        for step in (2.0**-30, -(2.0**-30), 2.0**-45):
            wanted = slope * step + bend * step * step / 2
            assert float(of(S.gammaln, root + step)) == pytest.approx(wanted, rel=1e-13, abs=0)


EDGES: dict[str, list[tuple[Any, Any]]] = {
    "gammaln": [(0.0, INF), (-1.0, INF), (-1e300, INF), (INF, INF), (-INF, INF), (NAN, NAN), (1.0, 0.0), (2.0, 0.0),
                (1e-310, 713.8013788281542), (1e305, 7.012884533631839e307)],
    "digamma": [(0.0, -INF), (-0.0, INF), (-1.0, NAN), (-1e300, NAN), (INF, INF), (-INF, NAN), (NAN, NAN)],
    "i0": [(0.0, 1.0), (INF, INF), (-INF, INF), (NAN, NAN), (800.0, INF)],
    "i1": [(0.0, 0.0), (INF, INF), (-INF, -INF), (NAN, NAN), (-800.0, -INF)],
    "i0e": [(0.0, 1.0), (INF, 0.0), (-INF, 0.0), (NAN, NAN)],
    "i1e": [(0.0, 0.0), (INF, 0.0), (-INF, 0.0), (NAN, NAN)],
    "bessel_j0": [(0.0, 1.0), (INF, 0.0), (-INF, 0.0), (NAN, NAN), (-3.0, -0.26005195490193345)],
    "bessel_j1": [(0.0, 0.0), (INF, 0.0), (-INF, 0.0), (NAN, NAN), (-3.0, -0.33905895852593646)],
    "bessel_y0": [(0.0, -INF), (-1.0, NAN), (INF, 0.0), (NAN, NAN)],
    "bessel_y1": [(0.0, -INF), (-1.0, NAN), (INF, 0.0), (NAN, NAN)],
    "modified_bessel_k0": [(0.0, INF), (-1.0, NAN), (INF, 0.0), (NAN, NAN), (800.0, 0.0)],
    "modified_bessel_k1": [(0.0, INF), (-1.0, NAN), (INF, 0.0), (NAN, NAN), (800.0, 0.0)],
    "scaled_modified_bessel_k0": [(0.0, INF), (-1.0, NAN), (INF, 0.0), (NAN, NAN)],
    "scaled_modified_bessel_k1": [(0.0, INF), (-1.0, NAN), (INF, 0.0), (NAN, NAN)],
    "spherical_bessel_j0": [(0.0, 1.0), (INF, 0.0), (-INF, 0.0), (NAN, NAN)],
    "airy_ai": [(0.0, 0.355028053887817), (INF, 0.0), (-INF, 0.0), (NAN, NAN), (200.0, 0.0)],
    "erfinv": [(0.0, 0.0), (1.0, INF), (-1.0, -INF), (1.5, NAN), (-2.0, NAN), (INF, NAN), (NAN, NAN)],
    "ndtri": [(0.0, -INF), (1.0, INF), (0.5, 0.0), (-0.1, NAN), (1.1, NAN), (NAN, NAN), (5e-324, -38.467405617144344)],
    "erfcx": [(-1.0, 5.008980080762283), (0.0, 1.0), (INF, 0.0), (-INF, INF), (-30.0, INF), (NAN, NAN)],
    "log_ndtr": [(INF, 0.0), (-INF, -INF), (-1e200, -INF), (NAN, NAN)],
    "entr": [(0.0, 0.0), (-1.0, -INF), (INF, -INF), (NAN, NAN)],
    "logit": [(0.0, -INF), (1.0, INF), (0.5, 0.0), (-0.1, NAN), (1.1, NAN), (NAN, NAN)],
    "sinc": [(0.0, 1.0), (NAN, NAN), (1e-300, 1.0)],
}  # fmt: skip


@pytest.mark.parametrize("name", EDGES)
def test_poles_infinities_and_nan(name):
    points, wanted = zip(*EDGES[name], strict=True)
    np.testing.assert_allclose(of(getattr(S, name), points), wanted, rtol=1e-10)


def test_edges_of_functions_of_two_arguments():
    a = [0.0, 1.0, 0.0, INF, 2.0, INF, -1.0, 1.0, NAN]
    x = [1.0, 0.0, 0.0, 2.0, INF, INF, 1.0, -1.0, 1.0]
    p = [1.0, 0.0, NAN, 0.0, 1.0, NAN, NAN, NAN, NAN]
    np.testing.assert_array_equal(of(S.gammainc, a, x), p)
    np.testing.assert_array_equal(of(S.gammaincc, a, x), 1 - np.array(p))
    s, q = (
        [1.0, 0.5, 2.0, 2.0, 2.5, INF, INF, INF, NAN, 2.0],
        [2.0, 2.0, 0.0, -3.0, -0.5, 2.0, 1.0, 0.5, 1.0, INF],
    )
    np.testing.assert_array_equal(of(S.zeta, s, q), [INF, NAN, INF, INF, NAN, 0.0, 1.0, INF, NAN, 0.0])
    np.testing.assert_array_equal(
        S.polygamma(3, rg.tensor([0.0, -2.0, INF])).array,
        [INF, INF, 0.0],
    )


POLYNOMIALS = {
    "chebyshev_polynomial_t": sp.eval_chebyt, "chebyshev_polynomial_u": sp.eval_chebyu,
    "hermite_polynomial_h": sp.eval_hermite, "hermite_polynomial_he": sp.eval_hermitenorm,
    "laguerre_polynomial_l": sp.eval_laguerre, "legendre_polynomial_p": sp.eval_legendre,
    "shifted_chebyshev_polynomial_t": sp.eval_sh_chebyt, "shifted_chebyshev_polynomial_u": sp.eval_sh_chebyu,
    "chebyshev_polynomial_v": lambda n, x: sp.eval_jacobi(n, -0.5, 0.5, x) / sp.eval_jacobi(n, -0.5, 0.5, 1.0),
    "chebyshev_polynomial_w": lambda n, x: sp.eval_jacobi(n, 0.5, -0.5, x) / sp.eval_jacobi(n, 0.5, -0.5, 1.0)
    * (2 * n + 1),
}  # fmt: skip


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials_of_all_degrees_at_once(name):
    x = np.linspace(-1.5, 1.5, 13)[:, None]
    n = np.arange(12.0)
    np.testing.assert_allclose(
        of(getattr(S, name), x, n), POLYNOMIALS[name](n.astype(int), x), rtol=1e-11, atol=1e-11
    )


@pytest.mark.parametrize("kind", ["v", "w"])
def test_shifted_polynomials_are_shifted(kind):
    x, n = np.linspace(-1, 2, 7)[:, None], np.arange(9.0)
    shifted, plain = (getattr(S, f"{p}chebyshev_polynomial_{kind}") for p in ("shifted_", ""))
    np.testing.assert_array_equal(of(shifted, x, n), of(plain, 2 * x - 1, n))


def test_degrees_below_0_and_between_integers():
    x = rg.tensor([0.5, 2.0])
    assert S.legendre_polynomial_p(x, -1).tolist() == [0.0, 0.0]
    assert S.legendre_polynomial_p(x, 2.9).tolist() == S.legendre_polynomial_p(x, 2).tolist()
    assert S.hermite_polynomial_h(2.0, rg.tensor([0, 1, 2])).tolist() == [1.0, 4.0, 14.0]


WITHOUT = [name for name in S.__all__ if "polynomial" in name or "bessel" in name or name == "airy_ai"]


@pytest.mark.parametrize("name", WITHOUT)
def test_what_pytorch_does_not_differentiate_requires_no_gradient(name):
    x = rg.tensor([0.5, 2.0], requires_grad=True)
    out = getattr(S, name)(*([x, 3] if "polynomial" in name else [x]))
    assert not out.requires_grad
    assert out.dtype == rg.float32


# PyTorch computes no float16 with these on the CPU.
NO_HALF = {
    *("erfcx", "log_ndtr", "ndtri", "spherical_bessel_j0", "modified_bessel_k0", "modified_bessel_k1"),
    *("scaled_modified_bessel_k0", "scaled_modified_bessel_k1"),
}


@pytest.mark.parametrize("name", sorted(RELATIVE.keys() & EDGES.keys()))
def test_narrow_numbers_are_computed_like_wide_ones_and_integers_as_floats(name):
    x = np.array([0.25, 0.5, 0.75], np.float32)
    function = getattr(S, name)
    for dtype, rtol in ((np.float32, 1e-7), (np.float16, 1e-3)):
        if dtype is np.float16 and name in NO_HALF:
            with pytest.raises(NotImplementedError, match="not implemented for 'Half'"):
                function(rg.Tensor(x.astype(dtype), share=True))
            continue
        found = function(rg.Tensor(x.astype(dtype), share=True)).array
        assert found.dtype == dtype
        np.testing.assert_allclose(found, of(function, x), rtol=rtol, atol=1e-4 if dtype is np.float16 else 0)
    assert function(rg.tensor([1])).dtype == rg.float32
    with pytest.raises(NotImplementedError, match="not implemented for 'ComplexFloat'"):
        function(rg.tensor([1j]))


def test_the_second_derivative_of_sinc_at_0():
    x = rg.tensor([0.0, 1e-3, 0.2], dtype=rg.float64, requires_grad=True)
    (first,) = rg.autograd.grad(rg.sinc(x).sum(), x, create_graph=True)
    (second,) = rg.autograd.grad(first.sum(), x)
    assert second.tolist()[:2] == pytest.approx([-(math.pi**2) / 3] * 2, rel=1e-4)
    near, far = (
        rg.autograd.grad(rg.sinc(v).sum(), v)[0].item()
        for v in (rg.tensor(u, dtype=rg.float64, requires_grad=True) for u in (np.nextafter(0.25, 0), 0.25))
    )
    assert near == pytest.approx(far, rel=1e-13)


@pytest.mark.parametrize("function", [rg.igamma, rg.igammac, S.zeta], ids=["igamma", "igammac", "zeta"])
def test_a_gradient_of_the_first_argument_is_refused(function):
    x, y = (rg.tensor([v], requires_grad=True) for v in (2.0, 3.0))
    with pytest.raises(NotImplementedError, match="the derivative for '.*' is not implemented"):
        function(x, y).backward()
    function(x.detach(), y).backward()
    assert y.grad is not None


def test_zeta_by_a_number_has_no_derivative():
    x = rg.tensor([2.0], requires_grad=True)
    with pytest.raises(NotImplementedError, match="the derivative for 'zeta' is not implemented"):
        S.zeta(x, 2.0).backward()


def test_heaviside_has_no_derivative():
    x = rg.tensor([-1.0, 0.0, 2.0], requires_grad=True)
    out = rg.heaviside(x, rg.tensor([0.5]))
    assert out.tolist() == [0.0, 0.5, 1.0]
    with pytest.raises(RuntimeError, match="derivative for aten::heaviside is not implemented"):
        out.sum().backward()


def test_rrelu_draws_a_slope_for_each_element():
    x = rg.full((1000,), -1.0, requires_grad=True)
    out = rg.nn.functional.rrelu(x, 0.1, 0.4, training=True)
    out.sum().backward()
    assert x.grad.tolist() == (-out).tolist()
    assert 0.1 <= x.grad.min() < 0.15
    assert 0.35 < x.grad.max() <= 0.4


def test_every_function_of_pytorchs_special_is_here():
    torch = pytest.importorskip("torch")
    theirs = {n for n in torch.special.__all__ if hasattr(torch.special, n)}
    assert theirs <= set(S.__all__)
