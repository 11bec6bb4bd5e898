"""Reading the command line and calling what it asks for."""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Sequence

from retrograd.cli import bench, completion, demo, doctor, inspecting, launch, ops, script
from retrograd.version import __version__


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command given by `argv` (by default the process's own arguments) and return its exit status."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without our line-drawing characters gets "?"
    parser = _parser()
    arguments = parser.parse_args(argv)
    try:
        return _call(arguments)
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        return 130
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
    parser = argparse.ArgumentParser(prog="retrograd", description="PyTorch's autograd over NumPy arrays.")
    parser.add_argument("--version", action="version", version=f"retrograd {__version__}")
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


def _at_least_one(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is less than 1")
    return number
