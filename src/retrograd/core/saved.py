"""Saved values: the version check on the way out, and a Tensor put back into its place in the graph.

Note [Saved values]
~~~~~~~~~~~~~~~~~~~
An op saves bare arrays with the version they had, never Tensors: an output that its own node kept as a Tensor would be
a reference cycle, and a kept input would outlive its owner. A saved input's place in the graph is the node's own next
edge of that number, a saved output's is the node itself; so a Tensor can be rebuilt when a formula must be recorded.
What has no place in the graph, an index or a mask, is a constant: see Note [Constants].
"""

from __future__ import annotations

import gc
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from retrograd.backends.base import placed
from retrograd.backends.device import device
from retrograd.backends.dtypes import SCALAR_NAMES
from retrograd.core.accumulate import grad_accumulator
from retrograd.core.modes import SAVED_HOOKS, current
from retrograd.core.node import Node
from retrograd.core.places import here, made_at
from retrograd.core.tensor import Tensor
from retrograd.core.version import PACKED, VersionCounter
from retrograd.errors import (
    FREED_GRAPH,
    FreedGraphError,
    GradientError,
    InferenceError,
    InplaceError,
    sizes,
    type_name,
)
from retrograd.hints import Plain
from retrograd.values import Array

_KEY: Final = object()


def freed_graph(node: Node) -> FreedGraphError:
    """The error of a second backward: which node noticed, which line made it and which backward freed it."""
    made, freed = made_at(node), node._freed_by
    text = f"{FREED_GRAPH} Noticed at {node.name()}"
    if made is not None:
        text += f"\n  recorded by  {made}"
    if freed is not None:
        text += f"\n  freed by     {freed}"
    if freed is not None and freed == here():
        text += (
            "\nThat line runs now for the second time, so it stands in a loop. Record the first line anew in every "
            "turn, or detach() what one turn hands to the next."
        )
    return FreedGraphError(text)


def version_error(
    saver: Node, array: Array, counter: VersionCounter, expected: int, node: Node | None, nr: int
) -> InplaceError:
    """The error of a saved value that was overwritten since: which line saved it, which line wrote."""
    source = (
        "" if node is None or node.edge_count == 0 else f", which is output {nr} of {node.spoken_name()},"
    )
    saved, written = made_at(saver), made_at(counter)
    shown = expected - sum(1 for each in counter.detaches if each <= expected)
    name = SCALAR_NAMES[array.dtype]
    kind = f"CPU{name}Type" if array.dtype.kind in "bc" else f"torch.{name}Tensor"  # as PyTorch calls them
    text = (
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[{kind} {sizes(array.shape)}]{source} is at version {counter.shown()}; expected version {shown} instead."
    )
    if saved is not None:
        text += f"\n  saved by       {saver.name()} of {saved}"
    if written is not None:
        times = counter.shown() - shown
        text += f"\n  overwritten by {written}" + (f" (the last of {times} writes)" if times > 1 else "")
    return InplaceError(
        f"{text}\nHint: compute out of place (y = y + 1, not y += 1), or save a copy: give the first of the two lines "
        "a clone() of the tensor."
    )


def refuse_inference() -> None:
    """The error of saving an inference tensor; a transform may, since its graph goes no further than itself."""
    if current().transforms:
        return
    raise InferenceError(
        "Inference tensors cannot be saved for backward. This one was made under inference_mode(), which promises that "
        "no gradient will ever be asked for. clone() it outside, or use no_grad() where it was made."
    )


