"""Special functions, the rest of the functions of two tensors, and the rest of the activations."""

from __future__ import annotations

from typing import Any

from .derivatives import derivatives
from .harness import attempt, program

INF, NAN = float("inf"), float("nan")
POSITIVE = [0.25, 0.5, 1.5, 3.0, 7.5]
REAL = [-2.5, -0.6, 0.3, 1.7]
UNIT = [-0.9, -0.25, 0.5, 0.8]
PROBABILITIES = [0.01, 0.2, 0.5, 0.9]
EDGES = [0.0, 1.0, -1.0, INF, -INF, NAN]
# Every pair of these, for functions of two tensors.
FIRST = [0.0, 0.0, -0.0, 1.0, 1.0, NAN, 1.0, INF, -1.0, 2.0, INF]
SECOND = [0.0, 1.0, -1.0, 0.0, 1.0, 1.0, NAN, -INF, -1.0, INF, 2.0]


def edges(torch: Any, function: Any, *data: Any) -> Any:
    """Values and first gradients where neither is ordinary."""
    inputs = [torch.tensor(d, dtype=torch.float64, requires_grad=True) for d in data]
    out = function(*inputs)
    return out.detach(), torch.autograd.grad(out, inputs, torch.ones_like(out), allow_unused=True)


def dtypes(torch: Any, function: Any, *numbers: Any) -> Any:
    """The dtype that each kind of number gives."""
    kinds = ("float16", "float32", "float64", "int32", "uint8", "bool")
    return [function(*(torch.tensor([n]).to(getattr(torch, kind)) for n in numbers)).dtype for kind in kinds]


# -- the gamma function --------------------------------------------------------------------------------------------


@program()
def lgamma_and_digamma(torch: Any) -> Any:
    return [derivatives(torch, f, [-1.5, -0.25, *POSITIVE]) for f in (torch.lgamma, torch.digamma)]


@program()
def lgamma_at_its_poles(torch: Any) -> Any:
    x = torch.tensor([0.0, -1.0, -2.0, INF, -INF, NAN, 1.0, 2.0, 1e300, 1e-300], dtype=torch.float64)
    return torch.lgamma(x), torch.digamma(x), torch.special.gammaln(x.float()), torch.special.psi(x.float())


@program()
def polygamma_of_several_orders(torch: Any) -> Any:
    return [derivatives(torch, lambda x, n=n: torch.polygamma(n, x), POSITIVE) for n in (0, 1, 2, 4)]


@program()
def polygamma_left_of_zero(torch: Any) -> Any:
    x = torch.tensor([-0.5, -1.25, -2.75], dtype=torch.float64)
    return [torch.polygamma(n, x) for n in (1, 2, 3)], x.polygamma(2), torch.special.polygamma(1, x)


@program(phrase="does not support negative n")
def polygamma_of_negative_order(torch: Any) -> Any:
    return torch.polygamma(-1, torch.ones(2))


@program()
def polygamma_with_its_arguments_exchanged(torch: Any) -> Any:
    return attempt("argument 'n'", torch.polygamma, torch.ones(2), 1)


@program()
def multivariate_log_gamma(torch: Any) -> Any:
    return [derivatives(torch, lambda x, p=p: torch.mvlgamma(x, p), [2.5, 3.0, 7.0]) for p in (1, 2, 4)]


@program()
def multivariate_log_gamma_errors(torch: Any) -> Any:
    return (
        attempt("p has to be greater than or equal to 1", torch.mvlgamma, torch.ones(2), 0),
        attempt("may not be a boolean tensor", torch.mvlgamma, torch.tensor([True]), 1),
        attempt("argument 'p'", torch.mvlgamma, torch.ones(2), 1.5),
        torch.mvlgamma(torch.tensor([4, 5]), 2).dtype,
    )


@program()
def incomplete_gamma_functions(torch: Any) -> Any:
    a = torch.tensor([0.3, 1.0, 2.5, 20.0, 300.0], dtype=torch.float64)
    x = [0.5, 3.0, 2.0, 30.0, 310.0]
    return [derivatives(torch, lambda t, f=f: f(a, t), x) for f in (torch.igamma, torch.igammac)]


