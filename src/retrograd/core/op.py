"""Op: an operation with a derivative, of one, two or any number of tensors. No mathematics here; that is in `ops/`.

Note [An op is its node]
~~~~~~~~~~~~~~~~~~~~~~~~
One class per operation, one instance per call. The instance carries the call's parameters (`Sum(axis, keepdims)`),
runs `forward`, and, if a gradient is wanted, becomes the node of the graph: `y.grad_fn` is the very object that
computed `y`. So an instance is applied once; `fresh()` makes another with the same parameters. `forward` may note facts
about its inputs on itself (a shape, never an array: arrays that backward needs are declared by `keeps`).

Formulas serve two kinds of value (see `values.Value`): arrays in, arrays out; Tensors in, a recorded graph out. They
use operators, the methods that arrays and Tensors share, and other ops through `on`: `Exp().on(x)`.

A vjp returns an array of its own, or `g` itself, or a view; never a saved array, and never one array twice.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np

from retrograd.backends.base import BACKENDS, Backend, backend_of, common_backend, is_array
from retrograd.backends.dtypes import SCALAR_NAMES
from retrograd.core.collector import expose
from retrograd.core.modes import current
from retrograd.core.node import Edge, Grads, Node
from retrograd.core.saved import (
    Packed,
    SavedConstant,
    beside_gradient,
    checked,
    freed_graph,
    given,
    living,
    look_at_saved,
    packed,
    reloaded,
    revived,
    saved_tensor,
    shown_parameter,
)
from retrograd.core.tensor import Tensor
from retrograd.core.traits import traits_of
from retrograd.core.upward import UPWARD
from retrograd.core.version import PACKED, VersionCounter
from retrograd.errors import DtypeError, no_forward_mode
from retrograd.hints import mypyc_attr
from retrograd.values import Array, DType

# What an op keeps for its backward.
NOTHING: Final = 0
X: Final = 1
Y: Final = 2
OUT: Final = 4

# What PyTorch calls the operands and results that it saves: the general names, then those of single ops.
SAVED_NAMES: Final = ("self", "other", "result", "weight", "A", "x1", "x2")

ALL: Final = -1  # of its inputs: see `Variadic.tracked`
CONSTANT: Final = "constant:"  # what the slots of constants are called, with their number behind it
CONSTANTS: Final = "constants"  # what `shown` says for all of them together, as a tuple
SLOT_KINDS: Final = ("x", "y", "out", "constant", CONSTANTS)  # what else `shown` says are fields
ndarray: Final[Any] = np.ndarray


class Slot(NamedTuple):
    """A saved value and where it belongs: output `nr` of `node`."""

    value: Any
    counter: VersionCounter | None
    version: int
    node: Node | None
    nr: int


@mypyc_attr(allow_interpreted_subclasses=True)
class Op(Node):
    """An operation with a derivative, and the node it becomes."""

    fresh_results: bool = True
    built_in: ClassVar[bool] = True
    node_name: ClassVar[str] = ""  # PyTorch's name where it is not the class name + "Backward0"
    same_as: ClassVar[Any] = None  # the class whose formulas these are, if only names differ: see `variant`
    params: ClassVar[tuple[str, ...]] = ()  # the constructor's arguments, by field name
    array_params: ClassVar[tuple[str, ...]] = ()  # those that may hold arrays, alone or in tuples
    shown: ClassVar[dict[str, str]] = {}  # PyTorch's `_saved_<key>` for a field or a slot
    constants: tuple[SavedConstant, ...] | None = None  # parameters that are saved: see Note [Constants]
    constants_behind: ClassVar[bool] = False  # whether they are results to PyTorch, which are saved last
    floats: ClassVar[bool] = False  # whether integer inputs are computed in the default floating dtype
    differentiable: ClassVar[bool] = True
    is_view: ClassVar[bool] = False  # whether results share memory with the input
    moves_memory: ClassVar[bool] = False  # whether results take over the input's memory, as those of `t_()`
    elementwise: ClassVar[bool] = False  # whether operands are broadcast against each other, and nothing else
    in_rows: ClassVar[bool] = False  # whether results lie row after row in memory, however operands lie
    flags_faults: ClassVar[bool] = False  # see Note [Flags of the processor]
    laborious: ClassVar[bool] = False  # whether one thread is busy with its gradient for long, and no other
    widened: ClassVar[bool] = False  # computed in float32 under autocast on GPUs: see Note [Autocast]
    copies: ClassVar[bool] = False  # whether elements are copied as they are, whatever their dtype
    like_first: ClassVar[bool] = False  # whether the first operand alone says which dtype results have
    index_error: ClassVar[bool] = False  # whether saved indices that are no integers raise an IndexError
    any_shape: ClassVar[bool] = False  # whether forward looks at single elements; a batch is one more axis

    def fresh(self) -> Any:
        """Another op with the same parameters, not yet applied."""
        return type(self)(*[getattr(self, name) for name in self.params])

    def parameter_arrays(self) -> list[Any]:
        """The parameters that may hold arrays, alone or in tuples."""
        constants = [c.array for c in self.constants or () if c.is_value()]
        return constants + [getattr(self, name) for name in self.array_params]

    def constant(self, i: int) -> SavedConstant:
        """One of the constants, for formulas."""
        constants = self.constants
        if constants is None:
            raise freed_graph(self)
        return constants[i]

    def operation(self) -> str:
        traits_of(self)  # has given the class its name, even if no op of it has been applied yet
        return super().operation()

    def function_name(self) -> str:
        """The public function's name, for messages: `exp` for ExpBackward0."""
        return self.operation().lower()

    def given_dtype(self) -> DType:
        """The dtype that results were asked to have; None where operands decide."""
        return None

    def compute(self, xp: Backend, xs: Sequence[Any]) -> Any:
        """`forward`, however many operands it takes; by a compiled formula where `xp` has one."""
        raise NotImplementedError(f"{self.name()} has no forward()")

    # Saved values live in slots: a value, the counter it shares with its tensor, and its version. Subclasses keep them
    # in fields of their own and say here where each is, and where in the graph it belongs.

    def slot_names(self) -> list[str]:
        """The slots in use, in PyTorch's order."""
        return self._in_order([])

    def _in_order(self, operands: list[str]) -> list[str]:
        """The slots of saved operands and of constants; PyTorch goes through them by the alphabet of their names."""
        slots = operands + [f"{CONSTANT}{i}" for i, c in enumerate(self.constants or ()) if c.is_value()]
        if len(slots) < 2 or self.constants_behind:
            return slots
        names = self._names_of_slots()
        return sorted(slots, key=lambda slot: names.get(slot, names.get(CONSTANTS, slot)))

    def slot(self, name: str) -> Slot:
        """One slot."""
        constants, (kind, _, number) = self.constants, name.partition(":")
        if kind != "constant":
            raise KeyError(name)
        found = None if constants is None else constants[int(number)]
        if found is None or not found.is_value():
            return Slot(None, None, 0, None, 0)
        return Slot(found.array, found.counter, found.version, None, 0)

    def set_slot(self, name: str, value: Any, counter: VersionCounter, version: int) -> None:
        """Puts another value into a slot."""
        kind, _, number = name.partition(":")
        if kind != "constant" or self.constants is None:
            raise KeyError(name)
        i = int(number)
        self.constants = (
            *self.constants[:i],
            SavedConstant(value, counter, version),
            *self.constants[i + 1 :],
        )

    def holds_saved(self) -> bool:
        return bool(self.slot_names())

    def unpacked(self, name: str) -> Any:
        """The saved value of a slot as people see it: a Tensor, or None."""
        if self._freed:
            raise freed_graph(self)
        value, counter, version, node, nr = self.slot(name)
        if value is None:
            return None
        if counter is None:
            return Tensor(backend_of(value).asarray(value), share=True)  # a number, as PyTorch shows it
        return revived(self, name, node, nr, checked(self, value, counter, version, node, nr), counter)

    def shown_value(self, name: str) -> Any:
        """`unpacked`, as the very Tensor that was saved where there is still one."""
        value, _, _, node, _ = self.slot(name)
        if isinstance(value, Packed) and node is None:
            return value.tensor()
        found = self.unpacked(name)
        if node is self or not isinstance(found, Tensor) or found.array is not value:
            return found
        return living(found)

    def pack(self, name: str, pack: Any, unpack: Any, operands: Sequence[Any] = ()) -> None:
        """Puts the value of a slot through a pack hook, if it can as the operand itself. See Note [Packed values]."""
        held, counter, version, _, _ = self.slot(name)
        if counter is not None or is_array(held):
            state = current()
            written = state.overwriting
            if written is not None and written() is held and state.overwriting_version == version:
                # About to be overwritten, and the hook may keep what it is given.
                self.set_slot(name, held.copy(), VersionCounter(), 0)
            self.set_slot(name, packed(given(self.unpacked(name), operands), pack, unpack), PACKED, 0)
            expose(self)

    def saved_slot(self, name: str) -> str:
        """The slot that PyTorch shows as `_saved_<name>`; raises KeyError where there is none."""
        slot = self.shown[name]
        if not _is_slot(slot):
            raise KeyError(name)
        return slot

    def raw_saved(self, name: str) -> Any:
        slot = self.saved_slot(name)
        if slot != CONSTANTS:
            return saved_tensor(self, slot)
        return tuple([saved_tensor(self, f"{CONSTANT}{i}") for i in range(self._constant_count())])

    def saved_value(self, name: str) -> Any:
        """The value PyTorch shows as `_saved_<name>`; raises KeyError where there is none."""
        if name in self.shown and not _is_slot(self.shown[name]):
            return shown_parameter(name, getattr(self, self.shown[name]))
        slot = self.saved_slot(name)
        if slot != CONSTANTS:
            return self.shown_value(slot)
        return tuple([self.shown_value(f"{CONSTANT}{i}") for i in range(self._constant_count())])

    def _constant_count(self) -> int:
        if self.constants is None:
            raise freed_graph(self)
        return len(self.constants)

    def saved_names(self) -> tuple[list[str], list[str]]:
        slots = list(self._names_of_slots().values())
        return [*[name for name, field in self.shown.items() if not _is_slot(field)], *slots], slots

    def _names_of_slots(self) -> dict[str, str]:
        """What PyTorch calls the slots that it shows."""
        found: dict[str, str] = {}
        for name in (*SAVED_NAMES, *self.shown):
            with suppress(KeyError):  # a later name of a slot takes the place of an earlier one
                if name not in self.shown or _is_slot(self.shown[name]):
                    found[self.saved_slot(name)] = name
        return found


