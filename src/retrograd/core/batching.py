"""Ops on batched arrays: the rule of a family, the array library's own rules, or sample by sample.

Note [Ops on batches]
~~~~~~~~~~~~~~~~~~~~~
An op's `forward` is written for plain arrays. Given batched ones (Note [Batched arrays]) it mostly does the right thing
by itself, because every function it calls knows what to do with them. Where it would not, or where more can be gained,
the op's class or family has a rule here or in `ops/batching.py`. What is left, such as a loop over elements, raises
Unbatchable; then `forward` runs once for each sample, and a warning says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from retrograd.backends.base import namespace_of
from retrograd.backends.batch.array import (
    NEVER_BATCHED,
    BatchedArray,
    Level,
    aligned,
    constant,
    has_batched,
    is_batched,
    levels_among,
    newest_among,
    sample,
)
from retrograd.backends.batch.namespace import numpy_for
from retrograd.backends.batch.shape import DynamicShape, Unbatchable
from retrograd.core.op import ROAD, Binary, ElementwiseBinary, ElementwiseUnary, Op, Unary
from retrograd.core.places import warn
from retrograd.core.traits import traits_of

Rule = Callable[[Any, Level, Sequence[Any]], Any]
ndarray: Final[Any] = np.ndarray
NO_PARAMETERS: Final[dict[str, Any]] = {}

# By the class of the op; a class without a rule has that of its nearest ancestor.
RULES: dict[type, Rule] = {}
_FOUND: dict[type, Rule | None] = {}


def batching_rule(*classes: type) -> Callable[[Rule], Rule]:
    """Makes a function the rule of ops: `rule(op, level, operands)` gives what `op.forward` would."""
    return _Registration(classes)


class _Registration:
    def __init__(self, classes: tuple[type, ...]) -> None:
        self.classes = classes

    def __call__(self, rule: Rule) -> Rule:
        for cls in self.classes:
            RULES[cls] = rule
        _FOUND.clear()
        return rule


def rule_of(cls: type) -> Rule | None:
    """The rule of an op's class or of its nearest ancestor that has one."""
    if cls not in _FOUND:
        _FOUND[cls] = next((RULES[c] for c in cls.__mro__ if c in RULES), None)
    return _FOUND[cls]


def plain_forward(op: Any, xp: Any, xs: Sequence[Any]) -> Any:
    """`op.forward`, however many operands it takes."""
    if isinstance(op, Unary):
        return op.forward(xp, xs[0])
    if isinstance(op, Binary):
        return op.forward(xp, xs[0], xs[1])
    return op.forward(xp, xs)


def forwarded(op: Any, xs: Sequence[Any]) -> Any:
    """What an op makes of arrays that are not all plain. See Note [Ops on batches]."""
    parameters = batched_parameters(op) if op.params else NO_PARAMETERS
    level = newest_among((xs, parameters) if parameters else xs)
    if level is None:
        return plain_forward(op, namespace_of(xs[0]), xs)
    rule = rule_of(type(op))
    if rule is not None and not parameters:
        try:
            return rule(op, level, xs)
        except Unbatchable:
            return one_by_one(op, level, xs, parameters)
    levels = levels_among((tuple(xs), tuple(parameters.values())))
    xp = numpy_for(levels)
    try:
        return plain_forward(op, xp, xs)
    except DynamicShape:
        raise
    except Unbatchable:
        pass
    try:
        return plain_forward(op, xp, [_on_levels(x, levels) for x in xs])
    except DynamicShape:
        raise
    except Unbatchable:
        return one_by_one(op, level, xs, parameters)


def _on_levels(x: Any, levels: tuple[Level, ...]) -> Any:
    """An array as one that is batched, so that functions that look at the first argument only find that it is."""
    return constant(x, levels) if is_batched(x) or isinstance(x, ndarray) else x


def batched_parameters(op: Op) -> dict[str, Any]:
    """Those of an op's parameters that hold batched arrays."""
    found = NO_PARAMETERS
    for name in op.params:
        value = getattr(op, name)
        if type(value) not in NEVER_BATCHED and has_batched(value):
            found = {**found, name: value}
    return found


# -- elementwise: one more dimension is nothing new ----------------------------------------------------------------


@batching_rule(ElementwiseUnary)
def _of_elements(op: Any, level: Level, xs: Sequence[Any]) -> Any:
    return _wrapped(forwarded_values(op, (xs[0].value,)), level)


