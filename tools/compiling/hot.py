"""Functions that every operation and every node of a backward pass through.

GCC and clang put functions that are marked `hot` side by side. They fill a few pages of memory then, which the
processor keeps at hand, and not one page each of a library of fifteen megabytes: a chain of small operations took up
to 15 % longer depending on which module stood in which file.
"""

from __future__ import annotations

import re

from tools.compiling.rewriting import Rewriting, Tally, Times, at_least

MODULES = frozenset({
    *("core.accumulate", "core.apply", "core.collector", "core.families", "core.link", "core.lost", "core.metadata"),
    *("core.modes", "core.node", "core.op", "core.places", "core.tensor", "core.traits", "core.version", "core.views"),
    *("engine.buffer", "engine.engine", "engine.evaluate", "engine.ready", "engine.task"),
})  # fmt: skip
FUNCTIONS = Rewriting(
    "functions that are used all the time",
    re.compile(
        r"^(?=[a-zA-Z][^\n;]*\bCPyDef_(?!\w*__top_level__|\w*__init__)\w+\([^\n;]*\) \{$)", re.MULTILINE
    ),
    "RETROGRAD_HOT ",
)
MARK = """#if defined(__GNUC__)
#define RETROGRAD_HOT __attribute__((hot))
#else
#define RETROGRAD_HOT
#endif
"""


def marked(module: str, text: str, tally: Tally) -> str:
    """The C file of a module, with its functions marked if it is one of these."""
    if module.removeprefix("retrograd.") not in MODULES:
        return text
    return MARK + FUNCTIONS.apply(text, tally)


def expected() -> dict[Rewriting, Times]:
    """How often that should happen: these modules have some four hundred functions."""
    return {FUNCTIONS: at_least(300)}
