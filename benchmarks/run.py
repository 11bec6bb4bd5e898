"""Small-operation cost, side by side with PyTorch in one process.

Every row runs the same program on both libraries, interleaved, and takes the best of many repetitions of each; the
ratio is PyTorch's time over ours, so above 1 we are faster. Losing rows are printed like the others, marked with `<`.

    python benchmarks/run.py [--repeat N] [--only WORD]
"""

from __future__ import annotations

import argparse
import gc
import itertools
import platform
import time
from collections.abc import Callable
from typing import Any, NamedTuple


class Row(NamedTuple):
    """One program: `make(library)` gives the function to time and the number of operations in it."""

    name: str
    make: Callable[[Any], Callable[[], Any]]
    operations: int


def chain(length: int, size: int, backward: bool) -> Callable[[Any], Callable[[], Any]]:
    """`y = tanh(y * x + 0.5)`, over and over: three small operations a step."""

    def make(lib: Any) -> Callable[[], Any]:
        x = lib.full((size,), 0.5).requires_grad_()

        def program() -> Any:
            y = x
            for _ in range(length):
                y = lib.tanh(y * x + 0.5)
            if backward:
                y.sum().backward()
            return y

        return program

    return make


def add_chain(length: int, backward: bool) -> Callable[[Any], Callable[[], Any]]:
    """`y = y + 1`, over and over: nothing to save, nothing to compute, only the graph."""

    def make(lib: Any) -> Callable[[], Any]:
        x = lib.zeros(8).requires_grad_()

        def program() -> Any:
            y = x
            for _ in range(length):
                y = y + 1
            if backward:
                y.sum().backward()
            return y

        return program

    return make


def fan_out(width: int) -> Callable[[Any], Callable[[], Any]]:
    """One tensor used many times: gradients that meet are summed."""

    def make(lib: Any) -> Callable[[], Any]:
        x = lib.full((8,), 0.5).requires_grad_()

        def program() -> None:
            total = x * 0.0
            for _ in range(width):
                total = total + x * 2.0
            total.sum().backward()

        return program

    return make


def mlp_step(lib: Any) -> Callable[[], Any]:
    """A 16-32-32-4 network on a batch of 8: forward, loss, backward."""
    sizes = (16, 32, 32, 4)
    weights = [(lib.ones(a, b) * 0.01).requires_grad_() for a, b in itertools.pairwise(sizes)]
    x = lib.ones(8, 16)

    def program() -> None:
        h = x
        for w in weights:
            h = lib.tanh(h @ w)
        (h * h).mean().backward()

    return program


def second_order(lib: Any) -> Callable[[], Any]:
    """Gradient of a gradient's norm."""
    x = lib.full((8,), 0.5).requires_grad_()

    def program() -> None:
        (g,) = lib.autograd.grad((x * x * x).sum(), x, create_graph=True)
        lib.autograd.grad((g * g).sum(), x)

    return program


ROWS = (
    Row("chain of mul, add, tanh (8 floats), forward", chain(100, 8, False), 300),
    Row("chain of mul, add, tanh (8 floats), forward + backward", chain(100, 8, True), 300),
    Row("chain of mul, add, tanh (1 float), forward + backward", chain(100, 1, True), 300),
    Row("chain of y + 1, forward", add_chain(300, False), 300),
    Row("chain of y + 1, forward + backward", add_chain(300, True), 300),
    Row("chain of y + 1, 20,000 nodes, forward + backward", add_chain(20_000, True), 20_000),
    Row("one tensor used 300 times, forward + backward", fan_out(300), 600),
    Row("trivial backward: (x * x * x).sum()", chain(1, 8, True), 3),
    Row("MLP 16-32-32-4, batch 8, step", mlp_step, 8),
    Row("second order: gradient of a gradient", second_order, 8),
)


def best_times(ours: Callable[[], Any], theirs: Callable[[], Any], repeat: int) -> tuple[float, float]:
    """The best time of each, measured in turns so that both meet the same weather."""
    best = [float("inf"), float("inf")]
    calls = 1
    while (took := _timed(theirs, calls)) < 0.002:
        calls *= 2
    if took > 0.2:
        repeat = max(3, repeat // 5)
    for _ in range(repeat):
        for i, program in enumerate((ours, theirs)):
            best[i] = min(best[i], _timed(program, calls) / calls)
    return best[0], best[1]


def _timed(program: Callable[[], Any], calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        program()
    return time.perf_counter() - start


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--repeat", type=int, default=30, help="repetitions per row and library")
    parser.add_argument("--only", default="", help="run only rows whose name contains this")
    args = parser.parse_args()
    import torch

    import retrograd

    torch.set_num_threads(1)
    versions = f"retrograd {retrograd.__version__} against torch {torch.__version__}"
    print(f"{versions}, Python {platform.python_version()}, 1 thread")
    print(f"{'':56}{'retrograd':>12}{'torch':>12}{'ratio':>8}")
    for row in ROWS:
        if args.only not in row.name:
            continue
        gc.collect()
        ours, theirs = best_times(row.make(retrograd), row.make(torch), args.repeat)
        ratio = theirs / ours
        scale = 1e6 / row.operations
        mark = " <" if ratio < 1 else ""
        print(f"{row.name:56}{ours * scale:9.2f} µs{theirs * scale:9.2f} µs{ratio:7.2f}x{mark}")
    print("\nµs per operation; ratio above 1: retrograd is faster, `<` marks rows where it is not")


if __name__ == "__main__":
    main()
