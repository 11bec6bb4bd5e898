"""Rows of operations that treat each element by itself."""

from __future__ import annotations

from typing import Any

import numpy as np

import retrograd as rg
from tests.devices import fake
from tests.ops.case import Case
from tests.ops.samples import (
    ONE,
    TWO,
    above_one,
    between_integers,
    call_with,
    distinct,
    each,
    inside_unit,
    nonzero,
    positive,
)

fake.install()

NO_ORDER = {"complex": "complex numbers have no order"}
NO_ROUNDING = {"complex": "complex numbers are not rounded"}
MASK = np.array([[True, False, True], [False, False, True]])

ARITHMETIC = (
    Case("add", (*TWO, *each(TWO[:3], {"alpha": 3})), lambda x, y, alpha=1: x + alpha * y),
    Case("add", ONE, lambda x: x + 2.5, form="number", call=lambda x: x + 2.5),
    Case("add", ONE, lambda x: 2.5 + x, form="reflected", call=lambda x: 2.5 + x),
    Case("sub", (*TWO, *each(TWO[:3], {"alpha": 3})), lambda x, y, alpha=1: x - alpha * y),
    Case("sub", ONE, lambda x: x - 2.5, form="number", call=lambda x: x - 2.5),
    Case("rsub", ONE, lambda x: 2.5 - x, form="number", call=lambda x: 2.5 - x),
    Case("rsub", (*TWO, *each(TWO[:2], {"alpha": 3})), lambda x, y, alpha=1: y - alpha * x),
    Case("mul", TWO, np.multiply),
    Case("mul", ONE, lambda x: x * 2.5, form="number", call=lambda x: x * 2.5),
    Case("mul", ONE, lambda x: x * x, form="itself", call=lambda x: x * x),
    Case("div", TWO, np.divide),
    Case("true_divide", TWO, np.divide),
    Case("div", ONE, lambda x: x / 2.5, form="number", call=lambda x: x / 2.5),
    Case(
        "div",
        ONE,
        lambda x: 2.5 / x,
        form="reflected",
        call=lambda x: 2.5 / x,
        excuses={"jvp": "a reciprocal and a product"},
    ),
    Case(
        "div",
        each(TWO[:5], {"rounding_mode": "floor"}, {"rounding_mode": "trunc"}),
        lambda x, y, rounding_mode: (np.floor if rounding_mode == "floor" else np.trunc)(x / y),
        domain=(between_integers, lambda rng, count: np.full(count, 1.0)),
        form="rounded",
        excuses=NO_ROUNDING,
    ),
    Case("reciprocal", ONE, np.reciprocal),
    Case("neg", ONE, np.negative),
    Case("positive", ONE, np.positive, excuses={"jvp": "gives its argument back"}),
    Case("square", ONE, np.square),
    Case(
        "remainder",
        TWO,
        np.remainder,
        domain=(between_integers, lambda rng, n: np.full(n, -1.5)),
        excuses=NO_ORDER,
    ),
    Case("remainder", ONE, lambda x: x % 1.9, form="number", call=lambda x: x % 1.9, excuses=NO_ORDER),
)

POWERS = (
    *(
        Case("pow", ONE, lambda x, e=e: x**e, form=f"to_{e}", call=lambda x, e=e: x**e, domain=domain)
        for e, domain in ((2, nonzero), (3, nonzero), (-1, nonzero), (-2.5, positive), (0.5, positive),
        (1, nonzero))
    ),
    Case("pow", ONE, lambda x: x**0, form="to_0", call=lambda x: x**0),
    Case("pow", TWO, np.power, form="tensors", domain=positive),
    Case("pow", ONE, lambda x: 2.5**x, form="of_number", call=lambda x: 2.5**x),
    Case("pow", ONE, lambda x: 0**x, form="of_zero", call=lambda x: 0**x, domain=positive,
         excuses={"complex": "PyTorch and NumPy disagree about complex powers of zero"}),
    Case("float_power", ONE, lambda x: np.float_power(x, 3), call=lambda x: rg.float_power(x, 3),
         excuses={"float32": "computed in double precision"}),
)  # fmt: skip


