"""Selection: results that are taken from somewhere instead of being computed: checkpoints, dispatch modes.

A thread in whose state there is one has the bit SELECTED in `special`: see Note [One fast path].
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from retrograd.core.modes import SELECTED, current
from retrograd.core.op import Binary, Op, Unary, Variadic
from retrograd.hints import mypyc_attr


@mypyc_attr(allow_interpreted_subclasses=True)
class Selection:
    """Is asked before each operation, and told after it."""

    outer: Selection | None = None  # the one that is on around it

    def result_of(self, op: Any, operands: Sequence[Any]) -> tuple[Any, Any]:
        """The op to go on with and the arrays that it made before; or the op itself and None, to be computed."""
        return op, None

    def has_made(self, op: Any, operands: Sequence[Any], outs: Sequence[Any], constants: Any) -> None:
        """An operation is over, and recorded if it had to be; `constants` are those that it was applied with."""


def unlinked(op: Op, constants: Any) -> Op:
    """The op with what its forward has noted, but in no graph and with nothing saved."""
    twin = copy.copy(op)
    twin.constants = constants
    twin.edge_count, twin.next0, twin.next1, twin.more_edges = 0, None, None, None
    twin._meta = twin.more_inputs = twin.tensor_hooks = twin.node_hooks = twin.user_metadata = None
    twin._witness = twin._duals = twin._lost = None
    twin._used, twin._watched = False, True
    if isinstance(twin, Unary):
        twin.x = twin.out = twin.x_counter = twin.out_counter = None
    elif isinstance(twin, Binary):
        twin.x = twin.y = twin.out = twin.x_counter = twin.y_counter = twin.out_counter = None
    elif isinstance(twin, Variadic):
        twin.xs = twin.x_counters = twin.x_versions = None
        twin.outs = twin.out_counters = twin.out_versions = None
    return twin


def switch_on(selection: Selection) -> None:
    """Has this thread ask a selection, inside of the one that it asks already."""
    state = current()
    selection.outer = state.selection if state.special & SELECTED else None
    ask(selection)


def ask(selection: Selection | None) -> None:
    """Has this thread ask a selection and no other, or none."""
    state = current()
    state.selection = selection
    state.special = state.special & ~SELECTED if selection is None else state.special | SELECTED
