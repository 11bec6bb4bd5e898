"""`retrograd bench`: a short table of times on this machine, beside PyTorch where that is installed."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
from collections.abc import Callable
from typing import Any

import retrograd as rg
from retrograd.cli.doctor import best


def add(commands: Any) -> None:
    """Adds the command to the parser."""
    found = commands.add_parser(
        "bench",
        help="measure a few programs here, beside PyTorch where it is installed",
        description="The best of many runs counts. The full table is `make bench` of a checkout.",
    )
    found.add_argument(
        "--seconds", type=float, default=0.3, help="how long to measure each row (%(default)s)"
    )
    found.add_argument("--alone", action="store_true", help="do not import PyTorch")
    found.set_defaults(call=measure)


def programs(lib: Any) -> dict[str, Callable[[], Any]]:
    """The rows, for one library."""
    x, y = lib.ones(8, requires_grad=True), lib.ones(8)
    big = lib.ones(1 << 20, requires_grad=True)
    matrix = lib.ones(256, 256, requires_grad=True)
    w1, w2 = lib.ones(64, 64, requires_grad=True), lib.ones(64, 10, requires_grad=True)
    images = lib.ones(32, 64)

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
    beside = None
    if not arguments.alone and importlib.util.find_spec("torch") is not None:
        beside = importlib.import_module("torch")
    theirs = {} if beside is None else programs(beside)
    head = f"{'':<36}{'retrograd':>14}"
    print(head + (f"{'PyTorch':>14}{'ratio':>8}" if theirs else ""))
    for name, program in programs(rg).items():
        ours = best(program, arguments.seconds)
        line = f"{name:<36}{1e6 * ours:>11,.1f} µs"
        if theirs:
            other = best(theirs[name], arguments.seconds)
            line += f"{1e6 * other:>11,.1f} µs{other / ours:>8.2f}"
        print(line)
    return 0
