"""FormulaOptimizer: optimisers whose step is one formula, which runs on bare arrays and, recorded, on tensors.

Note [One formula]
~~~~~~~~~~~~~~~~~~
A formula takes the parameter, the gradient to descend along and what is kept of earlier steps, and gives the new
parameter; new values of what is kept it puts in the place of the old. It is written with operators and with NumPy's
functions, which tensors record too. On arrays its results are copied to where parameter and state lie. On tensors
(`differentiable=True`) the state is replaced, because the backward through earlier steps may still need the old one.
Complex parameters are two real ones, each part with a state of its own. Large arrays are taken in blocks that fit into
a processor's cache, where what a formula makes on the way stays.

The kernel pack has the formulas of single numbers as rules, each of which moves all parameters of a group in a call. A
subclass names its own in `_rule`, and in `_rule_numbers` the numbers that are the same for a whole parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np

from retrograd.backends.quiet import QUIET, hush, unhush
from retrograd.core.tensor import Tensor
from retrograd.ops.tensor.create import zeros_like
from retrograd.optim.memory import (
    advanced,
    check_all_writable,
    mark_written,
    must_record,
    new_count,
    state_array,
    steps,
)
from retrograd.optim.optimizer import Group, Optimizer, StateDict
from retrograd.optim.options import check_not_captured, number
from retrograd.optim.recorded import part, whole
from retrograd.values import Array

BLOCK = 1 << 14  # elements: a few such arrays fit into a processor's cache
# What is kept of earlier steps, by name.
Kept = dict[str, Any]


class Row(NamedTuple):
    """A parameter that is about to move, as a kernel gets it."""

    param: Array
    grad: Array
    kept: tuple[Array, ...]
    numbers: tuple[float, ...]  # of the rule: the sign of the gradient, two of weight decay, and its own
    names: tuple[str, ...]  # of what is kept
    step: float
    rates: Group


class FormulaOptimizer(Optimizer):
    """The base of optimisers that are one formula: Note [One formula].

    A subclass says in `_names` what it keeps for a parameter and in `_formula` how that moves. `_numbers_of_step` may
    give further numbers that depend on the count of steps, and keep numbers of its own in the state.
    """

    _absent = {"foreach": None, "maximize": False, "differentiable": False, "capturable": False}
    _counts: ClassVar[tuple[str, ...]] = ("step",)
    _decays: ClassVar[bool] = True  # whether weight decay is an option; a group may have it all the same
    _decoupled: ClassVar[bool] = False  # whether weight decay acts on the parameter and not on its gradient
    _elementwise: ClassVar[bool] = True  # whether each number moves for itself
    _rule: ClassVar[
        int
    ] = -1  # which of the kernel pack's rules is this formula, in the order of native/optim.inc

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Moves every parameter that has a gradient; returns what `closure`, called first, returns."""
        return self._move_groups(closure)

    # -- what a subclass says ----------------------------------------------------------------------------------------

    def _names(self, param: Tensor, group: Group) -> tuple[str, ...]:
        """What is kept for a parameter."""
        raise NotImplementedError(f"{type(self).__name__} has no _names()")

    def _begin(self, name: str, param: Tensor, group: Group) -> Tensor:
        """What is kept before the first step."""
        made: Tensor = zeros_like(param, requires_grad=False)
        return made

    def _numbers_of_step(self, state: StateDict, step: float, rates: Group) -> None:
        """Adds to the options what depends on the count of steps."""

    def _formula(self, xp: Any, param: Any, grad: Any, kept: Kept, step: float, rates: Group) -> Any:
        """The new value of a parameter."""
        raise NotImplementedError(f"{type(self).__name__} has no _formula()")

    def _rule_numbers(self, step: float, rates: Group) -> tuple[float, ...]:
        """Numbers that the kernel pack's rule has for a whole parameter, as native/optim.inc reads them."""
        return ()

    # -- a step ------------------------------------------------------------------------------------------------------

    def _move_all(
        self, params: list[Tensor], grads: list[Tensor], states: list[StateDict], rates: Group
    ) -> None:
        check_not_captured(rates, params)
        for param, state in zip(params, states, strict=True):
            if not state:
                self._start(state, param, rates)
        if must_record(rates):
            for param, grad, state in zip(params, grads, states, strict=True):
                self._move_recorded(param, grad, state, rates)
            return
        check_all_writable(params)
        plain = {name: number(value) if isinstance(value, Tensor) else value for name, value in rates.items()}
        rows = [
            self._row(param.array, grad.array, state, dict(plain), self._names(param, rates))
            for param, grad, state in zip(params, grads, states, strict=True)
        ]
        token = hush(QUIET)
        try:
            steps("formula_steps", rows, self)
        finally:
            unhush(token)
        mark_written(params)

    def _start(self, state: StateDict, param: Tensor, group: Group) -> None:
        state["step"] = new_count()
        self._start_numbers(state, group)
        for name in self._names(param, group):
            state[name] = self._begin(name, param, group)

    def _start_numbers(self, state: StateDict, group: Group) -> None:
        """What is kept beside the count of steps and tensors of the parameter's size."""

    def _row(self, param: Array, grad: Array, state: StateDict, rates: Group, names: tuple[str, ...]) -> Row:
        """The memory of a parameter, of its gradient and of what is kept, with one more step counted."""
        step = advanced(state["step"]) if "step" in state else 0.0
        self._numbers_of_step(state, step, rates)
        kept = tuple([state_array(state[name]) for name in names])
        return Row(param, grad, kept, self._all_numbers(step, rates), names, step, rates)

    def _all_numbers(self, step: float, rates: Group) -> tuple[float, ...]:
        """What a rule of the kernel pack is given for a parameter."""
        if self._rule < 0:
            return ()
        decay, sign = self._decay(rates), -1.0 if rates.get("maximize") else 1.0
        if self._decoupled or rates.get("decoupled_weight_decay"):
            return sign, 0.0, 1 - rates["lr"] * decay, *self._rule_numbers(step, rates)
        return sign, decay, 1.0, *self._rule_numbers(step, rates)

    def _decay(self, rates: Group) -> Any:
        """By how much parameters decay."""
        return rates.get("weight_decay", 0) if self._decays else 0

    def rule(self, rates: Group) -> int:
        """The number of the kernel pack's rule, -1 if there is none."""
        return self._rule

    def move(self, xp: Any, row: Row) -> None:
        """A step by the formula, on bare arrays, whose results are written to where they belong."""
        memory = dict(zip(row.names, row.kept, strict=True))
        for own, slope, parts in _pieces(row.param, row.grad, memory, self._elementwise):
            kept: Kept = dict(parts)
            xp.copyto(own, self._new(xp, own, slope, kept, row.step, row.rates))
            for name, where in parts.items():
                if kept[name] is not where:
                    xp.copyto(where, kept[name])

    def _move_recorded(self, param: Tensor, grad: Tensor, state: StateDict, group: Group) -> None:
        """A step on tensors, which is recorded."""
        rates, step = dict(group), advanced(state["step"]) if "step" in state else 0.0
        self._numbers_of_step(state, step, rates)
        is_complex = param.array.dtype.kind == "c"
        kept: Kept = {name: part(state[name], is_complex) for name in self._names(param, group)}
        # A copy: what the formula saves of the parameter is about to be overwritten.
        before = part(param.clone(), is_complex)
        new = self._new(np, before, part(grad, is_complex), kept, step, rates)
        param.copy_(whole(new, is_complex))
        for name, value in kept.items():
            state[name] = whole(value, is_complex)

    def _new(self, xp: Any, param: Any, grad: Any, kept: Kept, step: float, rates: Group) -> Any:
        """The new value of a parameter: direction and weight decay, then the formula."""
        if rates.get("maximize"):
            grad = -grad
        decay = self._decay(rates)
        if isinstance(decay, Tensor) or decay != 0:
            if self._decoupled or rates.get("decoupled_weight_decay"):
                param = param * (1 - rates["lr"] * decay)
            else:
                grad = grad + param * decay
        return self._formula(xp, param, grad, kept, step, rates)


def _pieces(
    param: Array, grad: Array, memory: Kept, elementwise: bool
) -> Iterator[tuple[Array, Array, Kept]]:
    """A parameter with its gradient and state: of a complex one the two parts, of a large one block by block."""
    arrays = [param, grad, *memory.values()]
    if param.dtype.kind == "c":
        for which in ("real", "imag"):
            parts = {name: getattr(kept, which) for name, kept in memory.items()}
            yield getattr(param, which), getattr(grad, which), parts
    elif elementwise and param.size > BLOCK and all(_is_row(array) for array in arrays):
        flat = [array.reshape(-1) for array in arrays]
        for i in range(0, param.size, BLOCK):
            own, slope, *kept = (array[i : i + BLOCK] for array in flat)
            yield own, slope, dict(zip(memory, kept, strict=True))
    else:
        yield param, grad, memory


def _is_row(array: Array) -> bool:
    """Whether the elements of an array lie in a row, in their order."""
    return type(array) is np.ndarray and array.flags.c_contiguous


def fade(mean: Any, new: Any, weight: Any) -> Any:
    """A running mean with one more value in it."""
    return mean + (new - mean) * weight