class Packed:
    """A saved value that went through a pack hook.

    Note [Packed values]
    ~~~~~~~~~~~~~~~~~~~~
    A packed value stands in the slot of the array it replaces, with the counter PACKED. The version check of the fast
    path fails for it, and the detour that would raise (`reloaded`) unpacks it instead: hooks cost nothing when off.
    Hooks take a value for good: what becomes of the original does not matter any more.
    """

    def __init__(self, value: Any, unpack: Any, dtype: Any) -> None:
        self.value = value
        self.unpack_hook = unpack
        self.dtype = dtype  # of what was packed

    def unpack(self) -> Array:
        """The array again."""
        return self.tensor().array

    def tensor(self) -> Tensor:
        """What the unpack hook returns."""
        state = current()
        was_enabled, was_special, hooks = state.grad_enabled, state.special, state.saved_hooks
        state.grad_enabled = False
        try:
            found = self.unpack_hook(self.value)
        finally:
            state.grad_enabled, state.special, state.saved_hooks = was_enabled, was_special, hooks
        if not isinstance(found, Tensor):
            raise TypeError(
                f"Output of saved tensor unpack_hook expected to be a Tensor but got result of type {type_name(found)}"
            )
        return found


def packed(tensor: Tensor, pack: Any, unpack: Any) -> Packed:
    """What the pack hook makes of a tensor that is being saved."""
    before = tensor._version_counter().version
    state = current()
    was_enabled, was_special = state.grad_enabled, state.special
    state.grad_enabled = False
    state.special &= ~SAVED_HOOKS
    try:
        value = pack(tensor)
    finally:
        state.grad_enabled, state.special = was_enabled, was_special
    if tensor._version_counter().version != before:
        raise InplaceError(
            "A saved tensor pack hook is modifying its input in place. The value is still in use elsewhere: let the "
            "hook work on a clone()."
        )
    return Packed(value, unpack, tensor.array.dtype)


def reloaded(
    saver: Node, array: Any, counter: VersionCounter, version: int, node: Node | None, nr: int
) -> Any:
    """What to do when versions differ: unpack a packed value, or raise the error of an overwritten one."""
    if isinstance(array, Packed):
        state = current()
        if state.task is not None:
            state.running_node = saver
        return array.unpack()
    if counter.detaches and counter.unwritten_since(version):
        if node is None or node is saver:
            return array
        raise GradientError(
            "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_(). This is not "
            "supported, please use out-of-place `.detach()` instead: who saved the tensor still needs its history."
        )
    raise version_error(saver, array, counter, version, node, nr)


def checked(
    saver: Node, array: Any, counter: VersionCounter | None, version: int, node: Node | None, nr: int
) -> Any:
    """The saved array, if it is as it was when it was saved."""
    if counter is not None and counter.version != version:
        return reloaded(saver, array, counter, version, node, nr)
    return array


def look_at_saved(saver: Any) -> None:
    """What a node does to which no gradient comes: it has nothing to compute, but what it saved must still be there.

    As in PyTorch, where each node takes out what it has saved before it looks at its gradients.
    """
    if saver._freed:
        raise freed_graph(saver)
    for name in saver.slot_names():
        value, counter, version, node, nr = saver.slot(name)
        checked(saver, value, counter, version, node, nr)


def restored(node: Node | None, nr: int, array: Any, counter: VersionCounter | None) -> Any:
    """A saved array as a Tensor at output `nr` of `node`; numbers stay numbers. See Note [Saved values]."""
    if counter is None:
        return array
    if node is None:
        tensor = Tensor(array, share=True)
    elif node.edge_count == 0 and hasattr(node, "variable"):
        leaf: Tensor = node.variable
        if leaf.array is array:
            return leaf
        tensor = Tensor(array, share=True)
        tensor._requires = True
        tensor._remember_accumulator(node)
    else:
        tensor = Tensor(array, share=True)
        tensor._node, tensor.output_nr, tensor._requires = node, nr, True
    tensor._counter = VersionCounter() if counter is PACKED else counter
    return tensor


def revived(
    owner: Node, slot: Any, node: Node | None, nr: int, array: Any, counter: VersionCounter | None
) -> Any:
    """`restored`, with the tangent that the value had when `owner` saved it."""
    found = restored(node, nr, array, counter)
    if owner._duals is not None and isinstance(found, Tensor) and found._tangent is None:
        for level, duals in owner._duals.items():
            tangent = duals.get(slot)
            if tangent is not None and current().level is not None:
                level.give(found, tangent)
    return found


