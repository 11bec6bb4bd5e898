"""Programs on the edges of the op library: numbers out of range, refusals, in-place names, second derivatives that are
zero, switches, files."""

from __future__ import annotations

import io
import warnings
from collections import OrderedDict
from typing import Any

from tests.conformance.harness import attempt, program

NAN, INF = float("nan"), float("inf")
INTEGERS = {
    "uint8": [0, 1, 100, 255],
    "int8": [0, 1, 100, -128],
    "int16": [0, 1, 100, -32768],
    "int32": [0, 1, 100, -(2**31)],
    "int64": [0, 1, 100, -(2**63)],
}
NUMBERS = (
    -1,
    -2,
    255,
    256,
    300,
    -200,
    70000,
    2**31,
    2**32 + 5,
    -(2**40),
    2**63 - 1,
    -(2**63),
    2**63,
    2**64 - 1,
)


def integers(torch: Any) -> list[Any]:
    return [torch.tensor(values, dtype=getattr(torch, name)) for name, values in INTEGERS.items()]


def with_numbers(torch: Any, phrase: str, *names: str) -> Any:
    """Each function of each integer dtype and each number."""
    return [
        [attempt(phrase, getattr(torch, name), x, number) for number in NUMBERS]
        for name in names
        for x in integers(torch)
    ]


# -- operands that are refused -------------------------------------------------------------------------------------


@program()
def extremum_of_a_tensor_and_a_number(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0])
    return [
        attempt("must be Tensor, not float", torch.maximum, x, 1.0),
        attempt("must be Tensor, not int", torch.minimum, x, 1),
        attempt("must be Tensor, not float", torch.maximum, 1.0, x),
        attempt("must be Tensor, not int", x.minimum, 1),
    ]


@program()
def kind_of_a_number(torch: Any) -> Any:
    return [attempt("must be Tensor, not float", f, 2.0) for f in (torch.isnan, torch.isinf, torch.isfinite)]


@program()
def signs_of_booleans(torch: Any) -> Any:
    b = torch.tensor([True, False])
    return b.sgn(), b.sign(), torch.sgn(b), b.clone().sgn_()


@program()
def absolute_value_of_booleans(torch: Any) -> Any:
    b = torch.tensor([True])
    return [attempt("not implemented for 'Bool'", f) for f in (b.abs, b.clone().abs_, b.__abs__)]


@program()
def sign_of_complex_numbers(torch: Any) -> Any:
    z = torch.tensor([1j])
    return attempt("not intended to support complex numbers", z.sign), attempt("In-place abs", z.abs_)


@program()
def division_with_a_rest_of_complex_numbers(torch: Any) -> Any:
    z, x = torch.tensor([1j]), torch.tensor([1.0])
    phrase = "not implemented for 'ComplexFloat'"
    return [
        *(attempt(phrase, f, z, 2) for f in (torch.remainder, torch.fmod, torch.floor_divide)),
        *(attempt(phrase, f, z, z) for f in (torch.remainder, torch.fmod, torch.floor_divide)),
        *(attempt(phrase, f, x, 2j) for f in (torch.remainder, torch.fmod, torch.floor_divide)),
        *(attempt(phrase, torch.div, z, 2, rounding_mode=mode) for mode in ("floor", "trunc")),
    ]


@program()
def positive_of_booleans(torch: Any) -> Any:
    return attempt("on a bool tensor is not supported", torch.tensor([True]).positive)


