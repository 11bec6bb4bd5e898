"""The ways into and out of a batch, as ops: what `vmap` does to its inputs and outputs, with their derivatives.

Note [Levels in a graph]
~~~~~~~~~~~~~~~~~~~~~~~~
Gradients of batched tensors are batched. Where a graph leaves a level, towards a tensor that all samples share, the
gradient is the sum over the samples: the engine takes it on the edge from a node whose result is batched to one whose
result is not. Which levels a result is batched on is part of its shape (BatchedShape), which nodes keep anyway. A
gradient may be batched on further levels, of which the graph knows nothing: those of a batch of backwards
(`is_grads_batched`), and they stay.

A tensor that a function inside a level is differentiated by is not shared, though all samples have the same: each
wants its own gradient. So it is made one of the level, by Constant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from retrograd.backends.base import BACKENDS, Backend, backend_of
from retrograd.backends.batch.array import (
    BatchedArray,
    Level,
    constant,
    levels_of,
    packed,
    sample,
    summed_over,
    unpacked,
)
from retrograd.backends.batch.shape import BatchedShape
from retrograd.core.apply import apply1
from retrograd.core.families import Linear
from retrograd.core.modes import current
from retrograd.core.node import Node
from retrograd.core.tensor import Tensor
from retrograd.core.upward import UPWARD
from retrograd.core.views import OF_A_BATCH, mark_view
from retrograd.lazy import load
from retrograd.values import Array

__all__ = ["Level"]


class BetweenLevels(Linear):
    """From one level to another: its forward is given arrays of both as they are."""

    def compute(self, xp: Backend, xs: Sequence[Any]) -> Any:
        return self.forward(BACKENDS.cpu, xs[0])


class AlongAxis(BetweenLevels):
    """Between a tensor and a batch of samples, which lie along one of its dimensions."""

    params: ClassVar[tuple[str, ...]] = ("axis", "level")
    fresh_results: bool = False

    def __init__(self, axis: int, level: Level) -> None:
        self.axis = axis
        self.level = level


class Enter(AlongAxis):
    """a tensor as a batch of samples, which lie along one of its dimensions"""

    node_name = "AddBatchDimBackward0"

    def forward(self, xp: Backend, x: Array) -> Array:
        return packed(x, self.axis, self.level)

    def transpose(self, g: Any) -> Any:
        return Leave(self.axis, self.level).on(g)


class Leave(AlongAxis):
    """a batch of samples as one tensor, in which they lie along a dimension"""

    node_name = "RemoveBatchDimBackward0"
    apart: bool = True  # whether each sample has memory of its own, and may be written

    def forward(self, xp: Backend, x: Array) -> Array:
        found = unpacked(x, self.level)
        if self.apart and isinstance(x, BatchedArray) and x.level is self.level and x.value.shape[0] == 1:
            found = found.copy()  # all samples have the same so far
        return backend_of(found).moveaxis(found, 0, self.axis) if self.axis else found

    def transpose(self, g: Any) -> Any:
        return Enter(self.axis, self.level).on(g)


class Constant(BetweenLevels):
    """a tensor that all samples of some levels share, as one that each has for itself"""

    node_name = "ExpandBackward0"
    params: ClassVar[tuple[str, ...]] = ("levels",)
    fresh_results: bool = False

    def __init__(self, levels: tuple[Level, ...]) -> None:
        self.levels = levels

    def forward(self, xp: Backend, x: Array) -> Array:
        return constant(x, self.levels)

    def transpose(self, g: Any) -> Any:
        return g  # the engine sums over the samples: see Note [Levels in a graph]


class SumOfSamples(BetweenLevels):
    """the sum over all samples of a level"""

    node_name = "SumBackward1"
    params: ClassVar[tuple[str, ...]] = ("level",)

    def __init__(self, level: Level) -> None:
        self.level = level

    def forward(self, xp: Backend, x: Array) -> Array:
        return summed_over(x, self.level)

    def transpose(self, g: Any) -> Any:
        return g  # the same for every sample


def entered(x: Tensor, axis: int, level: Level) -> Any:
    """A tensor as a batch on a level: the same memory, so that a write in place writes into the tensor."""
    made = apply1(Enter(axis, level), x)
    if x._base is None and (x._node is not None or not x._requires):
        made._counter = x._version_counter()  # its history goes its own way, until `written`
    else:
        mark_view(made, x, current(), OF_A_BATCH)
    return made


def entered_once(x: Tensor, level: Level) -> Any:
    """A tensor whose first dimension is a batch, as that batch; nothing that is written comes back."""
    return apply1(Enter(0, level), x)


def written(x: Tensor, made: Tensor, axis: int, level: Level) -> None:
    """After a function on a batch: a tensor that it wrote in place has the history of what was written."""
    if made._base is None and made._node is not None and not isinstance(made._node, Enter):
        x._move_to(left(made, axis, level)._node, 0)


def left(x: Tensor, axis: int, level: Level) -> Any:
    """A tensor with all its samples, along `axis`; the same many times over if they are alike."""
    op = Leave(axis, level)
    if level not in levels_of(x.array):
        x = apply1(Constant((level,)), x)  # so that its gradient leaves the level again on the way back
        op.apart = False
    return apply1(op, x)


def own_of_each(x: Tensor) -> Any:
    """A tensor of which each sample of every open level has one of its own, to be differentiated by."""
    missing = tuple([level for level in current().batch_levels if level not in levels_of(x.array)])
    return apply1(Constant(missing), x) if missing else x


def unshare(level: Level) -> None:
    """At the end of a level: tensors from before are again what they were."""
    for ref in level.shared:
        tensor = ref()
        if tensor is not None and level in levels_of(tensor.array):
            tensor.array = sample(tensor.array, level, 0)
    level.shared.clear()


# -- on the edges of a graph ---------------------------------------------------------------------------------------


def shape_levels(shape: Any) -> tuple[Any, ...]:
    """The levels on which a result of this shape is batched."""
    found: tuple[Any, ...] = shape.levels if isinstance(shape, BatchedShape) else ()
    return found


def summed_outside(value: Any, array: BatchedArray, source: Node, shape: Any) -> Any:
    """A gradient on its way from `source` to a result of `shape`, summed over the levels that it leaves."""
    if array.shape.levels == shape_levels(shape):
        return value
    inside = set(shape_levels(source.out_shape))
    for meta in source.more_inputs or ():
        inside.update(shape_levels(meta.shape))
    kept = shape_levels(shape)
    for level in levels_of(array):
        if level in inside and level not in kept:
            value = SumOfSamples(level).on(value)
    return value


def _by_sample(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """`by_sample`, of a module that is loaded when it is needed and imports this one."""
    return load("retrograd.func.by_sample").by_sample(function, *args, **kwargs)


UPWARD.leave_levels = summed_outside
UPWARD.by_sample = _by_sample