def unary(name: str, function: Any, domain: Any = nonzero, **excuses: str) -> Case:
    return Case(name, ONE, function, domain, excuses)


MATH = (
    unary("exp", np.exp),
    unary("exp2", np.exp2),
    unary("expm1", np.expm1),
    unary("log", np.log, positive),
    unary("log2", np.log2, positive),
    unary("log10", np.log10, positive),
    unary("log1p", np.log1p, positive),
    unary("sqrt", np.sqrt, positive),
    unary("rsqrt", lambda x: 1 / np.sqrt(x), positive),
    unary("sin", np.sin),
    unary("cos", np.cos),
    unary("tan", np.tan, inside_unit),
    unary("asin", np.arcsin, inside_unit),
    unary("acos", np.arccos, inside_unit),
    unary("atan", np.arctan),
    unary("sinh", np.sinh),
    unary("cosh", np.cosh),
    unary("tanh", np.tanh),
    unary("asinh", np.arcsinh),
    unary("acosh", np.arccosh, above_one),
    unary("atanh", np.arctanh, inside_unit),
    unary("sigmoid", lambda x: 1 / (1 + np.exp(-x))),
    unary("abs", np.abs),
    unary("sgn", np.sign),
    unary("sign", np.sign, complex="sign() refuses complex numbers; sgn() takes them"),
    unary("angle", np.angle),
    unary("floor", np.floor, between_integers, **NO_ROUNDING),
    unary("ceil", np.ceil, between_integers, **NO_ROUNDING),
    unary("trunc", np.trunc, between_integers, **NO_ROUNDING),
    unary("frac", lambda x: x - np.trunc(x), between_integers, **NO_ROUNDING),
    unary("round", np.round, between_integers, **NO_ROUNDING),
    Case("round", each(ONE[:2], {"decimals": 1}), np.round, lambda rng, n: rng.integers(-9, 9, n) / 10 + 0.03,
         NO_ROUNDING, form="decimals"),
    unary("conj", np.conj, jvp="gives real arguments back"),
    unary("conj_physical", np.conj, jvp="gives real arguments back"),
    Case("Tensor._neg_view", ONE, np.negative, call=lambda x: x._neg_view()),
)  # fmt: skip

CHOICE = (
    Case("where", (call_with((2, 3), (2, 3), args=(MASK,)), call_with((3,), (), args=(MASK,)),
                   call_with((), (2, 1), args=(MASK,)), call_with((0,), (), args=(np.zeros(0, bool),)),
                   call_with((2, 3), (2, 3), args=(MASK,), layout="transposed")),
         lambda x, y, c: np.where(c, x, y), call=lambda x, y, c: rg.where(c, x, y)),
    Case("where", (call_with((2, 3), args=(MASK,)), call_with((), args=(MASK,))),
         lambda x, c: np.where(c, x, 1.5), call=lambda x, c: rg.where(c, x, 1.5), form="number"),
    Case("maximum", TWO, np.maximum, excuses=NO_ORDER),
    Case("minimum", TWO, np.minimum, excuses=NO_ORDER),
    Case("clamp", each(ONE, {"min": -0.75, "max": 0.8}, {"min": 0.1}, {"max": 0.1}),
         lambda x, min=None, max=None: np.clip(x, min, max), distinct, NO_ORDER),
    Case("clamp", (call_with((2, 3), (3,), (2, 1)), call_with((3,), (), ()), call_with((2, 3), (2, 3), (2, 3),
         layout="strided")),
         np.clip, (nonzero, lambda rng, n: np.full(n, -0.6), lambda rng, n: np.full(n, 0.7)), NO_ORDER,
         form="tensors"),
    Case("clamp", TWO, np.maximum, nonzero, NO_ORDER, call=lambda x, y: rg.clamp(x, min=y), form="tensor_below"),
    Case("clamp_min", ONE, lambda x: np.maximum(x, 0.1), excuses=NO_ORDER, call=lambda x: rg.clamp_min(x, 0.1)),
    Case("clamp_max", ONE, lambda x: np.minimum(x, 0.1), excuses=NO_ORDER, call=lambda x: rg.clamp_max(x, 0.1)),
)  # fmt: skip