@program()
def integers_divided_by_zero(torch: Any) -> Any:
    x, zeros = torch.tensor([1, 2]), torch.tensor([1, 0])
    calls = (torch.remainder, torch.fmod, torch.floor_divide)
    return [
        *(attempt("ZeroDivisionError", f, x, 0) for f in calls),
        *(attempt("ZeroDivisionError", f, x, zeros) for f in calls),
        *(attempt("ZeroDivisionError", torch.div, x, 0, rounding_mode=m) for m in ("floor", "trunc")),
        attempt("ZeroDivisionError", lambda: 3 % zeros),
        attempt("ZeroDivisionError", lambda: 3 // zeros),
        torch.empty(0, dtype=torch.int64) % 0,
        x % 0.0,
    ]


@program()
def booleans_divided_with_a_rest(torch: Any) -> Any:
    b = torch.tensor([True])
    phrase = "not implemented for 'Bool'"
    return [
        *(attempt(phrase, f, b, b) for f in (torch.remainder, torch.fmod, torch.floor_divide)),
        *(attempt(phrase, torch.div, b, b, rounding_mode=mode) for mode in ("floor", "trunc")),
        b % 2,
        b // 2,
    ]


@program()
def rounding_of_what_has_no_fraction(torch: Any) -> Any:
    b, z = torch.tensor([True]), torch.tensor([1j])
    return [
        attempt("not implemented for 'Bool'", torch.round, b),
        attempt("not implemented for 'Bool'", torch.frac, b),
        attempt("not implemented for 'Long'", torch.frac, torch.tensor([1])),
        attempt("not implemented for 'ComplexFloat'", torch.frac, z),
    ]


@program()
def comparison_that_begins_with_a_number(torch: Any) -> Any:
    x = torch.tensor([3])
    names = ("eq", "ne", "lt", "le", "gt", "ge")
    return [attempt("", getattr(torch, name), 2, x) for name in names], x > 2, x == 2, x <= 2


# -- numbers out of range ------------------------------------------------------------------------------------------


@program()
def arithmetic_with_numbers_out_of_range(torch: Any) -> Any:
    return with_numbers(torch, "", "add", "sub", "mul", "rsub")


@program()
def division_with_numbers_out_of_range(torch: Any) -> Any:
    return with_numbers(torch, "ZeroDivisionError", "remainder", "fmod", "floor_divide")


@program()
def comparisons_with_numbers_out_of_range(torch: Any) -> Any:
    return with_numbers(torch, "", "lt", "le", "gt", "ge", "eq", "ne")


@program()
def bits_with_numbers_out_of_range(torch: Any) -> Any:
    return with_numbers(
        torch, "", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift"
    )


@program()
def limits_out_of_range(torch: Any) -> Any:
    return with_numbers(torch, "cannot be converted to type", "clamp_min", "clamp_max")


@program()
def exponents_out_of_range(torch: Any) -> Any:
    return with_numbers(torch, "cannot be converted to type|negative integer powers", "pow")


@program()
def numbers_at_the_left_out_of_range(torch: Any) -> Any:
    x = torch.tensor([1, 2, 3], dtype=torch.uint8)
    return -1 - x, 300 * x, -1 // x, 300 % x, 300 & x, 300 ^ x, 2**x, torch.pow(300, x)


@program()
def in_place_with_numbers_out_of_range(torch: Any) -> Any:
    x = torch.tensor([1, 2, 250], dtype=torch.uint8)
    x += 300
    x -= -1
    x *= 257
    return x, x.clone().add_(-1), x.clone().bitwise_and_(-2), x.clone().remainder_(-250)


@program(phrase="int too big to convert")
def number_of_more_than_64_bits(torch: Any) -> Any:
    return torch.tensor([1]) + 2**64


@program()
def branch_out_of_range(torch: Any) -> Any:
    x, which = torch.tensor([1, 2], dtype=torch.uint8), torch.tensor([True, False])
    return torch.where(which, x, -1), attempt("cannot be converted", torch.where, which, x, 300)


@program()
def truncated_division_of_large_integers(torch: Any) -> Any:
    x, y = torch.tensor([2**62 + 1, -7, 7]), torch.tensor([1, 2, -2])
    return [torch.div(x, y, rounding_mode=mode) for mode in ("trunc", "floor")]


@program()
def negative_powers_of_integers(torch: Any) -> Any:
    x = torch.tensor([0, 1, -1, -1, 2, -3])
    y = torch.tensor([-1, -2, -3, -2, -1, -1])
    small = torch.tensor([-1, 3], dtype=torch.int8)
    return x**y, x ** torch.tensor(-1), 2**y, (-1) ** y, 0**y, torch.pow(2, small)


# -- factors and pairs of numbers ----------------------------------------------------------------------------------


@program()
def factors_of_integers(torch: Any) -> Any:
    x, b = torch.tensor([1, 2], dtype=torch.uint8), torch.tensor([True, False])
    return [
        torch.add(x, x, alpha=-1),
        torch.sub(x, x, alpha=-1),
        torch.rsub(x, 3, alpha=-1),
        torch.add(b, b, alpha=2),
        torch.add(b, b, alpha=True),
        torch.add(x, 2, alpha=3),
        attempt("without overflow", torch.add, x, x, alpha=300),
        attempt("must not be a floating point number", torch.add, x, x, alpha=1.5),
        attempt("must not be a floating point number", torch.sub, x, 2, alpha=1.5),
    ]


@program()
def numbers_that_a_dtype_cannot_hold(torch: Any) -> Any:
    x, large = torch.ones(2), 1e40
    return [
        attempt("type float without overflow", torch.full, (2,), large),
        attempt("type c10::Half without overflow", torch.full, (2,), 7e4, dtype=torch.float16),
        attempt("type uint8_t without overflow", torch.full, (2,), 300, dtype=torch.uint8),
        attempt("type int without overflow", torch.full, (2,), 2**40, dtype=torch.int32),
        attempt("type int64_t without overflow", torch.full, (2,), float("nan"), dtype=torch.int64),
        attempt("type float without overflow", torch.full_like, x, large),
        attempt("type float without overflow", x.new_full, (2,), large),
        attempt("type float without overflow", x.fill_, large),
        attempt("type float without overflow", torch.scalar_tensor, large),
        attempt("type float without overflow", torch.where, x > 0, large, x),
        attempt("type float without overflow", torch.clamp, x, max=large),
        attempt("type float without overflow", torch.linspace, 0, large, 3),
        attempt("type float without overflow", torch.add, x, x, alpha=large),
        torch.full((2,), float("inf")), torch.full((2,), large, dtype=torch.float64), torch.tensor(large), x * large, x,
    ]  # fmt: skip


@program()
def factors_of_floats(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0])
    return [
        attempt("Boolean alpha only supported", torch.add, x, x, alpha=True),
        attempt("must not be a complex number", torch.add, x, x, alpha=2j),
        torch.add(x, x, alpha=2),
        torch.sub(x, 1, alpha=0.5),
    ]