def _is_slot(field: str) -> bool:
    """Whether an entry of `shown` is a slot, and not a field."""
    return field.partition(":")[0] in SLOT_KINDS


def computed(op: Op, xs: Sequence[Any]) -> Any:
    """What an op makes of arrays of any kind: the backend that takes them all is found before it runs."""
    backend = common_backend(xs)
    if backend is BACKENDS.cpu and may_hold_samples(op):
        backend = backend_of_parameters(op)
    return op.compute(backend, xs) if backend is BACKENDS.cpu else backend.forward(op, xs)


def may_hold_samples(op: Op) -> bool:
    """Whether the parameters of an op may stand for all samples of a `vmap`."""
    return BACKENDS.mapped and (op.constants is not None or bool(op.array_params))


def backend_of_parameters(op: Op) -> Backend:
    """The backend of the arrays among an op's parameters, alone or in tuples; the CPU's where there are none."""
    waiting = op.parameter_arrays()
    if len(waiting) == 1 and (type(waiting[0]) is ndarray or type(waiting[0]) is int):
        return BACKENDS.cpu
    found: list[Any] = []
    while waiting:
        value = waiting.pop()
        if isinstance(value, (tuple, list)):
            waiting.extend(value)
        elif is_array(value):
            found.append(value)
    return common_backend(found)


