"""`retrograd bench`: a short table of times on this machine."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import retrograd as rg
from retrograd.cli.doctor import best
from retrograd.cli.numbers import seconds


def add(commands: Any) -> None:
    """Adds the command to the parser."""
    found = commands.add_parser(
        "bench",
        help="measure a few programs on this machine",
        description="Prints how long each takes, the best of many runs.",
        epilog="`make bench` of a checkout has the full table, beside PyTorch.",
    )
    found.add_argument(
        "--seconds", type=seconds, default=0.3, help="how long to measure each row (%(default)s)"
    )
    found.set_defaults(call=measure)


def programs() -> dict[str, Callable[[], Any]]:
    """The rows."""
    x, y = rg.ones(8, requires_grad=True), rg.ones(8)
    big = rg.ones(1 << 20, requires_grad=True)
    matrix = rg.ones(256, 256, requires_grad=True)
    w1, w2 = rg.ones(64, 64, requires_grad=True), rg.ones(64, 10, requires_grad=True)
    images = rg.ones(32, 64)

    def chain() -> None:
        z = x
        for _ in range(50):
            z = z * y
        z.sum().backward()

    return {
        "x * y, 8 numbers": lambda: x * y,
        "50 products and their backward": chain,
        "a small network's step": lambda: ((images @ w1).tanh() @ w2).logsumexp(1).mean().backward(),
        "x.exp(), a million numbers": big.exp,
        "x @ x, 256 × 256, and backward": lambda: (matrix @ matrix).sum().backward(),
    }


def measure(arguments: argparse.Namespace) -> int:
    """Prints the table."""
    for name, program in programs().items():
        print(f"{name:<36}{1e6 * best(program, arguments.seconds):>11,.1f} µs")
    return 0
