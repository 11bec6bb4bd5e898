"""The one road every op takes: check the operands, run forward, link the node, hand out the result.

`apply1`, `apply2` and `apply_n` differ only in how many operands they take. Each tests `state.special` and the exact
type of its operands once; whatever is not plain (a subclass, a number, an array, inference mode) takes a detour and
comes back. See Note [One fast path].
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from retrograd.backends.base import (
    Backend,
    as_array,
    where_of,
)
from retrograd.backends.long_calls import begin, compute_apart
from retrograd.backends.native import CPU_BACKEND, is_open
from retrograd.backends.quiet import unhush
from retrograd.backends.shortage import tell_shortage
from retrograd.core.anomaly import remember_origin
from retrograd.core.autocast import in_float32, is_widened
from retrograd.core.collector import hide
from retrograd.core.link import link1, link2, link_n
from retrograd.core.lost import hand_on, hand_on1, hand_on2
from retrograd.core.modes import (
    ANOMALY,
    INFERENCE,
    LEVEL,
    RECORDED,
    SAVED_HOOKS,
    SELECTED,
    WIDENED,
    ThreadState,
    current,
)
from retrograd.core.observer import Observer
from retrograd.core.op import Binary, Op, Unary, Variadic, computed, may_hold_samples
from retrograd.core.operands import (
    check_broadcast,
    common_device,
    floated,
    operand_of,
    promoted_pair,
    result_class,
)
from retrograd.core.places import CALLER
from retrograd.core.tangent import carry
from retrograd.core.tensor import Tensor
from retrograd.core.traits import called, traits_of
from retrograd.core.upward import UPWARD
from retrograd.core.version import UNTRACKED
from retrograd.core.views import MULTI_OUTPUT, NORMAL, mark_view, recorded, refresh_view
from retrograd.values import Array

Operands: TypeAlias = tuple[Any, ...]  # which mypyc goes through faster than any other sequence

ndarray: Final[Any] = np.ndarray
xp: Final[Backend] = CPU_BACKEND


def apply1(op: Unary, input: Any) -> Any:
    """Applies a one-operand op."""
    cls = None if type(input) is Tensor else result_class(op, (input,))
    x: Tensor = input
    state = current()
    known: Any = None
    if state.special:
        if state.special & WIDENED and is_widened(op, x, state):
            return in_float32(apply1, op, input)
        op, known = _start_special(op, (x,), state)
    traits = traits_of(op)
    a = x.array
    result = (
        known if known is not None else NotImplemented if traits.forward is None else traits.forward(op, a)
    )
    if result is NotImplemented:
        if traits.floats:
            a = floated(a)
        result = _computed1(op, a) if traits.is_view else _forward1(op, a)
    if traits.in_rows:
        result = in_rows(result)
    out = Tensor(result, share=True)
    if traits.is_view:
        mark_view(out, x, state, NORMAL)
        if out._base is None and not state.transforms:
            # A view of an inference tensor is not recorded, even if that one requires grad.
            x = Tensor(a, share=True)
    if state.grad_enabled and x._base is not None:
        x = recorded(x)
    if x._requires and state.grad_enabled and traits.differentiable:
        link1(op, x, a, out, state, traits.keeps)
    elif x._requires or x._lost is not None:
        hand_on1(out, x, called(op, traits) if x._requires else "", traits.may_reduce, state)
    if state.special:
        _finish_special(op, (x,), (out,), state, op.constants)
    return out if cls is None else out._in_class(cls)


def _forward1(op: Unary, a: Array) -> Array:
    """Runs forward, quietly."""
    token = begin(a)
    try:
        return compute_apart(_computed1, op, a) if token is None else _computed1(op, a)
    except (MemoryError, ValueError) as error:
        tell_shortage(error)
        raise
    finally:
        if token is not None:
            unhush(token)


def _computed1(op: Unary, a: Array) -> Array:
    """Runs forward."""
    plain = type(a) is ndarray and not may_hold_samples(op)
    out = op.forward(xp, a) if plain else computed(op, (a,))
    if type(out) is not ndarray:
        out = as_array(out)
        if type(out) is not ndarray:
            op._where = where_of(out)
    return out


def in_rows(array: Array) -> Array:
    """The array itself if it lies row after row in memory, or else a copy that does."""
    if is_open(array) or not isinstance(array, ndarray) or array.flags.c_contiguous:
        return array
    return np.ascontiguousarray(array) if type(array) is ndarray else array.copy("C")


def apply2(op: Binary, x: Any, y: Any, caller: int = CALLER) -> Any:
    """Applies a two-operand op to tensors and Python numbers; `caller` is how many frames away the caller is."""
    cls = None
    if not (type(x) is Tensor and (type(y) is Tensor or type(y) is float or type(y) is int)):
        x, y = operand_of(op, 0, x), operand_of(op, 1, y)
        cls = result_class(op, (x, y))
    # None where the operand is a number.
    tx: Tensor | None = x if isinstance(x, Tensor) else None
    ty: Tensor | None = y if isinstance(y, Tensor) else None
    a, b = x if tx is None else tx.array, y if ty is None else ty.array
    traits = traits_of(op)
    state = current()
    known: Any = None
    if state.special:
        op, known = _start_special(op, (x, y), state)
    result = (
        known if known is not None else NotImplemented if traits.forward is None else traits.forward(op, a, b)
    )
    if result is NotImplemented:
        a, b = promoted_pair(a, b, tx is not None, ty is not None, traits.floats)
        if traits.elementwise and tx is not None and ty is not None:
            check_broadcast(a.shape, b.shape)
        result = _forward2(op, a, b)
    if traits.in_rows:
        result = in_rows(result)
    out = Tensor(result, share=True)
    recording = state.grad_enabled and traits.differentiable
    if recording:
        if tx is not None and tx._base is not None:
            tx = recorded(tx)
        if ty is not None and ty._base is not None:
            ty = recorded(ty)
    if recording and ((tx is not None and tx._requires) or (ty is not None and ty._requires)):
        link2(op, traits, tx, ty, a, b, out, state, caller)
    elif (tx is not None and (tx._requires or tx._lost is not None)) or (
        ty is not None and (ty._requires or ty._lost is not None)
    ):
        tracked = (tx is not None and tx._requires) or (ty is not None and ty._requires)
        what = called(op, traits) if tracked else ""
        hand_on2(out, tx, ty, what, traits.may_reduce, state)
    if state.special:
        _finish_special(op, (x if tx is None else tx, y if ty is None else ty), (out,), state, op.constants)
    return out if cls is None else out._in_class(cls)


def _forward2(op: Binary, a: Any, b: Any) -> Array:
    """Runs forward, quietly."""
    token = begin(a, b)
    try:
        out = compute_apart(_computed2, op, a, b) if token is None else _computed2(op, a, b)
    except (MemoryError, ValueError) as error:
        tell_shortage(error)
        raise
    finally:
        if token is not None:
            unhush(token)
    if type(out) is not ndarray:
        out = as_array(out)
        if type(out) is not ndarray:
            op._where = common_device((a, b))
    return out


def _computed2(op: Binary, a: Any, b: Any) -> Any:
    """Runs forward."""
    plain = _is_plain(a) and _is_plain(b) and not may_hold_samples(op)
    return op.forward(xp, a, b) if plain else computed(op, (a, b))


def _is_plain(a: Any) -> bool:
    """Whether an operand is an array of NumPy's own, or a number."""
    return type(a) is ndarray or isinstance(a, (int, float, complex))