@program()
def two_numbers(torch: Any) -> Any:
    pairs = (torch.add, torch.sub, torch.mul, torch.div, torch.floor_divide)
    return [[f(7, 2), f(7, 2.0), f(7.5, 2)] for f in pairs]


# -- clamp ---------------------------------------------------------------------------------------------------------


def clamped(torch: Any, data: list[float], low: Any, high: Any) -> Any:
    """A result of `clamp` and the gradients of all that decides it."""
    x = torch.tensor(data, requires_grad=True)
    limits = [None if v is None else torch.tensor(v, requires_grad=True) for v in (low, high)]
    y = torch.clamp(x, *limits)
    return y, torch.autograd.grad(y.sum(), [x, *(v for v in limits if v is not None)])


@program()
def clamp_at_ties(torch: Any) -> Any:
    data = [0.0, 1.0, 1.5, 2.0, 3.0, NAN]
    return (
        clamped(torch, data, [1.0] * 6, [2.0] * 6),
        clamped(torch, data, [1.0] * 6, None),
        clamped(torch, data, None, [2.0] * 6),
    )


@program()
def clamp_with_crossed_limits(torch: Any) -> Any:
    data = [0.0, 1.0, 1.5, 2.0, 3.0, NAN]
    return clamped(torch, data, [2.0] * 6, [1.0] * 6), clamped(torch, data, 2.0, 1.0)


@program()
def clamp_with_equal_limits(torch: Any) -> Any:
    return clamped(torch, [0.0, 1.0, 2.0, NAN], [1.0] * 4, [1.0] * 4)


@program()
def clamp_with_limits_that_are_nan(torch: Any) -> Any:
    data = [0.0, 1.0, 2.0, NAN]
    return [
        clamped(torch, data, low, high)
        for low, high in (
            ([NAN] * 4, [1.0] * 4),
            ([1.0] * 4, [NAN] * 4),
            ([NAN] * 4, None),
            (None, [NAN] * 4),
        )
    ]


@program()
def clamp_of_an_infinite_gradient(torch: Any) -> Any:
    x = torch.tensor([0.0, 5.0], requires_grad=True)
    y = x.clamp(max=1.0)
    return torch.autograd.grad(y, x, torch.tensor([INF, INF]))


@program()
def clamp_on_one_side_by_a_tensor(torch: Any) -> Any:
    found = []
    for name in ("clamp_min", "clamp_max"):
        x = torch.tensor([0.0, 1.0, 2.0, NAN], requires_grad=True)
        limit = torch.tensor([1.0] * 4, requires_grad=True)
        y = getattr(torch, name)(x, limit)
        written = getattr(x.clone(), f"{name}_")(limit)
        found.append((y, written, torch.autograd.grad(y.sum(), (x, limit))))
    return found


