"""Formulas of elementwise ops as kernels: one launch for an op, and one for all gradients of its backward.

`formulas.json` has the formulas of the op library, traced by `tools/fuse.py`. A kernel is compiled when it is first
needed, for the dtype and the kinds of operands at hand; CuPy keeps what was compiled on disk. The native pack finds
kernels again without Python (`native/gpu_formulas.cpp`): this file serves where it does not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache
from importlib import resources
from types import CodeType
from typing import Any, Final

import numpy as np

from retrograd.backends.gpu.launch import ROAD, TYPES, Kernel, empty
from retrograd.backends.pack import PACK
from retrograd.values import Shape

THREADS: Final = 256
BYTES: Final = 16  # of an array that a thread reads at once
ITSELF: Final = -1  # the gradient that came in is the result
UNSERVED: Final = -2  # the op's own formula has to serve

# Kinds of operands: as many elements as the result, in rows; one element; a number; fewer elements, by strides.
FLAT, SINGLE, NUMBER, SPREAD = "f", "s", "n", "b"


COPY: Final[dict[str, Any]] = {"slots": [0], "results": 1, "before": [], "inside": ["O0 = A0;"]}
ADD: Final = "elementwise.arithmetic.Add.forward"

# What a kernel is made for: a loop, a dtype, the kinds of its operands, and counts of parameters and dimensions.
Key = tuple[int, str, str, int, int]


class Formulas:
    """All formulas, and the kernels that have been made of them."""

    def __init__(self, cupy: Any) -> None:
        self.cupy = cupy
        folder = resources.files("retrograd.backends.gpu")
        sheet = json.loads(folder.joinpath("formulas.json").read_text("utf-8"))
        self.math: str = folder.joinpath("math.cuh").read_text("utf-8")
        self.loops: list[dict[str, Any]] = [*sheet["loops"], COPY]
        self.entries: dict[str, Any] = sheet["kernels"]
        self.forwards: dict[type, Formula | None] = {}
        self.vjps: dict[type, Formula | None] = {}
        self.kernels: dict[Key, Kernel] = {}
        if ROAD.short:
            loops = [(tuple(loop["slots"]), loop["results"]) for loop in self.loops]
            add = self.loops_of(ADD, None)[1]
            PACK.gpu_formulas(loops, self.leaf_for_pack, self.address_for_pack, add, len(loops) - 1)

    def leaf_for_pack(self, key: str, op: Any) -> tuple[int, ...] | None:
        """The loop of all results of a kernel's leaf, and those of each; None where the op's own has to serve."""
        return self.loops_of(key, op) if key in self.entries else None

    def loops_of(self, key: str, op: Any) -> tuple[int, ...]:
        """The same for a kernel that there is."""
        leaf, _ = Formula(self.entries[key]).leaf(op)
        return (UNSERVED, UNSERVED) if leaf == UNSERVED else (leaf["all"], *leaf["each"])

    def address_for_pack(self, number: int, char: str, kinds: str, params: int, spread: int) -> int:
        """Where the driver finds a kernel."""
        key = (number, char, kinds, params, spread)
        return (self.kernels.get(key) or self._kernel(key)).address

    def forward_of(self, cls: type) -> Formula | None:
        """The formula of a class's forward."""
        if cls not in self.forwards:
            self.forwards[cls] = self._formula(cls, "forward")
        return self.forwards[cls]

    def vjp_of(self, cls: type) -> Formula | None:
        """The formula of a class's gradients."""
        if cls not in self.vjps:
            self.vjps[cls] = self._formula(cls, "vjp")
        return self.vjps[cls]

    def _formula(self, cls: type, method: str) -> Formula | None:
        source = vars(cls).get("same_as", cls)
        key = f"{source.__module__.removeprefix('retrograd.ops.')}.{source.__qualname__}.{method}"
        entry = self.entries.get(key)
        return None if entry is None else Formula(entry)

    def run(self, number: int, operands: Sequence[Any], params: tuple[float, ...], shape: Shape) -> Any:
        """The results of a loop: an array, or a tuple of several; NotImplemented if operands are of no known kind."""
        loop = self.loops[number]
        used: list[Any] = [operands[s] for s in loop["slots"]]
        used = [float(x) if type(x) is int else x for x in used]
        dtype = next((x.dtype for x in used if hasattr(x, "_c_contiguous")), None)
        if dtype is None or dtype.char not in TYPES:
            return NotImplemented
        kinds = ""
        for x in used:
            kind = kind_of(x, shape, dtype)
            if kind is None:
                return NotImplemented
            kinds += kind
        spread = len(shape) if SPREAD in kinds else 0
        key = (number, dtype.char, kinds, len(params), spread)
        kernel = self.kernels.get(key) or self._kernel(key)
        outs = [empty(shape, dtype) for _ in range(loop["results"])]
        n = outs[0].size
        if n:
            steps = [] if not spread else [*shape, *strides_of(used, kinds, shape)]
            each = THREADS * (BYTES // dtype.itemsize)
            kernel.launch(-(-n // each), THREADS, (*used, *outs, *params, *steps, n))
        return outs[0] if len(outs) == 1 else tuple(outs)

    def forward(self, op: Any, xs: Sequence[Any]) -> Any:
        """What an op computes; NotImplemented if no kernel serves."""
        formula = self.forward_of(type(op))
        if formula is None:
            return NotImplemented
        leaf, params = formula.leaf(op)
        if leaf == UNSERVED:
            return NotImplemented
        first = xs[0]
        shape = getattr(first, "shape", ())
        for x in xs[1:]:
            other = getattr(x, "shape", ())
            if other != shape:
                shape = np.broadcast_shapes(shape, other)
        return self.run(leaf["each"][0], xs, params, shape)

    def gradients(self, op: Any, given: Sequence[Any], wanted: int) -> Any:
        """The gradients of an op that are wanted, bit by bit; `given` are the gradient and what the op has kept."""
        formula = self.vjp_of(type(op))
        if formula is None:
            return NotImplemented
        leaf, params = formula.leaf(op)
        if leaf == UNSERVED:
            return NotImplemented
        g, each = given[0], leaf["each"]
        if leaf["all"] != ITSELF and wanted == (1 << len(each)) - 1:
            return self.run(leaf["all"], given, params, g.shape)
        found: list[Any] = []
        for i, number in enumerate(each):
            result = None
            if wanted >> i & 1:
                result = g if number == ITSELF else self.run(number, given, params, g.shape)
            if result is NotImplemented:
                return NotImplemented
            found.append(result)
        return tuple(found)

    def _kernel(self, key: Key) -> Kernel:
        number, char, kinds, params, spread = key
        source = source_of(self.loops[number], TYPES[char], kinds, params, spread)
        made = Kernel(self.cupy, self.math + source, "formula")
        self.kernels[key] = made
        return made


class Formula:
    """One method of an op class: which loops compute it, by the op's parameters."""

    def __init__(self, entry: dict[str, Any]) -> None:
        self.params: list[str] = entry["params"]
        self.cases: list[Any] = entry["cases"]

    def leaf(self, op: Any) -> tuple[Any, tuple[float, ...]]:
        """Loops for this op, and its parameters as numbers; UNSERVED where there are none."""
        if not self.params:
            return self.cases[0][1], ()
        values = [getattr(op, name) for name in self.params]
        for kinds, tree in self.cases:
            if all(_fits(v, kind) for v, kind in zip(values, kinds, strict=True)):
                numbers = tuple(
                    float(v) if kind == "number" else 0.0 for v, kind in zip(values, kinds, strict=True)
                )
                return _answer(tree, numbers), numbers
        return UNSERVED, ()


def _fits(value: Any, kind: Any) -> bool:
    """Whether a parameter is what a case is for."""
    if kind == "number":
        return isinstance(value, (int, float, np.floating, np.integer))
    return value is kind[0] or (isinstance(value, str) and value == kind[0])


def _answer(tree: Any, numbers: tuple[float, ...]) -> Any:
    """The leaf to which questions about numbers lead."""
    while isinstance(tree, list):
        question, yes, no = tree
        # Comparisons of numbers, written by tools/fusing: they read the same in C++ and Python.
        tree = yes if eval(_compiled(question), {"p": numbers, "abs_of": abs}) else no  # noqa: S307
    return tree


@cache
def _compiled(question: str) -> CodeType:
    return compile(question, "<formulas.json>", "eval")


def kind_of(x: Any, shape: Shape, dtype: Any) -> str | None:
    """The kind of an operand; None if there is none for it."""
    if type(x) is float:
        return NUMBER
    in_rows = getattr(x, "_c_contiguous", None)
    if in_rows is None or x.dtype is not dtype:
        return None
    if not in_rows:
        return None if any(x.strides) else SINGLE  # one number, seen many times
    if x.shape == shape:
        return FLAT
    return SINGLE if x.size == 1 else SPREAD


def strides_of(used: list[Any], kinds: str, shape: Shape) -> list[int]:
    """For each operand that is spread, by how many elements it moves on along each dimension of the result."""
    found: list[int] = []
    for x, kind in zip(used, kinds, strict=True):
        if kind == SPREAD:
            lead = len(shape) - x.ndim
            own = [0 if n == 1 else s // x.itemsize for n, s in zip(x.shape, x.strides, strict=True)]
            found += [0] * lead + own
    return found


def source_of(loop: dict[str, Any], type_name: str, kinds: str, params: int, spread: int) -> str:
    """A kernel: operands, results, parameters, then sizes and strides if an operand is spread, and a count."""
    heads, steps = [], [f"long long d{d}" for d in range(spread)]
    for slot, kind in zip(loop["slots"], kinds, strict=True):
        heads.append(f"double a{slot}" if kind == NUMBER else f"const T* __restrict__ a{slot}")
        if kind == SPREAD:
            steps += [f"long long s{slot}_{d}" for d in range(spread)]
    heads += [f"T* __restrict__ o{k}" for k in range(loop["results"])]
    heads += [*(f"double p{k}" for k in range(params)), *steps, "long long n"]
    numbers = [f"const double p[] = {{{', '.join(f'p{k}' for k in range(params))}}};"] if params else []
    body = _one_by_one(loop, kinds, spread)
    if not spread:
        body = [*_together(loop, kinds), *body]
    return "\n".join([
        f"typedef {type_name} T;", f"constexpr int V = {BYTES} / sizeof(T);",
        "struct alignas(sizeof(T) * V) Pack { T v[V]; };",
        f'extern "C" __global__ void formula({", ".join(heads)}) {{', *numbers, *loop["before"],
        f"const long long first = (blockIdx.x * {THREADS}LL + threadIdx.x) * V;", *body, "}", "",
    ])  # fmt: skip


def _together(loop: dict[str, Any], kinds: str) -> list[str]:
    """The elements of a thread, read and written at once, where all arrays begin where that may be."""
    flat = [slot for slot, kind in zip(loop["slots"], kinds, strict=True) if kind == FLAT]
    arrays = [*(f"a{s}" for s in flat), *(f"o{k}" for k in range(loop["results"]))]
    aligned = " | ".join(f"(size_t){a}" for a in arrays)
    loads = [f"const Pack pa{s} = *(const Pack*)(a{s} + first);" for s in flat]
    outs = [f"Pack po{k};" for k in range(loop["results"])]
    names = [
        f"const T A{slot} = "
        + {FLAT: f"pa{slot}.v[k];", SINGLE: f"a{slot}[0];", NUMBER: f"(T)a{slot};"}[kind]
        for slot, kind in zip(loop["slots"], kinds, strict=True)
    ]
    inside = [re.sub(r"\bO(\d)\b", r"po\1.v[k]", line) for line in loop["inside"]]
    stores = [f"*(Pack*)(o{k} + first) = po{k};" for k in range(loop["results"])]
    return [
        f"if (first + V <= n && ({aligned}) % sizeof(Pack) == 0) {{", *loads, *outs,
        "#pragma unroll", "for (int k = 0; k < V; ++k) {", *names, *inside, "}", *stores, "return;", "}",
    ]  # fmt: skip


def _one_by_one(loop: dict[str, Any], kinds: str, spread: int) -> list[str]:
    """The elements of a thread, each by itself."""
    lines = []
    for slot, kind in zip(loop["slots"], kinds, strict=True):
        if kind == SPREAD:
            lines += _position(slot, spread)
        place = {FLAT: "[i]", SINGLE: "[0]", NUMBER: "", SPREAD: f"[at{slot}]"}[kind]
        lines.append(f"const T A{slot} = (T)a{slot}{place};")
    inside = [re.sub(r"\bO(\d)\b", r"o\1[i]", line) for line in loop["inside"]]
    if not spread:  # those that `_together` leaves
        return ["for (long long i = first; i < first + V && i < n; ++i) {", *lines, *inside, "}"]
    # Neighbouring threads read neighbouring elements.
    begin = f"long long i = blockIdx.x * {THREADS}LL * V + threadIdx.x"
    return [
        f"for (int k = 0; k < V; ++k) {{ {begin} + k * {THREADS}; if (i >= n) return;",
        *lines,
        *inside,
        "}",
    ]


def _position(slot: int, spread: int) -> list[str]:
    """Where element `i` of the result finds its element of an operand that has fewer."""
    lines = [f"long long at{slot} = 0; {{ long long rest = i;"]
    lines += [f"at{slot} += rest % d{d} * s{slot}_{d}; rest /= d{d};" for d in range(spread - 1, 0, -1)]
    return [*lines, f"at{slot} += rest * s{slot}_0; }}"]
