"""`retrograd inspect` and `retrograd replay`: a script's recording as a page, and a failed node run again."""

from __future__ import annotations

import argparse
import os
import pdb  # noqa: T100 - `--pdb` asks for it
import shutil
import sys
import threading
import traceback
import types
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from retrograd.alias.install import FOLDER, install_as_torch
from retrograd.cli.numbers import at_least_one
from retrograd.cli.script import become, takes_script
from retrograd.inspect.difference import Difference
from retrograd.inspect.questions import first_nonfinite, without_gradient
from retrograd.inspect.recording import Recording, record
from retrograd.inspect.replay import NodeReplay, NotReplayable
from retrograd.inspect.text import printable
from retrograd.inspect.values import figures, keep

LIMIT = 20_000
FORMS = {".html": "html", ".json": "json", ".dot": "dot", ".svg": "svg", ".mmd": "mermaid", ".txt": "text"}

_INSPECT = """\
Runs a script and records each operation, each graph and each step of each backward.
The ending of -o says in which form: .html (a page to look at, the default), .json, .dot,
.svg (needs Graphviz), .mmd (Mermaid), .trace (for ui.perfetto.dev), .txt; -o - prints text.

  retrograd inspect train.py                    writes train.html
  retrograd inspect --torch train.py            a script that says `import torch`
  retrograd inspect train.py -o step.trace -- --epochs 1
  retrograd inspect train.py -o before.json     ... and after a change:
  retrograd inspect train.py --against before.json
"""

_REPLAY = """\
Runs the node at which a backward failed once more, alone, from the file that
retrograd.inspect.on_failure("crash.html") has written beside its page.

  retrograd replay crash.npz                    prints what goes in and what comes out
  retrograd replay crash.npz --pdb              stops at the node's formula
"""


