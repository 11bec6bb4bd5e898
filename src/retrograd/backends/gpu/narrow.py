"""Formulas of elementwise ops on numbers of 16 bits: read as they are, computed in float32, and rounded once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from retrograd.backends.gpu.formulas import (
    FLAT,
    NUMBER,
    SINGLE,
    SPREAD,
    Formulas,
    _position,
    kind_of,
    strides_of,
)
from retrograd.backends.gpu.kernels import BYTES, STORED, THREADS, empty, letter, prelude
from retrograd.backends.gpu.launch import Kernel
from retrograd.values import Shape

NARROW = ("e", "bf")


class AllFormulas(Formulas):
    """Formulas of all floating-point dtypes."""

    def __init__(self, cupy: Any) -> None:
        super().__init__(cupy)
        self.narrow_kernels: dict[Any, Kernel] = {}

    def run(self, number: int, operands: Sequence[Any], params: tuple[float, ...], shape: Shape) -> Any:
        loop = self.loops[number]
        used = [operands[s] for s in loop["slots"]]
        dtype = next((x.dtype for x in used if hasattr(x, "_c_contiguous")), None)
        if dtype is None or dtype.itemsize != 2 or letter(dtype) not in NARROW:
            return super().run(number, operands, params, shape)
        used = [float(x) if type(x) is int else x for x in used]
        kinds = [kind_of(x, shape, dtype) for x in used]
        if None in kinds:
            return NotImplemented
        words = "".join(str(kind) for kind in kinds)
        spread = len(shape) if SPREAD in words else 0
        outs = [empty(shape, dtype) for _ in range(loop["results"])]
        n = outs[0].size
        flat = [x for x, kind in zip(used, words, strict=True) if kind == FLAT]
        v = BYTES // 2 if not spread and all(a.data.ptr % BYTES == 0 for a in flat) else 1
        if n:
            kernel = self._narrow((number, letter(dtype), words, len(params), spread, v))
            steps = [*shape, *strides_of(used, words, shape)] if spread else []
            kernel.launch(-(-n // (THREADS * v)), THREADS, (*used, *outs, *params, *steps, n))
        return outs[0] if len(outs) == 1 else tuple(outs)

    def _narrow(self, key: tuple[int, str, str, int, int, int]) -> Kernel:
        made = self.narrow_kernels.get(key)
        if made is None:
            number, char, words, params, spread, v = key
            text = prelude((("S", STORED[char]), ("T", "float"), ("V", v))) + _without_infinity(self.math)
            made = Kernel(self.cupy, text + source(self.loops[number], words, params, spread), "formula")
            self.narrow_kernels[key] = made
        return made


def _without_infinity(text: str) -> str:
    """The functions of formulas, which define what `numbers.cuh` has defined, too."""
    return "\n".join(line for line in text.splitlines() if not line.startswith("#define INFINITE")) + "\n"


def source(loop: dict[str, Any], kinds: str, params: int, spread: int) -> str:
    """A kernel: operands, results, parameters, then sizes and strides if an operand is spread, and a count."""
    heads, steps, loads, values = [], [f"long long d{d}" for d in range(spread)], [], []
    for slot, kind in zip(loop["slots"], kinds, strict=True):
        heads.append(f"double a{slot}" if kind == NUMBER else f"const S* __restrict__ a{slot}")
        if kind == SPREAD:
            steps += [f"long long s{slot}_{d}" for d in range(spread)]
            values += _position(slot, spread)
        if kind == FLAT:
            loads.append(f"PackOf<S, V> q{slot}; read_pack(q{slot}, a{slot}, first, n);")
        place = {FLAT: f"wide(q{slot}.v[k])", SINGLE: f"wide(a{slot}[0])", NUMBER: f"(T)a{slot}",
                 SPREAD: f"wide(a{slot}[at{slot}])"}[kind]  # fmt: skip
        values.append(f"const T A{slot} = {place};")
    heads += [f"S* __restrict__ o{k}" for k in range(loop["results"])]
    heads += [*(f"double p{k}" for k in range(params)), *steps, "long long n"]
    numbers = [f"const double p[] = {{{', '.join(f'p{k}' for k in range(params))}}};"] if params else []
    inside = [re.sub(r"^O(\d) = (.*);$", r"r\1.v[k] = narrow<S>((T)(\2));", line) for line in loop["inside"]]
    outs = range(loop["results"])
    return "\n".join([
        PACKS, f'extern "C" __global__ void formula({", ".join(heads)}) {{', *numbers, *loop["before"],
        "const long long first = (blockIdx.x * (long long)THREADS + threadIdx.x) * V;", "if (first >= n) return;",
        *loads, *(f"PackOf<S, V> r{k};" for k in outs), "#pragma unroll", "for (int k = 0; k < V; ++k) {",
        "const long long i = first + k; if (i >= n) break;", *values, *inside, "}",
        *(f"write_pack(r{k}, o{k}, first, n);" for k in outs), "}", "",
    ])  # fmt: skip


# A pack of which only the first may be there: the last of an array.
PACKS = """
__device__ __forceinline__ void read_pack(PackOf<S, V>& pack, const S* from, long long first, long long n) {
  if (first + V <= n) pack = load<V>(from + first);
  else for (int k = 0; first + k < n; ++k) pack.v[k] = from[first + k];
}
__device__ __forceinline__ void write_pack(const PackOf<S, V>& pack, S* to, long long first, long long n) {
  if (first + V <= n) store<V>(to + first, pack);
  else for (int k = 0; first + k < n; ++k) to[first + k] = pack.v[k];
}
"""
