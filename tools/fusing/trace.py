"""Tracing: runs the formulas of an op class on symbols and keeps what they compute.

What becomes of one method (`forward` or `vjp`) of one class is a `Kernel`: for every kind of parameters (see `CHOICES`)
a tree whose questions are about parameters and whose leaves are the terms of the results.
"""

from __future__ import annotations

import importlib
import itertools
import pkgutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from tools.fusing.symbols import FLOATS, Answers, Course, Number, Symbol, as_float, as_term, called
from tools.fusing.terms import FLOAT, NUMBER, NotFusedError, Term, term

from retrograd.core.families import ElementwiseBinary, ElementwiseUnary
from retrograd.core.metadata import InputMetadata
from retrograd.core.op import OUT, Binary, Op, Unary, Variadic, X, Y

# Families beside ElementwiseUnary and ElementwiseBinary whose formulas are elementwise.
FAMILIES = {
    "nn.activation.Gate", "elementwise.choose.Clamp", "elementwise.choose.ClampMinTensor",
    "elementwise.choose.ClampTensor", "elementwise.choose.Extremum", "elementwise.addcmul.Addcdiv",
    "elementwise.addcmul.Addcmul", "elementwise.addcmul.LerpTensor", "nn.gated.PreluKernel",
    "elementwise.sign.Abs", "elementwise.binary.Fmax",
}  # fmt: skip

# Functions that are one operation for a kernel, though they are long formulas for NumPy.
PRIMITIVES = {"special.erf.erf_array": "erf", "special.erf.erfc_array": "erfc"}

# Parameters that may be something else than a number, and what they may be.
NUMERIC = "a number"
CHOICES: dict[str, tuple[Any, ...]] = {
    "approximate": ("none", "tanh"),
    "eps": (NUMERIC, None),
    "high": (NUMERIC, None),
    "low": (NUMERIC, None),
    "mode": ("floor", "trunc"),
    "noise": (None,),
}
MOST_PATHS = 64  # a formula with more courses than this is not worth a kernel


class Leaf(NamedTuple):
    """The end of a course: the terms of the results, None where the plain formula has to serve."""

    results: tuple[Term, ...] | None


class Fork(NamedTuple):
    """A question about parameters, and where the answers lead."""

    question: Term
    yes: Any
    no: Any


class Case(NamedTuple):
    """A kind of parameters (NUMERIC, or the very value) and the tree for it."""

    values: tuple[Any, ...]
    tree: Any


class Kernel(NamedTuple):
    """What one method of one class computes from its arguments."""

    key: str  # such as `elementwise.trigonometry.Tanh.vjp`
    slots: tuple[str, ...]
    params: tuple[str, ...]
    cases: tuple[Case, ...]