@program()
def clamp_promotes_tensors(torch: Any) -> Any:
    x, y = torch.tensor([1, 2]), torch.tensor([1.0, 2.0])
    wide = torch.tensor(2, dtype=torch.float64)
    return x.clamp(torch.tensor(1.5)), x.clamp(torch.tensor([1.5, 1.5])), y.clamp(wide), y.clamp_min(wide)


@program()
def clamp_refuses(torch: Any) -> Any:
    x, b = torch.tensor([1.0, 2.0]), torch.tensor([True])
    return [
        attempt("", torch.clamp, x, min=torch.zeros(2), max=1.5),
        attempt("not implemented for 'Bool'", torch.clamp, b, False, True),
        attempt("without overflow", torch.clamp, x, 1j),
        attempt("not supported for complex", torch.tensor([1j]).clamp_max, 1),
        attempt("", torch.clamp, 2.0, 1),
    ]


# -- names of nodes ------------------------------------------------------------------------------------------------


@program()
def activations_in_place(torch: Any) -> Any:
    f = torch.nn.functional
    found = []
    for name, args in (
        ("elu", (1.5,)),
        ("selu", ()),
        ("celu", (1.5,)),
        ("leaky_relu", (0.1,)),
        ("threshold", (0.1, 3.0)),
        ("relu", ()),
        ("hardtanh", ()),
        ("silu", ()),
    ):
        x = torch.tensor([-1.0, 0.5, 2.0], requires_grad=True)
        y = getattr(f, name)(x.clone(), *args, inplace=True)
        found.append((y, getattr(f, name)(x, *args), torch.autograd.grad(y.sum(), x)))
    return found


@program()
def floor_division_has_no_derivative(torch: Any) -> Any:
    x = torch.tensor([5.0, -5.0], requires_grad=True)
    phrase = "derivative for aten::floor_divide_? is not implemented"
    forms = x // 2, x // x, 7 // x, torch.floor_divide(x, 2), x.clone().floor_divide_(2)
    return forms, [attempt(phrase, y.sum().backward) for y in forms]


@program()
def integers_drawn_in_place(torch: Any) -> Any:
    x = torch.ones(3, requires_grad=True)
    forms = x.clone().random_(), x.clone().random_(5), x.clone().random_(2, 5)
    return [(y.grad_fn, torch.autograd.grad(y.sum(), x)) for y in forms]


# -- second derivatives that are zero ------------------------------------------------------------------------------


def bent(torch: Any, call: Any, data: Any = (-1.5, -0.3, 0.4, 2.0)) -> Any:
    """Whether the gradient is recorded, its node, and its own gradient, None where there is none."""
    x = torch.tensor(data, requires_grad=True)
    (g,) = torch.autograd.grad(call(x).sum(), x, create_graph=True)
    if not g.requires_grad:
        return g
    return g, torch.autograd.grad((g * torch.arange(1.0, 1 + len(data))).sum(), x, allow_unused=True)


@program()
def gates_differentiated_twice(torch: Any) -> Any:
    f = torch.nn.functional
    calls = (
        f.relu,
        f.relu6,
        f.hardtanh,
        f.hardshrink,
        f.softshrink,
        lambda x: f.threshold(x, 0.1, 2.0),
        lambda x: f.threshold(x.clone(), 0.1, 2.0, inplace=True),
        lambda x: f.relu(x.clone(), inplace=True),
    )
    return [bent(torch, call) for call in calls], [bent(torch, call, [0.0, 1.0, -1.0]) for call in calls]


@program()
def leaks_differentiated_twice(torch: Any) -> Any:
    f = torch.nn.functional
    calls = (
        f.leaky_relu,
        f.rrelu,
        lambda x: f.leaky_relu(x.clone(), 0.1, inplace=True),
        lambda x: f.prelu(x, torch.tensor([0.2])),
    )
    return [bent(torch, call) for call in calls]


@program()
def steps_differentiated_twice(torch: Any) -> Any:
    one = torch.ones(4)
    calls = (
        lambda x: torch.remainder(one, x),
        lambda x: torch.fmod(one, x),
        lambda x: torch.copysign(x, one),
        lambda x: torch.copysign(x, -1.0),
        lambda x: torch.clamp(x, 0.0, 1.0),
        lambda x: torch.maximum(x, torch.zeros(4)),
        torch.abs,
        torch.floor,
    )
    return [bent(torch, call) for call in calls]