def apply_n(op: Variadic, xs: Sequence[Any]) -> Any:
    """Applies an op of any number of operands (None where one is missing) and results."""
    operands: Operands = tuple(xs)
    cls = None if _are_tensors(operands) else result_class(op, operands)
    state = current()
    known: Any = None
    if state.special:
        op, known = _start_special(op, operands, state)
    traits = traits_of(op)
    arrays = _arrays_of(operands)
    if traits.floats:
        arrays = [None if a is None else floated(a) for a in arrays]
    result = (
        known if known is not None else _computed_n(op, arrays) if traits.is_view else _forward_n(op, arrays)
    )
    constants = op.constants
    several = type(result) is tuple
    outs = _tensors(op, result if several else (result,), arrays)
    if traits.in_rows:
        for out in outs:
            out.array = in_rows(out.array)
    if traits.is_view:
        for out in outs:
            mark_view(out, operands[0], state, MULTI_OUTPUT)
    if state.grad_enabled and _up_to_date(operands) and traits.differentiable:
        link_n(op, traits, operands, arrays, outs, state)
    for out in outs:
        if out._node is None:
            what = called(op, traits) if _are_tracked(operands) else ""
            hand_on(out, operands, what, traits.may_reduce, state)
    if state.special:
        _finish_special(op, operands, tuple(outs), state, constants)
    if cls is not None:
        outs = [out._in_class(cls) for out in outs]
    return tuple(outs) if several else outs[0]


