"""What a recording costs while it is on: programs with and without it, in turns, the best of many, in processor time.

python benchmarks/recorder.py [--turns N] [--only WORD]

At most 3 times the time on small operations, at most 1.1 on large ones (from a million elements, or a matrix product
of 256 x 256). One thread. What is measured is the program inside of `record()`; forms of it are made afterwards.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable

import retrograd as rg
from retrograd import nn
from retrograd.core.observer import join, observe
from retrograd.forms import COMPILED
from retrograd.inspect.recorder import Recorder
from retrograd.inspect.recording import LIMIT

Program = Callable[[], object]


def chain(size: int, length: int) -> Program:
    """mul, add, tanh in turns, forward and backward."""
    x = rg.rand(size, requires_grad=True)
    y = rg.rand(size)

    def program() -> None:
        z = x
        for _ in range(length):
            z = (z * y + x).tanh()
        z.sum().backward()

    return program


def products(size: int) -> Program:
    """Two products of matrices and a tanh, forward and backward."""
    x, a, b = (rg.rand(size, size, requires_grad=True) for _ in range(3))
    return lambda: ((x @ a).tanh() @ b).sum().backward()


def network(width: int, batch: int) -> Program:
    """A network of three layers, forward and backward."""
    net = nn.Sequential(
        nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 4)
    )
    x, target = rg.rand(batch, width), rg.zeros(batch, dtype=rg.int64)
    return lambda: nn.functional.cross_entropy(net(x), target).backward()


def recurrent(width: int, batch: int, steps: int) -> Program:
    """A recurrent cell of products, sums and tanhs, forward and backward."""
    w, u = (rg.rand(width, width, requires_grad=True) for _ in range(2))
    b = rg.zeros(width, requires_grad=True)
    x = rg.rand(steps, batch, width)

    def program() -> None:
        h = rg.zeros(batch, width)
        for step in x:
            h = (step @ w + h @ u + b).tanh()
        h.sum().backward()

    return program


PROGRAMS: dict[str, tuple[float, Program]] = {
    "small: chain on 1 element": (3.0, chain(1, 60)),
    "small: chain on 8 elements": (3.0, chain(8, 60)),
    "small: chain on 256 elements": (3.0, chain(256, 60)),
    "small: network of width 8, batch 4": (3.0, network(8, 4)),
    "small: RNN of 20 steps, width 8, batch 4": (3.0, recurrent(8, 4, 20)),
    "between: chain on 4,096 elements": (3.0, chain(4096, 20)),
    "between: chain on 65,536 elements": (3.0, chain(1 << 16, 4)),
    "large: chain on 1,000,000 elements": (1.1, chain(1_000_000, 3)),
    "large: products of 256 x 256": (1.1, products(256)),
    "large: products of 512 x 512": (1.1, products(512)),
    "large: network of width 512, batch 256": (1.1, network(512, 256)),
}


def seconds(program: Program) -> float:
    """Processor time of one call."""
    start = time.process_time_ns()
    program()
    return (time.process_time_ns() - start) / 1e9


def recorded(program: Program) -> float:
    """The same while it is recorded."""
    recorder = Recorder(LIMIT, everything=False)
    before = join(recorder)
    try:
        return seconds(program)
    finally:
        observe(before)
        recorder.close()


def compared(program: Program, turns: int) -> tuple[float, float]:
    """The best time without and with a recording, in turns."""
    program(), recorded(program)
    plain, watched = [], []
    for _ in range(turns):
        gc.collect(0)
        plain.append(seconds(program))
        watched.append(recorded(program))
    return min(plain), min(watched)


def main() -> None:
    """Prints one line per program; ends with status 1 if a limit is not kept."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--turns", type=int, default=200, help="of small programs; large ones take a tenth")
    parser.add_argument("--only", default="", help="rows with this word")
    arguments = parser.parse_args()
    rg.set_num_threads(1)
    print(f"retrograd {rg.__version__}, {'compiled' if COMPILED else 'interpreted'}")
    over = 0
    for name, (limit, program) in PROGRAMS.items():
        if arguments.only in name:
            few = max(10, arguments.turns // 10)
            plain, watched = compared(program, few if name.startswith("large") else arguments.turns)
            over += watched > limit * plain
            mark = "<" if watched > limit * plain else " "
            print(
                f"{name:42}{1e6 * plain:10.1f} µs{1e6 * watched:12.1f} µs{watched / plain:8.2f} {mark} limit {limit}"
            )
    raise SystemExit(1 if over else 0)


if __name__ == "__main__":
    main()
