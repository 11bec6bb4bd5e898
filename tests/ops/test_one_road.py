"""Every form of an operation goes one road: operator, function, method and in-place form agree, also with PyTorch.

For all pairs of dtypes, for numbers of Python's and NumPy's, and with and without a gradient in the play: the same
values, the same dtype and the same kind of error.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import retrograd as rg

torch = pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")


class Row(NamedTuple):
    """An operation and the names of its forms."""

    function: str
    operator: Callable[[Any, Any], Any]
    augmented: Callable[[Any, Any], Any] | None = None


ROWS = (
    Row("add", operator.add, operator.iadd),
    Row("sub", operator.sub, operator.isub),
    Row("mul", operator.mul, operator.imul),
    Row("div", operator.truediv, operator.itruediv),
    Row("floor_divide", operator.floordiv, operator.ifloordiv),
    Row("remainder", operator.mod, operator.imod),
    Row("pow", operator.pow, operator.ipow),
    Row("bitwise_and", operator.and_, operator.iand),
    Row("bitwise_or", operator.or_, operator.ior),
    Row("bitwise_xor", operator.xor, operator.ixor),
    Row("bitwise_left_shift", operator.lshift, operator.ilshift),
    Row("bitwise_right_shift", operator.rshift, operator.irshift),
    Row("eq", operator.eq),
    Row("ne", operator.ne),
    Row("lt", operator.lt),
    Row("le", operator.le),
    Row("gt", operator.gt),
    Row("ge", operator.ge),
)

DTYPES = ("bool", "uint8", "int32", "int64", "float32", "float64", "complex64")
LEFT = {"bool": [True, False, True], "uint8": [7, 2, 3]}
RIGHT = {"bool": [True, True, False], "uint8": [1, 2, 3]}
DIFFERENTIABLE = DTYPES[4:]
NO_DERIVATIVE = "torch::autograd::NotImplemented"
NUMBERS = (True, 2, 2.5, 1 + 2j, np.int64(2), np.float32(2.5), np.float64(0.5))


class Made(NamedTuple):
    """What became of a call: a result, or an error."""

    values: Any
    dtype: str
    error: type | None
    text: str = ""
    node: str = ""


def made(call: Callable[[], Any]) -> Made:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            out = call()
        except Exception as error:
            return Made(None, "", type(error), str(error))
    if out is NotImplemented or isinstance(out, bool | np.ndarray):
        return Made(None, "", TypeError, "not an operation of tensors")
    node = "" if out.grad_fn is None else out.grad_fn.name()
    return Made(out.detach().numpy(), str(out.dtype).removeprefix("torch."), None, node=node)


def agree(a: Made, b: Made) -> bool:
    """Whether two outcomes are the same; of errors, whether `a` is of a kind of `b`."""
    if a.error or b.error:
        return bool(a.error and b.error and issubclass(a.error, b.error))
    return a.dtype == b.dtype and bool(np.allclose(a.values, b.values, equal_nan=True))


def tensors(lib: Any, dtype: str, values: dict[str, Any], zero_dim: bool, tracked: bool) -> Any:
    given = values.get(dtype, [-7, 2, 3] if values is LEFT else [2, 2, 3])
    made = lib.tensor(given[0] if zero_dim else given, dtype=getattr(lib, dtype))
    return made.requires_grad_() if tracked else made


def pairs(lib: Any) -> Iterator[tuple[str, Callable[[], tuple[Any, Any]]]]:
    """Operands: what to call them, and how to make them anew."""
    for a in DTYPES:
        for tracked in (False, True) if a in ("float32", "float64", "complex64") else (False,):
            for b in DTYPES:
                for zero in (False, True):
                    for other in (False, True) if b in ("float32", "complex64") else (False,):
                        yield (
                            f"{a}{'*' * tracked} and {'0-dim ' * zero}{b}{'*' * other}",
                            lambda a=a, b=b, t=tracked, o=other, z=zero: (
                                tensors(lib, a, LEFT, False, t), tensors(lib, b, RIGHT, z, o),
                            ),
                        )  # fmt: skip
            for number in NUMBERS:
                yield (
                    f"{a}{'*' * tracked} and {number!r}",
                    lambda a=a, n=number, t=tracked: (tensors(lib, a, LEFT, False, t), n),
                )


def forms(lib: Any, row: Row, operands: Callable[[], tuple[Any, Any]]) -> dict[str, Made]:
    """What each form makes of the operands."""

    def written(form: Callable[[Any, Any], Any]) -> Any:
        x, y = operands()
        return form(x.clone() if x.requires_grad else x, y)

    name = row.function
    found = {
        "operator": made(lambda: row.operator(*operands())),
        "function": made(lambda: getattr(lib, name)(*operands())),
        "method": made(lambda: getattr(operands()[0], name)(operands()[1])),
        "in place": made(lambda: written(lambda x, y: getattr(x, f"{name}_")(y))),
    }
    if row.augmented is not None:
        augmented = row.augmented
        found["augmented"] = made(lambda: written(augmented))
    return found


every_row = pytest.mark.parametrize("row", ROWS, ids=[row.function for row in ROWS])


def same_node(ours: Made, theirs: Made) -> bool:
    """Whether nodes have one name but for its number.

    Integers have none here, whatever PyTorch records; and what it does not differentiate, we may.
    """
    if ours.dtype not in DIFFERENTIABLE or theirs.node == NO_DERIVATIVE:
        return True
    return ours.node.rstrip("0123456789") == theirs.node.rstrip("0123456789")


def differences(about: str, ours: dict[str, Made], theirs: dict[str, Made]) -> Iterator[str]:
    for form, found in ours.items():
        wanted = theirs[form]
        if not (agree(found, wanted) and same_node(found, wanted)):
            yield f"{about}, {form}: {found} here, {wanted} in PyTorch"


def refuse(wrong: list[str]) -> None:
    assert not wrong, f"{len(wrong)} differences:\n" + "\n".join(wrong[:40])


@every_row
def test_all_forms_do_what_they_do_in_pytorch(row):
    theirs = dict(pairs(torch))
    wrong: list[str] = []
    for about, operands in pairs(rg):
        wrong += differences(about, forms(rg, row, operands), forms(torch, row, theirs[about]))
    refuse(wrong)


# ---- a number or an array on the left -----------------------------------------------------------------------------


@every_row
def test_reflected_operators_do_what_they_do_in_pytorch(row):
    def reflected(lib: Any, number: Any, dtype: str, tracked: bool) -> dict[str, Made]:
        x = tensors(lib, dtype, RIGHT, False, tracked)
        calls = {"operator": row.operator, "function": getattr(lib, row.function)}
        return {form: made(lambda call=call: call(number, x)) for form, call in calls.items()}

    wrong: list[str] = []
    for number in (True, 2, 2.5, 1 + 2j):
        for dtype in DTYPES:
            for tracked in (False, True) if dtype in DIFFERENTIABLE else (False,):
                about = f"{number} and {dtype}{'*' * tracked}"
                ours, theirs = (reflected(lib, number, dtype, tracked) for lib in (rg, torch))
                wrong += differences(about, ours, theirs)
    refuse(wrong)


@every_row
def test_an_array_is_as_good_as_a_tensor(row):
    wrong: list[str] = []
    for a in DTYPES:
        for b in DTYPES:
            x = tensors(rg, a, LEFT, False, False)
            y = tensors(rg, b, RIGHT, False, False)
            for about, call in {
                "x . array": lambda y: row.operator(x, y),
                "array . x": lambda y: row.operator(y, x),
                "function": lambda y: getattr(rg, row.function)(x, y),
            }.items():
                found, wanted = made(lambda call=call: call(y.numpy())), made(lambda call=call: call(y))
                if not agree(found, wanted):
                    wrong.append(f"{a} and {b}, {about}: {found} of an array, {wanted} of a tensor")
    refuse(wrong)


def test_a_bool_of_numpys_is_a_bool_in_every_form():
    # PyTorch takes it for a float.
    for row in ROWS[:1] + ROWS[2:]:  # but a bool is not subtracted
        for dtype in DTYPES:
            x = tensors(rg, dtype, LEFT, False, False)
            given = forms(rg, row, lambda x=x: (x.clone(), np.bool_(True)))
            plain = forms(rg, row, lambda x=x: (x.clone(), True))
            assert [form for form in given if not agree(given[form], plain[form])] == []


# ---- matrices -----------------------------------------------------------------------------------------------------


def test_the_product_of_matrices_is_one_in_every_form():
    def products(lib: Any, a: str, b: str, tracked: bool) -> dict[str, Made]:
        def operands() -> tuple[Any, Any]:
            x = lib.tensor([[1, 0], [1, 1]], dtype=getattr(lib, a))
            y = lib.tensor([[0, 1], [1, 1]], dtype=getattr(lib, b))
            return (x.requires_grad_() if tracked else x), y

        return {
            "operator": made(lambda: operator.matmul(*operands())),
            "function": made(lambda: lib.matmul(*operands())),
            "method": made(lambda: operands()[0].matmul(operands()[1])),
            "augmented": made(lambda: operator.imatmul(*operands())),
            "reflected": made(lambda: operands()[1].__rmatmul__(operands()[0])),
            "with a number": made(lambda: operands()[0] @ 2),
        }

    wrong: list[str] = []
    for a in DTYPES:
        for tracked in (False, True) if a in DIFFERENTIABLE else (False,):
            for b in DTYPES:
                about = f"{a}{'*' * tracked} and {b}"
                wrong += differences(about, *(products(lib, a, b, tracked) for lib in (rg, torch)))
    refuse(wrong)


# ---- one operand --------------------------------------------------------------------------------------------------

UNARY = {"neg": operator.neg, "abs": operator.abs, "bitwise_not": operator.invert, "positive": operator.pos}


@pytest.mark.parametrize("name", UNARY)
def test_forms_of_one_operand_do_what_they_do_in_pytorch(name):
    def all_forms(lib: Any, dtype: str, tracked: bool) -> dict[str, Made]:
        def x() -> Any:
            return tensors(lib, dtype, LEFT, False, tracked)

        found = {
            "operator": made(lambda: UNARY[name](x())),
            "function": made(lambda: getattr(lib, name)(x())),
            "method": made(lambda: getattr(x(), name)()),
        }
        if name != "positive":
            found["in place"] = made(lambda: getattr(x().clone(), f"{name}_")())
        return found

    wrong: list[str] = []
    for dtype in DTYPES:
        for tracked in (False, True) if dtype in DIFFERENTIABLE else (False,):
            wrong += differences(dtype, *(all_forms(lib, dtype, tracked) for lib in (rg, torch)))
    refuse(wrong)


# ---- writes with a road of their own ------------------------------------------------------------------------------

MORE = {
    "add": [{"alpha": 2}, {"alpha": 2.5}, {"alpha": True}, {"alpha": 1j}, {"alpha": 1e300}],
    "sub": [{"alpha": 2}, {"alpha": 2.5}, {"alpha": True}, {"alpha": 1j}, {"alpha": 1e300}],
    "div": [{"rounding_mode": "floor"}, {"rounding_mode": "trunc"}, {"rounding_mode": "up"}],
    "addcmul": [{}, {"value": 2}, {"value": 2.5}, {"value": True}, {"value": 1j}, {"value": 1e300}],
    "addcdiv": [{}, {"value": 2}, {"value": 2.5}, {"value": True}, {"value": 1j}, {"value": 1e300}],
    "lerp": [0.25, 0.75, 1, True, 1j, 1e300],
}


@pytest.mark.parametrize("name", MORE)
def test_more_arguments_do_what_they_do_in_pytorch(name):
    def both(lib: Any, a: str, b: str, tracked: bool, more: Any) -> dict[str, Made]:
        def call(form: str) -> Any:
            x, y = tensors(lib, a, LEFT, False, tracked), tensors(lib, b, RIGHT, False, False)
            rest = (y, y) if name.startswith("addc") else (y,)
            x = x.clone() if form.endswith("_") else x
            return getattr(x, form)(*rest, **more) if isinstance(more, dict) else getattr(x, form)(y, more)

        return {form: made(lambda form=form: call(form)) for form in (name, f"{name}_")}

    wrong: list[str] = []
    for more in MORE[name]:
        for a in DTYPES:
            for tracked in (False, True) if a in DIFFERENTIABLE else (False,):
                for b in DTYPES:
                    about = f"{a}{'*' * tracked} and {b} with {more}"
                    wrong += differences(about, *(both(lib, a, b, tracked, more) for lib in (rg, torch)))
    refuse(wrong)