@program()
def relu_in_a_penalty(torch: Any) -> Any:
    x = torch.tensor([[-1.0, 2.0], [0.5, 1.0]], requires_grad=True)
    w = torch.tensor([[1.0, -1.0], [0.5, 2.0]], requires_grad=True)
    y = torch.relu(x @ w)
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    return torch.autograd.grad((g**2).sum(), (w, x), allow_unused=True)


@program()
def rounded_losses_differentiated_twice(torch: Any) -> Any:
    f, zero = torch.nn.functional, torch.zeros(4)
    at_ties = [0.0, 1.0, -1.0, 3.0]
    return [
        bent(torch, lambda x: f.smooth_l1_loss(x, zero) * 1.0, at_ties)[1],
        bent(torch, lambda x: f.huber_loss(x, zero) * 1.0, at_ties)[1],
    ]


# -- losses --------------------------------------------------------------------------------------------------------


@program()
def huber_loss_of_integers(torch: Any) -> Any:
    f, x, n = torch.nn.functional, torch.tensor([1.0, 2.5]), torch.tensor([1, 2])
    return [
        f.huber_loss(x, n),
        attempt("can't be cast", f.huber_loss, n, x),
        attempt("", f.huber_loss, n, n),
        f.huber_loss(x, n, reduction="none"),
    ]


@program()
def divergence_of_integers(torch: Any) -> Any:
    f, x, n = torch.nn.functional, torch.tensor([1.0, 2.0]), torch.tensor([1, 2])
    phrase = "Integral inputs not supported"
    return [attempt(phrase, f.kl_div, a, b, reduction="sum") for a, b in ((x, n), (n, x), (n, n))]


@program()
def likelihood_of_an_empty_batch(torch: Any) -> Any:
    x, v = torch.zeros(0, 3, requires_grad=True), torch.tensor(2.0, requires_grad=True)
    target = torch.zeros(0, dtype=torch.int64)
    loss = torch.nn.functional.nll_loss(x, target)
    (g,) = torch.autograd.grad(loss, x, v, create_graph=True)
    return loss, g.detach(), torch.autograd.grad(g.sum(), (x, v), allow_unused=True)


@program()
def likelihood_differentiated_twice(torch: Any) -> Any:
    x = torch.tensor([[0.1, 0.2, 0.7]], requires_grad=True)
    found = []
    for reduction in ("mean", "sum", "none"):
        loss = torch.nn.functional.nll_loss(x, torch.tensor([1]), reduction=reduction)
        (g,) = torch.autograd.grad(loss.sum(), x, create_graph=True)
        found.append((g, torch.autograd.grad(g.sum(), x, allow_unused=True)))
    return found


# -- sums in a dtype -----------------------------------------------------------------------------------------------


@program()
def sums_in_a_given_dtype(torch: Any) -> Any:
    dtypes = [getattr(torch, n) for n in ("int32", "uint8", "int8", "bool", "float16", "float64", "int64")]
    sources = [torch.tensor([[1, 2], [3, 0]], dtype=d) for d in (torch.float32, torch.int32, torch.bool)]
    return [
        [f(x, dtype=d), f(x, 0, dtype=d)] for f in (torch.sum, torch.prod) for x in sources for d in dtypes
    ]


# -- stretches and indefinite matrices -----------------------------------------------------------------------------


@program()
def stretches_reduced(torch: Any) -> Any:
    found = []
    for how in ("sum", "mean", "max", "min", "prod"):
        for initial in (None, 3.5):
            x = torch.tensor([1.0, 2.0, 2.0, 0.0, 5.0, NAN], requires_grad=True)
            y = torch.segment_reduce(x, how, lengths=torch.tensor([3, 0, 2, 1]), initial=initial)
            weights = torch.tensor([1.0, 0.0, 3.0, 4.0])
            found.append((y, torch.autograd.grad(torch.where(weights > 0, y * weights, 0.0).sum(), x)))
    return found


@program()
def stretches_of_rows(torch: Any) -> Any:
    x = torch.arange(12.0).reshape(2, 3, 2)
    lengths = torch.tensor([[1, 2], [3, 0]])
    first = torch.segment_reduce(x.reshape(6, 2), "max", offsets=torch.tensor([0, 1, 1, 6]))
    return first, torch.segment_reduce(x, "sum", lengths=lengths, axis=1)