@program()
def incomplete_gamma_functions_at_the_edges(torch: Any) -> Any:
    a = torch.tensor([0.0, 1.0, 0.0, INF, 2.0, -1.0, 1.0, NAN], dtype=torch.float64)
    x = torch.tensor([1.0, 0.0, 0.0, 2.0, INF, 1.0, -1.0, 1.0], dtype=torch.float64)
    return torch.igamma(a, x), torch.igammac(a, x), torch.special.gammainc(a, x).dtype


@program(phrase="the derivative for 'igamma: input' is not implemented")
def the_first_argument_of_igamma_has_no_gradient(torch: Any) -> Any:
    x = torch.tensor([2.0], requires_grad=True)
    torch.igamma(x, torch.tensor([1.0])).backward()


@program(phrase="not implemented for 'Long'")
def igamma_of_integers(torch: Any) -> Any:
    return torch.igamma(torch.tensor([2]), torch.tensor([3]))


@program()
def zeta(torch: Any) -> Any:
    s = torch.tensor([1.5, 2.0, 3.0, 5.0, 12.0], dtype=torch.float64)
    f = torch.special.zeta
    return (
        derivatives(torch, lambda q: f(s, q), POSITIVE),
        derivatives(torch, lambda q: f(2.5, q), POSITIVE),
        f(s, 1.5),
    )


@program()
def zeta_at_the_edges(torch: Any) -> Any:
    s = torch.tensor([1.0, 0.5, 2.0, 2.0, 2.5, 4.0, NAN], dtype=torch.float64)
    q = torch.tensor([2.0, 2.0, 0.0, -3.0, -0.5, -0.5, 1.0], dtype=torch.float64)
    return torch.special.zeta(s, q), torch.special.zeta(torch.tensor([2, 3]), 1).dtype


@program(phrase="the derivative for 'zeta' is not implemented")
def the_first_argument_of_zeta_has_no_gradient(torch: Any) -> Any:
    x = torch.tensor([2.0], requires_grad=True)
    torch.special.zeta(x, 1.0).backward()


# -- Bessel functions, polynomials ---------------------------------------------------------------------------------


@program()
def modified_bessel_functions(torch: Any) -> Any:
    s = torch.special
    return [derivatives(torch, f, [-12.0, -3.0, 0.5, 2.0, 9.0]) for f in (torch.i0, s.i0e, s.i1, s.i1e)]


@program()
def modified_bessel_functions_at_zero(torch: Any) -> Any:
    s = torch.special
    return [edges(torch, f, [0.0, 1e-300, 500.0]) for f in (torch.i0, s.i0e, s.i1, s.i1e)]


