"""Making an op the node of its results: its edges, its place in the order, and what it saves.

`link1`, `link2` and `link_n` are the second half of `apply1`, `apply2` and `apply_n`, for results that are recorded.
"""

from __future__ import annotations

from typing import Any

from retrograd.backends.base import BACKENDS
from retrograd.backends.device import CPU
from retrograd.backends.dtypes import is_differentiable
from retrograd.core.accumulate import grad_accumulator
from retrograd.core.collector import hide
from retrograd.core.lost import cut_note, note_of_constant
from retrograd.core.metadata import metadata_of
from retrograd.core.modes import INFERENCE, ThreadState
from retrograd.core.node import Edge, Node, put_edge
from retrograd.core.op import ALL, OUT, Binary, Unary, Variadic, X, Y
from retrograd.core.places import CALLER, mark, spot
from retrograd.core.saved import SavedConstant, refuse_inference
from retrograd.core.tangent import are_inference
from retrograd.core.tensor import Tensor
from retrograd.core.traits import Traits, traits_of
from retrograd.core.version import UNTRACKED, VersionCounter
from retrograd.core.views import NOWHERE, refresh_view
from retrograd.core.witness import remember_constants
from retrograd.values import Array

# Note [Nothing but inference tensors]
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# An inference tensor may say that it requires a gradient, and has no place in a graph. Outside of inference mode, an op
# is recorded only if one operand is a tensor of another kind, or a number. Copies are recorded: they lead out of it.


def gradient_edge(x: Tensor) -> Edge:
    """The edge at which a tensor's gradient arrives."""
    return Edge(gradient_node(x), x.output_nr)


def gradient_node(x: Tensor) -> Node:
    """The node at which a tensor's gradient arrives."""
    if x._base is not None:
        refresh_view(x)
    return _node_of(x)


def link1(op: Unary, x: Tensor, a: Array, out: Tensor, state: ThreadState, keeps: int) -> None:
    """Makes `op` the node of `out`."""
    if state.special & INFERENCE:
        return
    node = x._node
    if node is None:
        if x._counter is UNTRACKED and not state.transforms and not traits_of(op).leads_out:
            return  # see Note [Nothing but inference tensors]
        node = grad_accumulator(x)
    op.edge_count = 1
    op.next0 = node
    node._used = True
    op.nr0 = x.output_nr
    op.topological_nr = node.topological_nr + 1
    op.sequence_nr = state.sequence_nr
    state.sequence_nr += 1
    op._meta = meta = metadata_of(out.array)
    if meta.device is not CPU:
        op._where = meta.device
        op._stream = BACKENDS.stream_now()
    op._made = spot(CALLER)
    if keeps & X:
        op.x = a
        op.x_counter = counter = x._version_counter()
        op.x_version = version = counter.version
        if version < 0:
            refuse_inference()
    if keeps & OUT:
        op.out = out.array
        op.out_counter = out._counter = VersionCounter()
    if op.constants is not None:
        _check_constants(op.constants)
    out._node = op
    out._requires = True
    if node is NOWHERE:
        _cut_off(op)
    if not node._watched and not state.special:
        hide(op)


def _cut_off(op: Unary) -> None:
    """Ends the graph at a view made without recording: what was saved does not matter, whoever overwrites it."""
    op.next0 = None
    op.x_counter, op.x_version = VersionCounter(), 0
    op.out_counter, op.out_version = VersionCounter(), 0


def link2(
    op: Binary,
    traits: Traits,
    x: Tensor | None,
    y: Tensor | None,
    a: Array,
    b: Array,
    out: Tensor,
    state: ThreadState,
    caller: int,
) -> None:
    """Makes `op` the node of `out`; None stands for a number."""
    if state.special & INFERENCE or (x is not None and x._counter is UNTRACKED and _is_apart(y, state)):
        return
    op.edge_count = 2
    keeps = 0
    depth = 0
    watched = False
    if x is not None and x._requires and x._node is not NOWHERE:
        first = _node_of(x)
        first._used = True
        watched = first._watched
        op.next0 = first
        op.nr0 = x.output_nr
        depth = first.topological_nr
        keeps = traits.keeps0
    elif x is not None:
        op._lost = cut_note(x)
    if y is not None and y._requires and y._node is not NOWHERE:
        second = _node_of(y)
        second._used = True
        watched = watched or second._watched
        op.next1 = second
        op.nr1 = y.output_nr
        if second.topological_nr > depth:
            depth = second.topological_nr
        keeps |= traits.keeps1
    elif y is not None:
        op._lost = cut_note(y)
    op.topological_nr = depth + 1
    op.sequence_nr = state.sequence_nr
    state.sequence_nr += 1
    op._meta = meta = metadata_of(out.array)
    if meta.device is not CPU:
        op._where = meta.device
        op._stream = BACKENDS.stream_now()
    op._made = spot(caller)
    if keeps:
        _save2(op, keeps, x, y, a, b, out)
    if op.constants is not None:
        _check_constants(op.constants)
    if state.nonfinite and (op.next0 is None or op.next1 is None):
        remember_constants(op, (a if x is None else x, b if y is None else y))
    out._node = op
    out._requires = True
    if not (watched or state.special or state.nonfinite):
        hide(op)


