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
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from retrograd.backends.dtypes import result_of_arrays
from retrograd.core.modes import FORWARD, ThreadState
from retrograd.core.op import Binary, Op, Unary, Variadic, View
from retrograd.core.operators import SOCKET
from retrograd.core.tensor import Tensor
from retrograd.core.views import Region, is_stretched
from retrograd.values import Array


class Tangent:
    """A tangent and the level that it belongs to."""

    def __init__(self, level: Level, value: Tensor) -> None:
        self.level = level
        self.value = value


class Level:
    """One `dual_level()`."""

    def __init__(self) -> None:
        self.tensors: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
        self.nodes: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()

    def give(self, tensor: Tensor, tangent: Tensor) -> None:
        """Makes `tangent` the tangent of `tensor`."""
        tensor._tangent = Tangent(self, tangent)
        self.tensors[id(tensor)] = tensor

    def remember(self, node: Any, duals: dict[Any, Tensor]) -> None:
        """Keeps the tangents of values that a node has saved."""
        node.duals = duals
        self.nodes[id(node)] = node

    def close(self) -> None:
        """Takes all tangents away."""
        for tensor in list(self.tensors.values()):
            if tensor._tangent is not None and tensor._tangent.level is self:
                tensor._tangent = None
        for node in list(self.nodes.values()):
            node.duals = None


class Memory:
    """A part of an array's memory, laid out like another array: `np.asarray` makes it one, which keeps the memory."""

    def __init__(self, base: Array, start: int, like: Array) -> None:
        self.base = base
        self.start = start
        self.shape, self.strides, self.typestr = like.shape, like.strides, like.dtype.str

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return {
            "version": 3,
            "shape": self.shape,
            "strides": self.strides,
            "typestr": self.typestr,
            "data": (self.start, False),
        }


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
    held = x._tangent
    if held is not None:
        value: Tensor | None = held.value if held.level is state.level else None
        return value
    if x._base is None and x._forward_base is None:
        return None
    base = forward_base(x)
    tangent = None if base is None else tangent_of(base, state)
    if base is None or tangent is None or x.array.dtype.kind not in "fc":
        return None
    part = part_of(tangent, x.array, base.array)
    state.level.give(x, part)
    return part


def part_of(tangent: Tensor, view: Array, base: Array) -> Tensor:
    """The view of `tangent` that lies in it as `view` lies in `base`; its history is found when it is asked for."""
    array = tangent.array
    moved = address(array) - address(base)
    part = Tensor(np.zeros(view.shape, view.dtype))
    if view.size:
        _check_inside(array, view, moved)
        part.array = np.asarray(Memory(array, address(view) + moved, view))
    part._base = tangent if tangent._base is None else tangent._base
    part._view_version = -1  # older than any: see `refresh_view`
    return part


def address(array: Array) -> int:
    """Where the first element lies."""
    return int(array.__array_interface__["data"][0])


def _check_inside(array: Array, view: Array, moved: int) -> None:
    """Whether memory that lies `moved` bytes from `view` is all memory of the owner of `array`."""
    owner: Any = array
    while isinstance(owner.base, (np.ndarray, Memory)):
        owner = owner.base
    owner = array if isinstance(owner, Memory) else owner
    (first, last), (low, high) = byte_bounds(view), byte_bounds(owner)
    if first + moved < low or last + moved > high:
        raise RuntimeError(
            "forward mode: a view made by as_strided() reaches memory outside of its base, where there is no tangent. "
            "Make the view of a tensor that holds all of it."
        )


# -- the tangents of an op's results -------------------------------------------------------------------------------


def carry(op: Any, operands: Sequence[Any], outs: Sequence[Tensor], state: ThreadState) -> None:
    """Gives results their tangents, from those of the operands. See Note [Tangents]."""
    if op.is_view:
        for out in outs:
            remember_base(out, operands[0])
    if not state.special & FORWARD:
        return
    tangents: list[Any] = [tangent_of(x, state) if isinstance(x, Tensor) else None for x in operands]
    if all(t is None for t in tangents) or not op.differentiable:
        return
    if all(out.array.dtype.kind not in "fc" for out in outs):
        return
    if op.out_dtype is None:
        op.out_shape, op.out_dtype = outs[0].array.shape, outs[0].array.dtype  # formulas may ask
    state.special &= ~FORWARD
    try:
        if state.overwriting is not None and state.grad_enabled:
            operands, tangents = _kept(operands, tangents, state)
        found = _formula(op, tangents, operands, outs)
        wide = any(t is not None and t.dtype != x.dtype for t, x in zip(tangents, operands, strict=True))
        pairs = zip(found, outs, strict=False)
        made = [None if t is None else _fitting(op, t, out, tangents, wide) for t, out in pairs]
        if op.is_view and made[0] is not None and not _shares(made[0], tangents[0]):
            made = [part_of(tangents[0], out.array, operands[0].array) for out in outs]
    finally:
        state.special |= FORWARD
    for out, tangent in zip(outs, made, strict=False):
        if tangent is not None:
            state.level.give(out, tangent)
    if outs[0]._node is op or any(out._node is op for out in outs):
        _remember_saved(op, tangents, made, state)


