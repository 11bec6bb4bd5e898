"""The one road every op takes: check the operands, run forward, link the node, hand out the result.

`apply1`, `apply2` and `apply_n` differ only in how many operands they take. Each tests `state.special` and the exact
type of its operands once; whatever is not plain (a subclass, a number, an array, inference mode) takes a detour and
comes back. See Note [One fast path].
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from retrograd.backends.base import (
    BACKENDS,
    Backend,
    as_array,
    is_array,
    is_writable,
    mixed_devices,
    where_of,
)
from retrograd.backends.casts import cast
from retrograd.backends.device import CPU, device
from retrograd.backends.dtypes import (
    check_element,
    get_default_dtype,
    is_differentiable,
    is_number,
    python_number,
    result_of_arrays,
    result_with_scalar,
)
from retrograd.backends.long_calls import begin, compute_apart
from retrograd.backends.native import CPU_BACKEND
from retrograd.backends.quiet import unhush
from retrograd.backends.shortage import tell_shortage
from retrograd.core.accumulate import grad_accumulator
from retrograd.core.anomaly import remember_origin
from retrograd.core.autocast import in_float32, is_widened
from retrograd.core.collector import hide
from retrograd.core.lost import cut_note, hand_on, hand_on1, hand_on2, note_of_constant
from retrograd.core.metadata import metadata_of
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
from retrograd.core.node import Edge, Node, put_edge
from retrograd.core.observer import Observer
from retrograd.core.op import ALL, OUT, Binary, Op, Unary, Variadic, X, Y, computed, may_hold_samples
from retrograd.core.places import CALLER, mark, spot
from retrograd.core.saved import SavedConstant, refuse_inference
from retrograd.core.tangent import are_inference, carry
from retrograd.core.tensor import Tensor
from retrograd.core.traits import Traits, called, traits_of
from retrograd.core.upward import UPWARD
from retrograd.core.version import UNTRACKED, VersionCounter
from retrograd.core.views import MULTI_OUTPUT, NORMAL, NOWHERE, mark_view, recorded, refresh_view
from retrograd.core.witness import remember_constants
from retrograd.errors import OperandError, broadcast_error, operand_error
from retrograd.values import Array, DType

# Note [Nothing but inference tensors]
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# An inference tensor may say that it requires a gradient, and has no place in a graph. Outside of inference mode, an op
# is recorded only if one operand is a tensor of another kind, or a number. Copies are recorded: they lead out of it.

ndarray: Final[Any] = np.ndarray
xp: Final[Backend] = CPU_BACKEND


def apply1(op: Unary, input: Any) -> Any:
    """Applies a one-operand op."""
    cls = None if type(input) is Tensor else _result_class(op, (input,))
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
        if traits.floats and a.dtype.kind in "biu":
            a = _cast(a, get_default_dtype())
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
        _link1(op, x, a, out, state, traits.keeps)
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


def _link1(op: Unary, x: Tensor, a: Array, out: Tensor, state: ThreadState, keeps: int) -> None:
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


def _check_constants(constants: tuple[SavedConstant, ...]) -> None:
    """Constants are about to be saved: none may be an inference tensor."""
    for c in constants:
        if c.version < 0:
            refuse_inference()


def _cut_off(op: Unary) -> None:
    """Ends the graph at a view made without recording: what was saved does not matter, whoever overwrites it."""
    op.next0 = None
    op.x_counter, op.x_version = VersionCounter(), 0
    op.out_counter, op.out_version = VersionCounter(), 0


def in_rows(array: Array) -> Array:
    """The array itself if it lies row after row in memory, or else a copy that does."""
    if not isinstance(array, np.ndarray) or array.flags.c_contiguous:
        return array
    return np.ascontiguousarray(array) if type(array) is ndarray else array.copy("C")


def apply2(op: Binary, x: Any, y: Any, caller: int = CALLER) -> Any:
    """Applies a two-operand op to tensors and Python numbers; `caller` is how many frames away the caller is."""
    cls = None
    if not (type(x) is Tensor and (type(y) is Tensor or type(y) is float or type(y) is int)):
        x, y = _operand(op, 0, x), _operand(op, 1, y)
        cls = _result_class(op, (x, y))
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
        a, b = _operands(a, b, tx is not None, ty is not None, traits.floats)
        if traits.elementwise and tx is not None and ty is not None:
            _check_broadcast(a.shape, b.shape)
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
        _link2(op, traits, tx, ty, a, b, out, state, caller)
    elif (tx is not None and (tx._requires or tx._lost is not None)) or (
        ty is not None and (ty._requires or ty._lost is not None)
    ):
        tracked = (tx is not None and tx._requires) or (ty is not None and ty._requires)
        what = called(op, traits) if tracked else ""
        hand_on2(out, tx, ty, what, traits.may_reduce, state)
    if state.special:
        _finish_special(op, (x if tx is None else tx, y if ty is None else ty), (out,), state, op.constants)
    return out if cls is None else out._in_class(cls)


def _operands(a: Any, b: Any, a_is_array: bool, b_is_array: bool, floats: bool) -> tuple[Any, Any]:
    """Two operands in the dtype that they promote to; numbers stay as they are."""
    if a_is_array and b_is_array:
        if a.dtype is not b.dtype:
            a, b = _promoted(a, b)
    elif a_is_array:
        a = _for_scalar(a, b)
    else:
        b = _for_scalar(b, a)
    return (_floated(a), _floated(b)) if floats else (a, b)


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
            op._where = _common_device((a, b))
    return out


def _computed2(op: Binary, a: Any, b: Any) -> Any:
    """Runs forward."""
    plain = _is_plain(a) and _is_plain(b) and not may_hold_samples(op)
    return op.forward(xp, a, b) if plain else computed(op, (a, b))


def _is_plain(a: Any) -> bool:
    """Whether an operand is an array of NumPy's own, or a number."""
    return type(a) is ndarray or isinstance(a, (int, float, complex))