@program()
def stretches_that_do_not_fit(torch: Any) -> Any:
    x, n = torch.ones(3), torch.tensor([1, 2])
    return [
        attempt("Either lengths or offsets", torch.segment_reduce, x, "sum"),
        attempt("sum to data.size", torch.segment_reduce, x, "sum", lengths=torch.tensor([1, 1])),
        attempt("negative value", torch.segment_reduce, x, "sum", lengths=torch.tensor([-1, 4])),
        attempt("reduce argument", torch.segment_reduce, x, "x", lengths=n),
        attempt("indices based", torch.segment_reduce, x, "sum", indices=n),
        attempt("'Long'", torch.segment_reduce, torch.tensor([1, 2, 3]), "sum", lengths=n),
    ]


@program()
def indefinite_matrices_factored(torch: Any) -> Any:
    matrices = (
        [[4.0, 1.0, 2.0], [1.0, -3.0, 1.0], [2.0, 1.0, 0.0]],
        [[0.0, 1.0, 5.0], [1.0, 0.0, 2.0], [5.0, 2.0, 0.0]],
        [[1e-3, 2.0, 0.0, 1.0], [2.0, 1.0, 3.0, 0.0], [0.0, 3.0, -1.0, 7.0], [1.0, 0.0, 7.0, 0.5]],
    )
    found = []
    for rows in matrices:
        a = torch.tensor(rows, dtype=torch.float64)
        ld, pivots = torch.linalg.ldl_factor(a)
        found.append(
            (ld, pivots, torch.linalg.ldl_solve(ld, pivots, torch.eye(len(rows), dtype=torch.float64)))
        )
    return found


@program()
def complex_indefinite_matrices_factored(torch: Any) -> Any:
    a = torch.tensor([[1 + 0j, 2j, 0], [-2j, 0, 1 + 1j], [0, 1 - 1j, 3]])
    found = []
    for hermitian in (True, False):
        ld, pivots, info = torch.linalg.ldl_factor_ex(a, hermitian=hermitian)
        b = torch.tensor([[1.0 + 1j], [2j], [-1.0]])
        found.append((ld, pivots, info, torch.linalg.ldl_solve(ld, pivots, b, hermitian=hermitian)))
    return found


@program()
def indefinite_factors_refuse(torch: Any) -> Any:
    linalg, eye = torch.linalg, torch.eye(2, requires_grad=True)
    pivots = torch.tensor([1, 2], dtype=torch.int32)
    solved = linalg.ldl_solve(torch.eye(2), pivots, eye)
    return [
        linalg.ldl_factor_ex(torch.zeros(2, 2)),
        linalg.ldl_factor_ex(torch.zeros(0, 2, 2)),
        attempt("", linalg.ldl_factor, torch.zeros(2, 2)),
        attempt("square matrices", linalg.ldl_factor, torch.ones(2, 3)),
        attempt("Got Long", linalg.ldl_factor, torch.ones(2, 2, dtype=torch.int64)),
        attempt("Incompatible matrix sizes", linalg.ldl_solve, torch.eye(2), pivots, torch.ones(3, 1)),
        attempt("pivots with shape", linalg.ldl_solve, torch.eye(2), pivots[:1], torch.ones(2, 1)),
        linalg.ldl_factor(eye),
        attempt("ldl_factor_ex is not implemented", linalg.ldl_factor(eye).LD.sum().backward),
        attempt("ldl_solve is not implemented", solved.sum().backward),
    ]


# -- attributes, old methods, switches -----------------------------------------------------------------------------


@program()
def norm_of_frobenius(torch: Any) -> Any:
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch calls it deprecated
        y, rows = torch.frobenius_norm(x, [0, 1]), torch.frobenius_norm(x, 1, True)
    return y, rows, torch.autograd.grad(y, x)


@program()
def names_of_types(torch: Any) -> Any:
    return [torch.typename(v) for v in (torch.ones(1), torch.tensor([1]), 3, "a", [1], None, len, Exception)]


@program()
def facts_about_memory(torch: Any) -> Any:
    x = torch.ones(2)
    names = (
        "is_meta is_quantized is_nested is_sparse_csr is_mkldnn is_xpu is_mps is_ipu is_mtia is_vulkan is_xla"
    )
    return [
        [getattr(x, name) for name in names.split()],
        x.layout == torch.strided,
        x.is_pinned(),
        x.is_shared(),
        x.const_data_ptr() == x.data_ptr(),
        attempt("none is available", x.pin_memory),
        attempt("not compiled with CUDA", x.cuda),
    ]


