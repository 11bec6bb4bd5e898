"""Random programs on PyTorch and on retrograd: what a user sees of them is the same."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import retrograd

from . import apart
from .execute import differences, run
from .explained import reason
from .grow import grow
from .shrink import shrink

SECONDS = 60  # for one program and its smaller ones


class Finding(NamedTuple):
    """A program on which the two libraries part, as small as it could be made."""

    number: int
    kind: str
    words: str
    program: list[str]

    def __str__(self) -> str:
        why = reason(self.program, self.kind, self.words)
        known = [f"# known: {why}"] if why else []
        return "\n".join([f"# program {self.number}: {self.words}", *known, *self.program, ""])


def first(torch: Any, program: list[str], kind: str | None = None) -> tuple[str, str] | None:
    """The first difference of a program, or the first of a kind."""
    found = differences(run(torch, program), run(retrograd, program))
    return next((d for d in found if kind is None or d[0] == kind), None)


def examine(torch: Any, number: int) -> Finding | None:
    """What is found in a program."""
    program, hers = grow(torch, number)
    found = next(differences(hers, run(retrograd, program)), None)
    if found is None or first(torch, program, found[0]) is None:
        return None
    kind = found[0]
    program = shrink(program, lambda p: first(torch, p, kind) is not None)
    return Finding(number, kind, (first(torch, program, kind) or found)[1], program)


def explore(count: int, seed: int) -> Iterator[Finding]:
    """What is found in so many programs."""
    torch = importlib.import_module("torch")
    torch.set_num_threads(1)
    yield from apart.each(partial(examine, torch), seed, count, SECONDS)