def _check_broadcast(shape: Any, other: Any) -> None:
    """Operands of an elementwise op must broadcast against each other."""
    if shape == other:
        return
    for n, m in zip(reversed(shape), reversed(other), strict=False):
        if n not in (m, 1) and m != 1:
            raise broadcast_error(shape, other)


def _common_device(arrays: Sequence[Any]) -> device | None:
    """The one device of all operands, None for the CPU; single numbers may come from the CPU."""
    if not BACKENDS.foreign:
        return None
    home = BACKENDS.homes.get(type(arrays[0]))
    if home is not None and _are_of_class(arrays, type(arrays[0])):
        return home
    found = {where_of(a) for a in arrays if is_array(a) and (a.ndim or where_of(a) is not None)}
    if len(found) > 1:
        raise mixed_devices(["cpu" if where is None else str(where) for where in found])
    return found.pop() if found else None


def _are_of_class(arrays: Sequence[Any], cls: Any) -> bool:
    """Whether all operands are numbers, missing, or arrays of one class."""
    for a in arrays:
        if type(a) is not cls and a is not None and type(a) is not float and type(a) is not int:
            return False
    return True


def _link2(
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


def _node_of(x: Tensor) -> Node:
    """The node that the gradient of a tensor goes to."""
    node = x._node
    return grad_accumulator(x) if node is None else node


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


def apply_n(op: Variadic, xs: Sequence[Any]) -> Any:
    """Applies an op of any number of operands (None where one is missing) and results."""
    cls = _result_class(op, xs)
    state = current()
    known: Any = None
    if state.special:
        op, known = _start_special(op, xs, state)
    traits = traits_of(op)
    arrays = _arrays_of(xs)
    if traits.floats:
        arrays = [None if a is None else _floated(a) for a in arrays]
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
            mark_view(out, xs[0], state, MULTI_OUTPUT)
    if state.grad_enabled and _up_to_date(xs) and traits.differentiable:
        _link_n(op, traits, xs, arrays, outs, state)
    for out in outs:
        if out._node is None:
            what = called(op, traits) if _are_tracked(xs) else ""
            hand_on(out, xs, what, traits.may_reduce, state)
    if state.special:
        _finish_special(op, tuple(xs), tuple(outs), state, constants)
    if cls is not None:
        outs = [out._in_class(cls) for out in outs]
    return tuple(outs) if several else outs[0]


def _are_tracked(xs: Sequence[Any]) -> bool:
    """Whether an operand requires a gradient: then a result that is not recorded says what function lost it."""
    for operand in xs:
        x: Tensor | None = operand
        if x is not None and x._requires:
            return True
    return False


def _arrays_of(xs: Sequence[Any]) -> list[Any]:
    """The arrays of operands, None where one is missing."""
    found: list[Any] = []
    for operand in xs:
        x: Tensor | None = operand
        found.append(None if x is None else x.array)
    return found


def _up_to_date(xs: Sequence[Any]) -> bool:
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
        op._where = _common_device(arrays)
    return outs


def _link_n(
    op: Variadic,
    traits: Traits,
    xs: Sequence[Any],
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


def _lay_edges(op: Variadic, xs: Sequence[Any], count: int) -> bool:
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


def _save_inputs(op: Variadic, xs: Sequence[Any], arrays: list[Any]) -> None:
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


def gradient_edge(x: Tensor) -> Edge:
    """The edge at which a tensor's gradient arrives."""
    return Edge(gradient_node(x), x.output_nr)


def gradient_node(x: Tensor) -> Node:
    """The node at which a tensor's gradient arrives."""
    if x._base is not None:
        refresh_view(x)
    return _node_of(x)


def _saved_version(counter: VersionCounter) -> int:
    version = counter.version
    if version < 0:
        refuse_inference()
    return version


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


# -- operands that are not plain Tensors ---------------------------------------------------------------------------


def _promoted(a: Array, b: Array) -> tuple[Array, Array]:
    dtype = result_of_arrays(a, b)
    return _cast(a, dtype), _cast(b, dtype)


def _for_scalar(a: Array, number: Any) -> Array:
    """The array in the dtype that it and a Python number promote to."""
    if a.dtype.kind == "f" and type(number) is not complex:
        return a
    return _cast(a, result_with_scalar(a.dtype, number))


def _floated(a: Any) -> Any:
    """Integers as default floats, for ops that compute in floating point."""
    if not isinstance(a, (int, float, complex)) and a.dtype.kind in "biu":
        return _cast(a, get_default_dtype())
    return a


def _cast(a: Array, dtype: DType) -> Array:
    """The array in a dtype. Where dimensions share memory, which cannot be written, the copy lies in rows."""
    return cast(a, dtype, "K" if is_writable(a) else "C", False)


def _operand(op: Op, i: int, value: Any) -> Any:
    """A Tensor, a number or an array as an operand of a binary op; anything else is an error that names it."""
    if isinstance(value, Tensor):
        return value
    kind = type(value)
    if kind is float or kind is int or kind is bool or kind is complex:
        return value
    if isinstance(value, np.generic) and is_number(value):
        return python_number(value)
    if is_array(value):
        check_element(value.dtype)
        return Tensor(value, share=True)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, complex):
        return complex(value)
    raise operand_error(op.function_name(), "input" if i == 0 else "other", i + 1, value)


def _result_class(op: Op, operands: Sequence[Any]) -> Any:
    """The Tensor subclass of the result, None for Tensor itself; an operand that is no Tensor at all is an error."""
    cls: Any = None
    found = False
    for i, value in enumerate(operands):
        if isinstance(value, Tensor):
            found = True
            kind = type(value)
            if kind is Tensor or not value._keeps_class or getattr(kind, "_asks", False):
                continue
            if cls is None or issubclass(kind, cls):
                cls = kind
            elif not issubclass(cls, kind):
                raise OperandError(
                    f"{op.function_name()}(): operands of the unrelated classes {cls.__name__} and {kind.__name__}; "
                    "convert one with as_subclass()"
                )
        elif value is not None and not isinstance(op, Binary):
            raise operand_error(op.function_name(), "input", i + 1, value)
    if not found:
        raise operand_error(op.function_name(), "input", 1, operands[0])
    return cls


UPWARD.apply1, UPWARD.apply2, UPWARD.apply_n = apply1, apply2, apply_n