def _are_tensors(xs: Operands) -> bool:
    """Whether all operands are there, and Tensors of no other class."""
    for x in xs:
        if type(x) is not Tensor:
            return False
    return len(xs) > 0


def _are_tracked(xs: Operands) -> bool:
    """Whether an operand requires a gradient: then a result that is not recorded says what function lost it."""
    for operand in xs:
        x: Tensor | None = operand
        if x is not None and x._requires:
            return True
    return False


def _arrays_of(xs: Operands) -> list[Any]:
    """The arrays of operands, None where one is missing."""
    found: list[Any] = []
    for operand in xs:
        x: Tensor | None = operand
        found.append(None if x is None else x.array)
    return found


def _up_to_date(xs: Operands) -> bool:
    """Brings operands that are views up to date; whether any requires a gradient."""
    found = False
    for operand in xs:
        if operand is not None:
            x: Tensor = operand
            if x._base is not None:
                refresh_view(x)
            found = found or x.requires_grad
    return found


def _forward_n(op: Variadic, arrays: list[Any]) -> Any:
    """Runs forward, quietly."""
    token = begin(arrays)
    try:
        return compute_apart(_computed_n, op, arrays) if token is None else _computed_n(op, arrays)
    except (MemoryError, ValueError) as error:
        tell_shortage(error)
        raise
    finally:
        if token is not None:
            unhush(token)


def _computed_n(op: Variadic, arrays: list[Any]) -> Any:
    """Runs forward."""
    for a in arrays:
        if type(a) is not ndarray and a is not None:
            return computed(op, arrays)
    return computed(op, arrays) if may_hold_samples(op) else op.forward(xp, arrays)


def _tensors(op: Variadic, results: Sequence[Any], arrays: Sequence[Any]) -> list[Tensor]:
    """The results as Tensors; the op remembers their device."""
    outs = [Tensor(as_array(r), share=True) for r in results]
    if outs and type(outs[0].array) is not ndarray:
        op._where = common_device(arrays)
    return outs


def _start_special(op: Any, operands: Sequence[Any], state: ThreadState) -> tuple[Any, Any]:
    """What happens before an op computes when something special is on; the op to go on with and its known result."""
    if state.special & RECORDED:
        observer: Observer = state.observer
        observer.operation_starts(state)
    if state.special & SELECTED:
        found: tuple[Any, Any] = state.selection.result_of(op, operands)
        return found
    return op, None


def _finish_special(
    op: Op, operands: tuple[Any, ...], outs: tuple[Tensor, ...], state: ThreadState, constants: Any
) -> None:
    """What becomes of results and their node when something special is on.

    `constants` are those that the op was applied with; it may have packed or dropped them.
    """
    recorded = False
    for out in outs:
        recorded = recorded or out._node is op
        if state.special & INFERENCE and out._base is None:
            out._counter = UNTRACKED
    if state.special & ANOMALY and recorded:
        remember_origin(op, state)
    if state.special & SAVED_HOOKS and recorded:
        pack, unpack = state.saved_hooks[-1]
        for name in op.slot_names():
            op.pack(name, pack, unpack, operands)
    if state.special & LEVEL:
        carry(op, operands, outs, state, constants)
    if state.special & RECORDED:
        _told(op, operands, outs, state)
    if state.special & SELECTED:
        state.selection.has_made(op, operands, outs, constants)


def _told(op: Op, operands: tuple[Any, ...], outs: tuple[Tensor, ...], state: ThreadState) -> None:
    """Tells the observer; a recording alone is no reason for the collector to walk a node."""
    observer: Observer = state.observer
    observer.operation_ends(state, op, operands, outs)
    if state.special != RECORDED or state.nonfinite or op.more_edges is not None or outs[0]._node is not op:
        return
    first, second = op.next0, op.next1
    if (first is None or not first._watched) and (second is None or not second._watched):
        hide(op)


UPWARD.apply1, UPWARD.apply2, UPWARD.apply_n = apply1, apply2, apply_n
