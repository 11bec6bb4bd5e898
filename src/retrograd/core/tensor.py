"""Tensor: an array and its place in the graph."""

from __future__ import annotations

import copy
import operator
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from retrograd.backends.base import (
    BACKENDS,
    FORMULAS,
    backend_of,
    device_of,
    extent_of,
    is_array,
    owner_of,
    plain,
    register,
    stands_for_many,
)
from retrograd.backends.casts import maker_of
from retrograd.backends.device import CPU
from retrograd.backends.dtype_class import dtype, dtype_of
from retrograd.backends.dtypes import as_dtype, get_default_dtype, is_differentiable
from retrograd.core.collector import expose
from retrograd.core.hooks import HookTable, RemovableHandle, TensorHooks, add_hook, warn_if_has_hooks
from retrograd.core.lost import DETACHED, FROZEN, Lost, cut
from retrograd.core.modes import FORWARD, INFERENCE, current
from retrograd.core.operators import TensorOperators
from retrograd.core.places import warn
from retrograd.core.plain import Size
from retrograd.core.printing import format_shape, format_tensor, in_html
from retrograd.core.transform_checks import (
    check_data_read,
    check_data_written,
    check_requires_grad,
    check_retain_grad,
)
from retrograd.core.upward import UPWARD
from retrograd.core.version import LOOSE, UNTRACKED, VersionCounter, no_version
from retrograd.errors import GradientError, InferenceError, sizes, type_name
from retrograd.hints import mypyc_attr
from retrograd.values import Array, DType

if TYPE_CHECKING:
    from retrograd.core.node import Node

ndarray: Final[Any] = np.ndarray
NO_GRAD_HINT = " This one was computed; to go on without its gradient, use t.detach()."


