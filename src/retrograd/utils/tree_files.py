"""Forms of trees as text, which programs write into files: `treespec_dumps` and `treespec_loads`.

PyTorch's protocol 1: a list of the protocol's number and the form at the root; a form is a dict of the name of its
class, of what else its container consists of, and of the forms of its parts.
"""

from __future__ import annotations

import json
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from retrograd.core.tree import LEAF, Form

PROTOCOL = 1


class Serialized(NamedTuple):
    """What a class is called in files, and how its context goes there and comes back; None: as JSON has it."""

    name: str | None
    to_dumpable_context: Callable[[Any], Any] | None = None
    from_dumpable_context: Callable[[Any], Any] | None = None


def _of_defaultdict(context: Any) -> dict[str, Any]:
    factory, keys = context
    module, name = (None, None) if factory is None else (factory.__module__, factory.__qualname__)
    return {"default_factory_module": module, "default_factory_name": name, "dict_context": keys}


def _to_defaultdict(dumped: Any) -> Any:
    module, name = dumped["default_factory_module"], dumped["default_factory_name"]
    return None if module is None else getattr(import_module(module), name), dumped["dict_context"]


def _name_of_namedtuple(cls: Any) -> str:
    name = NAMEDTUPLES.get(cls)
    if name is None:
        raise NotImplementedError(
            f"Can't serialize TreeSpec of namedtuple class {cls}: nobody has said what it is called in a file. "
            "Say so by _register_namedtuple(cls, serialized_type_name=...)."
        )
    return name


def _namedtuple_of_name(name: Any) -> Any:
    for cls, known in NAMEDTUPLES.items():
        if known == name:
            return cls
    raise NotImplementedError(f"Deserializing the namedtuple {name} in pytree is not registered.")


# By the type of a form; and of the classes that `namedtuple` makes, what each is called.
SERIALIZED: dict[Any, Serialized] = {
    tuple: Serialized("builtins.tuple"),
    list: Serialized("builtins.list"),
    dict: Serialized("builtins.dict"),
    OrderedDict: Serialized("collections.OrderedDict"),
    deque: Serialized("collections.deque"),
    defaultdict: Serialized("collections.defaultdict", _of_defaultdict, _to_defaultdict),
    namedtuple: Serialized("collections.namedtuple", _name_of_namedtuple, _namedtuple_of_name),
}
NAMEDTUPLES: dict[Any, str] = {}


def _register_namedtuple(cls: Any, *, serialized_type_name: str) -> None:
    """Says what a class of named tuples is called in files."""
    NAMEDTUPLES[cls] = serialized_type_name


def treespec_dumps(treespec: Any, protocol: int | None = None) -> str:
    """The form of a tree as text.

    >>> from retrograd.utils._pytree import tree_structure
    >>> treespec_loads(treespec_dumps(tree_structure([1, {"a": 2}])))
    TreeSpec(list, None, [*,
      TreeSpec(dict, ['a'], [*])])
    """
    if not isinstance(treespec, Form):
        raise TypeError(
            f"Expected `treespec` to be an instance of PyTreeSpec but got item of type {type(treespec)}."
        )
    protocol = PROTOCOL if protocol is None else protocol
    _check(protocol)
    return json.dumps((protocol, _dumped(treespec)))


def treespec_loads(serialized: str) -> Form:
    """The form that `treespec_dumps` has written."""
    protocol, dumped = json.loads(serialized)
    _check(protocol)
    return _loaded(dumped)


def _check(protocol: Any) -> None:
    if protocol != PROTOCOL:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [{PROTOCOL}]")


def _dumped(form: Form) -> dict[str, Any]:
    if form.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    found = SERIALIZED.get(form.type, Serialized(None))
    if found.name is None:
        raise NotImplementedError(
            f"No registered serialization name for {form.type} found. Please update your _register_pytree_node call "
            "with a `serialized_type_name` kwarg."
        )
    return {
        "type": found.name,
        "context": _dumped_context(found, form.context),
        "children_spec": [_dumped(part) for part in form.children()],
    }


def _dumped_context(found: Serialized, context: Any) -> Any:
    if found.to_dumpable_context is not None:
        return found.to_dumpable_context(context)
    try:
        return json.dumps(context)
    except TypeError as error:
        raise TypeError(
            "Unable to serialize context. Please make the context json dump-able, or register a custom serializer "
            "using _register_pytree_node."
        ) from error


def _loaded(dumped: dict[str, Any]) -> Form:
    name, context = dumped["type"], dumped["context"]
    if name is None:
        return LEAF
    kind = next((kind for kind, known in SERIALIZED.items() if known.name == name), None)
    if kind is None:
        raise NotImplementedError(f"Deserializing {name} in pytree is not registered.")
    back = SERIALIZED[kind].from_dumpable_context or json.loads
    return Form(kind, back(context), [_loaded(part) for part in dumped["children_spec"]])