def living(twin: Tensor) -> Tensor:
    """Another Tensor over this array at this place in the graph, if somebody still holds it, or else this one.

    Nodes know arrays, not Tensors; but the collector can say who refers to an array. It takes a while: this is for
    people who look at a node.
    """
    for holder in gc.get_referrers(twin.array):
        found = given(twin, gc.get_referrers(holder) if type(holder) is dict else (holder,))
        if found is not twin:
            return found
    return twin


def given(twin: Tensor, among: Sequence[Any]) -> Tensor:
    """The Tensor over this array at this place in the graph among these objects, or else this one."""
    for found in among:
        if isinstance(found, Tensor) and found.array is twin.array and found is not twin:
            same_place = found._node is twin._node and found.output_nr == twin.output_nr
            if same_place and found._requires == twin._requires:
                return found
    return twin


class SavedConstant:
    """An array that an op was given beside its operands, an index or a mask, and the version it had then.

    Note [Constants]
    ~~~~~~~~~~~~~~~~
    The constants of an op (`Op.constants`) are parameters of its formulas and saved values of its node: they have
    versions, go through pack hooks and are freed with the graph; only edges they have none. A formula hands a constant
    on as it is (`Gather(self.dim, self.index)`), so an op that a recorded backward makes checks the same version. One
    is never written into, since ops share it: packing puts another in its place.

    A packed constant is unpacked for one run of a formula, by a twin of the node (`core/op.py: ready`): the node itself
    keeps the packed one, and may be at work on another thread.
    """

    def __init__(self, array: Any, counter: VersionCounter | None = None, version: int = 0) -> None:
        self.array = array  # or None, or a slice: then it only holds a place among others
        self.counter = counter  # None: nobody else can write into the array
        self.version = version

    def is_value(self) -> bool:
        """Whether there is anything to save."""
        return self.array is not None and type(self.array) is not slice

    def like(self, array: Any) -> SavedConstant:
        """The same constant in another form: another shape or dtype."""
        return self if array is self.array else SavedConstant(array, self.counter, self.version)


def constant_of(value: Any) -> SavedConstant:
    """A Tensor, an array or a SavedConstant as a constant."""
    if isinstance(value, SavedConstant):
        return value
    if not isinstance(value, Tensor):
        return SavedConstant(value)
    counter = value._version_counter()
    return SavedConstant(value.array, counter, counter.version)


class SavedValue:
    """A tensor saved by a custom Function: its array, its version and its place in the graph."""

    def __init__(self, tensor: Tensor, is_output: bool, owner: Node) -> None:
        self.array: Any = tensor.array
        self.counter: VersionCounter = tensor._version_counter()
        self.version: int = self.counter.version
        if self.version < 0:
            refuse_inference()
        self.is_output = is_output
        self.output_nr: int = tensor.output_nr
        # An output's place is the node that saves it: holding it here would be a cycle.
        self.node: Node | None = None if is_output else tensor._node
        self.original: Tensor | None = None if is_output else tensor
        hooks = current().saved_hooks
        if hooks and current().special & SAVED_HOOKS:
            pack, unpack = hooks[-1]
            self.pack(owner, pack, unpack)

    def pack(self, owner: Node, pack: Any, unpack: Any) -> None:
        """Puts the value through a pack hook."""
        tensor = self.unpack(owner)
        if self.node is None and not self.is_output and tensor.requires_grad:
            self.node = grad_accumulator(tensor)  # a leaf's place, once the leaf itself is let go
        self.array = packed(tensor, pack, unpack)
        self.counter, self.version, self.original = PACKED, 0, None

    def unpack(self, owner: Node) -> Tensor:
        """The tensor again, unless it has been overwritten."""
        node = owner if self.is_output else self.node
        if node is None and isinstance(self.array, Packed):
            return self.array.tensor()  # the very object, since it needs no place in the graph
        if self.counter.detaches and self.counter.unwritten_since(self.version):
            self.version = self.counter.version  # a Function may go on with what was cut off in place
            self.original = None
        array = checked(owner, self.array, self.counter, self.version, node, self.output_nr)
        if self.original is not None:
            return self.original
        found: Tensor = revived(owner, self.output_nr, node, self.output_nr, array, self.counter)
        return found


