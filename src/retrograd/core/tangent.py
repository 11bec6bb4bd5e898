"""Tangents: forward mode. What every result's directional derivative is, computed next to the result itself.

Note [Tangents]
~~~~~~~~~~~~~~~
While a level is open (`autograd.forward_ad`), a tensor may have a tangent: another Tensor, kept in `_tangent` together
with the level. An op whose operands have some gives its results theirs by its own `jvp`, right after its forward pass.
The formula gets the operands and results themselves, so that it is recorded where they are (reverse over forward); and
tangents are off while it runs, so that there is none of a tangent.

A tangent has the layout of its tensor, and lies in memory as its tensor does: the tangent of a view is a view of the
base's tangent, and a write in place writes into the tangent too. So whoever shares the tensor's memory sees the new
tangent. A view that was made before its base got a tangent takes its part of it when it is asked.

A node remembers the tangents of what it saves, in `duals`, so that a backward inside the level computes the tangents
of gradients (forward over reverse). It runs on Tensors then, recorded or not.

The level knows weakly of everything that has a tangent, and takes them all away when it is left.

Levels nest where transforms do (`func.jvp` of `func.jvp`): a tensor has a tangent for each, and the tangent of a newer
level has tangents of the older ones itself. So the older come first, and the formula of a newer one runs with the older
ones on.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from retrograd.backends.base import (
    Backend,
    backend_of,
    common_backend,
    extent_of,
    owner_of,
    stands_for_many,
    whole,
)
from retrograd.backends.dtypes import result_of_arrays
from retrograd.backends.mirror import behind, bits_of, mirrored, reflected
from retrograd.core.families import View
from retrograd.core.metadata import metadata_of
from retrograd.core.modes import FORWARD, ThreadState, current
from retrograd.core.op import Binary, Op, Unary, Variadic, with_constants
from retrograd.core.tensor import Tensor
from retrograd.core.upward import UPWARD
from retrograd.core.version import UNTRACKED
from retrograd.core.views import Region, is_stretched
from retrograd.values import Array


class Tangent:
    """A tangent and the level that it belongs to; the tensor's tangents of other levels behind it."""

    def __init__(self, level: DualLevel, value: Tensor, more: Tangent | None) -> None:
        self.level = level
        self.value = value
        self.more = more

    def at(self, level: DualLevel) -> Tensor | None:
        """The tangent of a level."""
        held: Tangent | None = self
        while held is not None and held.level is not level:
            held = held.more
        return None if held is None else held.value

    def hand_on(self, tensor: Tensor) -> None:
        """Gives another tensor this tangent, and those of the other levels."""
        held: Tangent | None = self
        while held is not None:
            held.level.give(tensor, held.value)
            held = held.more

    def move(self, tensor: Tensor, array: Array) -> None:
        """Gives a tensor whose memory is to be shown as `array` its tangents shown alike: these, where it has none."""
        held: Tangent | None = self
        while held is not None:
            old = None if tensor._tangent is None else tensor._tangent.at(held.level)
            held.level.give(tensor, held.value if old is None else part_of(old, array, tensor.array))
            held = held.more

    def without(self, level: DualLevel) -> Tangent | None:
        """The tangents of all other levels."""
        more = None if self.more is None else self.more.without(level)
        return more if self.level is level else Tangent(self.level, self.value, more)


class DualLevel:
    """One `dual_level()`, or one `func.jvp`; `outer` is the one around it."""

    def __init__(self, outer: DualLevel | None = None) -> None:
        self.outer = outer
        self.tensors: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
        self.nodes: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()

    def give(self, tensor: Tensor, tangent: Tensor) -> None:
        """Makes `tangent` the tangent of `tensor`."""
        others = None if tensor._tangent is None else tensor._tangent.without(self)
        tensor._tangent = Tangent(self, tangent, others)
        self.tensors[id(tensor)] = tensor

    def remember(self, node: Any, duals: dict[Any, Tensor]) -> None:
        """Keeps the tangents of values that a node has saved."""
        if node._duals is None:
            node._duals = {}
        node._duals[self] = duals
        self.nodes[id(node)] = node

    def close(self) -> None:
        """Takes all tangents away."""
        for tensor in list(self.tensors.values()):
            if tensor._tangent is not None:
                tensor._tangent = tensor._tangent.without(self)
        for node in list(self.nodes.values()):
            if node._duals is not None:
                node._duals.pop(self, None)
                node._duals = node._duals or None


# -- reading -------------------------------------------------------------------------------------------------------


def forward_base(x: Tensor) -> Tensor | None:
    """The tensor whose tangent holds that of the view `x`."""
    if x._forward_base is None:
        return x._base
    found: Tensor | None = None if x._forward_base is False else x._forward_base
    return found