THREE = (call_with((2, 3), (2, 3), (2, 3)), call_with((2, 3), (3,), (2, 1)), call_with((), (2,), (1,)),
call_with((0,), (0,), (0,)),
         call_with((2, 3), (2, 3), (2, 3), layout="transposed"))  # fmt: skip
FUSED = (
    Case("addcmul", (*THREE, *each(THREE[:2], {"value": 2.5})), lambda x, y, z, value=1: x + value * y * z),
    Case("addcdiv", (*THREE, *each(THREE[:2], {"value": 2.5})), lambda x, y, z, value=1: x + value * y / z),
    Case("lerp", THREE, lambda x, y, w: x + w * (y - x), form="tensor"),
    Case("lerp", each(TWO[:8], {"weight": 0.25}, {"weight": 0.75}), lambda x, y, weight: x + weight * (y - x),
         form="number"),
    Case("fill", each(ONE, {"value": 1.5}), lambda x, value: np.full_like(x, value), form="number"),
    Case("fill", (call_with((2, 3), ()), call_with((0,), ())), lambda x, y: np.full_like(x, y), form="tensor"),
)  # fmt: skip

TO_COMPLEX = {"complex": "made of real numbers", "float32": "gives complex numbers"}
PAIRS_OF_REALS = (call_with((3, 2)), call_with((2,)), call_with((0, 2)))
COMPLEX = (
    Case("complex", TWO[:8], lambda x, y: x + 1j * y, excuses=TO_COMPLEX),
    Case("polar", TWO[:8], lambda x, y: x * np.exp(1j * y), (positive, nonzero), TO_COMPLEX),
    Case("real", ONE, np.real, excuses={"jvp": "gives a real argument back"}),
    Case("imag", ONE, np.imag, excuses={"real": "real numbers have no imaginary part", "jvp": "several nodes"}),
    Case("Tensor.real", ONE, np.real, call=lambda x: x.real, excuses={"jvp": "gives a real argument back"}),
    Case("Tensor.imag", ONE, np.imag, call=lambda x: x.imag,
         excuses={"real": "real numbers have no imaginary part", "jvp": "several nodes"}),
    Case("view_as_real", ONE[:5], lambda x: np.stack([x.real, x.imag], -1),
         excuses={"real": "takes complex numbers"}),
    Case("view_as_complex", PAIRS_OF_REALS, lambda x: x[..., 0] + 1j * x[..., 1], excuses=TO_COMPLEX),
)  # fmt: skip

CONVERSION = (
    unary("clone", np.copy),
    unary("Tensor.contiguous", np.copy, jvp="gives a contiguous argument back"),
    unary("Tensor.double", lambda x: x.astype(float), complex="a complex tensor loses its imaginary part",
          jvp="gives a double argument back", float32="gives doubles"),
    Case("Tensor.to", ONE, lambda x: x.astype("float32"), call=lambda x: x.to(rg.float32),
         excuses={"complex": "a complex tensor loses its imaginary part", "jvp": "gives a float argument back",
                  "numeric": "float32 is too coarse for differences", "float32": "gives floats to doubles"}),
    Case("Tensor.to", ONE, lambda x: x, call=lambda x: x.to("fake:0").to("cpu"), form="another device",
         excuses={"jvp": "two nodes"}),
    Case("Tensor.to", ONE, lambda x: x.astype("complex128"), call=lambda x: x.to(rg.complex128), form="complex",
         excuses={"jvp": "gives a complex argument back", "float32": "gives complex doubles"}),
    Case("Tensor.type_as", ONE, lambda x: x.astype("float64"), call=lambda x: x.type_as(rg.Tensor(np.zeros(1), share=True)),
         excuses={"complex": "a complex tensor loses its imaginary part", "jvp": "gives a double argument back",
                  "float32": "gives doubles"}),
)  # fmt: skip

ELEMENTWISE = (*ARITHMETIC, *POWERS, *MATH, *CHOICE, *FUSED, *COMPLEX, *CONVERSION)
