"""Reading the command line and calling what it asks for."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from retrograd.cli import bench, completion, demo, doctor, inspecting, launch, ops, script
from retrograd.version import __version__

_EXAMPLES = """\
to begin with:
  retrograd demo                      train a network, and look at its backward in a page
  retrograd inspect train.py          run a script and write train.html, which shows what its backward did
  retrograd run train.py              run a script that imports torch, as it is
  retrograd ops tanh                  the derivative of an operation, in source
  retrograd doctor                    is this installation well, and as fast as it can be?

`retrograd COMMAND --help` says more. Exit status: 0 done, 1 failed, 2 wrong call, 130 stopped by Ctrl-C;
run, debug and inspect end with the script's own.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command given by `argv` (by default the process's own arguments) and return its exit status."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without our line-drawing characters gets "?"
    parser = _parser()
    if not (sys.argv[1:] if argv is None else argv):
        parser.print_help(sys.stderr)
        raise SystemExit(2)
    arguments = parser.parse_args(argv)
    try:
        status: int = arguments.call(arguments)
        return status
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        return 130
    except BrokenPipeError:  # whoever reads has had enough, as `head` has
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - until Python ends
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="retrograd",
        description="PyTorch's autograd over NumPy arrays.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"retrograd {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in (demo, script, launch, inspecting, doctor, ops, bench, completion):
        command.add(commands)
    return parser