def remember_base(out: Tensor, x: Tensor) -> None:
    """Notes for a view of `x` where its tangent lies, if that is not the base of them all."""
    if x._forward_base is not None:
        out._forward_base = x if x._forward_base is False else x._forward_base


def tangent_of(x: Any, state: ThreadState) -> Tensor | None:
    """The tangent of `x` at the open level, if it has one and they are not switched off."""
    if not state.special & FORWARD:
        return None
    if x._tangent is not None:
        held: Tensor | None = x._tangent.at(state.level)
        if held is not None:
            return held
    if x._base is None and x._forward_base is None:
        return None
    base = forward_base(x)
    tangent = None if base is None else tangent_of(base, state)
    if base is None or tangent is None or x.array.dtype.kind not in "fc":
        return None
    part = part_of(tangent, x.array, base.array)
    state.level.give(x, part)
    return part


def hand_tangents(x: Tensor, to: Tensor) -> None:
    """Gives a tensor the tangents of another at all open levels."""
    state = current()
    level: DualLevel | None = state.level if state.special & FORWARD else None
    innermost = state.level
    while level is not None:
        state.level = level
        tangent = tangent_of(x, state)
        if tangent is not None:
            level.give(to, tangent)
        level = level.outer
    state.level = innermost


# While a formula of one level runs, that level is off, and those around it are on.


def step_down(state: ThreadState) -> DualLevel:
    """Switches the innermost level off, and gives it."""
    level: DualLevel = state.level
    if level.outer is None:
        state.special &= ~FORWARD
    else:
        state.level = level.outer
    return level


def step_up(state: ThreadState, level: DualLevel) -> None:
    """Switches it on again."""
    state.level = level
    state.special |= FORWARD


def part_of(tangent: Tensor, view: Array, base: Array) -> Tensor:
    """The view of `tangent` that lies in it as `view` lies in `base`; its history is found when it is asked for."""
    held = behind(tangent.array)
    xp, memory, like = backend_of(held), whole(held), backend_of(view).sample(view)
    moved = extent_of(held)[0] - extent_of(base)[0]
    part = Tensor(xp.zeros(view.shape, view.dtype), share=True)
    if whole(view).size:  # neither nothing, nor of no samples
        if not _is_inside(memory, like, moved):
            return _beyond(tangent, like, base)
        count = len(xp.lead)  # each with its batch in front
        shape, strides = (*memory.shape[:count], *like.shape), (*memory.strides[:count], *like.strides)
        found = xp.inner.at_address(memory, extent_of(like)[0] + moved, like.dtype, shape, strides)
        part.array = _through_mirrors(xp.of_whole(found), tangent.array, view, base)
    part._base = tangent if tangent._base is None else tangent._base
    part._view_version = -1  # older than any: see `refresh_view`
    return part


def _through_mirrors(part: Array, *arrays: Array) -> Array:
    """A part of a tangent's memory, seen through all the mirrors that the tangent, the view and its base have."""
    conj = sum([bits_of(a)[0] for a in arrays]) % 2 == 1
    neg = sum([bits_of(a)[1] for a in arrays]) % 2 == 1
    # Inside of vmap there are no mirrors: see Note [Mirrors].
    return (reflected if backend_of(part).stands_for_many else mirrored)(part, conj, neg)


def _is_inside(array: Array, view: Array, moved: int) -> bool:
    """Whether memory that lies `moved` bytes from `view` is all memory of the owner of `array`."""
    (_, first, last), (_, low, high) = extent_of(view), extent_of(owner_of(array))
    return bool(first + moved >= low and last + moved <= high)