@program()
def bessel_functions_without_gradient(torch: Any) -> Any:
    # In single precision: PyTorch's double precision is off in the seventh digit.
    names = ("bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "modified_bessel_i0", "modified_bessel_i1")
    names += (
        "modified_bessel_k0",
        "modified_bessel_k1",
        "scaled_modified_bessel_k0",
        "scaled_modified_bessel_k1",
    )
    x = torch.tensor([0.5, 1.0, 3.0, 12.0], requires_grad=True)
    return [getattr(torch.special, name)(x) for name in names]


@program()
def bessel_functions_of_the_second_kind_left_of_zero(torch: Any) -> Any:
    s, x = torch.special, torch.tensor([0.0, -1.0, NAN])
    return s.bessel_y0(x), s.bessel_y1(x), s.modified_bessel_k0(x), s.modified_bessel_k1(x)


@program()
def spherical_bessel_and_airy(torch: Any) -> Any:
    x = torch.tensor([-8.5, -1.0, 0.0, 0.5, 2.0, 6.0])
    integers = torch.special.airy_ai(torch.tensor([1, 2]))
    return torch.special.spherical_bessel_j0(x), torch.special.airy_ai(x), integers


@program()
def polynomials(torch: Any) -> Any:
    families = [
        "chebyshev_polynomial_t",
        "chebyshev_polynomial_u",
        "chebyshev_polynomial_v",
        "chebyshev_polynomial_w",
    ]
    families += [f"shifted_{name}" for name in families]
    families += [
        "hermite_polynomial_h",
        "hermite_polynomial_he",
        "laguerre_polynomial_l",
        "legendre_polynomial_p",
    ]
    x = torch.tensor([-1.0, -0.7, 0.0, 0.5, 1.0, 2.0], dtype=torch.float64, requires_grad=True)
    return {f: [getattr(torch.special, f)(x, n) for n in (-1, 0, 1, 2, 5, 9)] for f in families}


@program()
def degrees_of_polynomials_in_a_tensor(torch: Any) -> Any:
    f = torch.special.hermite_polynomial_h
    degrees = torch.tensor([0, 1, 2, 3, -2])
    return f(2.0, degrees), f(torch.tensor([[0.5], [1.5]]), degrees), f(torch.tensor([2]), 3.9)


# -- the normal distribution ---------------------------------------------------------------------------------------


@program()
def the_inverse_error_function(torch: Any) -> Any:
    return derivatives(torch, torch.erfinv, UNIT), edges(torch, torch.erfinv, [0.0, 1.0, -1.0, 2.0, INF, NAN])


@program()
def the_scaled_error_function(torch: Any) -> Any:
    f = torch.special.erfcx
    return derivatives(torch, f, [-3.0, -1.0, -0.5, 0.5, 1.0, 4.0]), f(
        torch.tensor([INF, -INF, NAN, 0.0, -40.0, 1e30])
    )


@program()
def the_normal_distribution(torch: Any) -> Any:
    s = torch.special
    values = [derivatives(torch, f, REAL)["first"] for f in (s.ndtr, s.log_ndtr)]
    return values, derivatives(torch, s.log_ndtr, [-30.0, -5.0, 0.0, 3.0]), s.ndtr(torch.tensor([1, 2])).dtype


@program()
def the_inverse_of_the_normal_distribution(torch: Any) -> Any:
    f = torch.special.ndtri
    return derivatives(torch, f, PROBABILITIES), edges(torch, f, [0.0, 1.0, 0.5, -0.5, 2.0, NAN])


# -- curves and parts of numbers -----------------------------------------------------------------------------------


@program()
def logit_with_and_without_eps(torch: Any) -> Any:
    outside = [-1.0, 0.1, 0.5, 0.9, 2.0]
    return (
        derivatives(torch, torch.logit, PROBABILITIES),
        edges(torch, lambda x: torch.logit(x, 0.2), outside),
        edges(torch, torch.logit, [0.25, 2.0, -1.0, NAN]),
        torch.special.expit(torch.tensor(REAL)),
    )


@program()
def entropy_of_elements(torch: Any) -> Any:
    return derivatives(torch, torch.special.entr, POSITIVE), edges(
        torch, torch.special.entr, [0.0, INF, NAN, -1.0]
    )


@program()
def sinc_of_reals_and_complex_numbers(torch: Any) -> Any:
    z = torch.tensor([1 + 2j, 0j, -0.5j], dtype=torch.complex128, requires_grad=True)
    out = torch.sinc(z)
    (g,) = torch.autograd.grad(out, z, torch.ones_like(out))
    return derivatives(torch, torch.sinc, REAL), out.detach(), g, edges(torch, torch.sinc, [0.0, 0.5])


@program()
def degrees_and_radians(torch: Any) -> Any:
    z = torch.tensor([1j])
    return (
        [derivatives(torch, f, REAL) for f in (torch.deg2rad, torch.rad2deg)],
        attempt("not supported for complex", torch.deg2rad, z),
        attempt("not supported for complex", torch.rad2deg, z),
        dtypes(torch, torch.deg2rad, 1),
    )


@program()
def mantissa_and_exponent(torch: Any) -> Any:
    x = torch.tensor([-3.0, 0.0, 5.0, INF, NAN, 1e-40], requires_grad=True)
    mantissa, exponent = torch.frexp(x)
    (g,) = torch.autograd.grad(mantissa[:3].sum(), x)
    named = torch.frexp(x.detach())
    error = attempt("only supports floating-point", torch.frexp, torch.tensor([1]))
    return mantissa.detach(), exponent, g, named.mantissa, named.exponent, error


@program()
def nan_to_num(torch: Any) -> Any:
    given = [NAN, INF, -INF, 1.5]
    f = torch.nan_to_num
    return (
        edges(torch, f, given),
        edges(torch, lambda x: f(x, nan=2.0, posinf=5.0), given),
        f(torch.tensor([complex(NAN, 1), complex(2, INF)])),
        f(torch.tensor([1, 2])),
        torch.tensor(given).nan_to_num_(neginf=7.0),
    )


@program(phrase="nan_to_num does not support automatic differentiation for outputs with complex dtype")
def nan_to_num_of_complex_numbers_has_no_gradient(torch: Any) -> Any:
    return torch.nan_to_num(torch.tensor([1j], requires_grad=True))


@program()
def signs_and_infinities(torch: Any) -> Any:
    x, n = torch.tensor([-0.0, 0.0, -2.0, INF, -INF, NAN]), torch.tensor([-1, 0, 1])
    answers = [f(v) for f in (torch.signbit, torch.isposinf, torch.isneginf) for v in (x, n, n == 0)]
    z = torch.tensor([1j])
    return (
        answers,
        attempt("not implemented for complex", torch.signbit, z),
        attempt("does not support complex", torch.isposinf, z),
        torch.isneginf(x, out=torch.zeros(6, dtype=torch.bool)),
    )


# -- two tensors ---------------------------------------------------------------------------------------------------


@program()
def angles_and_lengths(torch: Any) -> Any:
    return [derivatives(torch, f, [[1.0, -2.0, 0.5]], [[3.0], [-0.5]]) for f in (torch.atan2, torch.hypot)]


@program()
def angles_and_lengths_at_the_edges(torch: Any) -> Any:
    return edges(torch, torch.atan2, FIRST, SECOND), edges(torch, torch.hypot, FIRST, SECOND)


@program()
def copysign_of_tensors_and_numbers(torch: Any) -> Any:
    return (
        edges(torch, torch.copysign, FIRST, SECOND),
        edges(torch, lambda x: torch.copysign(x, -0.0), FIRST),
        torch.copysign(torch.tensor([1, -2]), torch.tensor([-1, 3])),
        torch.copysign(torch.tensor([3]), -1),
    )


@program()
def ldexp_of_reals_integers_and_complex_numbers(torch: Any) -> Any:
    z = torch.tensor([1 + 2j, 3j])
    return (
        derivatives(torch, torch.ldexp, REAL, [1.0, -2.0, 3.0, 0.5]),
        torch.ldexp(torch.tensor([1.5, 2.0]), torch.tensor([3, -1])),
        torch.ldexp(torch.tensor([3]), torch.tensor([2])),
        torch.ldexp(z, torch.tensor([1.0, 2.0])),
    )


@program()
def extrema_that_skip_nan(torch: Any) -> Any:
    ints = (
        torch.fmax(torch.tensor([1, 5]), torch.tensor([3, 2])),
        torch.fmin(torch.tensor([True]), torch.tensor([2])),
    )
    error = attempt("fmax not implemented for complex", torch.fmax, torch.tensor([1j]), torch.tensor([1j]))
    return edges(torch, torch.fmax, FIRST, SECOND), edges(torch, torch.fmin, FIRST, SECOND), ints, error


@program()
def fmod_by_tensors_and_numbers(torch: Any) -> Any:
    x = [-7.5, -1.0, 2.25, 9.0]
    return (
        derivatives(torch, torch.fmod, x, [2.0, -3.0, 0.5, -4.0]),
        derivatives(torch, lambda t: torch.fmod(t, 2.5), x),
        torch.fmod(torch.tensor([-7, 7, -7]), torch.tensor([3, -3, -3])),
        torch.fmod(torch.tensor([-7, 7]), 2.5),
        torch.fmod(torch.tensor([INF, 1.0, 0.0]), torch.tensor([1.0, INF, 0.0])),
    )


@program(phrase="ZeroDivisionError")
def fmod_of_integers_by_zero(torch: Any) -> Any:
    return torch.fmod(torch.tensor([1]), 0)


@program()
def neighbours(torch: Any) -> Any:
    ints = attempt("not implemented for 'Long'", torch.nextafter, torch.tensor([1]), torch.tensor([2]))
    return edges(torch, torch.nextafter, FIRST, SECOND), ints


@program()
def heaviside(torch: Any) -> Any:
    x = torch.tensor([-1.0, 0.0, -0.0, 2.0, NAN, INF])
    ints = torch.heaviside(torch.tensor([-3, 0, 3]), torch.tensor([7]))
    wrong = attempt("different dtypes", torch.heaviside, x, torch.tensor([1]))
    number = attempt("argument 'values'", torch.heaviside, x, 0.5)
    return torch.heaviside(x, torch.tensor([0.5])), ints, wrong, number


@program(phrase="derivative for aten::heaviside is not implemented")
def heaviside_has_no_gradient(torch: Any) -> Any:
    x = torch.tensor([1.0], requires_grad=True)
    torch.heaviside(x, x).backward()


@program()
def products_with_logarithms(torch: Any) -> Any:
    found = []
    for f in (torch.xlogy, torch.special.xlog1py):
        found.append(derivatives(torch, f, REAL, POSITIVE[:4]))
        found.append(derivatives(torch, lambda x, f=f: f(x, 2.5), REAL))
        found.append(derivatives(torch, lambda y, f=f: f(2.5, y), POSITIVE))
        found.append(edges(torch, f, FIRST, SECOND))
        found.append(dtypes(torch, f, 1, 1))
    return found


@program()
def nodes_of_products_with_logarithms(torch: Any) -> Any:
    x = torch.tensor([2.0], requires_grad=True)
    f, g = torch.xlogy, torch.special.xlog1py
    return [
        y.grad_fn for y in (f(x, x), f(2.0, x), f(x, 2.0), g(x, x), g(2.0, x), g(x, 2.0), torch.fmod(x, 2.0))
    ]


@program()
def logarithms_of_sums_of_powers(torch: Any) -> Any:
    other = [10.0, -10.0, 3.0, 0.0]
    return [
        derivatives(torch, torch.logaddexp, REAL, other),
        derivatives(torch, torch.logaddexp2, REAL, other),
        edges(torch, torch.logaddexp, [1000.0, 1000.0, 0.0], [1000.0, -1000.0, 1000.0]),
        edges(torch, torch.logaddexp, FIRST, SECOND),
        edges(torch, torch.logaddexp2, FIRST, SECOND),
        attempt("not implemented for 'Long'", torch.logaddexp, torch.tensor([1]), torch.tensor([1])),
    ]


@program()
def logaddexp_of_complex_numbers(torch: Any) -> Any:
    x = torch.tensor([1 + 2j, 3j, -2.0 + 0.5j], dtype=torch.complex128, requires_grad=True)
    y = torch.tensor([2 - 1j, -3j, 1.0 - 0.25j], dtype=torch.complex128, requires_grad=True)
    out = torch.logaddexp(x, y)
    return out.detach(), torch.autograd.grad(out, (x, y), torch.ones_like(out))


@program()
def divisors_and_multiples(torch: Any) -> Any:
    x, y = torch.tensor([0, -4, 6, -9, 12]), torch.tensor([0, 6, -4, 0, 18])
    floats = attempt("not implemented for 'Float'", torch.gcd, torch.ones(1), torch.ones(1))
    bools = attempt("not implemented for 'Bool'", torch.lcm, torch.tensor([True]), torch.tensor([True]))
    return torch.gcd(x, y), torch.lcm(x, y), x.clone().gcd_(y), torch.gcd(x, y > 0), floats, bools


@program()
def numbers_where_only_tensors_are_taken(torch: Any) -> Any:
    x = torch.ones(2)
    names = ("atan2", "hypot", "ldexp", "fmax", "fmin", "nextafter", "logaddexp", "logaddexp2", "gcd", "lcm")
    return [attempt("argument 'other'", getattr(torch, name), x, 2.0) for name in names]


@program()
def in_place_forms(torch: Any) -> Any:
    x = torch.tensor(PROBABILITIES, dtype=torch.float64, requires_grad=True)
    names = ("lgamma_", "digamma_", "erfinv_", "i0_", "sinc_", "logit_", "deg2rad_", "rad2deg_")
    found = [getattr(x.clone(), name)() for name in names]
    found += [
        getattr(x.clone(), name)(x) for name in ("atan2_", "hypot_", "copysign_", "fmod_", "xlogy_", "ldexp_")
    ]
    found += [
        x.clone().polygamma_(1),
        (x.clone() + 2).mvlgamma_(2),
        torch.logit_(x.clone(), 0.1),
        torch.sinc_(x.clone()),
    ]
    return [(t, torch.autograd.grad(t.sum(), x, retain_graph=True)) for t in found]


@program()
def results_in_a_given_tensor(torch: Any) -> Any:
    out = torch.zeros(4)
    x = torch.tensor(PROBABILITIES)
    torch.lgamma(x, out=out)
    second = torch.zeros(4)
    torch.special.ndtri(x, out=second)
    return out, second, torch.atan2(x, x, out=torch.empty(0)), torch.special.xlog1py(x, 2.0, out=out)


@program()
def shapes_of_special_functions(torch: Any) -> Any:
    empty, scalar = torch.zeros(2, 0), torch.tensor(0.5)
    functions = (
        torch.lgamma,
        torch.erfinv,
        torch.i0,
        torch.special.entr,
        torch.special.ndtri,
        torch.sinc,
        torch.logit,
    )
    wide = torch.arange(1.0, 13.0).reshape(3, 4).t()[::2] / 20
    return [(f(empty), f(scalar), f(wide)) for f in functions], torch.atan2(empty, torch.zeros(1))


@program()
def complex_numbers_are_refused(torch: Any) -> Any:
    z, s = torch.tensor([1j]), torch.special
    functions = (
        torch.lgamma,
        torch.digamma,
        torch.erfinv,
        torch.i0,
        torch.logit,
        s.entr,
        s.erfcx,
        s.ndtri,
        s.i1e,
    )
    phrase = "not implemented for 'ComplexFloat'"
    return [attempt(phrase, f, z) for f in functions], [
        attempt(phrase, f, z, z) for f in (torch.atan2, torch.xlogy)
    ]


@program()
def integers_become_floats(torch: Any) -> Any:
    s = torch.special
    functions = (torch.lgamma, torch.digamma, torch.i0, torch.sinc, s.entr, s.i1, torch.rad2deg)
    return (
        [dtypes(torch, f, 1) for f in functions],
        dtypes(torch, torch.atan2, 1, 1),
        dtypes(torch, torch.copysign, 1, 1),
    )


# -- activations ---------------------------------------------------------------------------------------------------


@program()
def shrinking(torch: Any) -> Any:
    x, f = [-1.0, -0.5, -0.2, 0.0, 0.3, 0.5, 1.0], torch.nn.functional
    return (
        [derivatives(torch, g, x) for g in (f.hardshrink, f.softshrink)],
        [derivatives(torch, lambda t, g=g: g(t, 0.25), x) for g in (torch.hardshrink, f.softshrink)],
        torch.tensor(x).hardshrink(),
        attempt("lambda must be in range", f.softshrink, torch.ones(2), -1.0),
        attempt("not implemented for 'Long'", f.hardshrink, torch.tensor([1])),
    )


@program()
def leaking_with_weights(torch: Any) -> Any:
    f = torch.nn.functional.prelu
    x = [[[1.0, -2.0], [3.0, 0.5], [-1.5, -0.25]]]
    return (
        [derivatives(torch, f, x, w) for w in ([0.1, 0.2, 0.3], [0.25], 0.5)],
        attempt("Mismatch of parameter numbers and input channel size", f, torch.ones(2, 3), torch.ones(2)),
        attempt("scalar or 1D tensor", f, torch.ones(2, 3), torch.ones(3, 1)),
        attempt("Type promoting not supported", f, torch.ones(2).double(), torch.ones(1)),
        attempt("Not allow zero-dim input", f, torch.tensor(-1.0), torch.ones(2)),
    )


@program()
def the_graph_of_prelu(torch: Any) -> Any:
    x, w = torch.ones(2, 3, requires_grad=True), torch.ones(3, requires_grad=True)
    node = torch.prelu(x, w).grad_fn
    return node, [n for n, _ in node.next_functions], node._saved_weight.shape


@program()
def leaking_at_random(torch: Any) -> Any:
    f, x = torch.nn.functional.rrelu, [-2.0, -0.5, 0.5, 3.0]
    leaf = torch.tensor(x, requires_grad=True)
    return (
        derivatives(torch, f, x),
        derivatives(torch, lambda t: f(t, 0.2, 0.2, True), x),
        torch.rrelu_(leaf * 1),
        torch.rrelu(leaf, training=True).grad_fn,
        attempt("Lower bound should be less than or equal to the upper bound", f, leaf, 0.5, 0.2),
        attempt("bound must be finite", f, leaf, -INF, 0.2, True),
    )


@program()
def gated_linear_units(torch: Any) -> Any:
    f = torch.nn.functional.glu
    x = [[1.0, -2.0, 0.5, 3.0], [0.0, 0.25, -1.0, 30.0]]
    return (
        derivatives(torch, f, x),
        derivatives(torch, lambda t: f(t, 0), x),
        attempt("Halving dimension must be even", f, torch.ones(3)),
        attempt("does not support scalars", f, torch.tensor(1.0)),
        attempt("not implemented for 'Long'", f, torch.ones(2, dtype=torch.int64)),
    )


# -- comparisons and bits ------------------------------------------------------------------------------------------


@program()
def comparisons_with_nan_and_infinities(torch: Any) -> Any:
    x, y = torch.tensor(FIRST), torch.tensor(SECOND)
    return [f(x, y) for f in (torch.eq, torch.ne, torch.lt, torch.le, torch.gt, torch.ge)], torch.isclose(
        x, y
    )


@program()
def logic_of_every_dtype(torch: Any) -> Any:
    given = [torch.tensor(v) for v in ([0, 2], [0.0, NAN], [True, False], [0j, 1j])]
    pairs = [(x, y) for x in given for y in given]
    return [[f(x, y) for f in (torch.logical_and, torch.logical_or, torch.logical_xor)] for x, y in pairs]


@program()
def bits_of_integers_and_booleans(torch: Any) -> Any:
    x, y = torch.tensor([12, -5, 7]), torch.tensor([10, 3, -1])
    small = torch.tensor([200, 7], dtype=torch.uint8)
    functions = (torch.bitwise_and, torch.bitwise_or, torch.bitwise_xor)
    return (
        [f(x, y) for f in functions],
        [f(x > 0, y > 0) for f in functions],
        [f(small, 3) for f in (*functions, torch.bitwise_left_shift, torch.bitwise_right_shift)],
        torch.bitwise_not(small),
        torch.bitwise_not(x > 0),
    )


@program()
def what_comparisons_and_logic_refuse(torch: Any) -> Any:
    x, n, b = torch.tensor([1.0, 2.0]), torch.tensor([1, 2]), torch.tensor([True, False])
    return (
        [attempt("argument 'other'", f, x, 2.0) for f in (torch.isclose, torch.allclose, torch.equal)],
        [
            attempt("argument 'other'", f, n, 2)
            for f in (torch.logical_and, torch.logical_or, torch.logical_xor)
        ],
        [attempt("argument 'input'", f, 2) for f in (torch.logical_not, torch.bitwise_not)],
        [attempt("Long did not match Float", f, n, x) for f in (torch.isclose, torch.allclose)],
        attempt("rtol must be greater than or equal to zero", torch.isclose, x, x, -1.0),
        attempt("must match the size", torch.isclose, torch.ones(2), torch.ones(3)),
        [
            attempt("not implemented for 'Bool'", f, b, b)
            for f in (torch.bitwise_left_shift, torch.bitwise_right_shift)
        ],
        [attempt("not implemented for 'Float'", f, x, x) for f in (torch.bitwise_and, torch.bitwise_or)],
        torch.equal(n, x),
    )


@program()
def shifts_by_more_than_the_width(torch: Any) -> Any:
    x, places = torch.tensor([5, -8, 1]), torch.tensor([64, 65, 63])
    return x << places, x >> places, torch.bitwise_left_shift(2, torch.tensor([1, 3]))
