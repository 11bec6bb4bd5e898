"""Writing: kernels as C++, one function per loop and tables that say which loop serves what.

`fused_loops.inc` is compiled once per instruction set (native/versions.h): functions of a template type T, each one
pass over arrays. `fused_table.inc` lists kernels; `native/fused.h` has the structures. Equal loops are written once.
"""

from __future__ import annotations

import math
from typing import Any

from tools.fusing.terms import FLOAT, MASK, NUMBER, Term
from tools.fusing.trace import NUMERIC, Case, Fork, Kernel, Leaf

INFIX = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==",
    "ne": "!=", "and": "&", "or": "|",
}  # fmt: skip
ITSELF, UNSERVED = -1, -2  # as in native/fused.h: g is the result; the plain formula has to serve

HEAD = (
    "// Written by tools/fuse.py from the formulas of the op library, when the pack is built. Do not edit.\n"
)


def literal(value: float) -> str:
    """A double as C++ reads it back to the last bit."""
    if math.isnan(value):
        return "NOT_A_NUMBER"
    if math.isinf(value):
        return "INFINITE" if value > 0 else "-INFINITE"
    return repr(float(value))


# -- loops ---------------------------------------------------------------------------------------------------------


class Loop:
    """The text of one pass that computes some terms.

    Some functions are cheaper where none of their arguments is odd: infinite, say, or beyond a limit. A pass looks at
    these arguments first, a stretch at a time, and computes the stretch with ODD or without. `plain` passes do not.
    """

    def __init__(self, results: tuple[Term, ...], plain: bool = False) -> None:
        self.plain = plain
        self.names: dict[Term, str] = {}
        self.before: list[str] = []  # what is computed once, of numbers
        self.inside: list[str] = []  # what is computed for each element
        self.slots = sorted(set().union(*(t.leaves("operand") for t in results)))
        values = [self.element(t) for t in results]
        self.inside += [f"o{k}[i] = {value};" for k, value in enumerate(values)]
        self.count = len(results)
        self.functions = set().union(*(t.operations() for t in results))
        self.checked = [t for t in self.names if self.is_checked(t)]

    def is_checked(self, t: Term) -> bool:
        """Whether a function's argument is looked at: where it must be, or where it costs little to compute twice."""
        if self.plain or t.kind != FLOAT or t.op not in CHECKED:
            return False
        return t.op in TURNING or all(a.operations() <= CHEAP for a in t.operands)

    def named(self, t: Term, lines: list[str], kind: str, text: str) -> str:
        """A name for what `text` computes."""
        self.names[t] = name = f"v{len(self.names)}"
        lines.append(f"const {kind} {name} = {text};")
        return name

    def number(self, t: Term) -> str:
        """A single number, in double precision as in Python."""
        known = known_number(t)
        if known is not None:
            return known
        if t not in self.names:
            text = spelled(t.op, [self.number(a) for a in t.operands])
            self.named(t, self.before, "double" if t.kind == NUMBER else "bool", text)
        return self.names[t]

    def element(self, t: Term) -> str:
        """A value of the element at hand; numbers take its type."""
        if t.kind == NUMBER:
            if t.op == "constant":
                return f"T({literal(t.args[0])})"
            key = Term(FLOAT, "cast", (t,))
            found = next((n for k, n in self.names.items() if k.op == "cast" and k.args[0] is t), None)
            return found or self.named(key, self.before, "T", f"static_cast<T>({self.number(t)})")
        if t.kind not in {FLOAT, MASK}:
            return self.number(t)
        if t.op == "filled":
            return self.element(t.args[0])
        if t not in self.names:
            if t.op == "operand":
                text = f"a{t.args[0]}[i]"
            else:
                how = "<ODD>" if self.is_checked(t) else ""
                text = spelled(t.op, [self.element(a) for a in t.operands], how)
            self.named(t, self.inside, "T" if t.kind == FLOAT else "bool", text)
        return self.names[t]

    def head(self) -> list[str]:
        """The beginning of a function's body: arrays, and what is computed once."""
        lines = [f"const T* a{s} = static_cast<const T*>(in[{s}]);" for s in self.slots]
        lines += [f"T* o{k} = static_cast<T*>(out[{k}]);" for k in range(self.count)]
        return [f"  {line}" for line in [*lines, *self.before]]

    def text(self, name: str) -> str:
        """The function, or the two: one for a stretch, and one that looks at its arguments before."""
        p = " p" if any("p[" in line for line in self.before) else ""
        given = f"const void* const*{' in' if self.slots else ''}, void* const* out, const double*{p}"
        if not self.checked:
            head = ["template <class T>", f"void {name}({given}, ptrdiff_t n) {{"]
            return "\n".join([*head, *self.head(), *looped(self.inside, "0", "n"), "}", ""])
        head = [
            "template <class T, bool ODD>",
            f"void {name}_part({given}, ptrdiff_t begin, ptrdiff_t end) {{",
        ]
        return "\n".join(
            [*head, *self.head(), *looped(self.inside, "begin", "end"), "}", *self.check(name), ""]
        )

    def check(self, name: str) -> list[str]:
        """The function that looks at arguments."""
        check = Loop(tuple(a for t in self.checked for a in t.operands), plain=True)
        found = " | ".join(
            spelled(t.op, [check.element(a) for a in t.operands], "", "odd") for t in self.checked
        )
        steps = [*check.inside[: -check.count], f"odd |= {found};"]
        body = [
            "const ptrdiff_t end = n - begin < STRETCH ? n : begin + STRETCH;",
            "typename Real<T>::Bits odd = 0;",
            *looped(steps, "begin", "end"),
            f"(odd != 0 ? {name}_part<T, true> : {name}_part<T, false>)(in, out, p, begin, end);",
        ]
        return [
            "template <class T>",
            f"void {name}(const void* const* in, void* const* out, const double* p, ptrdiff_t n) {{",
            *(line for line in check.head() if not line.startswith("  T* o")),
            "  for (ptrdiff_t begin = 0; begin < n; begin += STRETCH) {",
            *(f"    {line.removeprefix('  ')}" for line in body),
            "  }",
            "}",
        ]


