"""What `detect_nonfinite` costs while every gradient is finite: a step of a three-layer network with it and without.

    python benchmarks/nonfinite.py [--repeat N]

Both programs run in turns in one process, and the best times are compared. A step is forward, loss, backward and the
update of the parameters (Adam, in place), with a batch of 64; the second column leaves the update out. The mode stays
on around the steps, as it is meant to.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import platform
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import retrograd as rg

SIZES = ((64, 64, 64, 64), (64, 128, 128, 64), (64, 256, 128, 64), (256, 256, 256, 256))


class Network:
    """A network with tanh between its layers and a squared error behind them."""

    def __init__(self, sizes: tuple[int, ...], batch: int = 64) -> None:
        rng = np.random.default_rng(0)
        weights = [rng.standard_normal((a, b)) / a**0.5 for a, b in itertools.pairwise(sizes)]
        self.weights = [rg.tensor(w, dtype=rg.float32).requires_grad_() for w in weights]
        self.biases = [rg.zeros(b).requires_grad_() for b in sizes[1:]]
        self.x = rg.tensor(rng.standard_normal((batch, sizes[0])), dtype=rg.float32)
        self.target = rg.tensor(rng.standard_normal((batch, sizes[-1])), dtype=rg.float32)
        self.parameters = [*self.weights, *self.biases]
        self.means = [rg.zeros(*p.shape) for p in self.parameters]
        self.squares = [rg.zeros(*p.shape) for p in self.parameters]

    def gradients(self) -> None:
        """Forward, loss, backward."""
        for p in self.parameters:
            p.grad = None
        h = self.x
        for i, (w, b) in enumerate(zip(self.weights, self.biases, strict=True)):
            h = h @ w + b
            if i < len(self.weights) - 1:
                h = rg.tanh(h)
        ((h - self.target) ** 2).mean().backward()

    def step(self) -> None:
        """The gradients and Adam's update."""
        self.gradients()
        with rg.no_grad():
            for p, mean, square in zip(self.parameters, self.means, self.squares, strict=True):
                mean.mul_(0.9).add_(p.grad, alpha=0.1)
                square.mul_(0.999).addcmul_(p.grad, p.grad, value=0.001)
                p.addcdiv_(mean, square.sqrt().add_(1e-8), value=-1e-6)


def compare(program: Callable[[], None], repeat: int) -> tuple[float, float]:
    """The best time without the mode, and the best with it."""
    best = {False: float("inf"), True: float("inf")}
    mode: Any = rg.autograd.detect_nonfinite()
    for _ in range(repeat):
        best[False] = min(best[False], _timed(program))
        with mode:
            best[True] = min(best[True], _timed(program))
    return best[False], best[True]


def _timed(program: Callable[[], None]) -> float:
    start = time.perf_counter()
    program()
    return time.perf_counter() - start


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--repeat", type=int, default=3000, help="steps of each kind")
    args = parser.parse_args()
    print(
        f"retrograd {rg.__version__}, Python {platform.python_version()}, batch 64; cost of detect_nonfinite"
    )
    print(f"{'':20}{'whole step':>25}{'without the update':>25}")
    gc.disable()
    for sizes in SIZES:
        net = Network(sizes)
        gc.collect()
        columns = []
        for program in (net.step, net.gradients):
            off, on = compare(program, args.repeat)
            columns.append(f"{off * 1e6:12.1f} µs {100 * (on / off - 1):+7.2f} %")
        print(f"{'-'.join(str(n) for n in sizes):20}{columns[0]:>25}{columns[1]:>25}")


if __name__ == "__main__":
    main()
