"""The dtype of a result, for every pair of dtypes and every kind of operand, compared with PyTorch."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import retrograd as rg

DTYPES = [
    "bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64",
    "float16", "float32", "float64", "complex64", "complex128",
]  # fmt: skip
COMMON = [d for d in DTYPES if d not in ("uint16", "uint32", "uint64")]
NUMBERS = [True, 1, 1.5, 1 + 1j]


def half_complex(a: Any, b: Any) -> bool:
    """Whether PyTorch's answer may be complex32, which NumPy does not have."""
    return "float16" in (a, b) and any(isinstance(v, complex) or str(v).startswith("complex") for v in (a, b))


PAIRS = [p for p in itertools.product(COMMON, COMMON) if not half_complex(*p)]
WITH_NUMBERS = [p for p in itertools.product(COMMON, NUMBERS) if not half_complex(*p)]


def dtype_or_error(act: Any) -> str:
    """The name of the dtype, or of the exception's base type."""
    try:
        found = act()
    except (RuntimeError, TypeError) as error:
        return "RuntimeError" if isinstance(error, RuntimeError) else "TypeError"
    if isinstance(found, bool):
        return str(found)
    return str(found).removeprefix("torch.")


def compare(torch: Any, ours: Any, theirs: Any, pairs: Any) -> None:
    wrong = []
    for pair in pairs:
        found, wanted = dtype_or_error(lambda p=pair: ours(*p)), dtype_or_error(lambda p=pair: theirs(*p))
        if found != wanted:
            wrong.append(f"{pair}: {found}, PyTorch says {wanted}")
    assert not wrong, "\n".join(wrong)


def operand(lib: Any, dtype: str, shape: tuple[int, ...]) -> Any:
    array = np.ones(shape, dtype)
    return rg.Tensor(array, share=True) if lib is rg else lib.from_numpy(array)


@pytest.mark.parametrize("name", ["promote_types", "can_cast"])
def test_dtypes(torch, name):
    def named(lib: Any) -> Any:
        return lambda a, b: getattr(lib, name)(getattr(lib, a), getattr(lib, b))

    compare(torch, named(rg), named(torch), itertools.product(DTYPES, DTYPES))


@pytest.mark.parametrize("shapes", [((2,), (2,)), ((2,), ()), ((), (2,)), ((), ()), ((1,), ())], ids=str)
def test_two_tensors(torch, shapes):
    def added(lib: Any) -> Any:
        return lambda a, b: (operand(lib, a, shapes[0]) + operand(lib, b, shapes[1])).dtype

    compare(torch, added(rg), added(torch), PAIRS)


@pytest.mark.parametrize("shape", [(2,), ()], ids=str)
@pytest.mark.parametrize("default", ["float32", "float64"])
def test_a_tensor_and_a_python_number(torch, shape, default):
    def added(lib: Any) -> Any:
        return lambda a, number: (operand(lib, a, shape) + number).dtype

    rg.set_default_dtype(rg.float64 if default == "float64" else rg.float32)
    before = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, default))
    try:
        compare(torch, added(rg), added(torch), WITH_NUMBERS)
    finally:
        torch.set_default_dtype(before)


OPERATIONS = {
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "pow": lambda a, b: a**b,
    "eq": lambda a, b: a == b,
    "lt": lambda a, b: a < b,
    "and": lambda a, b: a & b,
}


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("shapes", [((2,), (2,)), ((2,), ()), ((), (2,))], ids=str)
def test_operators(torch, name, shapes):
    def applied(lib: Any) -> Any:
        return lambda a, b: OPERATIONS[name](operand(lib, a, shapes[0]), operand(lib, b, shapes[1])).dtype

    compare(torch, applied(rg), applied(torch), PAIRS)


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("side", ["right", "left"])
def test_operators_with_numbers(torch, name, side):
    def applied(lib: Any) -> Any:
        def act(a: str, number: Any) -> Any:
            t = operand(lib, a, (2,))
            return (OPERATIONS[name](t, number) if side == "right" else OPERATIONS[name](number, t)).dtype

        return act

    compare(torch, applied(rg), applied(torch), WITH_NUMBERS)


@pytest.mark.parametrize("name", ["add_", "mul_", "div_"])
def test_in_place_results_must_fit(torch, name):
    def applied(lib: Any) -> Any:
        return lambda a, b: getattr(operand(lib, a, (2,)), name)(operand(lib, b, (2,))).dtype

    compare(torch, applied(rg), applied(torch), PAIRS)


@pytest.mark.parametrize(
    "name", ["exp", "sqrt", "sigmoid", "neg", "abs", "sum", "mean", "square", "floor", "sign"]
)
def test_functions_of_one_tensor(torch, name):
    def applied(lib: Any) -> Any:
        return lambda a: getattr(lib, name)(operand(lib, a, (2,))).dtype

    compare(torch, applied(rg), applied(torch), [(d,) for d in COMMON])


@pytest.mark.parametrize(
    "pair", [("float32", "float64"), ("float16", "float32"), ("float32", "complex64")], ids=str
)
def test_gradients_come_back_in_the_operands_dtype(pair):
    a, b = (rg.Tensor(np.ones(2, d), share=True).requires_grad_() for d in pair)
    c = a * b
    c.sum().abs().backward()
    assert (a.grad.dtype, b.grad.dtype) == (a.dtype, b.dtype)


def test_result_type_counts_kinds_of_operand(torch):
    def applied(lib: Any) -> Any:
        return lambda a, b: lib.result_type(operand(lib, a, (2,)), operand(lib, b, ()))

    compare(torch, applied(rg), applied(torch), PAIRS)