@mypyc_attr(allow_interpreted_subclasses=True)
class Tensor(TensorOperators):
    """An n-dimensional array that remembers how it was computed.

    Make one with `retrograd.tensor`, `zeros`, `randn`, `from_numpy`, …. The class itself is PyTorch's old constructor:
    `Tensor(2, 3)` has that size, `Tensor([1, 2])` those values, and so has `Tensor(array)`, in the default dtype; an
    array of that dtype is held without a copy. `Tensor(array, share=True)` holds an array of any dtype as it is;
    `t.array` gives it back.

    >>> import retrograd as rg
    >>> x = rg.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """

    array: Array
    output_nr: int = 0
    _requires: bool = False  # a leaf's flag, or "has a grad_fn"
    _node: Node | None = None
    _grad: Tensor | None = None
    _counter: VersionCounter | None = None
    _base: Tensor | None = None
    _view_version: int = 0  # the version of the base at which a view's grad_fn was made
    _view_kind: int = 0  # how a view came about: see core.views
    _accumulator: Any = None  # weak reference to a leaf's AccumulateGrad
    _leaf_hooks: TensorHooks | None = None
    _post_accumulate: HookTable | None = None
    _lost: Lost | None = None  # why this tensor has no history: see Note [Lost tracking]
    _reduced: bool = False  # a single number computed from many: likely a loss
    _tangent: Any = None  # in forward mode: see core/tangent.py
    _forward_base: Any = None  # of a view: whose tangent holds its own, if not that of `_base`; or False
    _grad_dtype: Any = ""  # "" follows the dtype, None takes any
    _keeps_class: bool = True  # whether results of operations on a subclass are of that subclass

    def __init__(self, data: Any = (), *size: int, share: bool = False) -> None:
        if share and (type(data) is ndarray or type(data) in BACKENDS.homes):
            self.array = data
        else:
            self.array = _array_of(data, size, share)
            if isinstance(data, Tensor) and not share:
                self._take_place(data[...])

    # -- place in the graph --------------------------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        """Whether a gradient is wanted for this tensor."""
        # A view answers for its base as it is now: a write may have given it a history since.
        return self._requires or (self._base is not None and self._base._requires)

    @requires_grad.setter
    def requires_grad(self, value: Any) -> None:
        if not isinstance(value, bool):
            raise GradientError(f"requires_grad must be a bool, not {type_name(value)}")
        if self._node is not None:
            raise GradientError(
                "you can only change requires_grad flags of leaf variables." + ("" if value else NO_GRAD_HINT)
            )
        self._set_requires_grad(value)

    def _base_requires(self) -> bool:
        return self._base is not None and self._base._requires

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Sets `requires_grad` of a leaf and returns it."""
        if not isinstance(requires_grad, bool):
            raise TypeError(
                f"requires_grad_(): argument 'requires_grad' (position 1) must be bool, not {type_name(requires_grad)}"
            )
        check_requires_grad()
        if self._node is not None:
            if not requires_grad:
                raise GradientError(
                    "you can only change requires_grad flags of leaf variables." + NO_GRAD_HINT
                )
            return self
        self._set_requires_grad(requires_grad)
        return self

    def _set_requires_grad(self, requires_grad: bool) -> None:
        """Sets the flag of a leaf, if its dtype and mode can have it."""
        if requires_grad and not is_differentiable(self.array.dtype):
            raise GradientError(
                "only Tensors of floating point dtype can require gradients "
                f"(complex ones too); this one is {self.array.dtype}. Convert it first: t.float()."
            )
        if requires_grad and self._counter is UNTRACKED and not current().special & INFERENCE:
            raise InferenceError(
                "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed."
            )
        if self._requires and not requires_grad:
            self._lost = cut(self, FROZEN, "requires_grad")
        self._requires = requires_grad

    @property
    def grad_fn(self) -> Node | None:
        """The node that computed this tensor; None for leaves."""
        if self._base is not None:
            self._refresh()
        return self._node

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded operation made this tensor."""
        if self._base is not None:
            self._refresh()
        return self._node is None

    def _get_grad(self) -> Tensor | None:
        """What `t.grad` gives."""
        if self._grad is None and self._node is not None and not self.retains_grad:
            warn(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Only leaves get one by "
                "default; call .retain_grad() on this tensor before backward() if you want its gradient kept.",
                UserWarning,
            )
        return self._grad

    def _set_grad(self, value: Any) -> None:
        """What `t.grad = value` and `del t.grad` do."""
        if value is not None:
            self._check_grad(value)
        self._grad = value

    def _check_grad(self, value: Any) -> None:
        """Refuses a gradient that could not have come from backward()."""
        if not isinstance(value, Tensor):
            raise TypeError(
                f"assigned grad expected to be a Tensor or None but got grad of type {type_name(value)}"
            )
        if value is self:
            raise GradientError("can't assign Variable as its own grad")
        wanted = self._expected_grad_dtype()
        if wanted is not None and value.array.dtype != wanted:
            raise GradientError(
                f"attempting to assign a gradient with dtype '{value.array.dtype}' to a tensor with grad_dtype "
                f"'{wanted}'. Convert the gradient with .to(...), or set grad_dtype of the tensor (None takes any)."
            )
        if value.device != self.device:
            raise GradientError(
                f"attempting to assign a gradient located on device '{value.device}' to a tensor on '{self.device}'"
            )
        if value.array.shape != self.array.shape:
            raise GradientError(
                f"attempting to assign a gradient of size '{sizes(value.array.shape)}' to a tensor of size "
                f"'{sizes(self.array.shape)}'. They must be equal."
            )

    @property
    def grad_dtype(self) -> dtype | None:
        """The dtype `.grad` of this leaf has: the tensor's own unless set; None allows any."""
        if self._node is not None:
            raise GradientError("grad_dtype can only be accessed on leaf tensors.")
        wanted = self._expected_grad_dtype()
        return None if wanted is None else dtype_of(wanted)

    @grad_dtype.setter
    def grad_dtype(self, value: Any) -> None:
        if self._node is not None:
            raise GradientError("grad_dtype can only be set on leaf tensors.")
        if value is not None:
            if not isinstance(value, (dtype, np.dtype)):
                raise GradientError(f"grad_dtype must be a dtype or None, but got {type_name(value)}")
            value = as_dtype(value)
        if self._grad is not None and value is not None and self._grad.array.dtype != value:
            raise GradientError(
                f"Cannot set grad_dtype to '{value}' because there is already a gradient with dtype "
                f"'{self._grad.array.dtype}'. Drop that one first: t.grad = None."
            )
        self._grad_dtype = value
        self._update_accumulator()

    def _expected_grad_dtype(self) -> DType:
        """The dtype a gradient of this tensor must have, None for any."""
        return self.array.dtype if isinstance(self._grad_dtype, str) else self._grad_dtype

    def retain_grad(self) -> None:
        """Keeps the gradient of this non-leaf tensor in `.grad`; does nothing for a leaf."""
        if not self.requires_grad:
            raise GradientError("can't retain_grad on Tensor that has requires_grad=False")
        check_retain_grad()
        node = self.grad_fn
        if node is not None and not self.retains_grad:
            self._hooks_of_node(node).retains[self.output_nr] = weakref.ref(self)

    @property
    def retains_grad(self) -> bool:
        """Whether this is a non-leaf tensor whose gradient is kept."""
        if self._node is None or self._node.tensor_hooks is None:
            return False
        ref = self._node.tensor_hooks.retains.get(self.output_nr)
        return ref is not None and ref() is self

    def _move_to(self, node: Node, output_nr: int) -> None:
        """Gives this tensor another place in the graph, after an in-place write; a retained gradient moves along."""
        retained = self.retains_grad
        if retained and self._node is not None and self._node.tensor_hooks is not None:
            del self._node.tensor_hooks.retains[self.output_nr]
        self._node, self.output_nr, self._requires = node, output_nr, True
        if retained:
            self._hooks_of_node(node).retains[output_nr] = weakref.ref(self)

    def _hooks_of_node(self, node: Node) -> TensorHooks:
        if node.tensor_hooks is None:
            node.tensor_hooks = TensorHooks()
            expose(node)
        return node.tensor_hooks

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
        """Calls `hook(grad)` each time a gradient for this tensor is computed; what it returns replaces the gradient.

        >>> import retrograd as rg
        >>> x = rg.tensor(1.0, requires_grad=True)
        >>> handle = x.register_hook(lambda g: g * 10)
        >>> (x * 2).backward(); x.grad
        tensor(20.)
        """
        if not self.requires_grad:
            raise GradientError("cannot register a hook on a tensor that doesn't require gradient")
        table, inside = self._hook_table(), current().differentiation
        if inside is not None:
            mine = self._node is None and any(x is self for x in inside.inputs)
            hook = inside.own(
                hook, inside.first if mine else -1 if self._node is None else self._node.sequence_nr
            )
        return add_hook(table, hook)

    def _hook_table(self) -> HookTable:
        """The hooks of this tensor, by number; made on first use."""
        node = self.grad_fn
        if node is not None:
            return self._hooks_of_node(node).table(self.output_nr)
        if self._leaf_hooks is None:
            self._leaf_hooks = TensorHooks()
            self._update_accumulator()
        return self._leaf_hooks.table(0)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> RemovableHandle:
        """Calls `hook(tensor)` each time `.grad` of this leaf has been updated."""
        if not self.requires_grad:
            raise GradientError("cannot register a hook on a tensor that doesn't require gradient")
        if self._node is not None:
            raise GradientError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        if self._post_accumulate is None:
            self._post_accumulate = OrderedDict()
            self._update_accumulator()
        return add_hook(self._post_accumulate, hook)

    def _update_accumulator(self) -> None:
        """Tells the living accumulator, if there is one, what has changed about its leaf."""
        accumulator = self._accumulator() if self._accumulator is not None else None
        if accumulator is not None:
            accumulator.tensor_hooks = self._leaf_hooks
            accumulator.update()

    def _leave_accumulator(self) -> None:
        """Lets go of the accumulator that graphs made so far lead to: their gradients no longer fit."""
        accumulator = self._accumulator() if self._accumulator is not None else None
        if accumulator is not None:
            accumulator.outgrown = True
        self._accumulator = None

    def _refresh(self) -> None:
        """Brings a view's place in the graph up to date with its base."""
        UPWARD.refresh_view(self)

    def _remember_accumulator(self, accumulator: Any) -> None:
        """Keeps a weak reference: the accumulator owns the leaf, not the other way round."""
        self._accumulator = weakref.ref(accumulator)

    def backward(
        self,
        gradient: Tensor | None = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Tensor | Sequence[Tensor] | None = None,
    ) -> None:
        """Computes the gradient of this tensor with respect to the graph's leaves and adds it to their `.grad`.

        Args:
            gradient: the gradient with respect to this tensor; may be left out for a single-element tensor.
            retain_graph: keep the graph for another backward; by default as `create_graph`.
            create_graph: record the backward itself, for higher-order derivatives.
            inputs: accumulate into these tensors only.
        """
        UPWARD.backward(self, gradient, retain_graph, create_graph, None, inputs)

    # -- memory shared with others -------------------------------------------------------------------------------

    def _version_counter(self) -> VersionCounter:
        """The version counter shared with the base, made on first use."""
        if self._base is not None:
            return self._base._version_counter()
        if self._counter is None:
            self._counter = VersionCounter()
        return self._counter

    def _bump_version(self) -> None:
        """Notes an in-place write."""
        self._version_counter().bump()

    @property
    def _version(self) -> int:
        counter = self._version_counter()
        if counter.version < 0:
            raise no_version()
        return counter.shown()

    def is_inference(self) -> bool:
        """Whether this tensor was made in inference mode."""
        return self._version_counter() is UNTRACKED

    def _is_view(self) -> bool:
        return self._base is not None

    def detach(self) -> Tensor:
        """The same memory, cut off from the graph; in-place writes to either are seen by both."""
        twin = Tensor(self.array, share=True)
        twin._counter = counter = self._version_counter()
        if counter is UNTRACKED and not current().special & INFERENCE:
            twin._view_kind = LOOSE
        twin._lost = cut(self, DETACHED, "detach()") if self.requires_grad else self._lost
        return twin if type(self) is Tensor else self._classed(twin)

    def detach_(self) -> Tensor:
        """Cuts this tensor off from the graph that made it."""
        if self._base is not None:
            raise GradientError(
                "Can't detach views in-place. Use detach() instead: a view shares its history with its base."
            )
        if self._requires:
            self._lost = cut(self, DETACHED, "detach_()")
        if self._node is not None:
            self._version_counter().detached()
        self._node = None
        self.output_nr = 0
        self._requires = False
        self._tangent = None
        return self

    def _get_data(self) -> Tensor:
        """What `t.data` gives."""
        check_data_read(self.array)
        twin = Tensor(self.array, share=True)
        if self._version_counter() is UNTRACKED:
            twin._counter = UNTRACKED
            twin._view_kind = 0 if current().special & INFERENCE else LOOSE
        twin._lost = cut(self, DETACHED, ".data") if self.requires_grad else self._lost
        return twin if type(self) is Tensor else self._classed(twin)

    def _classed(self, twin: Tensor) -> Tensor:
        """A result in the class of this tensor, if that hands itself on: see `core.apply`."""
        asks = getattr(type(self), "_asks", False)  # see overrides/subclasses.py
        return twin._in_class(type(self)) if self._keeps_class and not asks else twin

    def _set_data(self, value: Any) -> None:
        """What `t.data = value` does."""
        if not isinstance(value, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type_name(value)}")
        if self._requires and not is_differentiable(value.array.dtype):
            raise GradientError(
                "data set to a tensor that requires gradients must be floating point or complex dtype"
            )
        if (self.device.type == "meta") != (value.device.type == "meta"):
            raise RuntimeError(
                "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor "
                "type: one of them is on the device meta, and has no values."
            )
        check_data_written(self.array, value.array)
        old, self.array = self.array, value.array
        if old.shape != value.array.shape or old.dtype != value.array.dtype:
            self._leave_accumulator()
        else:
            self._update_accumulator()

    def _in_class(self, cls: type[Tensor]) -> Any:
        """This tensor as an instance of `cls`, a subclass of Tensor: same memory, same place in the graph."""
        made = bare(cls)
        made._take_place(self)
        return made

    def _take_place(self, other: Tensor) -> None:
        self.array = other.array
        self._requires, self._node, self.output_nr = other._requires, other._node, other.output_nr
        self._base, self._counter = other._base, None if other._base is not None else other._version_counter()
        self._view_version, self._view_kind = other._view_version, other._view_kind
        self._forward_base = other._forward_base
        if other._tangent is not None:
            other._tangent.hand_on(self)

    # -- text, copies, pickles -----------------------------------------------------------------------------------

    def _history_suffix(self) -> list[str]:
        try:
            node = self.grad_fn
        except RuntimeError:  # a view that cannot be brought up to date with its base
            return ["grad_fn=<Invalid>"]
        if node is not None:
            return [f"grad_fn=<{type(node).__name__}>"]
        return ["requires_grad=True"] if self.requires_grad else []

    def __repr__(self) -> str:
        around = backend_of(self.array).around(self.array)
        if around is not None:
            return _text_of_samples(*around)
        suffixes = self._history_suffix()
        if current().special & FORWARD:
            suffixes += self._tangent_suffix()
        prefix = "tensor(" if type(self) is Tensor else f"{type(self).__name__}("
        array = self.array
        if type(array) is not ndarray:
            if device_of(array) is not CPU:
                suffixes.insert(0, f"device='{device_of(array)}'")
            if not backend_of(array).has_values:
                return format_shape(
                    array, default_dtype=get_default_dtype(), suffixes=suffixes, prefix=prefix
                )
            array = backend_of(array).numpy(array)
        return format_tensor(array, default_dtype=get_default_dtype(), suffixes=suffixes, prefix=prefix)

    def _repr_html_(self) -> str:
        """What a notebook shows: the printed form, and above it shape and dtype."""
        shape = " × ".join([str(n) for n in self.array.shape]) or "scalar"
        return in_html(f"{type(self).__name__} · {shape} · {self.array.dtype}", repr(self))

    def _tangent_suffix(self) -> list[str]:
        """What is printed of a tangent."""
        from retrograd.core.tangent import tangent_of

        tangent = tangent_of(self, current())
        return [] if tangent is None else [f"tangent={tangent!r}"]

    def __format__(self, spec: str) -> str:
        if self.array.ndim == 0 and type(self) is Tensor and self.device.type != "meta":
            return format(self.array.item(), spec)
        return object.__format__(self, spec)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        found = memo.get(id(self))
        if found is not None:
            return found
        if self._node is not None:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the "
                "moment. Copy its value with t.detach().clone(), or keep the graph with t.clone()."
            )
        array = _deep_copy(self.array, memo)
        made = rebuild_leaf(type(self), array, self.requires_grad, self._grad_dtype, {})
        memo[id(self)] = made
        made._grad = copy.deepcopy(self._grad, memo)
        made.__dict__.update(copy.deepcopy(self._user_state(), memo))
        return made

    def __copy__(self) -> Any:
        return rebuild_leaf(type(self), self.array, self.requires_grad, self._grad_dtype, self._user_state())

    def __reduce_ex__(self, protocol: Any) -> Any:
        warn_if_has_hooks(self)
        return rebuild_leaf, (
            type(self),
            self.array,
            self.requires_grad,
            self._grad_dtype,
            self._user_state(),
        )

    def _user_state(self) -> dict[str, Any]:
        """The attributes a user has hung on this tensor."""
        return {name: value for name, value in self.__dict__.items() if name not in TENSOR_FIELDS}