def ready(op: Op, constants: tuple[SavedConstant, ...]) -> Any:
    """Who runs the formulas: the op itself; for constants that are packed, a twin which has them unpacked."""
    for c in constants:
        counter = c.counter
        if counter is not None and counter.version != c.version:
            return with_constants(op, tuple([_unpacked(op, each) for each in constants]))
    return op


def with_constants(op: Op, constants: tuple[SavedConstant, ...] | None) -> Any:
    """The op itself if these are its constants, else a twin which has them."""
    if op.constants is constants:
        return op
    twin = copy.copy(op)
    twin.constants = constants
    return twin


def _unpacked(op: Op, constant: SavedConstant) -> SavedConstant:
    """A constant as formulas get it; raises where it was overwritten."""
    array = checked(op, constant.array, constant.counter, constant.version, None, 0)
    if isinstance(constant.array, Packed) and array.dtype.kind == "f" and constant.array.dtype.kind in "iub":
        raise (IndexError if op.index_error else DtypeError)(
            f"expected scalar type {SCALAR_NAMES[constant.array.dtype]} but found {SCALAR_NAMES[array.dtype]}: "
            f"{op.name()} has saved an index or a mask, and the unpack hook gave back something else."
        )
    return constant if array is constant.array else SavedConstant(array)