def looped(steps: list[str], begin: str, end: str) -> list[str]:
    """Steps for every element from `begin` on."""
    body = [f"    {step}" for step in steps]
    return ["  RG_INDEPENDENT", f"  for (ptrdiff_t i = {begin}; i < {end}; i++) {{", *body, "  }"]


def spelled(op: str, operands: list[str], how: str = "", suffix: str = "of") -> str:
    """One operation in C++; `how` is what a function is told about its argument."""
    if op in INFIX:
        return f"{operands[0]} {INFIX[op]} {operands[1]}"
    if op == "choose":
        return f"choose_of({', '.join(operands)})"
    if op == "neg":
        return f"-{operands[0]}"
    if op == "not":
        return f"!{operands[0]}"
    if op == "reciprocal":
        return f"1 / {operands[0]}"
    return f"{op}_{suffix}{how}({', '.join(operands)})"


def formula(t: Term) -> str:
    """A number, or a question about numbers, in one expression."""
    known = known_number(t)
    return known or f"({spelled(t.op, [formula(a) for a in t.operands])})"


def known_number(t: Term) -> str | None:
    """A number that need not be computed."""
    if t.op == "constant":
        return literal(t.args[0])
    if t.op == "truth":
        return "true" if t.args[0] else "false"
    return f"p[{t.args[0]}]" if t.op == "parameter" else None


# -- tables --------------------------------------------------------------------------------------------------------


