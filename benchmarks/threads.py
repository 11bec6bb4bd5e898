"""The engine's threads: what they gain on wide graphs, and what having them costs small ones.

    python benchmarks/threads.py [--repeat N]

The wide graphs have eight branches of 384×384 matrix products and tanh, or of elementwise functions, which the native
pack spreads over threads (BLAS does it with products where there is no pack); or of running sums, whose nodes are
handed to workers whole. Their backward is timed beside PyTorch's and beside our own with one thread, in turns in one
process. The chain of small operations runs with the threading code and with it taken out of the source.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

from measuring.clock import REST
from rows.branches import BRANCHES, SIZE, Branch, curves, products, sums
from rows.chains import add_scalar, chain, mixed
from rows.row import parameter
from taken_out import Cut, cost, interpreted

import retrograd
from retrograd.core import accumulate
from retrograd.engine import engine, evaluate, parallel


def wide(lib: Any, branch: Branch) -> Callable[[], float]:
    """The wide graph; calling it gives the seconds that the backward took."""
    x = lib.ones(SIZE, SIZE) * 0.01
    weights = [parameter(lib, SIZE, SIZE, seed=i) for i in range(BRANCHES)]

    def program() -> float:
        total = 0.0
        for w in weights:
            w.grad = None
        for y in [branch(lib, x, w) for w in weights]:
            total = total + y.sum()
        start = time.perf_counter()
        total.backward()
        return time.perf_counter() - start

    return program


SHARING = r" +if queue.heap and .*?break\n"
CLAIMS = r"    claimed = node._freed_by\n|        if not task.keep_graph:\n            claim\(task, node\)\n"
LOCKS = (
    r"lock = lock_of\(variable\)\n    try:[^\n]*\n        lock\.acquire\(\)\n        |"
    r"    finally:\n        try:.*?pass\n"
)
THREADING = (
    Cut(engine, "Engine._run", SHARING),
    Cut(evaluate, "call_node", CLAIMS),
    Cut(evaluate, "_call_pair", CLAIMS),
    Cut(accumulate, "AccumulateGrad._locked", LOCKS),
)


def best_of(programs: dict[str, Callable[[], float]], repeat: int) -> dict[str, float]:
    """The best time of each, in turns."""
    best = dict.fromkeys(programs, float("inf"))
    for _ in range(repeat):
        for name, program in programs.items():
            time.sleep(REST)
            best[name] = min(best[name], program(), program())
    return best


def with_threads(count: int, branch: Branch, large: int = parallel.LARGE) -> Callable[[], float]:
    """The wide graph on `count` threads, with nodes of `large` elements and more handed over."""
    program = wide(retrograd, branch)

    def timed() -> float:
        before = retrograd.get_num_threads()
        retrograd.set_num_threads(count)
        usual, parallel.LARGE = parallel.LARGE, large
        try:
            return program()
        finally:
            parallel.LARGE = usual
            retrograd.set_num_threads(before)

    return timed


def wide_rows(torch: Any, branch: Branch, count: int, repeat: int) -> dict[str, float]:
    """The backward of a wide graph on PyTorch, and on retrograd with several settings."""
    programs = {"torch": wide(torch, branch)}
    programs["one thread"] = with_threads(1, branch)
    programs[f"{count} threads"] = with_threads(count, branch)
    if interpreted(THREADING):
        programs[f"{count} threads, handed over at any size"] = with_threads(count, branch, 0)
    return best_of(programs, repeat)


def main() -> None:
    """Prints both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--repeat", type=int, default=20)
    repeat = parser.parse_args().repeat
    import torch

    count = retrograd.get_num_threads()
    torch.set_num_threads(count)
    graphs = (("matmul + tanh", products), ("exp, sin, tanh and products", curves), ("running sums", sums))
    for title, branch in graphs:
        print(
            f"backward of {BRANCHES} branches of {SIZE}×{SIZE} {title}, milliseconds (torch: {count} threads)"
        )
        best = wide_rows(torch, branch, count, repeat)
        for name, took in best.items():
            print(f"  {name:42}{took * 1e3:8.2f}   {best['torch'] / took:.2f}x torch")
    if not interpreted(THREADING):
        return
    chains = (("mul, add, tanh", chain(mixed, 100, True, 8)), ("y + 0.5", chain(add_scalar, 300, True, 8)))
    for name, make in chains:
        percent = 100 * cost(make(retrograd), THREADING, 15 * repeat)
        print(f"threading code in a chain of {name}: {percent:+.1f} %")


if __name__ == "__main__":
    main()