def _deep_copy(array: Array, memo: dict[int, Any]) -> Array:
    """A copy that shares memory with the copies of those that share memory with the array."""
    owner = owner_of(array) if type(array) is ndarray else array
    if type(owner) is not ndarray or not owner.flags.c_contiguous or not array.size:
        return array.copy(order="K")
    copied: Array | None = memo.get(id(owner))
    if copied is None:
        copied = memo[id(owner)] = owner.copy()
    if owner is array:
        return copied
    offset = extent_of(array)[0] - extent_of(owner)[0]
    found = backend_of(owner).strided(copied, array.dtype, offset, array.shape, array.strides)
    if owner.flags.writeable and not array.flags.writeable:
        found.flags.writeable = False  # its dimensions share memory
    return found


UPWARD.tensor = Tensor
bare: Final[Any] = Tensor.__new__  # makes an instance of a subclass, whatever its own `__new__` asks for
register(FORMULAS, Tensor)


def _text_of_samples(level: Any, value: Array) -> str:
    """What is printed inside of vmap: all samples, and on which of the running ones they are."""
    depth = next((i for i, open_ in enumerate(current().batch_levels, 1) if open_ is level), -1)
    text = repr(Tensor(value, share=True)).replace("\n", "\n    ")
    return f"BatchedTensor(lvl={depth}, bdim=0, value=\n    {text}\n)"