@program()
def python_for_each_element(torch: Any) -> Any:
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
    return [
        x.clone().apply_(lambda v: v * 2),
        x.clone().map_(y, lambda a, b: a + b),
        x.clone().map_(y[:1], lambda a, b: a + b),
        x.clone().map2_(y, y, lambda a, b, c: a + b * c),
        torch.tensor([1, 2]).apply_(lambda v: v + 0.5),
        torch.tensor([True]).apply_(lambda v: not v),
        torch.tensor([1j]).apply_(lambda v: v * 2),
        torch.ones(2, 2)[:, 0].apply_(lambda v: 5),
        attempt("requires grad", x.clone().requires_grad_().apply_, lambda v: v),
        attempt("expected torch.FloatTensor", x.map_, torch.tensor([1]), lambda a, b: a),
        attempt("must be Tensor, not float", x.map_, 3.0, lambda a, b: a),
        attempt("cannot be interpreted", torch.tensor([1]).apply_, lambda v: "a"),
        attempt("not callable", x.apply_, 3),
    ]


@program()
def determinism(torch: Any) -> Any:
    found = [torch.are_deterministic_algorithms_enabled()]
    torch.use_deterministic_algorithms(True, warn_only=True)
    found += [torch.are_deterministic_algorithms_enabled(), torch.get_deterministic_debug_mode()]
    torch.set_deterministic_debug_mode("error")
    found += [torch.get_deterministic_debug_mode(), torch.is_deterministic_algorithms_warn_only_enabled()]
    torch.set_deterministic_debug_mode(0)
    return found, [
        torch.are_deterministic_algorithms_enabled(),
        attempt("invalid value of debug_mode", torch.set_deterministic_debug_mode, "x"),
        attempt("invalid value of debug_mode", torch.set_deterministic_debug_mode, 7),
        attempt("must be str or int", torch.set_deterministic_debug_mode, None),
        attempt("must be bool", torch.use_deterministic_algorithms, 3),
    ]


@program()
def switches(torch: Any) -> Any:
    found = [torch.get_float32_matmul_precision(), torch.get_default_device()]
    torch.set_float32_matmul_precision("high")
    torch.set_default_device("cpu")
    found += [torch.get_float32_matmul_precision(), torch.get_default_device()]
    torch.set_float32_matmul_precision("highest")
    torch.set_default_device(None)
    return found, torch.set_flush_denormal(False), attempt("expects a bool", torch.set_flush_denormal, 1)


@program()
def default_type_by_its_name(torch: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch says once that it is deprecated
        torch.set_default_tensor_type("torch.DoubleTensor")
        found = torch.tensor(1.0), torch.get_default_dtype()
        torch.set_default_tensor_type("torch.FloatTensor")
        return found, attempt("only floating-point", torch.set_default_tensor_type, "torch.LongTensor")


# -- files ---------------------------------------------------------------------------------------------------------


def through_a_file(torch: Any, value: Any, **options: Any) -> Any:
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return torch.load(file, **options)


@program()
def saved_and_loaded(torch: Any) -> Any:
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    value = {
        "leaf": x,
        "turned": x.detach().t(),
        "list": [torch.tensor(3), (1, 2.5, "x", None, True)],
        "ordered": OrderedDict(a=torch.zeros(0, 3), b=torch.tensor([True])),
        "complex": torch.tensor([1j], dtype=torch.complex128),
    }
    return through_a_file(torch, value), through_a_file(torch, x, map_location="cpu", weights_only=True)


@program()
def one_tensor_saved_twice(torch: Any) -> Any:
    x = torch.ones(2)
    first, second = through_a_file(torch, [x, x])
    first[0] = 5.0
    return first, second


class Stranger:
    """A class that no file of weights may name."""


@program(phrase="Weights only load failed")
def strangers_are_refused(torch: Any) -> Any:
    return through_a_file(torch, {"x": Stranger()})


@program()
def strangers_are_loaded_on_demand(torch: Any) -> Any:
    return type(through_a_file(torch, Stranger(), weights_only=False)) is Stranger


@program()
def files_that_are_none(torch: Any) -> Any:
    return [
        attempt("", torch.load, io.BytesIO(b"")),
        attempt("'write'", torch.save, torch.ones(1), 3),
        attempt("No such file", torch.load, "/there/is/no/such/file"),
    ]
