"""A program that shows a difference, made as small as it can be while it still shows that difference."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator


def shrink(program: list[str], shows: Callable[[list[str]], bool]) -> list[str]:
    """The smallest program that is found by leaving out statements, then lines, then blocks around lines."""
    at = 0
    candidates = list(smaller(program))
    while at < len(candidates):
        if is_python(candidates[at]) and shows(candidates[at]):
            program = candidates[at]
            candidates, at = list(smaller(program)), 0
        else:
            at += 1
    return program


def is_python(program: list[str]) -> bool:
    try:
        for statement in program:
            compile(statement, "<program>", "exec")
    except SyntaxError:
        return False
    return True


def smaller(program: list[str]) -> Iterator[list[str]]:
    """Programs with a little less: without the last half, without a statement, without a line or its block."""
    if len(program) > 3:
        yield program[: len(program) // 2]
    for i in reversed(range(len(program))):
        yield program[:i] + program[i + 1 :]
    for i, statement in enumerate(program):
        lines = statement.split("\n")
        if len(lines) > 1:
            yield [*program[:i], *textwrap.dedent("\n".join(lines[1:])).split("\n"), *program[i + 1 :]]
            for k in range(1, len(lines)):
                yield [*program[:i], "\n".join(lines[:k] + lines[k + 1 :]), *program[i + 1 :]]
