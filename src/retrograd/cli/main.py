"""Reading the command line and calling what it asks for."""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Sequence

from retrograd.cli import demo


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command given by `argv` (by default the process's own arguments) and return its exit status."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without our line-drawing characters gets "?"
    arguments = _parser().parse_args(argv)
    try:
        demo.run(epochs=arguments.epochs, seed=arguments.seed)
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="retrograd", description="PyTorch's autograd over NumPy arrays.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    train = commands.add_parser(
        "demo",
        help="train a small network on handwritten digits, then print its backward graph",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    train.add_argument(
        "--epochs", type=_at_least_one, default=20, help="times to go through the training digits"
    )
    train.add_argument(
        "--seed", type=int, default=0, help="where the random numbers start; one seed, one result"
    )
    return parser


def _at_least_one(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is less than 1")
    return number