def _beyond(tangent: Tensor, view: Array, base: Array) -> Tensor:
    """The tangent of a view that reaches memory outside of its base, where tangents are zero. It is a copy."""
    size = view.itemsize
    _, low, high = extent_of(owner_of(view))
    inside, outside = (extent_of(a)[0] - low for a in (base, view))
    room: Any = tangent.new_zeros((high - low) // size)
    full = room.as_strided_scatter(tangent, base.shape, [s // size for s in base.strides], inside // size)
    found: Tensor = full.as_strided(view.shape, [s // size for s in view.strides], outside // size)
    return found


# -- the tangents of an op's results -------------------------------------------------------------------------------


def are_inference(operands: Sequence[Any]) -> bool:
    """Whether all operands (None where one is missing) are inference tensors."""
    for x in operands:
        if x is not None and not (isinstance(x, Tensor) and x._counter is UNTRACKED):
            return False
    return True


def _leads_nowhere(op: Any, operands: Sequence[Any], state: ThreadState) -> bool:
    """Whether results have no tangents whatever the operands have. See Note [Nothing but inference tensors]."""
    return not state.transforms and not getattr(op, "leads_out", False) and are_inference(operands)


def carry(
    op: Any, operands: Sequence[Any], outs: Sequence[Tensor], state: ThreadState, constants: Any
) -> None:
    """Gives results their tangents, from those of the operands. See Note [Tangents].

    `constants` are the op's, as they were before hooks may have packed them.
    """
    if op.is_view:
        _remember_bases(outs, operands[0])
    if not state.special & FORWARD:
        return
    if state.level.outer is not None:
        _carry_outside(op, operands, outs, state, constants)
    tangents: list[Any] = [tangent_of(x, state) if isinstance(x, Tensor) else None for x in operands]
    if all(t is None for t in tangents) or not op.differentiable or _leads_nowhere(op, operands, state):
        return
    if all(out.array.dtype.kind not in "fc" for out in outs):
        return
    if op._meta is None:
        op._meta = metadata_of(outs[0].array)  # formulas may ask
    level = step_down(state)
    try:
        if state.overwriting is not None and state.grad_enabled:
            operands, tangents = _kept(operands, tangents, state)
        found = _formula(with_constants(op, constants), tangents, operands, outs)
        wide = any(t is not None and t.dtype != x.dtype for t, x in zip(tangents, operands, strict=True))
        pairs = zip(found, outs, strict=False)
        made = [None if t is None else _fitting(op, t, out, tangents, wide) for t, out in pairs]
        if op.is_view and made[0] is not None and not _shares(made[0], tangents[0]):
            made = [part_of(tangents[0], out.array, operands[0].array) for out in outs]
    finally:
        step_up(state, level)
    for out, tangent in zip(outs, made, strict=False):
        if tangent is not None:
            state.level.give(out, tangent)
    if outs[0]._node is op or any(out._node is op for out in outs):
        _remember_saved(op, tangents, made, state)


def _remember_bases(outs: Sequence[Tensor], x: Tensor) -> None:
    for out in outs:
        remember_base(out, x)


def _carry_outside(
    op: Any, operands: Sequence[Any], outs: Sequence[Tensor], state: ThreadState, constants: Any
) -> None:
    """The same for the levels around the innermost."""
    level = step_down(state)
    try:
        carry(op, operands, outs, state, constants)
    finally:
        step_up(state, level)


def _shares(a: Any, b: Any) -> bool:
    """Whether two tangents share memory; where it cannot be told, they may."""
    x, y = whole(a.array), whole(b.array)
    return type(x) is not type(y) or bool(backend_of(x).may_share_memory(x, y))


def _formula(
    op: Any, tangents: Sequence[Any], primals: Sequence[Any], outs: Sequence[Tensor]
) -> Sequence[Any]:
    """What the op's own formula says; None for results that have no tangent."""
    if isinstance(op, Unary):
        return [op.jvp(tangents[0], primals[0], outs[0])]
    if isinstance(op, Binary):
        x, y = _promoted(primals[0], primals[1])
        return [op.jvp(tangents[0], tangents[1], x, y, outs[0])]
    assert isinstance(op, Variadic)
    found = op.jvp(tangents, primals, outs)
    return found if isinstance(found, (tuple, list)) else [found]


def _promoted(x: Any, y: Any) -> tuple[Any, Any]:
    """Two operands in one dtype, as the forward pass has computed with them."""
    if not isinstance(x, Tensor) or not isinstance(y, Tensor) or x.array.dtype == y.array.dtype:
        return x, y
    dtype, cast = result_of_arrays(x.array, y.array), UPWARD.operators.cast
    return x if x.array.dtype == dtype else cast(x, dtype), y if y.array.dtype == dtype else cast(y, dtype)


def _kept(operands: Sequence[Any], tangents: list[Any], state: ThreadState) -> tuple[list[Any], list[Any]]:
    """Operands and tangents as a formula may save them: those that are about to be overwritten are copies."""
    primals, kept = list(operands), list(tangents)
    array = state.overwriting()
    for i, x in enumerate(operands):
        if (
            isinstance(x, Tensor)
            and x.array is array
            and x._version_counter().version == state.overwriting_version
        ):
            primals[i] = UPWARD.operators.clone(x)
            kept[i] = None if kept[i] is None else UPWARD.operators.clone(kept[i])
    return primals, kept


def _fitting(op: Op, tangent: Any, out: Tensor, tangents: Sequence[Any], wide: bool) -> Any:
    """What a formula returned as the tangent of `out`: of its shape and layout, and in memory of its own.

    Its dtype is that of `out`; but with `wide`, tangents of other dtypes than their tensors have been given.
    """
    if out.array.dtype.kind not in "fc":
        return None
    if not isinstance(tangent, Tensor):
        tangent = Tensor(backend_of(out.array).asarray(tangent), share=True)
    if tangent.array.shape != out.array.shape:
        tangent = tangent.expand(out.array.shape)
    if tangent.array.dtype.kind == "c" and out.array.dtype.kind != "c":
        tangent = tangent.real
    if tangent.array.dtype != out.array.dtype and not wide:
        tangent = UPWARD.operators.cast(tangent, out.array.dtype)
    if op.is_view or isinstance(op, View):
        return tangent
    shared = tangent._base is not None or any(t is not None and _shares(tangent, t) for t in tangents)
    return laid_out(tangent, out.array, shared or tangent.array is out.array)


def laid_out(tangent: Tensor, array: Array, shared: bool) -> Any:
    """A tangent in the layout of `array`: a copy if it has another, or if it is `shared`."""
    if _same_strides(tangent.array, array):
        return UPWARD.operators.clone(tangent) if shared else tangent
    if is_stretched(array):
        return UPWARD.operators.clone(tangent)
    made: Any = zeros_laid_out(backend_of(tangent.array), array, tangent.array.dtype)
    return made.copy_(tangent)


def _same_strides(a: Array, b: Array) -> bool:
    if a.flags.c_contiguous and b.flags.c_contiguous:
        return True
    return a.itemsize == b.itemsize and all(
        s == r for n, s, r in zip(a.shape, a.strides, b.strides, strict=True) if n > 1
    )


def zeros_laid_out(xp: Backend, array: Array, dtype: Any) -> Tensor:
    """Zeros of a backend in the layout of `array`."""
    if array.flags.c_contiguous or array.dtype != dtype:
        return Tensor(
            xp.zeros(array.shape, dtype) if xp.stands_for_many else xp.zeros_like(array, dtype=dtype),
            share=True,
        )
    return Tensor(Region(array, array).zeros(xp)[0], share=True)


def _remember_saved(op: Op, tangents: Sequence[Any], made: Sequence[Any], state: ThreadState) -> None:
    """Keeps the tangents of what the node has saved."""
    if isinstance(op, Variadic):
        slots = {f"x:{i}": t for i, t in enumerate(tangents)} | {f"out:{i}": t for i, t in enumerate(made)}
    else:
        slots = {**dict(zip("xy", tangents, strict=False)), "out": made[0]}
    state.level.remember(op, {name: slots[name] for name in op.slot_names() if slots.get(name) is not None})


# -- writing -------------------------------------------------------------------------------------------------------


def overwrite(x: Tensor, result: Tensor, state: ThreadState) -> None:
    """After a write in place: the tangent of `x` becomes that of `result`, where it stands."""
    if state.level.outer is not None:
        level = step_down(state)
        try:
            overwrite(x, result, state)
        finally:
            step_up(state, level)
    new, old = tangent_of(result, state), tangent_of(x, state)
    if (new is None and old is None) or new is old or x.array.dtype.kind not in "fc":
        return
    level = step_down(state)
    try:
        if old is None:
            assert new is not None
            set_where_it_stands(x, new, level)
            return
        target: Any = old
        if new is None:
            target.zero_()
        else:
            if stands_for_many(new.array):
                _make_room(target, new.array, level)
            target.copy_(new)
    finally:
        step_up(state, level)


def _make_room(target: Tensor, values: Array, level: DualLevel) -> None:
    """Gives each sample a tangent of its own, where they have shared one until they write their values into it."""
    root = target if target._base is None else target._base
    xp: Any = common_backend((root.array, values))
    narrow = backend_of(root.array)
    if len(xp.lead) == len(narrow.lead):
        return
    wide = zeros_laid_out(xp, narrow.sample(root.array), root.array.dtype).array
    xp.copyto(wide, root.array)
    root.array = wide
    for shown in list(level.tensors.values()):  # what shows a part of it
        held = None if shown._tangent is None else shown._tangent.at(level)
        if held is not None and held._base is root:
            base = forward_base(shown)
            held.array = part_of(root, shown.array, shown.array if base is None else base.array).array


def set_where_it_stands(x: Tensor, tangent: Tensor, level: DualLevel) -> None:
    """Gives a tangent to a tensor that had none; a view's base gets one with it, which is zero elsewhere."""
    base = forward_base(x)
    if base is None or base.array.dtype.kind not in "fc":
        level.give(x, laid_out(tangent, x.array, True))
        return
    xp = common_backend((base.array, tangent.array))
    everywhere = zeros_laid_out(xp, base.array, base.array.dtype)
    part: Any = part_of(everywhere, x.array, base.array)
    part.copy_(tangent)
    level.give(base, everywhere)
    level.give(x, part)
