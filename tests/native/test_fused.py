"""Fused kernels against the formulas that they were made from."""

from __future__ import annotations

import importlib
import itertools
import sys

import numpy as np
import pytest

import retrograd as rg
from retrograd.backends.numpy_backend import NUMPY
from retrograd.backends.pack import PACK
from retrograd.core.metadata import InputMetadata
from retrograd.core.node import Edge, Identity
from retrograd.core.op import Binary, Unary, Variadic
from retrograd.core.traits import TRAITS, Traits, name_class, traits_of
from tests.builds import derives_from_ops

KERNELS = {} if PACK is None else PACK.fused_kernels()
pytestmark = pytest.mark.skipif(not KERNELS, reason="the native pack is not built, or without fused kernels")

# Values of parameters, by their names; 0.7 and 2 serve for the rest.
VALUES = {
    "approximate": ("none", "tanh"),
    "eps": (0.1, None),
    "exponent": (2, 3.0, 1, 0, 0.5, -0.5, -1, 4, 1.5, -2.5, 2.7),
    "high": (1, 0.25, None),
    "low": (-0.5, 0, None),
    "max_val": (1.5, 6),
    "min_val": (-1.0, 0),
    "mode": ("floor", "trunc"),
    "noise": (None,),
    "training": (False,),
    "value": (1, 0.3, -2),
    "weight": (0.0, 0.25, 0.5, 0.8, 1),
}
OPS = sorted({key.rpartition(".")[0] for key in KERNELS})
DTYPES = (np.float32, np.float64)


def class_of(name):
    module, _, own = name.rpartition(".")
    cls = getattr(importlib.import_module(f"retrograd.ops.{module}"), own)
    name_class(cls)  # which gives it its kernels
    return cls


def ops_of(name):
    """An op for every choice of parameters."""
    cls = class_of(name)
    for values in itertools.product(*(VALUES.get(param, (0.7, 2)) for param in cls.params)):
        if values and all(v is None for v in values):
            continue
        yield cls(*values)


def placed(op, out):
    """The op as the node of a result, all of whose operands want a gradient."""
    op._meta = InputMetadata(out.shape, out.dtype)
    op.set_next_edges([Edge(Identity(), 0)] * operand_count(op))
    return op


def operand_count(op):
    return 1 if isinstance(op, Unary) else 2 if isinstance(op, Binary) else 3


def special_values(dtype):
    """Numbers of all kinds: signed zeros, infinities, NaN, huge, tiny and below the normal range."""
    info = np.finfo(dtype)
    edges = [info.max, info.max**0.5, info.tiny, info.tiny / 4, info.eps, np.inf]
    values = [0.0, 0.5, 1.0, 2.0, 20.0, 88.0, 1e3, 1e7, *edges]
    return np.array([*values, *(-v for v in values), np.nan], dtype)


def plain_forward(op, xs):
    with np.errstate(all="ignore"):
        return op.forward(NUMPY, xs) if isinstance(op, Variadic) else op.forward(NUMPY, *xs)


def plain_vjp(op, g, xs, out):
    """All gradients by the op's own formula."""
    with np.errstate(all="ignore"):
        if isinstance(op, Variadic):
            return op.vjp([g], xs, [out])
        if isinstance(op, Unary):
            return (op.vjp(g, *xs, out),)
        return tuple(op.vjp(i, g, *xs, out) for i in range(2))


def fused_vjp(op, g, xs, out, wanted=7):
    kernel = traits_of(op).vjp
    if isinstance(op, Unary):
        found = kernel(op, g, *xs, out)
        return found if found is NotImplemented else (found,)
    if isinstance(op, Binary):
        return kernel(op, g, *xs, out, wanted & 3)
    return kernel(op, g, *xs, wanted)


def assert_same(found, expected, scale=1.0):
    assert type(found) is np.ndarray
    expected = np.asarray(expected).astype(found.dtype)
    assert found.shape == expected.shape
    tolerance = 16 * np.finfo(found.dtype).eps
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * scale)


def operands(op, dtype, values):
    """As many arrays as the op has operands, of all combinations of values, and a gradient."""
    grids = np.meshgrid(*[values] * operand_count(op), indexing="ij")
    xs = [np.ascontiguousarray(x.reshape(-1)) for x in grids]
    return np.random.default_rng(7).standard_normal(xs[0].size).astype(dtype), xs


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", ["ordinary", "special"])
@pytest.mark.parametrize("name", OPS)
def test_kernel_computes_what_the_formula_does(name, kind, dtype):
    count = (
        60 if issubclass(class_of(name), Unary) else 7
    )  # more are NumPy's where the C library computes them
    ordinary = (2 * np.random.default_rng(3).standard_normal(count)).astype(dtype)
    values = special_values(dtype) if kind == "special" else ordinary
    served = set()
    for op in ops_of(name):
        g, xs = operands(op, dtype, values)
        out = np.asarray(plain_forward(op, xs)).astype(dtype)
        if f"{name}.forward" in KERNELS:
            found = traits_of(op).forward(op, *xs)
            if found is not NotImplemented:
                served.add("forward")
                assert_same(found, out)
        if f"{name}.vjp" in KERNELS:
            found = fused_vjp(placed(op, out), g, xs, out)
            if found is not NotImplemented:
                served.add("vjp")
                for a, b in zip(found, plain_vjp(op, g, xs, out), strict=True):
                    assert_same(a, b)
    assert served == {method for method in ("forward", "vjp") if f"{name}.{method}" in KERNELS}