@mypyc_attr(allow_interpreted_subclasses=True)
class Unary(Op):
    """An op of one tensor. Subclasses give `forward`, `vjp` and `jvp`, or derive from a family that needs less."""

    keeps: ClassVar[int] = NOTHING
    _has_pair: bool = True
    constants: tuple[SavedConstant, ...] | None  # said again: pyright infers what `release` makes of it
    x: Any = None
    x_counter: VersionCounter | None = None
    x_version: int = 0
    out: Any = None
    out_counter: VersionCounter | None = None
    out_version: int = 0

    def forward(self, xp: Backend, x: Array) -> Array:
        """The result."""
        raise NotImplementedError(f"{self.name()} has no forward()")

    def vjp(self, g: Any, x: Any, out: Any) -> Any:
        """The gradient of the input, from the gradient `g` of the output."""
        raise NotImplementedError(f"{self.name()} has no derivative")

    def jvp(self, t: Any, x: Any, out: Any) -> Any:
        """The tangent of the output, from the tangent `t` of the input."""
        raise no_forward_mode(self.function_name())

    def on(self, x: Any) -> Any:
        """Applies this op to an array or a Tensor, inside a formula."""
        if isinstance(x, Tensor):
            return UPWARD.apply1(self, x)
        if type(x) is ndarray and not may_hold_samples(self):
            return self.forward(BACKENDS.cpu, x)
        return computed(self, (x,))

    def compute(self, xp: Backend, xs: Sequence[Any]) -> Any:
        kernel = traits_of(self).forward if xp is BACKENDS.cpu or xp.runs_formulas else None
        found = NotImplemented if kernel is None else kernel(self, xs[0])
        return self.forward(xp, xs[0]) if found is NotImplemented else found

    def apply(self, grads: Grads, tensors: bool, owned: int) -> Grads:
        return (self.pair(grads[0], tensors, False)[0],)

    def pair(self, g: Any, tensors: bool, owned: bool) -> tuple[Any, Any]:
        if g is None:
            look_at_saved(self)
            return None, None
        x, out, constants = self.x, self.out, self.constants
        if self._freed:
            raise freed_graph(self)
        op: Unary = self if constants is None else ready(self, constants)
        if x is not None:
            if self.x_counter is not None and self.x_counter.version != self.x_version:
                x = reloaded(self, x, self.x_counter, self.x_version, self.next0, self.nr0)
            if tensors:
                x = revived(self, "x", self.next0, self.nr0, x, self.x_counter)
        if out is not None:
            if self.out_counter is not None and self.out_counter.version != self.out_version:
                out = reloaded(self, out, self.out_counter, self.out_version, self, 0)
            if tensors:
                out = revived(self, "out", self, 0, out, self.out_counter)
        return op._gradient(g, x, out, tensors), None

    def _gradient(self, g: Any, x: Any, out: Any, tensors: bool) -> Any:
        """By a kernel of the backend if there is one, else by the formula."""
        if tensors:
            return self.vjp(g, x, out)
        kernel = traits_of(self).vjp
        fused = NotImplemented if kernel is None else kernel(self, g, x, out)
        if type(g) is ndarray:
            return self.vjp(g, x, out) if fused is NotImplemented else fused
        xp = backend_of(g)
        if fused is NotImplemented:
            fused = xp.compiled_vjp(kernel, self, (g, x, out))
        return xp.vjp(self, (g, x, out)) if fused is NotImplemented else fused

    def release(self) -> None:
        if self.x is not None or self.out is not None or self.constants is not None:
            self._freed = True  # first: who reads a value and then this flag knows which of both came before
            self.constants = None
            self.x = self.out = None

    def slot_names(self) -> list[str]:
        x, out = [] if self.x is None else ["x"], [] if self.out is None else ["out"]
        return self._in_order(x) + out

    def slot(self, name: str) -> Slot:
        if name == "x":
            return Slot(self.x, self.x_counter, self.x_version, self.next0, self.nr0)
        if name == "out":
            return Slot(self.out, self.out_counter, self.out_version, self, 0)
        return super().slot(name)

    def set_slot(self, name: str, value: Any, counter: VersionCounter, version: int) -> None:
        if name == "x":
            self.x, self.x_counter, self.x_version = value, counter, version
        elif name == "out":
            self.out, self.out_counter, self.out_version = value, counter, version
        else:
            super().set_slot(name, value, counter, version)

    def saved_slot(self, name: str) -> str:
        bit, slot = {"self": (X, "x"), "result": (OUT, "out")}.get(name, (NOTHING, ""))
        if not bit:
            return super().saved_slot(name)
        if not self.keeps & bit:
            raise KeyError(name)
        return slot