def _is_apart(y: Tensor | None, state: ThreadState) -> bool:
    """Whether an inference tensor and `y` are recorded by nobody. See Note [Nothing but inference tensors]."""
    return y is not None and y._counter is UNTRACKED and not state.transforms


def _save2(
    op: Binary, keeps: int, x: Tensor | None, y: Tensor | None, a: Array, b: Array, out: Tensor
) -> None:
    """Saves what the backward needs. See Note [Saved values]."""
    if keeps & X:
        op.x = a
        if x is not None:
            op.x_counter = counter = x._version_counter()
            op.x_version = counter.version
    if keeps & Y:
        op.y = b
        if y is not None:
            op.y_counter = counter = y._version_counter()
            op.y_version = counter.version
    if op.x_version < 0 or op.y_version < 0:
        refuse_inference()
    if keeps & OUT:
        op.out = out.array
        op.out_counter = out._counter = VersionCounter()


def link_n(
    op: Variadic,
    traits: Traits,
    xs: tuple[Any, ...],
    arrays: list[Any],
    outs: list[Tensor],
    state: ThreadState,
) -> None:
    """Makes `op` the node of those outputs that can have a gradient."""
    if state.special & INFERENCE or (not state.transforms and are_inference(xs)):
        return
    watched = _lay_edges(op, xs, len(xs) if traits.tracked == ALL else min(traits.tracked, len(xs)))
    op.sequence_nr = state.next_sequence_nr()
    mark(op)
    op._lost = note_of_constant(xs)
    if state.nonfinite:
        remember_constants(op, xs)
    number = 0
    for out in outs:
        if is_differentiable(out.array.dtype):
            out._node, out.output_nr, out._requires = op, number, True
            op.add_input(out.array)
            number += 1
    if traits.keeps & X:
        _save_inputs(op, xs, arrays)
    if traits.keeps & OUT:
        op.outs = [out.array for out in outs]
        op.out_counters = [out._version_counter() for out in outs]
        op.out_versions = [out._version_counter().version for out in outs]
    if op.constants is not None:
        if op.keeps_constants():
            _check_constants(op.constants)
        else:
            op.constants = None
    if not (watched or state.special or state.nonfinite):
        hide(op)


def _lay_edges(op: Variadic, xs: tuple[Any, ...], count: int) -> bool:
    """Gives `op` an edge to each of its first `count` operands, which are up to date; whether one is watched."""
    watched = False
    for i in range(count):
        x: Tensor | None = xs[i]
        if x is None or not x._requires:
            put_edge(op, i, None, 0)
            continue
        node = _node_of(x)
        put_edge(op, i, node, x.output_nr)
        watched = watched or node._watched
    return watched


def _save_inputs(op: Variadic, xs: tuple[Any, ...], arrays: list[Any]) -> None:
    """Saves the operands that the backward needs. See Note [Saved values]."""
    kept: list[Any] = []
    counters: list[VersionCounter | None] = []
    versions: list[int] = []
    for i in range(len(xs)):
        tensor: Tensor | None = xs[i]
        if tensor is not None and not op.keeps_input(i):
            tensor = None
        counter = None if tensor is None else tensor._version_counter()
        kept.append(None if tensor is None else arrays[i])
        counters.append(counter)
        versions.append(0 if counter is None else _saved_version(counter))
    op.xs, op.x_counters, op.x_versions = kept, counters, versions


def _saved_version(counter: VersionCounter) -> int:
    version = counter.version
    if version < 0:
        refuse_inference()
    return version


def _check_constants(constants: tuple[SavedConstant, ...]) -> None:
    """Constants are about to be saved: none may be an inference tensor."""
    for c in constants:
        if c.version < 0:
            refuse_inference()


def _node_of(x: Tensor) -> Node:
    """The node that the gradient of a tensor goes to."""
    node = x._node
    return grad_accumulator(x) if node is None else node