# What networks and fits are made of: a formula that stops being fused is noticed here.
EXPECTED = {
    "nn.activation": "Elu Gelu Hardswish LeakyRelu LogSigmoid Mish Relu Silu Softplus",
    "elementwise.arithmetic": "Add Div Mul Neg Reciprocal Rsub Sub",
    "elementwise.power": "Pow PowTensor",
    "elementwise.choose": "Clamp Maximum Minimum",
    "special.erf": "Erf",
    "elementwise.addcmul": "Addcdiv Addcmul Lerp",
    "elementwise.exponential": "Exp Expm1 Log Log1p Rsqrt Sigmoid Sqrt",
    "elementwise.binary": "Logaddexp",
    "elementwise.sign": "Abs",
    "elementwise.trigonometry": "Atan Cos Sin Tanh",
}


@pytest.mark.parametrize("name", [f"{m}.{c}" for m, classes in EXPECTED.items() for c in classes.split()])
def test_common_ops_are_fused(name):
    cls = class_of(name)
    assert f"{name}.forward" in repr(Traits(cls).forward)
    if name != "elementwise.arithmetic.Add":  # whose gradients are g itself
        assert f"{name}.vjp" in repr(Traits(cls).vjp)


# -- layouts -------------------------------------------------------------------------------------------------------


def binary_cases(dtype):
    """Pairs of operands of every layout, and whether the kernel serves them."""
    r = np.random.default_rng(5)

    def new(*shape):
        return np.asarray(r.standard_normal(shape) + 3, dtype)

    wide = new(6, 8)
    return {
        "same": (new(3, 4), new(3, 4), True),
        "row": (new(3, 4), new(4), True),
        "column": (new(3, 4), new(3, 1), True),
        "outer": (new(3, 1), new(1, 4), True),
        "middle": (new(2, 3, 4), new(2, 1, 4), True),
        "scalar": (new(3, 4), new(), True),
        "both 0-d": (new(), new(), True),
        "number": (new(3, 4), 1.5, True),
        "whole number": (2, new(3, 4), True),
        "empty": (new(0, 4), new(4), True),
        "size one": (new(1, 1), new(1), True),
        "many dimensions": (new(2, 1, 3, 1, 2), new(4, 1, 5, 1), True),
        "steps": (wide[::2, ::2], new(3, 4), True),
        "backwards": (new(3, 4)[::-1, ::-1], new(3, 4), True),
        "transposed alike": (new(4, 3).T, new(4, 3).T, True),
        "permuted alike": (new(2, 3, 4).transpose(1, 0, 2), new(2, 3, 4).transpose(1, 0, 2), True),
        "transposed": (new(4, 3).T, new(3, 4), False),
        "transposed with number": (new(4, 3).T, 2.0, True),
        "tiles": (new(5, 700), new(700), True),
        "tile columns": (new(700, 5), new(700, 1), True),
        "threads": (new(300, 400), new(400), True),
        "threads, number": (new(300, 400), 2.5, True),
        "threads, steps": (new(300, 800)[:, ::2], new(300, 400), True),
        "threads, same": (new(300, 400), new(300, 400), True),
    }


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", binary_cases(np.float32))
def test_layouts(case, dtype):
    x, y, served = binary_cases(dtype)[case]
    op = class_of("elementwise.arithmetic.Div")()
    expected = np.asarray(x / y)
    found = traits_of(op).forward(op, x, y)
    assert (found is not NotImplemented) == served
    if not served:
        return
    assert found.strides == expected.strides or 0 in found.shape
    assert found.flags.owndata
    assert found.flags.writeable
    np.testing.assert_array_equal(found, expected)
    g = np.ascontiguousarray(np.random.default_rng(1).standard_normal(expected.shape).astype(dtype))
    if expected.strides != g.strides:
        g = np.copy(expected, order="K")
    gx, gy = plain_vjp(placed(op, expected), g, (x, y), None)
    found_x, found_y = traits_of(op).vjp(op, g, x, y, None, 3)
    np.testing.assert_array_equal(found_x, gx)
    np.testing.assert_array_equal(found_y, gy)
    assert found_x.dtype == found_y.dtype == dtype


def test_only_wanted_gradients_are_computed():
    op = class_of("elementwise.arithmetic.Mul")()
    g, x, y = (np.full(3, v) for v in (2.0, 3.0, 5.0))
    kernel = traits_of(op).vjp
    assert kernel(op, g, None, y, None, 1)[1] is None
    assert kernel(op, g, x, None, None, 2)[0] is None
    np.testing.assert_array_equal(kernel(op, g, None, y, None, 1)[0], 10)
    np.testing.assert_array_equal(kernel(op, g, x, None, None, 2)[1], 6)
    difference = class_of("elementwise.arithmetic.Sub")()
    first, second = traits_of(difference).vjp(difference, g, None, None, None, 3)
    assert first is g
    np.testing.assert_array_equal(second, -2)