class _OfDetached:
    """A pack hook that gets its value without the graph."""

    def __init__(self, hook: Any) -> None:
        self.hook = hook

    def __call__(self, tensor: Tensor) -> Any:
        return self.hook(tensor.detach())


class SavedTensor(Plain):
    """One saved value of one node, as `_raw_saved_<name>` gives it: the place to register hooks for it alone."""

    def __init__(
        self, key: object = None, node: Any = None, name: str = "", value: SavedValue | None = None
    ) -> None:
        if key is not _KEY:
            raise RuntimeError(
                "Trying to create a SavedTensor object from Python is forbidden. Nodes have them, as `_raw_saved_self`."
            )
        self.node = node
        self.name = name  # of the slot; empty for one of a custom Function's
        self.value = value

    @property
    def data(self) -> Any:
        """The saved tensor, or what the pack hook has made of it."""
        held = self._held()
        if isinstance(held, Packed):
            return held.value
        if held is None:
            return None
        return self.node.shown_value(self.name) if self.value is None else self.value.unpack(self.node)

    @property
    def unpack_hook(self) -> Any:
        """The hook that gives the tensor back, or None."""
        held = self._held()
        return held.unpack_hook if isinstance(held, Packed) else None

    def _held(self) -> Any:
        """What the node keeps: an array, something packed, or None."""
        if self.value is not None:
            return self.value.array
        return self.node.slot(self.name).value if self.name else None

    def register_hooks(self, pack_hook: Any, unpack_hook: Any) -> None:
        """Puts the saved value through `pack_hook` now, and through `unpack_hook` when backward needs it."""
        for hook in (pack_hook, unpack_hook):
            if not callable(hook):
                raise TypeError(f"register_hooks(): hooks must be callable, not {type(hook).__name__}")
        self._check()
        pack = _OfDetached(pack_hook)
        if self.value is not None:
            self.value.pack(self.node, pack, unpack_hook)
        else:
            self.node.pack(self.name, pack, unpack_hook)

    def _check(self) -> None:
        """Hooks are for a value that is there and has none yet."""
        if self.node._freed:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor after it has been freed. Register before backward, or keep "
                "the graph with retain_graph=True."
            )
        held = self._held()
        if held is None:
            raise RuntimeError("Calling register_hooks on a saved tensor with value None is forbidden")
        if isinstance(held, Packed):
            raise RuntimeError(
                "Calling register_hooks on a saved tensor whose hooks have already been set. There can be one pair "
                "only."
            )


def saved_tensor(node: Any, name: str, value: SavedValue | None = None) -> SavedTensor:
    """What `_raw_saved_<name>` gives: a slot of an op, or a value that a custom Function saved."""
    return SavedTensor(_KEY, node, name, value)


def beside_gradient(value: Any, where: device) -> Any:
    """A saved value on the device of the gradients: an operand that is a single number may have come from the CPU."""
    if isinstance(value, Tensor):
        return value.to(where) if type(value.array) is np.ndarray and not value.array.ndim else value
    return placed(value, where) if type(value) is np.ndarray and not value.ndim else value


# Parameters that PyTorch has as whole numbers of 64 bits, and not as numbers of any kind.
_INTEGERS: Final = frozenset({
    "diagonal", "dim", "dim0", "dim1", "dim2", "dims", "divisor_override", "end", "ignore_index", "index", "k",
    "offset", "pad", "padding", "padding_idx", "shifts", "start",
})  # fmt: skip


def shown_parameter(name: str, value: Any) -> Any:
    """What `_saved_<name>` gives for a parameter: whole numbers unsigned, -1 as the 64-bit number of the same bits."""
    if name not in _INTEGERS:
        return value
    if isinstance(value, tuple):
        return tuple([shown_parameter(name, v) for v in value])
    return value & 0xFFFFFFFFFFFFFFFF if isinstance(value, int) and value < 0 else value