@mypyc_attr(allow_interpreted_subclasses=True)
class Binary(Op):
    """An op of two operands, each a tensor or a Python number."""

    keeps0: ClassVar[int] = NOTHING  # what the gradient of x needs
    keeps1: ClassVar[int] = NOTHING  # what the gradient of y needs
    _has_pair: bool = True
    constants: tuple[SavedConstant, ...] | None  # said again: pyright infers what `release` makes of it
    x: Any = None
    x_counter: VersionCounter | None = None
    x_version: int = 0
    y: Any = None
    y_counter: VersionCounter | None = None
    y_version: int = 0
    out: Any = None
    out_counter: VersionCounter | None = None
    out_version: int = 0

    def forward(self, xp: Backend, x: Array, y: Array) -> Array:
        """The result."""
        raise NotImplementedError(f"{self.name()} has no forward()")

    def vjp(self, i: int, g: Any, x: Any, y: Any, out: Any) -> Any:
        """The gradient of input `i`; only what `keeps0` (or `keeps1`) names is there, the rest is None."""
        raise NotImplementedError(f"{self.name()} has no derivative")

    def jvp(self, tx: Any, ty: Any, x: Any, y: Any, out: Any) -> Any:
        """The tangent of the output; an operand without a tangent gives None."""
        raise no_forward_mode(self.function_name())

    def on(self, x: Any, y: Any) -> Any:
        """Applies this op to arrays, Tensors and numbers, inside a formula."""
        if isinstance(x, Tensor) or isinstance(y, Tensor):
            return UPWARD.apply2(self, x, y)
        if type(x) is ndarray and type(y) is ndarray and not may_hold_samples(self):
            return self.forward(BACKENDS.cpu, x, y)
        return computed(self, (x, y))

    def compute(self, xp: Backend, xs: Sequence[Any]) -> Any:
        kernel = traits_of(self).forward if xp is BACKENDS.cpu or xp.runs_formulas else None
        found = NotImplemented if kernel is None else kernel(self, xs[0], xs[1])
        return self.forward(xp, xs[0], xs[1]) if found is NotImplemented else found

    def apply(self, grads: Grads, tensors: bool, owned: int) -> Grads:
        return self.pair(grads[0], tensors, False)

    def pair(self, g: Any, tensors: bool, owned: bool) -> tuple[Any, Any]:
        if g is None:
            look_at_saved(self)
            return None, None
        x, y, out, constants = self.x, self.y, self.out, self.constants
        if self._freed:
            raise freed_graph(self)
        op: Binary = self if constants is None else ready(self, constants)
        y_counter = self.y_counter
        y, y_counter = (y, y_counter) if y_counter is not PACKED else self._unpacked_before_x(y)
        if x is not None:
            if self.x_counter is not None and self.x_counter.version != self.x_version:
                x = reloaded(self, x, self.x_counter, self.x_version, self.next0, self.nr0)
            if tensors:
                x = revived(self, "x", self.next0, self.nr0, x, self.x_counter)
        if y is not None:
            if y_counter is not None and y_counter.version != self.y_version:
                y = reloaded(self, y, y_counter, self.y_version, self.next1, self.nr1)
            if tensors:
                y = revived(self, "y", self.next1, self.nr1, y, self.y_counter)
        if out is not None:
            if self.out_counter is not None and self.out_counter.version != self.out_version:
                out = reloaded(self, out, self.out_counter, self.out_version, self, 0)
            if tensors:
                out = revived(self, "out", self, 0, out, self.out_counter)
        return op._gradients(g, x, y, out, tensors)

    def _unpacked_before_x(self, y: Any) -> tuple[Any, VersionCounter | None]:
        """The second operand, unpacked if PyTorch does so before the first, and the counter to look at otherwise."""
        if self.x_counter is not PACKED or self.slot_names()[0] != "y":
            return y, PACKED
        return reloaded(self, y, PACKED, 0, self.next1, self.nr1), None

    def _gradients(self, g: Any, x: Any, y: Any, out: Any, tensors: bool) -> tuple[Any, Any]:
        """Those that are wanted: by a kernel of the native pack if there is one, else by the formula."""
        if not tensors:
            kernel: Any = traits_of(self).vjp
            fused: Any = NotImplemented
            if kernel is not None or type(g) is not ndarray:
                wanted = (0 if self.next0 is None else 1) | (0 if self.next1 is None else 2)
                if kernel is not None:
                    fused = kernel(self, g, x, y, out, wanted)
                if fused is NotImplemented and type(g) is not ndarray:
                    fused = backend_of(g).compiled_vjp(kernel, self, (g, x, y, out, wanted))
                if fused is not NotImplemented:
                    both: tuple[Any, Any] = fused
                    return both
        if self._where is not None:
            x, y = beside_gradient(x, self._where), beside_gradient(y, self._where)
        if type(g) is not ndarray and not tensors:
            xp = backend_of(g)
            return (
                None if self.next0 is None else xp.vjp(self, (0, g, x, y, out)),
                None if self.next1 is None else xp.vjp(self, (1, g, x, y, out)),
            )
        return (
            None if self.next0 is None else self.vjp(0, g, x, y, out),
            None if self.next1 is None else self.vjp(1, g, x, y, out),
        )

    def release(self) -> None:
        if self.x is not None or self.y is not None or self.out is not None or self.constants is not None:
            self._freed = True
            self.constants = None
            self.x = self.y = self.out = None

    def slot_names(self) -> list[str]:
        found = [name for name, value in (("x", self.x), ("y", self.y)) if value is not None]
        return self._in_order(found) + ([] if self.out is None else ["out"])

    def slot(self, name: str) -> Slot:
        if name == "x":
            return Slot(self.x, self.x_counter, self.x_version, self.next0, self.nr0)
        if name == "y":
            return Slot(self.y, self.y_counter, self.y_version, self.next1, self.nr1)
        if name == "out":
            return Slot(self.out, self.out_counter, self.out_version, self, 0)
        return super().slot(name)

    def set_slot(self, name: str, value: Any, counter: VersionCounter, version: int) -> None:
        if name == "x":
            self.x, self.x_counter, self.x_version = value, counter, version
        elif name == "y":
            self.y, self.y_counter, self.y_version = value, counter, version
        elif name == "out":
            self.out, self.out_counter, self.out_version = value, counter, version
        else:
            super().set_slot(name, value, counter, version)

    def saved_slot(self, name: str) -> str:
        names = {"self": (X, "x"), "other": (Y, "y"), "result": (OUT, "out")}
        bit, slot = names.get(name, (NOTHING, ""))
        if not bit:
            return super().saved_slot(name)
        if not (self.keeps0 | self.keeps1) & bit:
            raise KeyError(name)
        return slot