def _shares(a: Any, b: Any) -> bool:
    """Whether two tangents share memory; where it cannot be told, they may."""
    return type(a.array) is not np.ndarray or bool(np.may_share_memory(a.array, b.array))


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
    dtype, cast = result_of_arrays(x.array, y.array), SOCKET.operators.cast
    return x if x.array.dtype == dtype else cast(x, dtype), y if y.array.dtype == dtype else cast(y, dtype)


def _kept(operands: Sequence[Any], tangents: list[Any], state: ThreadState) -> tuple[list[Any], list[Any]]:
    """Operands and tangents as a formula may save them: those that are about to be overwritten are copies."""
    primals, kept = list(operands), list(tangents)
    array = state.overwriting()
    for i, x in enumerate(operands):
        if isinstance(x, Tensor) and x.array is array and x.counter().version == state.overwriting_version:
            primals[i] = SOCKET.operators.clone(x)
            kept[i] = None if kept[i] is None else SOCKET.operators.clone(kept[i])
    return primals, kept


def _fitting(op: Op, tangent: Any, out: Tensor, tangents: Sequence[Any], wide: bool) -> Any:
    """What a formula returned as the tangent of `out`: of its shape and layout, and in memory of its own.

    Its dtype is that of `out`; but with `wide`, tangents of other dtypes than their tensors have been given.
    """
    if out.array.dtype.kind not in "fc":
        return None
    if not isinstance(tangent, Tensor):
        tangent = Tensor(np.asarray(tangent))
    if tangent.array.shape != out.array.shape:
        tangent = tangent.expand(out.array.shape)
    if tangent.array.dtype.kind == "c" and out.array.dtype.kind != "c":
        tangent = tangent.real
    if tangent.array.dtype != out.array.dtype and not wide:
        tangent = SOCKET.operators.cast(tangent, out.array.dtype)
    if op.is_view or isinstance(op, View):
        return tangent
    shared = tangent._base is not None or any(t is not None and _shares(tangent, t) for t in tangents)
    return laid_out(tangent, out.array, shared or tangent.array is out.array)


def laid_out(tangent: Tensor, array: Array, shared: bool) -> Any:
    """A tangent in the layout of `array`: a copy if it has another, or if it is `shared`."""
    if _same_strides(tangent.array, array):
        return SOCKET.operators.clone(tangent) if shared else tangent
    if type(array) is not np.ndarray or is_stretched(array):
        return SOCKET.operators.clone(tangent)
    made: Any = zeros_laid_out(array, tangent.array.dtype)
    return made.copy_(tangent)


def _same_strides(a: Array, b: Array) -> bool:
    if a.flags.c_contiguous and b.flags.c_contiguous:
        return True
    return a.itemsize == b.itemsize and all(
        s == r for n, s, r in zip(a.shape, a.strides, b.strides, strict=True) if n > 1
    )


def zeros_laid_out(array: Array, dtype: Any) -> Tensor:
    """Zeros in the layout of `array`."""
    if array.flags.c_contiguous or array.dtype != dtype:
        return Tensor(np.zeros_like(array, dtype=dtype))
    return Tensor(Region(array, array).laid_out(None)[0])


def _remember_saved(op: Op, tangents: Sequence[Any], made: Sequence[Any], state: ThreadState) -> None:
    """Keeps the tangents of what the node has saved."""
    if isinstance(op, Variadic):
        slots = {f"x:{i}": t for i, t in enumerate(tangents)} | {f"out:{i}": t for i, t in enumerate(made)}
    else:
        slots = {**dict(zip("xy", tangents, strict=False)), "out": made[0]}
    state.level.remember(op, {name: slots[name] for name in op.slot_names() if slots[name] is not None})


# -- writing -------------------------------------------------------------------------------------------------------


def overwrite(x: Tensor, result: Tensor, state: ThreadState) -> None:
    """After a write in place: the tangent of `x` becomes that of `result`, where it stands."""
    new, old = tangent_of(result, state), tangent_of(x, state)
    if (new is None and old is None) or new is old or x.array.dtype.kind not in "fc":
        return
    state.special &= ~FORWARD
    try:
        if old is None:
            assert new is not None
            set_where_it_stands(x, new, state)
            return
        target: Any = old
        if new is None:
            target.zero_()
        else:
            target.copy_(new)
    finally:
        state.special |= FORWARD


def set_where_it_stands(x: Tensor, tangent: Tensor, state: ThreadState) -> None:
    """Gives a tangent to a tensor that had none; a view's base gets one with it, which is zero elsewhere."""
    base = forward_base(x)
    if base is None or base.array.dtype.kind not in "fc":
        state.level.give(x, laid_out(tangent, x.array, True))
        return
    whole = zeros_laid_out(base.array, base.array.dtype)
    part: Any = part_of(whole, x.array, base.array)
    part.copy_(tangent)
    state.level.give(base, whole)
    state.level.give(x, part)
