"""`retrograd ops`: what an operation computes, and the source of its derivative."""

from __future__ import annotations

import argparse
import difflib
import sys
from typing import Any

from retrograd.core.op import Op
from retrograd.inspect.formulas import all_ops, formula, is_family, node_name, source


def add(commands: Any) -> None:
    """Adds the command to the parser."""
    found = commands.add_parser(
        "ops",
        help="show the formula and the derivative's source of an operation",
        description="Without a name, lists every operation; with one (exp, ExpBackward0), shows its class.",
    )
    found.add_argument("name", nargs="?", help="an operation, or the node that it makes")
    found.set_defaults(call=show)


def show(arguments: argparse.Namespace) -> int:
    """Prints a list, or one op."""
    ops = {cls: node_name(cls) for cls in all_ops() if formula(cls) and not is_family(cls)}
    if arguments.name is None:
        width = max(map(len, ops.values()))
        for cls, name in sorted(ops.items(), key=lambda entry: entry[1].lower()):
            print(f"{name:<{width}}  {formula(cls)}")
        return 0
    wanted = arguments.name.lower().rpartition(".")[2].rstrip("_")
    matches = [cls for cls, name in ops.items() if wanted in _names(cls, name)]
    if not matches:
        near = difflib.get_close_matches(wanted, {n for cls, name in ops.items() for n in _names(cls, name)})
        hint = f" Did you mean {', '.join(near)}?" if near else " `retrograd ops` lists all."
        print(f"retrograd ops: there is no operation {arguments.name!r}.{hint}", file=sys.stderr)
        return 2
    print("\n\n".join(_described(cls, ops[cls]) for cls in matches))
    return 0


def _names(cls: type[Op], name: str) -> set[str]:
    """What people may call an op."""
    return {name.lower(), name.lower().partition("backward")[0], cls.__qualname__.lower()}


def _described(cls: type[Op], name: str) -> str:
    found = source(cls)
    if found is None:
        return f"{name}: {formula(cls)}"
    path, line, text = found
    return f"{name}: {formula(cls)}\n{path}:{line}\n\n{text}"