# -- what is left to the plain formula -----------------------------------------------------------------------------


class Strange(np.ndarray):
    """An array of another class."""


@pytest.mark.parametrize(
    "x",
    [
        np.ones(3, np.float16),
        np.ones(3, np.complex64),
        np.ones(3, np.int64),
        np.ones(3, bool),
        np.ones(3, ">f8"),
        np.ones(3).view(Strange),
        np.frombuffer(b"\0" * 25, np.uint8)[1:].view(np.float64),
        [1.0],
        "text",
        None,
        1.0,
    ],
    ids=lambda x: f"{type(x).__name__} {getattr(x, 'dtype', x)}",
)
def test_other_operands_are_not_served(x):
    op = class_of("elementwise.trigonometry.Tanh")()
    assert traits_of(op).forward(op, x) is NotImplemented
    assert traits_of(op).vjp(op, np.ones(3), None, x) is NotImplemented or type(x) is float


def test_operands_of_two_dtypes_are_not_served():
    op = class_of("elementwise.arithmetic.Mul")()
    single, double = np.ones(3, np.float32), np.ones(3)
    assert traits_of(op).forward(op, single, double) is NotImplemented
    assert traits_of(op).vjp(op, double, single, double, None, 3) is NotImplemented
    assert traits_of(op).forward(op, single, 2**60 + 1) is NotImplemented
    assert traits_of(op).forward(op, single, np.float64(2)) is NotImplemented
    assert traits_of(op).forward(op, np.ones(3), np.ones(4)) is NotImplemented


@pytest.mark.parametrize("exponent", [1j, np.float64(2), 2**70, None, "2"])
def test_parameters_that_are_no_numbers_are_not_served(exponent):
    op = class_of("elementwise.power.Pow")(exponent)
    assert traits_of(op).vjp(op, np.ones(3), np.ones(3), None) is NotImplemented


@derives_from_ops
def test_classes_derived_from_an_op_keep_their_own_formulas():
    base = class_of("elementwise.trigonometry.Tanh")

    class Steeper(base):
        def slope(self, x, out):
            return 2 * super().slope(x, out)

    op = Steeper()
    assert traits_of(base()).vjp(op, np.ones(3), None, np.ones(3)) is NotImplemented


def test_wrong_calls_are_errors():
    op = class_of("elementwise.trigonometry.Tanh")()
    with pytest.raises(TypeError, match="takes 2 arguments"):
        traits_of(op).forward(op)
    with pytest.raises(TypeError, match="takes 2 arguments"):
        traits_of(op).forward(op, x=np.ones(3))
    with pytest.raises(TypeError, match="op class"):
        traits_of(op).forward.bind(3)


def test_numbers_take_the_dtype_of_the_arrays():
    op = class_of("elementwise.arithmetic.Mul")()
    x = np.full(3, 3, np.float32)
    found = traits_of(op).forward(op, x, 0.1)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, x * 0.1)


def test_no_memory_is_lost():
    op = class_of("elementwise.arithmetic.Mul")()
    kernel = traits_of(op).vjp
    g, x, y = (np.ones(1000) for _ in range(3))
    before = [sys.getrefcount(v) for v in (g, x, y, op, None, NotImplemented)]
    for _ in range(1000):
        kernel(op, g, x, y, None, 3)
        kernel(op, g, None, y, None, 1)
        kernel(op, g, x, np.ones(1000, np.float32), None, 3)
    after = [sys.getrefcount(v) for v in (g, x, y, op, None, NotImplemented)]
    assert all(abs(a - b) < 100 for a, b in zip(after, before, strict=True))


def test_results_do_not_depend_on_the_number_of_threads():
    op = class_of("nn.activation.Gelu")("none")
    x = np.random.default_rng(2).standard_normal(200_001)
    before = rg.get_num_threads()
    found = []
    try:
        for count in (1, 2, 3):
            rg.set_num_threads(count)
            found.append(traits_of(op).forward(op, x))
    finally:
        rg.set_num_threads(before)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


# -- as the graph uses them ----------------------------------------------------------------------------------------


def test_a_graph_computes_the_same_with_and_without_kernels(monkeypatch):
    def gradients():
        x = rg.tensor(np.linspace(-2, 2, 12).reshape(3, 4), requires_grad=True)
        w = rg.tensor(np.linspace(0.5, 1.5, 4), requires_grad=True)
        y = (rg.nn.functional.gelu(x * w) / (1 + (x - w) ** 2)).tanh() + rg.sigmoid(x) ** 1.5 - w.exp() * 0.1
        (first,) = rg.autograd.grad(y.sum(), x, create_graph=True)
        first.sum().backward()
        return [v.detach().numpy() for v in (y, first, x.grad, w.grad)]

    fused = gradients()
    for traits in TRAITS.values():
        for kernel in ("forward", "vjp"):
            monkeypatch.setattr(traits, kernel, None)
    for a, b in zip(fused, gradients(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)
