"""The few classes that stay interpreted when the rest is compiled.

Native classes made by mypyc refuse weak references and foreign attributes unless they derive from an ordinary
Python class; these are those classes. They cost nothing.

Note [Freeing interpreted nodes]
~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
A node owns the nodes after it, so freeing one frees the next: see Note [Freeing deep graphs] in
tools/compiling/freeing.c. Python bounds that recursion by 50 calls before 3.13, and by the stack there is since 3.14,
but 3.13 by 10,000 calls, however small the stack. There an interpreted node has a finaliser: it moves what the node
owns to a list of its thread, which the outermost of the finalisers that are running empties.

The collector calls finalisers too, of nodes that others still refer to, and only later lets go of them. Then nothing
is to be done yet, since finalisers of others may want the graph; but Python calls none twice, so the mark that says
it has done so is taken away again: a bit of the word before the object. Who calls shows in the count of references to
the node.
"""

from __future__ import annotations

import operator
import sys
import threading
from collections.abc import Callable
from ctypes import c_size_t, sizeof
from types import FunctionType, GetSetDescriptorType
from typing import Any

from retrograd.forms import COMPILED
from retrograd.hints import Plain
from retrograd.lazy import load

# What `dir(node)` lists: PyTorch's names. The others are the engine's, and those of a node's op.
NODE_NAMES = {
    "_input_metadata", "_materialize_non_diff_grads", "_raw_saved_tensors", "_register_hook_dict", "_sequence_nr",
    "_set_sequence_nr", "dirty_tensors", "mark_dirty",
    "mark_non_differentiable", "mark_shared_storage", "materialize_grads", "maybe_clear_saved_tensors", "metadata",
    "name", "needs_input_grad", "next_functions", "non_differentiable", "register_hook", "register_prehook",
    "requires_grad", "save_for_backward", "save_for_forward", "saved_for_forward", "saved_tensors", "saved_variables",
    "set_materialize_grads", "to_save", "variable",
}  # fmt: skip


class PlainNode(Plain):
    """Gives nodes PyTorch's `_saved_<name>` and `_raw_saved_<name>`; compiled classes cannot have `__getattr__`."""

    def __dir__(self) -> list[str]:
        shown = {name for name in object.__dir__(self) if name in NODE_NAMES or name.startswith("__")}
        shown.discard("__weakref__")  # which compiled classes list and do not have
        values, slots = self.saved_names()  # type: ignore[attr-defined]
        shown.update(f"_saved_{name}" for name in values)
        shown.update(f"_raw_saved_{name}" for name in slots)
        if not self.built_in:  # type: ignore[attr-defined]
            fields = {name for cls in type(self).__mro__ for name in getattr(cls, "__annotations__", ())}
            shown.update(name for name in vars(self) if name not in fields)  # what `forward` has put there
        return sorted(shown)

    def __getattr__(self, name: str) -> Any:
        try:
            if name.startswith("_saved_"):
                return self.saved_value(name[7:])  # type: ignore[attr-defined]
            if name.startswith("_raw_saved_"):
                return self.raw_saved(name[11:])  # type: ignore[attr-defined]
        except KeyError:
            pass
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")


class _Ends(threading.local):
    """What ended nodes owned that is still to be freed, by thread; None if no node is ending."""

    owned: list[Any] | None = None


def _end(node: Any, ends: _Ends = _Ends(), count: Callable[[Any], int] = sys.getrefcount) -> None:  # noqa: B008
    """The finaliser of a node. See Note [Freeing interpreted nodes]."""
    if not node.edge_count:
        return
    if count(node) > 3:  # more than the one who calls, this function and the count itself have
        mark = c_size_t.from_address(id(node) - sizeof(c_size_t))
        mark.value &= ~1
        return
    owned = ends.owned
    if owned is not None:
        owned.append(vars(node))
        return
    ends.owned = owned = [vars(node)]
    node.__dict__ = {}  # or else the node would free, when this has returned, what it still owned
    try:
        while owned:
            owned.pop()
    finally:
        ends.owned = None


if sys.version_info[:2] == (3, 13) and sys.implementation.name == "cpython" and not COMPILED:
    PlainNode.__del__ = _end  # type: ignore[attr-defined]


