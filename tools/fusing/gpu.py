"""Writing for GPUs: kernels as data, from which `backends/gpu/formulas.py` makes CUDA's sources at first use.

A loop is the lines for one element: `A0`, `A1` … are operands, `O0` … results, `p[0]` … parameters. A kernel has, for
every kind of parameters, a tree of questions whose leaves say which loop computes which result.
"""

from __future__ import annotations

import json
import re
from typing import Any

from tools.fusing.terms import Term
from tools.fusing.trace import NUMERIC, Fork, Kernel, Leaf
from tools.fusing.write import ITSELF, UNSERVED, Loop, formula


class Sheet:
    """All loops, and the kernels that use them."""

    def __init__(self) -> None:
        self.loops: list[dict[str, Any]] = []
        self.numbers: dict[str, int] = {}  # of loops, by their text
        self.kernels: dict[str, Any] = {}

    def loop(self, results: tuple[Term, ...]) -> int:
        """The number of the loop that computes these terms."""
        loop = Loop(results, plain=True)
        lines = [re.sub(r"\b([ao])(\d)\[i\]", lambda m: m[1].upper() + m[2], line) for line in loop.inside]
        found = {"slots": loop.slots, "results": loop.count, "before": loop.before, "inside": lines}
        key = json.dumps(found)
        if key not in self.numbers:
            self.numbers[key] = len(self.loops)
            self.loops.append(found)
        return self.numbers[key]

    def tree(self, tree: Any) -> Any:
        """A tree as nested lists: [question, yes, no], or {"each": loops, "all": loop}, or None."""
        if isinstance(tree, Fork):
            return [formula(tree.question), self.tree(tree.yes), self.tree(tree.no)]
        assert isinstance(tree, Leaf)
        if tree.results is None:
            return UNSERVED
        each = [ITSELF if t.op == "operand" else self.loop((t,)) for t in tree.results]
        many = self.loop(tree.results) if len(each) > 1 and ITSELF not in each else ITSELF
        return {"each": each, "all": many}

    def add(self, kernel: Kernel) -> None:
        """Notes a kernel."""
        self.kernels[kernel.key] = {
            "params": kernel.params,
            "cases": [[[_kind(v) for v in case.values], self.tree(case.tree)] for case in kernel.cases],
        }


def _kind(value: Any) -> Any:
    """What a parameter has to be: any number, or this very value."""
    return "number" if value is NUMERIC else [value]


def written(kernels: list[Kernel]) -> str:
    """The text of `formulas.json`."""
    sheet = Sheet()
    for kernel in kernels:
        sheet.add(kernel)
    loops = ",\n".join(json.dumps(loop) for loop in sheet.loops)
    entries = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in sheet.kernels.items())
    return f'{{"loops": [\n{loops}\n],\n"kernels": {{\n{entries}\n}}}}\n'
