"""Functions that go through the samples of a batch one by one: their checks or loops look at what samples differ in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from retrograd.backends.batch.array import Level, levels_of, newest_level
from retrograd.backends.batch.shape import Unbatchable
from retrograd.core.apply import apply1
from retrograd.core.places import warn_of_loop
from retrograd.core.tensor import Tensor
from retrograd.core.tree import flatten
from retrograd.errors import check_depth
from retrograd.func.levels import Enter, left
from retrograd.ops.shape.join import stack


def by_sample(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """`function` called once for each sample, its results stacked. Ops do both, so that gradients go through.

    All samples share the options.
    """
    level = newest_level(tuple([a.array for a in flatten(arguments)[0] if isinstance(a, Tensor)]))
    name = function.__name__
    warn_of_loop(name, level.size)
    if not level.size:
        raise Unbatchable(f"vmap: {name} runs sample by sample, which it cannot where there is none.")
    split = [_samples(a, level) for a in arguments]
    results = [function(*[s[i] for s in split], **options) for i in range(level.size)]
    if isinstance(results[0], (list, tuple)):
        return type(results[0])([_joined(list(column), level) for column in zip(*results, strict=True)])
    return _joined(results, level)


def _samples(argument: Any, level: Level, depth: int = 0) -> Any:
    """An argument for each sample: its own, or the one that all share; of a list, the same of its items."""
    check_depth(depth)
    if type(argument) in (list, tuple):
        columns = [_samples(a, level, depth + 1) for a in argument]
        return [type(argument)([column[i] for column in columns]) for i in range(level.size)]
    if isinstance(argument, Tensor) and level in levels_of(argument.array):
        return left(argument, 0, level).unbind(0)
    return [argument] * level.size


def _joined(results: list[Any], level: Level) -> Any:
    return apply1(Enter(0, level), stack(results))
