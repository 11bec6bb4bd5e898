"""Reading the command line and calling what it asks for."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from retrograd.cli import bench, completion, demo, doctor, inspecting, launch, ops, script
from retrograd.cli.numbers import at_least_one
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
        return _call(arguments)
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        return 130
    except BrokenPipeError:  # whoever reads has had enough, as `head` has
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - until Python ends
        return 1
    except script.NoSuchPlace as error:
        parser.error(str(error))


def _call(arguments: argparse.Namespace) -> int:
    if hasattr(arguments, "call"):
        status: int = arguments.call(arguments)
        return status
    if arguments.command == "run":
        return script.run(arguments.script, arguments.arguments, arguments.interpreted, arguments.module)
    if arguments.command == "debug":
        return script.debug(arguments.script, arguments.arguments, arguments.breakpoints)
    demo.run(epochs=arguments.epochs, seed=arguments.seed)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="retrograd",
        description="PyTorch's autograd over NumPy arrays.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"retrograd {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    train = commands.add_parser(
        "demo",
        help="train a small network on handwritten digits, then print its backward graph",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    train.add_argument(
        "--epochs", type=at_least_one, default=20, help="times to go through the training digits"
    )
    train.add_argument(
        "--seed", type=int, default=0, help="where the random numbers start; one seed, one result"
    )
    run = commands.add_parser("run", help="run a script as it is, with retrograd as its `torch`")
    run.add_argument("-m", dest="module", action="store_true", help="run a module or package, by its name")
    run.add_argument(
        "--interpreted", action="store_true", help="run the library's sources even where it is compiled"
    )
    _add_script(run)
    debug = commands.add_parser(
        "debug", help="run a script under pdb, with the library's sources to step through"
    )
    debug.add_argument(
        *("-b", "--break"),
        dest="breakpoints",
        action="append",
        default=[],
        metavar="FILE:PLACE",
        help="run to a line or a function of the library or of a script, such as engine/evaluate.py:evaluate",
    )
    _add_script(debug)
    for command in (launch, inspecting, doctor, ops, bench, completion):
        command.add(commands)
    return parser


def _add_script(command: argparse.ArgumentParser) -> None:
    command.add_argument("script", help="a Python file")
    command.add_argument("arguments", nargs=argparse.REMAINDER, help="what the script is to see in sys.argv")