@batching_rule(ElementwiseBinary)
def _of_pairs(op: Any, level: Level, xs: Sequence[Any]) -> Any:
    return _wrapped(forwarded_values(op, aligned(xs, level)), level)


def forwarded_values(op: Any, values: Sequence[Any]) -> Any:
    """`forward` on values with their batch in front, which may be batched on an older level."""
    if any(is_batched(v) for v in values):
        return forwarded(op, values)
    kernel = traits_of(op).forward
    if kernel is not None:
        found = kernel(op, *values)
        if found is not NotImplemented:
            return found
    return plain_forward(op, namespace_of(values[0]), values)


def fused_vjp(op: Any, kernel: Any, given: Sequence[Any]) -> Any:
    """Gradients by a kernel for plain arrays, of all samples at once; NotImplemented where they are not all alike."""
    level = given[0].level
    shape = given[0].value.shape
    values: list[Any] = []
    for v in given:
        if isinstance(v, BatchedArray):
            if v.level is not level or v.value.shape != shape or is_batched(v.value):
                return NotImplemented
            values.append(v.value)
        elif isinstance(v, ndarray):
            return NotImplemented
        else:
            values.append(v)
    found = kernel(op, *values)
    if found is NotImplemented:
        return found
    if isinstance(found, tuple):
        return tuple([None if f is None else BatchedArray(f, level) for f in found])
    return BatchedArray(found, level)


def _wrapped(value: Any, level: Level) -> BatchedArray:
    return BatchedArray(value if hasattr(value, "shape") and value.shape != () else np.asarray(value), level)


# -- sample by sample ----------------------------------------------------------------------------------------------


def one_by_one(op: Any, level: Level, xs: Sequence[Any], parameters: dict[str, Any]) -> Any:
    """`forward` for each sample, results stacked."""
    warn_of_loop(op.function_name(), level)
    results, facts = [], []
    before = _arrays_on(op)
    try:
        for i in range(level.size):
            for name, value in parameters.items():
                setattr(op, name, sampled(value, level, i))
            results.append(forwarded(op, [sampled(x, level, i) for x in xs]))
            facts.append(
                {k: v for k, v in _arrays_on(op).items() if v is not before.get(k) and k not in parameters}
            )
    finally:
        for name, value in parameters.items():
            setattr(op, name, value)
    if not results:
        raise Unbatchable(
            f"vmap: {op.function_name()} has no batching rule, and cannot run sample by sample where there is none."
        )
    for name in facts[0]:
        setattr(op, name, stacked([f[name] for f in facts], level))
    if isinstance(results[0], tuple):
        return tuple([stacked(list(column), level) for column in zip(*results, strict=True)])
    return stacked(results, level)


def warn_of_loop(name: str, level: Level) -> None:
    """Says that a function gains nothing from being called on a batch."""
    warn(
        f"There is a performance drop because we have not yet implemented the batching rule for {name}. It runs once "
        f"for each of {level.size} samples.",
        UserWarning,
    )


def sampled(value: Any, level: Level, i: int) -> Any:
    """Sample `i` of an array, or of arrays in nested tuples and lists."""
    if isinstance(value, BatchedArray):
        return sample(value, level, i)
    if type(value) in (tuple, list):
        return type(value)([sampled(v, level, i) for v in value])
    if isinstance(value, tuple) and has_batched(value):
        return type(value)(*[sampled(v, level, i) for v in value])  # a named tuple
    return value


def stacked(arrays: list[Any], level: Level) -> BatchedArray:
    """Arrays, one per sample, as a batched one."""
    shapes = {tuple(np.shape(a)) for a in arrays}
    if len(shapes) > 1:
        raise DynamicShape(
            "vmap: We do not support batching operators that can output dynamic shape: here the samples' results are "
            f"of shapes {', '.join(str(list(s)) for s in sorted(shapes))}."
        )
    return BatchedArray(np.stack(arrays), level)


def _arrays_on(op: Any) -> dict[str, Any]:
    """The arrays among an op's attributes."""
    names = [*getattr(type(op), "__mypyc_attrs__", ()), *vars(op)]
    found = {}
    for name in names:
        if name not in _OF_NODES:
            value = getattr(op, name, None)
            if isinstance(value, (np.ndarray, BatchedArray)):
                found[name] = value
    return found


_OF_NODES = frozenset(("x", "y", "out", "xs", "outs"))

ROAD.vjp = fused_vjp