# Fields that belong to Tensor itself: in the interpreted build they sit in the same __dict__ as a user's attributes.
TENSOR_FIELDS = frozenset(getattr(Tensor, "__annotations__", ())) | {"array"}


def rebuild_leaf(cls: Any, array: Array, requires_grad: bool, grad_dtype: Any, state: dict[str, Any]) -> Any:
    """A leaf tensor of class `cls` over `array`: what unpickling and copying call."""
    made = bare(cls)
    made.array = array
    made._requires = requires_grad
    made._grad_dtype = grad_dtype
    if current().special & INFERENCE:
        made._counter = UNTRACKED
    made.__dict__.update(state)
    return made


def _array_of(data: Any, size: tuple[int, ...], share: bool) -> Array:
    """The array of `Tensor(data, share=True)`, or of what PyTorch's old constructor makes: see `Tensor`."""
    if share:
        # NumPy's numbers stand for arrays without dimensions.
        return plain(data) if is_array(data) else np.asarray(data)
    dtype = get_default_dtype()
    if _is_size(data):
        return _room((operator.index(data), *size), dtype)
    if size:
        raise TypeError(
            "new() received an invalid combination of arguments: Tensor() takes sizes, or one sequence of values"
        )
    if isinstance(data, Size):
        return _room(tuple(data), dtype)
    if isinstance(data, Tensor):
        return data.array
    if isinstance(data, str):
        raise TypeError("new(): invalid data type 'str'")
    if isinstance(data, (bytes, dict, set, np.generic)) or not hasattr(data, "__len__"):
        raise TypeError(
            f"new(): data must be a sequence (got {type_name(data)}); tensor() takes single numbers"
        )
    if is_array(data) and (stands_for_many(data) or data.dtype == dtype):
        return plain(data)
    return UPWARD.array_from(data, dtype)


def _room(size: tuple[int, ...], dtype: DType) -> Array:
    """An array of a size that may be wrong."""
    for n in size:
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {sizes(size)}")
    return maker_of(dtype).empty(size, dtype)


def _is_size(data: Any) -> bool:
    """Whether the first argument of the old constructor is a length, as an array of a single integer is too."""
    if isinstance(data, np.ndarray):
        return data.ndim == 0 and data.dtype.kind in "iu"
    return isinstance(data, (int, np.integer)) and not isinstance(data, bool)