class Table:
    """All loops and the tables of kernels that use them."""

    def __init__(self) -> None:
        self.loops: dict[str, int] = {}  # text, with a name to come, to number
        self.rows: list[str] = []  # of the table of loops
        self.questions: list[str] = []  # functions that lead to a leaf
        self.leaves: list[str] = []
        self.cases: list[str] = []
        self.kernels: list[str] = []

    def loop(self, results: tuple[Term, ...]) -> int:
        """The number of the loop that computes these terms."""
        loop = Loop(results)
        text = loop.text("LOOP")
        if text not in self.loops:
            number = self.loops[text] = len(self.loops)
            used = sum(1 << s for s in loop.slots)
            slow = "true" if loop.functions & SLOW else "false"
            self.rows.append(f"RG_LOOP(loop{number}, {used}, {slow})")
        return self.loops[text]

    def leaf(self, leaf: Leaf) -> int:
        """The number of a leaf: which loop computes which result."""
        if leaf.results is None:
            return UNSERVED
        single = [ITSELF if t.op == "operand" else self.loop((t,)) for t in leaf.results]
        both = self.loop(leaf.results) if len(single) == 2 and ITSELF not in single else ITSELF
        row = f"{{{{{', '.join(map(str, single + [ITSELF] * (3 - len(single))))}}}, {both}}}"
        if row not in self.leaves:
            self.leaves.append(row)
        return self.leaves.index(row)

    def steps(self, tree: Any, depth: int) -> list[str]:
        """The body of the function that leads through a tree."""
        indent = "  " * depth
        if isinstance(tree, Leaf):
            return [f"{indent}return {self.leaf(tree)};"]
        lines = [f"{indent}if {formula(tree.question)} {{", *self.steps(tree.yes, depth + 1), f"{indent}}}"]
        return lines + self.steps(tree.no, depth)

    def case(self, case: Case) -> None:
        """One row of the table of cases."""
        kinds = ", ".join(_pattern(v) for v in case.values) or "nullptr"
        if isinstance(case.tree, Fork):
            name = f"lead{len(self.questions)}"
            body = "\n".join(self.steps(case.tree, 1))
            self.questions.append(f"int {name}(const double* p) {{\n{body}\n}}\n")
            self.cases.append(f"{{{{{kinds}}}, {name}, 0}}")
        else:
            self.cases.append(f"{{{{{kinds}}}, nullptr, {self.leaf(case.tree)}}}")

    def kernel(self, kernel: Kernel) -> None:
        """One row of the table of kernels."""
        first = len(self.cases)
        for case in kernel.cases:
            self.case(case)
        results = max(len(leaf.results or ()) for c in kernel.cases for leaf in _ends(c.tree))
        params = ", ".join(f'"{name}"' for name in kernel.params) or "nullptr"
        numbers = (len(kernel.slots), results, len(kernel.params), first, len(kernel.cases))
        self.kernels.append(f'{{"{kernel.key}", {{{params}}}, {", ".join(map(str, numbers))}}}')


def _ends(tree: Any) -> list[Leaf]:
    return [tree] if isinstance(tree, Leaf) else [*_ends(tree.yes), *_ends(tree.no)]


def _pattern(value: Any) -> str:
    """What a parameter has to be: null for a number, the empty text for None, else that text."""
    return "nullptr" if value is NUMERIC else '""' if value is None else f'"{value}"'


# Functions that the C library computes one element at a time, where NumPy may be quicker for large arrays.
SLOW = {"acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "hypot", "log10", "tan"}
TURNING = {"sin", "cos"}  # vectorised for arguments that are not too large
# Cheaper where no argument is odd; and what is cheap enough to be computed for looking at it.
CHECKED = {*TURNING, "exp", "exp2", "expm1", "log", "log1p", "log2", "pow"}
CHEAP = {
    "operand", "constant", "parameter", "filled", "add", "sub", "mul", "neg", "abs", "minimum", "maximum",
}  # fmt: skip


def written(kernels: list[Kernel]) -> tuple[str, str]:
    """The texts of `fused_loops.inc` and `fused_table.inc`."""
    table = Table()
    for kernel in kernels:
        table.kernel(kernel)
    loops = [text.replace("LOOP", f"loop{i}") for text, i in table.loops.items()]
    tables = (
        ("FusedRow loops", table.rows),
        ("FusedLeaf leaves", table.leaves),
        ("FusedCase cases", table.cases),
        ("FusedKernel kernels", table.kernels),
    )
    parts = [HEAD, *table.questions]
    for name, rows in tables:
        parts += [f"const {name}[] = {{", *(f"    {row}," for row in rows), "};", ""]
    return "\n".join([HEAD, *loops]), "\n".join(parts)
