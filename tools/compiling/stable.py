"""What makes a second build short: C files that change only where their Python did.

mypyc numbers the literals of all modules in one table, and declares everything in one header; a new string in one
module would compile all of them again. So literals have names here, and a file depends on those declarations alone
that it mentions.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from tools.compiling.rewriting import Rewriting, Tally, at_least, exactly

LITERALS = Rewriting("names of literals", re.compile(r"CPyStatics\[(\d+)\]; /\* (.*) \*/"))
DECLARATIONS = Rewriting(
    "declarations of literals", re.compile(r'^#include "__native_internal_\w+\.h"$', re.MULTILINE)
)
_WORD = re.compile(r"\w+")
_NAME = re.compile(r"(\w+)\s*(?:\[[^]]*\])?;$|(\w+)\(")


def name_literals(files: list[Path], table: Path) -> None:
    """Replaces `CPyStatics[12]; /* 'a' */` by a name that stays, and gives those names places in `table`, a C file."""
    names: dict[str, str] = {}
    taken: dict[str, str] = {}
    tally = Tally()

    def named(found: re.Match[str]) -> str | None:
        number, literal = found.groups()
        if number not in names:
            name = f"literal_{hashlib.sha256(literal.encode()).hexdigest()[:16]}"
            if taken.setdefault(name, number) != number:  # two long ones that are shown alike
                return None
            names[number] = name
        return f"{names[number]}; /* {literal} */"

    for path in files:
        text = LITERALS.apply(path.read_text(encoding="utf-8"), tally, named)
        mine = sorted(set(re.findall(r"\bliteral_[0-9a-f]{16}\b", text)))
        declared = "".join(
            f'extern PyObject *{name} __attribute__((visibility("hidden")));\n' for name in mine
        )
        path.write_text(
            DECLARATIONS.apply(text, tally, lambda found, d=declared: d + found[0]), encoding="utf-8"
        )
    tally.check({LITERALS: at_least(len(files)), DECLARATIONS: exactly(len(files))})
    places = "".join(
        f'".globl {name}\\n.hidden {name}\\n.set {name}, CPyStatics + 8 * {n}\\n"\n'
        for n, name in names.items()
    )
    with table.open("a", encoding="utf-8") as file:
        file.write(f"__asm__(\n{places});\n")


class Header:
    """The declarations of header files, by name."""

    def __init__(self, files: list[Path]) -> None:
        self.items: dict[str, list[str]] = {}
        self._known: dict[str, set[str]] = {}  # by name: what its declarations mention
        for path in files:
            item = ""
            for line in path.read_text(encoding="utf-8").splitlines():
                if line.startswith("#") or not line:
                    continue
                item += line + "\n"
                if line.endswith(";") and item.count("{") == item.count("}"):
                    self._add(item)
                    item = ""

    def _add(self, item: str) -> None:
        found = _NAME.search(item.rstrip().splitlines()[-1])
        name = (found and (found[1] or found[2])) or ""
        self.items.setdefault(name, []).append(item)

    def seen_by(self, text: str) -> str:
        """The declarations that `text` mentions, and those which these mention."""
        seen: set[str] = set()
        waiting = self._mentioned(text)
        while waiting:
            seen |= waiting
            waiting = set().union(*(self._mentions(name) for name in waiting)) - seen
        return "".join(sorted(item for name in seen for item in self.items[name]))

    def _mentions(self, name: str) -> set[str]:
        if name not in self._known:
            self._known[name] = self._mentioned("".join(self.items[name]))
        return self._known[name]

    def _mentioned(self, text: str) -> set[str]:
        # The table of literals is as long as all of them together, and files name theirs.
        return (self.items.keys() & set(_WORD.findall(text))) - {"CPyStatics"}