class Size(tuple[int, ...]):
    """A shape: a tuple of ints that prints like PyTorch's and counts elements.

    >>> Size((2, 3)), Size((2, 3)).numel()
    (torch.Size([2, 3]), 6)
    """

    def __new__(cls, *sizes: Any) -> Size:
        found = tuple.__new__(cls, *sizes)
        if all(type(n) is int for n in found):
            return found
        return tuple.__new__(cls, [_whole(i, n) for i, n in enumerate(found)])

    def numel(self) -> int:
        """The product of the sizes."""
        count = 1
        for n in self:
            count *= n
        return count

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(str(n) for n in self)}])"

    def __getitem__(self, index: Any) -> Any:
        part = super().__getitem__(index)
        return tuple.__new__(Size, part) if isinstance(index, slice) else part

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, tuple):
            raise TypeError(f"can only concatenate tuple (not {type(other).__name__}) to torch.Size")
        return Size(super().__add__(other))

    def __radd__(self, other: Any) -> Any:
        return Size(other + tuple(self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, times: Any) -> Any:
        return Size(super().__mul__(times))

    __rmul__ = __mul__


def _whole(index: int, size: Any) -> int:
    """A size that was given as a truth value, a tensor, or one of NumPy's numbers."""
    try:
        return operator.index(size)
    except (TypeError, RuntimeError):
        raise TypeError(
            f"torch.Size() takes an iterable of 'int' (item {index} is '{type(size).__name__}')"
        ) from None


# Where subclasses of Tensor are defined that have seen to themselves.
OUR_SUBCLASSES = ("retrograd.core.tensor", "retrograd.nn.parameter", "retrograd.overrides.subclasses")


class MethodForm:
    """Stands in `TensorMethods` for a method whose module is loaded when somebody asks for it.

    `find` gives the method, which then takes this one's place. See Note [Loaded on demand].
    """

    def __init__(self, name: str, find: Callable[[], Any]) -> None:
        self.name = name
        self.find = find

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self._replaced().__get__(instance, owner)

    def __set__(self, instance: Any, value: Any) -> None:
        self._replaced()
        setattr(instance, self.name, value)  # as the method's successor has it: `t.real` can be assigned to

    def __delete__(self, instance: Any) -> None:
        self._replaced()
        delattr(instance, self.name)

    def _replaced(self) -> Any:
        found = self.find()
        if found is None:
            raise AttributeError(
                f"'Tensor' object has no attribute '{self.name}': public_names.py lists it, but no module has it. "
                "Run python tools/generate.py."
            )
        setattr(TensorMethods, self.name, found)
        return found


class TensorMethods:
    """The place where the method forms of functions (`t.exp()`, `t.sum(dim=0)`) are installed by `retrograd.ops`.

    `grad` and `data` are here because a compiled class cannot say what deleting a property does; nor can it have
    `__index__`.
    """

    def __init_subclass__(cls, **named: Any) -> None:
        super().__init_subclass__(**named)
        own = vars(cls)
        # By its author: compiled classes have these, too, in forms of their own.
        made = isinstance(own.get("__new__"), staticmethod) or isinstance(own.get("__init__"), FunctionType)
        made = made or "__torch_function__" in own
        shows = "array" in own and not isinstance(own["array"], GetSetDescriptorType)
        if (made or shows) and cls.__module__ not in OUR_SUBCLASSES:
            load("retrograd.overrides.subclasses").complete(cls)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """What functions do to a subclass: results have its class. See Note [Overriding functions]."""
        return load("retrograd.overrides.default").compute(cls, func, types, args, kwargs)

    @staticmethod
    def _make_subclass(cls: Any, data: Any, require_grad: bool = False) -> Any:  # noqa: PLW0211 - torch's signature
        return load("retrograd.overrides.subclasses").make_subclass(cls, data, require_grad)

    def __index__(self) -> int:
        return self._index()  # type: ignore[attr-defined, no-any-return]

    @property
    def grad(self) -> Any:
        """The gradient that `backward()` accumulated, or None."""
        return self._get_grad()  # type: ignore[attr-defined]

    @grad.setter
    def grad(self, value: Any) -> None:
        self._set_grad(value)  # type: ignore[attr-defined]

    @grad.deleter
    def grad(self) -> None:
        self._set_grad(None)  # type: ignore[attr-defined]

    @property
    def data(self) -> Any:
        """The same memory, cut off from the graph and from version tracking. Prefer `detach()`."""
        return self._get_data()  # type: ignore[attr-defined]

    @data.setter
    def data(self, value: Any) -> None:
        self._set_data(value)  # type: ignore[attr-defined]

    @data.deleter
    def data(self) -> None:
        raise RuntimeError("Deleting tensor data is not allowed. Delete tensor instead!")


class ThreadLocal(threading.local):
    """One thread's slot for the state that `core.modes` keeps; filled on first use in each thread."""

    def __init__(self, make: Any) -> None:
        self.state = make()


class FunctionMeta(type):
    """The class of every `autograd.Function` class: `isinstance(f, FunctionMeta)` tells one from other classes."""
