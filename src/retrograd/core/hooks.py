"""Where hooks are kept, the handles that remove them, and how one is called.

Registration is in `core.tensor` (tensor hooks) and `core.node` (node hooks); the order in which hooks run is written
once, in `engine.evaluate`.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, ClassVar, TypeAlias

from retrograd.core.places import warn
from retrograd.errors import add_note
from retrograd.hints import Plain, mypyc_attr

HookTable: TypeAlias = "OrderedDict[int, Callable[..., Any]]"


@mypyc_attr(allow_interpreted_subclasses=True)
class RemovableHandle(Plain):
    """Removes a hook: by `remove()`, or at the end of a `with` block."""

    next_id: ClassVar[int] = 0

    def __init__(self, hooks: Any, *, extra_dict: Any = None) -> None:
        self.hooks_dict_ref: weakref.ref[Any] = weakref.ref(hooks)
        self.id: int = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        self.extra_dict_ref: list[weakref.ref[Any]] = [weakref.ref(d) for d in _as_tuple(extra_dict)]

    def remove(self) -> None:
        """Removes the hook; a second call does nothing."""
        for ref in (self.hooks_dict_ref, *self.extra_dict_ref):
            hooks = ref()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()

    def __reduce_ex__(self, protocol: Any) -> Any:
        """A copy removes the hook from the copies of the tables, as in a module that was copied with its hooks."""
        tables = [ref() for ref in (self.hooks_dict_ref, *self.extra_dict_ref)]
        return _rebuild_handle, ([OrderedDict() if table is None else table for table in tables], self.id)


def _rebuild_handle(tables: list[Any], number: int) -> RemovableHandle:
    """The handle of the hook that has a number in some tables: what unpickling and copying call."""
    made = RemovableHandle(tables[0], extra_dict=tables[1:])
    made.id = number
    RemovableHandle.next_id = max(RemovableHandle.next_id, number + 1)
    return made


def _as_tuple(extra: Any) -> tuple[Any, ...]:
    if extra is None:
        return ()
    return tuple(extra) if isinstance(extra, (list, tuple)) else (extra,)


def add_hook(hooks: HookTable, hook: Callable[..., Any]) -> RemovableHandle:
    """Appends `hook` to the table and returns the handle that takes it out again."""
    if not callable(hook):
        raise TypeError(f"'{type(hook).__name__}' object is not callable: a hook must be")
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


def hook_name(hook: Any) -> str:
    """What messages call a hook; one that cannot tell its name is called by its type's."""
    try:
        name = getattr(hook.hook if isinstance(hook, OwnHook) else hook, "__qualname__", None)
    except Exception:  # noqa: BLE001 - what is told about an error must not become one
        name = None
    return name if isinstance(name, str) else type(hook).__name__


def call_hook(hook: Any, which: str, owner: str, *args: Any) -> Any:
    """Calls a user's hook; an exception keeps its type and gains a note. See Note [Hook errors]."""
    try:
        return hook(*args)
    except BaseException as error:
        add_note(error, f"raised in {which} ({hook_name(hook)}) of {owner} during backward")
        raise


# Note [Hooks of a transform]
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~
# A hook that a function registers while `func.grad` or its kin differentiate it, on something of its own, belongs to
# that derivative: it is called in the backward of that transform. A backward around it goes through the same nodes,
# and would call it once more. So the hook asks whether its own transform is at work.


class Differentiation(Plain):
    """One call of a function that a transform differentiates, and that transform's backwards."""

    def __init__(self, first: int) -> None:
        self.first = first  # the number of the first node that is its own
        self.inputs: list[Any] = []  # its own tensors that nobody computed
        self.active: bool = True

    def own(self, hook: Any, sequence_nr: int) -> Any:
        """A hook on the node of this number, as it is to be registered."""
        return OwnHook(self, hook) if sequence_nr >= self.first and callable(hook) else hook


class OwnHook(Plain):
    """A hook that is called while its transform is at work."""

    def __init__(self, differentiation: Differentiation, hook: Any) -> None:
        self.differentiation = differentiation
        self.hook = hook

    def __call__(self, *args: Any) -> Any:
        return self.hook(*args) if self.differentiation.active else None


class TensorHooks(Plain):
    """Hooks of the tensors that are outputs of one node, by output number."""

    def __init__(self) -> None:
        self.tables: dict[int, HookTable] = {}
        self.retains: dict[
            int, Any
        ] = {}  # output number -> weak reference to the tensor that keeps its gradient

    def table(self, output_nr: int) -> HookTable:
        """The hooks of one output, made on first use."""
        found = self.tables.get(output_nr)
        if found is None:
            found = self.tables[output_nr] = OrderedDict()
        return found


class NodeHooks(Plain):
    """Hooks registered on a node itself."""

    def __init__(self) -> None:
        self.pre: HookTable = OrderedDict()
        self.post: HookTable = OrderedDict()


def unserializable_hook(f: Any) -> Any:
    """Marks a hook as one of which files need to know nothing, so that no warning says that they do not."""
    f.__torch_unserializable__ = True
    return f


def warn_if_has_hooks(tensor: Any) -> None:
    """Warns of the hooks on a tensor that goes into a file: they stay behind."""
    hooks = tensor.grad_fn.tensor_hooks if tensor.grad_fn is not None else tensor._leaf_hooks
    table = None if hooks is None else hooks.tables.get(tensor.output_nr)
    for hook in () if table is None else table.values():
        if not hasattr(hook, "__torch_unserializable__"):
            warn(
                f"backward hook {hook!r} on tensor will not be serialized. Register it again after loading; "
                "@torch.utils.hooks.unserializable_hook on the function says that this is meant.",
                UserWarning,
            )
