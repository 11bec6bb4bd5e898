"""The engine's threads: what they gain on wide graphs, and what having them costs small ones.

    python benchmarks/threads.py [--repeat N]

The wide graphs have eight branches of 384×384 matrix products and tanh, or of elementwise functions; their backward is
timed beside PyTorch's and beside our own with one thread, in turns in one process. The chain of small operations runs
with the threading code and with it taken out of the source.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

from run import add_chain, chain
from taken_out import Cut, cost

import retrograd
from retrograd.core import accumulate
from retrograd.engine import engine, evaluate, shared

BRANCHES, SIZE = 8, 384


def products(lib: Any, x: Any, w: Any) -> Any:
    """A branch of matrix products, which BLAS spreads over all threads by itself."""
    return lib.tanh(lib.tanh(x @ w) @ w)


def curves(lib: Any, x: Any, w: Any) -> Any:
    """A branch of elementwise functions, which one thread computes."""
    return lib.tanh(lib.sin(lib.exp(w) * x) * w)


def wide(lib: Any, branch: Any) -> Callable[[], float]:
    """The wide graph; calling it gives the seconds that the backward took."""
    x = lib.ones(SIZE, SIZE) * 0.01
    weights = [(lib.ones(SIZE, SIZE) * 0.01 * (i + 1)).requires_grad_() for i in range(BRANCHES)]

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
CLAIMS = (
    r"    claimed = node.freed_by\n|        if not task.keep_graph:\n            claim\(task, node\)\n"
    r"|        if node.freed_by is task.place:\n            node.freed_by = claimed\n"
)
LOCKS = r"with lock_of\(variable\):\n +"
THREADING = (
    Cut(engine, "Engine._run", SHARING),
    Cut(evaluate, "call_node", CLAIMS),
    Cut(accumulate, "AccumulateGrad.apply", LOCKS),
)


def best_of(programs: dict[str, Callable[[], float]], repeat: int) -> dict[str, float]:
    """The best time of each, in turns."""
    best = dict.fromkeys(programs, float("inf"))
    for _ in range(repeat):
        for name, program in programs.items():
            best[name] = min(best[name], program())
    return best


def with_threads(count: int, branch: Any, large: int = shared.LARGE) -> Callable[[], float]:
    """The wide graph on `count` threads, with nodes of `large` elements and more handed over."""
    program = wide(retrograd, branch)

    def timed() -> float:
        before = retrograd.get_num_threads()
        retrograd.set_num_threads(count)
        usual, shared.LARGE = shared.LARGE, large
        try:
            return program()
        finally:
            shared.LARGE = usual
            retrograd.set_num_threads(before)

    return timed


def main() -> None:
    """Prints both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--repeat", type=int, default=20)
    repeat = parser.parse_args().repeat
    import torch

    count = retrograd.get_num_threads()
    torch.set_num_threads(count)
    for title, branch in (("matmul + tanh", products), ("exp, sin, tanh and products", curves)):
        programs = {"torch": wide(torch, branch)}
        programs["one thread"] = with_threads(1, branch)
        programs[f"{count} threads"] = with_threads(count, branch)
        programs[f"{count} threads, handed over at any size"] = with_threads(count, branch, 0)
        best = best_of(programs, repeat)
        print(
            f"backward of {BRANCHES} branches of {SIZE}×{SIZE} {title}, milliseconds (torch: {count} threads)"
        )
        for name, took in best.items():
            print(f"  {name:42}{took * 1e3:8.2f}   {best['torch'] / took:.2f}x torch")
    for name, make in (("mul, add, tanh", chain(100, 8, True)), ("y + 1", add_chain(300, True))):
        print(
            f"threading code in a chain of {name}: {100 * cost(make(retrograd), THREADING, 15 * repeat):+.1f} %"
        )


if __name__ == "__main__":
    main()