def add(commands: Any) -> None:
    """Adds both commands to the parser."""
    look = commands.add_parser(
        "inspect",
        help="run a script and write a page that shows its backwards",
        description=_INSPECT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    look.add_argument("-o", "--output", metavar="FILE", help="where to write; by default SCRIPT.html")
    look.add_argument(
        "--limit", type=at_least_one, default=LIMIT, help="operations and steps to keep (%(default)s)"
    )
    look.add_argument(
        "--values", choices=("sample", "all"), default="sample", help="how to look at large arrays"
    )
    look.add_argument(
        "--against",
        metavar="JSON",
        help="an earlier recording to compare with: .html, .txt, or -o - for text",
    )
    look.add_argument("--torch", action="store_true", help="with retrograd as the script's `torch`")
    takes_script(look, "a Python file, or the .json of an earlier recording")
    look.set_defaults(call=inspect_script)
    again = commands.add_parser(
        "replay",
        help="run the node at which a backward failed once more",
        description=_REPLAY,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    again.add_argument("archive", help="the .npz file")
    again.add_argument("--script", help="the file that defines a custom Function")
    again.add_argument("--pdb", action="store_true", help="stop in the debugger before the node runs")
    again.set_defaults(call=replay)


def inspect_script(arguments: argparse.Namespace) -> int:
    """Records a script and writes the recording; the exit status is the script's."""
    script = Path(arguments.script)
    _take_output(arguments)
    if not script.is_file():
        print(f"retrograd inspect: there is no file {script}", file=sys.stderr)
        return 2
    output = arguments.output or str(script.with_suffix(".html").name)
    fault = _fault_of(output, arguments.against is not None)
    if fault:  # before the script runs, which may take long
        print(f"retrograd inspect: {output}: {fault}", file=sys.stderr)
        return 2
    output = output if output == "-" else str(Path(output).absolute())  # the script may change the folder
    status, other, process = 0, None, os.getpid()
    try:
        other = None if arguments.against is None else Recording.load(arguments.against)
        recording = Recording.load(script) if script.suffix == ".json" else None
    except (OSError, ValueError) as error:
        print(f"retrograd inspect: {error}", file=sys.stderr)
        return 2
    if recording is None:
        if arguments.torch:
            install_as_torch()
        recording, status = _recorded(script, arguments)
    if os.getpid() != process:  # one that the script has forked, and that comes to the script's end as well
        return status
    try:
        if other is None:
            _write(recording, output)
        else:
            _compare(recording.diff(other), output)
    except BrokenPipeError:
        raise
    except OSError as error:
        print(f"retrograd inspect: nothing was written: {error}", file=sys.stderr)
        return status or 1
    return status


def _compare(difference: Difference, output: str) -> None:
    """Writes a comparison, and prints what differs most."""
    if output == "-":
        print(difference.text())
    elif Path(output).suffix == ".txt":
        Path(output).write_text(difference.text() + "\n", encoding="utf-8")
    else:
        difference.html(output)
        print(difference.text(rows=5))
    if output != "-":
        print(f"written to {Path(output).resolve()}")


def _fault_of(output: str, compares: bool) -> str:
    """Why nothing can be written there; empty if something can."""
    path = Path(output)
    if output == "-":
        return ""
    if compares and path.suffix not in (".html", ".txt"):
        return "a comparison is .html or .txt"
    if path.suffix not in (*FORMS, ".trace"):
        return f"the ending says the form: {' '.join(FORMS)} .trace"
    folder = path.absolute().parent
    if not folder.is_dir():
        return f"there is no folder {folder}"
    if path.is_dir():
        return "this is a folder"
    if not os.access(path if path.exists() else folder, os.W_OK):
        return "it may not be written"
    if path.suffix == ".svg" and shutil.which("dot") is None:
        return "Graphviz's program `dot` draws it, and is not on the path (apt install graphviz)"
    return ""


def _take_output(arguments: argparse.Namespace) -> None:
    """`-o` and `--against` may stand behind the script's own arguments; behind `--` everything is the script's."""
    given = arguments.arguments
    end = given.index("--") if "--" in given else len(given)
    late = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    late.add_argument("-o", "--output")
    late.add_argument("--against")
    found, rest = late.parse_known_args(given[:end])
    arguments.output = found.output or arguments.output
    arguments.against = found.against or arguments.against
    arguments.arguments = rest + given[end + 1 :]


def _recorded(script: Path, arguments: argparse.Namespace) -> tuple[Recording, int]:
    module = types.ModuleType("__main__")
    module.__file__ = str(script.absolute())
    block = record(module.__dict__, title=script.name, values=arguments.values, limit=arguments.limit)
    status, before = 0, set(threading.enumerate())
    with _in_place_of_main(module, script, arguments.arguments):
        recording = block.begin(None)
        try:
            try:
                status = _run(script, module)
            finally:
                _wait_for_threads(before)
        except KeyboardInterrupt:
            print("\nstopped: the recording ends here", file=sys.stderr)
            status = 130
        finally:
            block.__exit__(None, None, None)
    return recording, status


def _run(script: Path, module: types.ModuleType) -> int:
    """Runs a script as Python would; its exit status."""
    try:
        code = compile(script.read_bytes(), str(script.resolve()), "exec", dont_inherit=True)
        exec(code, module.__dict__)  # noqa: S102 - the user's own script
    except SystemExit as stop:
        if stop.code is None or isinstance(stop.code, int):
            return stop.code or 0
        print(stop.code, file=sys.stderr)  # as Python itself does
        return 1
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - the page of a script that failed is the one to look at
        if error.__traceback__ is not None:
            error.__traceback__ = error.__traceback__.tb_next  # without this function
        sys.excepthook(type(error), error, error.__traceback__)
        return 1
    return 0


def _wait_for_threads(before: set[threading.Thread]) -> None:
    """Until the threads that a script has begun are over, as Python does at its end.

    Threads of a pool wait for more work, and are told to end when Python itself does.
    """
    pools = sys.modules.get("concurrent.futures.thread")
    while begun := [
        thread
        for thread in set(threading.enumerate()) - before
        if not thread.daemon and thread not in getattr(pools, "_threads_queues", ())
    ]:
        begun[0].join()


@contextmanager
def _in_place_of_main(module: types.ModuleType, script: Path, given: list[str]) -> Iterator[None]:
    before = sys.modules["__main__"], sys.argv, list(sys.path)
    sys.modules["__main__"], sys.argv = module, [str(script), *given]
    sys.path.insert(0, str(script.resolve().parent))
    try:
        yield
    finally:
        sys.modules["__main__"], sys.argv, sys.path[:] = before


def _write(recording: Recording, output: str) -> None:
    """Writes a recording, and prints what was found."""
    if output == "-":
        print(recording.text())
        return
    suffix = Path(output).suffix
    if suffix == ".trace":
        recording.perfetto(output)
    elif suffix == ".txt":
        Path(output).write_text(recording.text(color=False) + "\n", encoding="utf-8")
    else:
        getattr(recording, FORMS[suffix])(output)
    _tell(recording, output)


def _tell(recording: Recording, output: str) -> None:
    document = recording.document
    left = {what: n for what, n in document["limits"].items() if what.endswith("left_out") and n}
    print(printable(repr(recording)))
    if not document["ops"] and not document["backwards"]:
        print(f"nothing was recorded: {_why_nothing()}")
    bad = first_nonfinite(document)
    if bad is not None:
        print(printable(f"first non-finite: {bad.text}"))
    for answer in without_gradient(document)[:5]:
        print(printable(f"no gradient: {answer.text}"))
    if left:
        told = ", ".join(f"{n:,} {what.removesuffix('_left_out')}" for what, n in left.items())
        print(f"left out beyond --limit {document['limits']['limit']:,}: {told}")
    print(f"written to {Path(output).resolve()}")


def _why_nothing() -> str:
    torch = sys.modules.get("torch")
    if torch is not None and not str(getattr(torch, "__file__", "")).startswith(FOLDER):
        return "the script uses PyTorch itself; --torch has it use retrograd"
    return "no operation ran on a tensor"


def replay(arguments: argparse.Namespace) -> int:
    """Runs a failed node again and prints what goes in and comes out; 1 if it fails again."""
    if arguments.pdb and os.environ.get("RETROGRAD_INTERPRETED") != "1":
        command = ["-m", "retrograd", "replay", arguments.archive, "--pdb"]
        return become(
            command + (["--script", arguments.script] if arguments.script else []), interpreted=True
        )
    try:
        found = NodeReplay(arguments.archive, arguments.script)
    except NotReplayable as error:
        print(f"retrograd replay: {error}", file=sys.stderr)
        return 2
    print(f"{found.told['name']}: {found.told['reason']}\n{found.told['line']}")
    for i, value in enumerate(found.given):
        print(f"  gradient {i} in    {_told(value)}")
    try:
        results = pdb.runcall(found.run) if arguments.pdb else found.run()
    except Exception:  # noqa: BLE001 - it is what is being looked for
        traceback.print_exc()
        return 1
    for i, value in enumerate(results or []):
        print(f"  gradient {i} out   {_told(value)}")
    return 0


def _told(value: Any) -> str:
    kept = None if value is None else keep(value, everything=True)
    if kept is None:
        return "none"
    told = figures(kept)
    text = f"{tuple(told['shape'])} {told['dtype']}"
    for name in ("norm", "min", "max", "nan", "inf"):
        if told.get(name):
            text += (
                f"  {name} {told[name]:.6g}" if isinstance(told[name], float) else f"  {name} {told[name]}"
            )
    return text + (f"  {told['values']}" if "values" in told else "")
