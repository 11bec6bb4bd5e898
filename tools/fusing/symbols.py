"""Symbols: stand-ins for arrays and numbers that formulas compute with, and that remember what was computed.

A `Symbol` stands for a float array or a mask (an array of booleans), a `Number` for a parameter of the op. Both answer
to operators and to NumPy's functions. A formula that asks a Number a question (`if self.alpha == 1`) is traced once for
either answer; one that asks an array has no fixed course and is not fused.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from tools.fusing.terms import FLOAT, MASK, NUMBER, TRUTH, NotFusedError, Term, constant, term


class FloatType:
    """The dtype of a Symbol: some floating point type, which is the kernel's template parameter."""

    kind = "f"
    itemsize = 8

    def type(self, value: Any) -> Any:
        """A number of this dtype: scalars of formulas have the dtype of the arrays they meet."""
        return value


FLOATS = FloatType()
BOOLS = np.dtype(bool)

# NumPy's functions with a kernel function of one line, by the name they have there.
UNARY = {
    "negative": "neg", "absolute": "abs", "fabs": "abs", "sqrt": "sqrt", "exp": "exp", "exp2": "exp2",
    "expm1": "expm1", "log": "log", "log2": "log2", "log10": "log10", "log1p": "log1p", "sin": "sin", "cos": "cos",
    "tan": "tan", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "sinh": "sinh", "cosh": "cosh",
    "tanh": "tanh", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh", "floor": "floor", "ceil": "ceil",
    "trunc": "trunc", "rint": "rint", "reciprocal": "reciprocal", "square": "square", "erf": "erf", "erfc": "erfc",
}  # fmt: skip
BINARY = {
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "div", "power": "pow", "float_power": "pow",
    "maximum": "maximum", "minimum": "minimum", "fmax": "fmax", "fmin": "fmin", "logaddexp": "logaddexp",
    "arctan2": "atan2", "hypot": "hypot", "copysign": "copysign",
}  # fmt: skip
COMPARISONS = {
    "less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge", "equal": "eq", "not_equal": "ne",
}  # fmt: skip
LOGIC = {"bitwise_and": "and", "bitwise_or": "or", "logical_and": "and", "logical_or": "or"}
INVERSIONS = {"invert", "logical_not"}
QUICK_POWERS = {2.0: "square", 1.0: "copy", 0.0: "one", 0.5: "sqrt", -1.0: "reciprocal", 3.0: "cube"}


class Answers:
    """What is answered to a formula's questions about numbers: first as told, then yes."""

    def __init__(self, told: tuple[bool, ...]) -> None:
        self.told = told
        self.given: list[tuple[Term, bool]] = []

    def answer(self, question: Term) -> bool:
        """The answer to a question, the same as before if it was asked before."""
        for asked, given in self.given:
            if asked is question:
                return given
        place = len(self.given)
        given = self.told[place] if place < len(self.told) else True
        self.given.append((question, given))
        return given


class Course:
    """The course that the tracing at hand takes."""

    answers = Answers(())