class Library:
    """NumPy as `forward` is given it."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def asarray(self, value: Any) -> Any:
        """Symbols are arrays already, and numbers take the dtype of whom they meet."""
        return value


# -- courses -------------------------------------------------------------------------------------------------------


def courses(compute: Callable[[], tuple[Any, ...]]) -> Any:
    """The tree of what `compute` returns under all answers to its questions."""
    budget = itertools.count()

    def explore(told: tuple[bool, ...]) -> Any:
        if next(budget) > MOST_PATHS:
            raise NotFusedError("too many courses")
        Course.answers = Answers(told)
        try:
            results = tuple(as_float(as_term(v)) for v in compute())
        except NotFusedError:
            results = None
        found: Any = Leaf(results)
        given = Course.answers.given
        for place in range(len(given) - 1, len(told) - 1, -1):
            other = explore((*(answer for _, answer in given[:place]), False))
            found = found if found == other else Fork(given[place][0], found, other)
        return found

    return explore(())


def leaves(tree: Any) -> Iterator[Leaf]:
    """All ends of a tree."""
    if isinstance(tree, Leaf):
        yield tree
    else:
        yield from leaves(tree.yes)
        yield from leaves(tree.no)


# -- classes -------------------------------------------------------------------------------------------------------


def op_classes() -> Iterator[tuple[str, type[Op]]]:
    """Every class of the op library whose formulas are elementwise, as `room.module.Class`."""
    package = importlib.import_module("retrograd.ops")
    for found in pkgutil.walk_packages(package.__path__, "retrograd.ops."):
        module = importlib.import_module(found.name)
        for name, cls in vars(module).items():
            if isinstance(cls, type) and cls.__module__ == module.__name__ and is_elementwise(cls):
                yield f"{found.name.removeprefix('retrograd.ops.')}.{name}", cls


def is_elementwise(cls: type) -> bool:
    """Whether the class belongs to a family whose formulas compute each element by itself."""
    if issubclass(cls, (ElementwiseUnary, ElementwiseBinary)):
        return True
    return any(base in cls.__mro__ for base in map(_named, FAMILIES))


def _named(name: str) -> Any:
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(f"retrograd.ops.{module}"), attribute)


@contextmanager
def primitives() -> Iterator[None]:
    """Lets formulas find the functions of PRIMITIVES as single operations, under whatever name they imported them."""
    replaced = []
    for name, op in PRIMITIVES.items():
        original = _named(name)
        for module in [m for key, m in sys.modules.items() if key.startswith("retrograd.ops.")]:
            for attribute in [a for a, v in vars(module).items() if v is original]:
                replaced.append((module, attribute, original))
                setattr(module, attribute, _primitive(op))
    try:
        yield
    finally:
        for module, attribute, original in replaced:
            setattr(module, attribute, original)


def _primitive(op: str) -> Any:
    def function(x: Any) -> Any:
        return called(op, (x,))

    return function


def cases_of(cls: type[Op]) -> Iterator[tuple[Any, ...]]:
    """Every kind of parameters that the class may have."""
    return itertools.product(*(CHOICES.get(name, (NUMERIC,)) for name in cls.params))


def made(cls: Any, values: tuple[Any, ...]) -> Any:
    """An op with numbers that are not known where its parameters are numbers."""
    op = cls(*(_parameter(i) if v is NUMERIC else v for i, v in enumerate(values)))
    op._meta = InputMetadata((), FLOATS)
    return op


def _parameter(i: int) -> Number:
    return Number(term(NUMBER, "parameter", i))


def operand(slot: int) -> Symbol:
    """The array that a kernel gets as its argument number `slot`."""
    return Symbol(term(FLOAT, "operand", slot))


# -- methods -------------------------------------------------------------------------------------------------------


def arity(cls: type[Op]) -> int:
    """How many operands the op has."""
    return 1 if issubclass(cls, Unary) else 2 if issubclass(cls, Binary) else 3


def forward_of(cls: type[Op], values: tuple[Any, ...]) -> tuple[Any, ...]:
    """What forward computes."""
    op = made(cls, values)
    xs = [operand(i) for i in range(arity(cls))]
    before = dict(vars(op))
    result = op.forward(Library(), xs) if issubclass(cls, Variadic) else op.forward(Library(), *xs)
    if vars(op) != before:
        raise NotFusedError("forward notes something on the op")
    if not as_term(result).leaves("operand"):
        raise NotFusedError("nothing of the operands: numbers that were drawn before, say")
    if any(as_term(result) is x.term for x in xs):
        raise NotFusedError("the operand itself, which NumPy copies")
    return (result,)


def vjp_of(cls: Any, values: tuple[Any, ...]) -> tuple[Any, ...]:
    """What vjp computes, of what the op keeps."""
    op, g, count = made(cls, values), operand(0), arity(cls)
    kept = [operand(1 + i) for i in range(count)]
    if issubclass(cls, Variadic):
        op.needs = lambda _: True
        return tuple(op.vjp([g], kept, []))
    if issubclass(cls, Unary):
        return (op.vjp(g, kept[0] if cls.keeps & X else None, operand(2) if cls.keeps & OUT else None),)
    return tuple(
        op.vjp(
            i,
            g,
            *(
                v if keeps & bit else None
                for v, bit in ((*zip(kept, (X, Y), strict=True), (operand(3), OUT)))
            ),
        )
        for i, keeps in enumerate((cls.keeps0, cls.keeps1))
    )


SLOTS = {
    ("forward", 1): ("x",), ("forward", 2): ("x", "y"), ("forward", 3): ("x", "y", "z"),
    ("vjp", 1): ("g", "x", "out"), ("vjp", 2): ("g", "x", "y", "out"), ("vjp", 3): ("g", "x", "y", "z"),
}  # fmt: skip
METHODS = {"forward": forward_of, "vjp": vjp_of}


def kernel_of(name: str, cls: type[Op], method: str) -> Kernel:
    """The kernel of a method; raises NotFusedError, or whatever the formula raises, where there is none."""
    cases = []
    for values in cases_of(cls):
        tree = courses(lambda values=values: METHODS[method](cls, values))
        if any(useful(leaf) for leaf in leaves(tree)):
            cases.append(Case(values, tree))
    if not cases:
        raise NotFusedError("nothing to compute")
    return Kernel(f"{name}.{method}", SLOTS[method, arity(cls)], cls.params, tuple(cases))


def useful(leaf: Leaf) -> bool:
    """Whether there is something to compute: not g itself, nor a constant."""
    return leaf.results is not None and any(t.op not in {"operand", "filled"} for t in leaf.results)


def kernels() -> tuple[list[Kernel], dict[str, str]]:
    """All kernels, and why the other methods have none."""
    found, reasons = [], {}
    with primitives():
        for name, cls in op_classes():
            for method in METHODS:
                try:
                    found.append(kernel_of(name, cls, method))
                except Exception as error:  # noqa: BLE001 - whatever a formula cannot do with symbols
                    reasons[f"{name}.{method}"] = f"{type(error).__name__}: {error}"
    # A class that lacks a forward is a family, not an op.
    families = {key for key, reason in reasons.items() if reason.startswith("NotImplementedError")}
    return sorted(k for k in found if k.key.replace(".vjp", ".forward") not in families), reasons