@mypyc_attr(allow_interpreted_subclasses=True)
class Variadic(Op):
    """An op of any number of tensors and any number of outputs. Missing inputs are None."""

    keeps: ClassVar[int] = NOTHING  # X keeps all inputs, OUT all outputs
    # How many of the inputs have a derivative; the others may be saved, but have no edge.
    tracked: ClassVar[int] = ALL
    constants: tuple[SavedConstant, ...] | None  # said again: pyright infers what `release` makes of it
    xs: list[Any] | None = None
    outs: list[Any] | None = None
    x_counters: list[VersionCounter | None] | None = None
    x_versions: list[int] | None = None
    out_counters: list[VersionCounter | None] | None = None
    out_versions: list[int] | None = None

    def forward(self, xp: Backend, xs: Sequence[Any]) -> Any:
        """The result, or a tuple of results."""
        raise NotImplementedError(f"{self.name()} has no forward()")

    def keeps_constants(self) -> bool:
        """Whether the constants are saved; overridden where only one input's gradient needs them."""
        return True

    def vjp(self, gs: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Sequence[Any]:
        """The gradients of the inputs, None where `needs(i)` is false; gradients in `gs` may be None."""
        raise NotImplementedError(f"{self.name()} has no derivative")

    def jvp(self, ts: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Any:
        """The tangent of the output (or a tuple of them); inputs without a tangent give None."""
        raise no_forward_mode(self.function_name())

    def keeps_input(self, i: int) -> bool:
        """Whether input `i` is saved; overridden where one input's gradient needs only the others."""
        return self.keeps & X != 0

    def on(self, *xs: Any) -> Any:
        """Applies this op to arrays or Tensors, inside a formula."""
        if any(isinstance(x, Tensor) for x in xs):
            return UPWARD.apply_n(self, xs)
        return computed(self, xs)

    def compute(self, xp: Backend, xs: Sequence[Any]) -> Any:
        return self.forward(xp, xs)

    def apply(self, grads: Grads, tensors: bool, owned: int) -> Grads:
        if _none_given(grads):
            look_at_saved(self)
            return [None] * self.edge_count
        xs = self._unpacked("x", self.xs, self.x_counters, self.x_versions, tensors)
        outs = self._unpacked("out", self.outs, self.out_counters, self.out_versions, tensors)
        constants = self.constants
        if self._freed:
            raise freed_graph(self)
        op: Variadic = self if constants is None else ready(self, constants)
        if self._where is not None:
            xs = [beside_gradient(x, self._where) for x in xs]
        if type(grads[0]) is ndarray or tensors:
            return op.vjp(grads, xs, outs)
        found: Grads = common_backend(grads).vjp(op, (grads, xs, outs))
        return found

    def _unpacked(
        self,
        kind: str,
        values: list[Any] | None,
        counters: list[VersionCounter | None] | None,
        versions: list[int] | None,
        tensors: bool,
    ) -> list[Any]:
        """Saved values as a formula gets them: nearly always as they are."""
        if values is None or counters is None or versions is None:
            return []
        if not tensors and _are_unchanged(counters, versions):
            return values
        slots = [f"{kind}:{i}" for i in range(len(values))]
        found = {slot: self._formula_value(slot, tensors) for slot in self._in_turn(slots, counters)}
        return [found[slot] for slot in slots]

    def _in_turn(self, slots: list[str], counters: list[VersionCounter | None]) -> list[str]:
        """Slots in the order in which hooks are to unpack them."""
        return slots if PACKED not in counters else sorted(slots, key=(self.slot_names() + slots).index)

    def _formula_value(self, name: str, tensors: bool) -> Any:
        """A saved value as a formula gets it."""
        value, counter, version, node, nr = self.slot(name)
        if value is None:
            return None
        value = checked(self, value, counter, version, node, nr)
        return revived(self, name, node, nr, value, counter) if tensors else value

    def slot_names(self) -> list[str]:
        names = self._in_order([f"x:{i}" for i, x in enumerate(self.xs or ()) if x is not None])
        return names + [f"out:{i}" for i in range(len(self.outs or ()))]

    def slot(self, name: str) -> Slot:
        kind, _, number = name.partition(":")
        if kind == "constant":
            return super().slot(name)
        i = int(number)
        if kind == "x":
            xs = self.xs  # read once: another thread may free it
            if xs is None or self.x_counters is None or self.x_versions is None:
                return Slot(None, None, 0, None, 0)
            edge = self.edge(i) if i < self.edge_count else Edge(None, 0)
            return Slot(xs[i], self.x_counters[i], self.x_versions[i], edge.function, edge.input_nr)
        outs = self.outs
        if outs is None or self.out_counters is None or self.out_versions is None:
            return Slot(None, None, 0, None, 0)
        # Outputs behind the differentiable ones are constants.
        owner = self if i < self.num_inputs() else None
        return Slot(outs[i], self.out_counters[i], self.out_versions[i], owner, i)

    def set_slot(self, name: str, value: Any, counter: VersionCounter, version: int) -> None:
        kind, _, number = name.partition(":")
        if kind == "constant":
            super().set_slot(name, value, counter, version)
            return
        i = int(number)
        if kind == "x":
            assert self.xs is not None and self.x_counters is not None and self.x_versions is not None
            self.xs[i], self.x_counters[i], self.x_versions[i] = value, counter, version
        else:
            assert self.outs is not None and self.out_counters is not None and self.out_versions is not None
            self.outs[i], self.out_counters[i], self.out_versions[i] = value, counter, version

    def release(self) -> None:
        if _holds_any(self.xs) or _holds_any(self.outs) or self.constants is not None:
            self._freed = True
            self.constants = None
            self.xs = self.outs = None


def _holds_any(values: list[Any] | None) -> bool:
    """Whether anything is saved: a list may hold places alone, of operands that no gradient needs."""
    if values is not None:
        for value in values:
            if value is not None:
                return True
    return False


def _none_given(grads: Grads) -> bool:
    return all(grad is None for grad in grads)


def _are_unchanged(counters: list[VersionCounter | None], versions: list[int]) -> bool:
    """Whether all saved values are as they were."""
    for i, counter in enumerate(counters):
        if counter is not None and counter.version != versions[i]:
            return False
    return True