def as_term(value: Any) -> Term:
    """The term behind a symbol, a number, or what NumPy wraps around one."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if isinstance(value, (Symbol, Number)):
        return value.term
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (bool, int, float)):
        return constant(value)
    raise NotFusedError(f"a value of {type(value).__name__}")


def wrapped(t: Term) -> Any:
    """The symbol of a term."""
    return Number(t) if t.kind in {NUMBER, TRUTH} else Symbol(t)


def as_float(t: Term) -> Term:
    """A mask as ones and zeros, anything else as it is."""
    if t.kind not in {MASK, TRUTH}:
        return t
    kind = FLOAT if t.kind == MASK else NUMBER
    return term(kind, "choose", t, constant(1.0), constant(0.0))


def as_mask(t: Term) -> Term:
    """A truth or a mask as it is; anything else is true where it is not 0."""
    if t.kind in {MASK, TRUTH}:
        return t
    return term(MASK if t.kind == FLOAT else TRUTH, "ne", t, constant(0.0))


def computed(op: str, *operands: Term) -> Any:
    """An arithmetic operation; it is one of arrays if an operand is an array."""
    terms = [as_float(t) for t in operands]
    kind = FLOAT if any(t.kind == FLOAT for t in terms) else NUMBER
    if op == "exp" and (root := _root_of_minus_square(terms[0])) is not None:
        op, terms = "gauss", [root]
    if kind == NUMBER and op in {"div", "reciprocal"} and not compared("ne", terms[-1], constant(0.0)):
        raise NotFusedError("a division of numbers by zero, which Python refuses")
    return wrapped(term(kind, op, *terms))


def _root_of_minus_square(t: Term) -> Term | None:
    """x, if a term is -(x * x): the exponential of that is also what the error function is made of."""
    if t.op != "neg" or t.kind != FLOAT or t.args[0].op != "mul":
        return None
    first, second = t.args[0].args
    return first if first is second else None


def compared(op: str, x: Term, y: Term) -> Any:
    """A comparison; of two known numbers it is known."""
    terms = [as_float(t) for t in (x, y)]
    if all(t.op == "constant" for t in terms):
        return wrapped(constant(bool(getattr(operator, op)(terms[0].args[0], terms[1].args[0]))))
    return wrapped(term(MASK if any(t.kind == FLOAT for t in terms) else TRUTH, op, *terms))


def decided(op: str, *operands: Term) -> Any:
    """A logical operation."""
    terms = [as_mask(t) for t in operands]
    return wrapped(term(MASK if any(t.kind == MASK for t in terms) else TRUTH, op, *terms))


def chosen(condition: Any, x: Any, y: Any) -> Any:
    """`np.where`."""
    mask, terms = as_mask(as_term(condition)), [as_term(v) for v in (x, y)]
    if all(t.kind in {MASK, TRUTH} for t in terms):
        raise NotFusedError("a choice between masks")
    if mask.op == "truth":
        return wrapped(as_float(terms[0 if mask.args[0] else 1]))
    kind = (
        FLOAT if MASK in {mask.kind, *(t.kind for t in terms)} or FLOAT in {t.kind for t in terms} else NUMBER
    )
    return wrapped(term(kind, "choose", mask, *(as_float(t) for t in terms)))


def raised(x: Term, y: Term) -> Any:
    """`x ** y`; powers by a number that have a faster way take it, as in NumPy."""
    if y.kind == FLOAT:
        return computed("pow", x, y)
    for exponent, op in QUICK_POWERS.items():
        if compared("eq", y, constant(exponent)):
            return wrapped(x) if op == "copy" else filled(x, 1.0) if op == "one" else computed(op, x)
    return computed("pow", x, y)


def below_one(t: Term) -> bool:
    """Whether a term is exp(-|x|), and so in [0, 1], where some functions are quicker."""
    return [t.op, *(u.op for u in t.operands), *(v.op for u in t.operands for v in u.operands)] == [
        "exp",
        "neg",
        "abs",
    ]


def called(name: str, inputs: tuple[Any, ...]) -> Any:
    """A NumPy function of elements, by its name."""
    terms = [as_term(v) for v in inputs]
    if name == "log1p" and below_one(terms[0]):
        return computed("log1p_unit", *terms)
    if name in UNARY:
        return computed(UNARY[name], *terms)
    if name in {"power", "float_power"}:
        return raised(*(as_float(t) for t in terms))
    if name in BINARY:
        return computed(BINARY[name], *terms)
    if name in COMPARISONS:
        return compared(COMPARISONS[name], *terms)
    if name in LOGIC:
        return decided(LOGIC[name], *terms)
    if name in INVERSIONS and terms[0].kind in {MASK, TRUTH}:
        return decided("not", *terms)
    if name == "isnan":
        return compared("ne", terms[0], terms[0])
    if name in {"conjugate", "positive"}:
        return wrapped(terms[0])
    raise NotFusedError(f"np.{name}")


class Traced:
    """What arrays and numbers have in common: operators, and being an argument of NumPy's functions."""

    def __init__(self, t: Term) -> None:
        self.term = t

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method != "__call__" or kwargs:
            raise NotFusedError(f"np.{ufunc.__name__} with {method} or keywords")
        return called(ufunc.__name__, inputs)

    def __neg__(self) -> Any:
        return called("negative", (self,))

    def __abs__(self) -> Any:
        return called("absolute", (self,))

    def __invert__(self) -> Any:
        return called("invert", (self,))

    def conj(self) -> Any:
        """Real numbers are their own conjugates."""
        return self

    def conjugate(self) -> Any:
        """Real numbers are their own conjugates."""
        return self

    @property
    def real(self) -> Any:
        """All of it."""
        return self


def _forwards(name: str) -> Any:
    def method(self: Traced, other: Any) -> Any:
        return called(name, (self, other))

    return method


def _backwards(name: str) -> Any:
    def method(self: Traced, other: Any) -> Any:
        return called(name, (other, self))

    return method


OPERATORS = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "pow": "power", "and": "bitwise_and",
    "or": "bitwise_or",
}  # fmt: skip
ORDER = {
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "eq": "equal",
    "ne": "not_equal",
}
for _name, _function in OPERATORS.items():
    setattr(Traced, f"__{_name}__", _forwards(_function))
    setattr(Traced, f"__r{_name}__", _backwards(_function))
for _name, _function in ORDER.items():
    setattr(Traced, f"__{_name}__", _forwards(_function))
Traced.__hash__ = None  # type: ignore[assignment]


class Number(Traced):
    """A Python number that is not known yet."""

    def __bool__(self) -> bool:
        question = as_mask(self.term)
        return bool(question.args[0]) if question.op == "truth" else Course.answers.answer(question)

    def item(self) -> Number:
        """The number itself."""
        return self

    def astype(self, dtype: Any) -> Number:
        """The number itself: it takes the dtype of whom it meets."""
        return self


class Symbol(Traced):
    """An array of floats, or of booleans, none of which is known."""

    @property
    def dtype(self) -> Any:
        """Floats or booleans."""
        return BOOLS if self.term.kind == MASK else FLOATS

    def astype(self, dtype: Any, copy: bool = True) -> Any:
        """The elements in another dtype."""
        if dtype is BOOLS or dtype is bool:
            return wrapped(as_mask(self.term))
        if dtype is not FLOATS:
            raise NotFusedError(f"a conversion to {dtype}")
        return wrapped(as_float(self.term))

    def copy(self) -> Any:
        """The elements once more."""
        return self

    def __bool__(self) -> bool:
        raise NotFusedError("a question about elements")

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        name = function.__name__
        if name == "where" and len(args) == 3:
            return chosen(*args)
        if name in FILLED and not kwargs:
            return FILLED[name](*args)
        raise NotFusedError(f"np.{name}")


def filled(like: Any, value: Any) -> Any:
    """An array that has one value everywhere."""
    return wrapped(term(FLOAT, "filled", as_float(as_term(value))))


FILLED = {
    "zeros_like": lambda x: filled(x, 0.0),
    "ones_like": lambda x: filled(x, 1.0),
    "full_like": filled,
}
