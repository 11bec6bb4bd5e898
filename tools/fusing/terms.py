"""Terms: what a formula computes, as a graph of small operations that become one line of C++ each."""

from __future__ import annotations

from typing import Any

FLOAT, MASK, NUMBER, TRUTH = (
    "float",
    "mask",
    "number",
    "truth",
)  # elements, booleans of elements, and single ones


class NotFusedError(Exception):
    """A formula does something that one pass over the elements cannot."""


class Term:
    """An operation and its arguments: terms, or, in leaves, names and constants. Equal terms are one object."""

    made: dict[Any, Term] = {}

    def __init__(self, kind: str, op: str, args: tuple[Any, ...]) -> None:
        self.kind, self.op, self.args = kind, op, args

    @property
    def operands(self) -> tuple[Term, ...]:
        """The terms among the arguments."""
        return tuple(a for a in self.args if isinstance(a, Term))

    def leaves(self, op: str) -> set[Any]:
        """The arguments of all leaves of one sort below this term."""
        found, seen, left = set(), set(), [self]
        while left:
            term = left.pop()
            if term in seen:
                continue
            seen.add(term)
            if term.op == op:
                found.add(term.args[0])
            left.extend(term.operands)
        return found

    def operations(self) -> set[str]:
        """The names of all operations in this term."""
        return {self.op}.union(*(t.operations() for t in self.operands))

    def __repr__(self) -> str:
        return f"{self.op}({', '.join(map(repr, self.args))})"


def term(kind: str, op: str, *args: Any) -> Term:
    """The one term of these parts."""
    key = (kind, op, *((type(a), repr(a)) if isinstance(a, (int, float, str)) else a for a in args))
    if key not in Term.made:
        Term.made[key] = Term(kind, op, args)
    return Term.made[key]


def constant(value: Any) -> Term:
    """A number that is written in the formula."""
    return term(TRUTH, "truth", value) if isinstance(value, bool) else term(NUMBER, "constant", float(value))


def is_constant(t: Term, value: float) -> bool:
    """Whether a term is this very number."""
    return t.op == "constant" and bool(t.args[0] == value)
