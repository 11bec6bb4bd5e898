"""The way to a leaf of a tree: the keys and places that lead to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from retrograd.core.tree import REGISTERED, children_of


class KeyEntry(Protocol):
    """One step on the way to a leaf."""

    def get(self, parent: Any) -> Any:
        """What a container has there."""


KeyPath = tuple[KeyEntry, ...]
FlattenWithKeysFn = Callable[[Any], tuple[list[tuple[KeyEntry, Any]], Any]]

# Classes that users have added with keys of their own.
WITH_KEYS: dict[Any, FlattenWithKeysFn] = {}


@dataclass(frozen=True)
class SequenceKey:
    """A place in a list or a tuple."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        """What is at that place."""
        return sequence[self.idx]


@dataclass(frozen=True)
class MappingKey:
    """A key of a dict."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        """What is under that key."""
        return mapping[self.key]


@dataclass(frozen=True)
class GetAttrKey:
    """An attribute, as a named tuple has it."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        """That attribute."""
        return getattr(obj, self.name)


def keystr(kp: KeyPath) -> str:
    """A way as it would be written: `.field['key'][0]`."""
    return "".join(map(str, kp))


def key_get(obj: Any, kp: KeyPath) -> Any:
    """What lies at the end of a way."""
    for key in kp:
        obj = key.get(obj)
    return obj


def paths_of(
    tree: Any, is_leaf: Callable[[Any], bool] | None = None, before: KeyPath = ()
) -> list[tuple[KeyPath, Any]]:
    """The leaves of a tree, each with the way to it."""
    children = None if is_leaf is not None and is_leaf(tree) else _with_keys(tree)
    if children is None:
        return [(before, tree)]
    return [row for key, child in children for row in paths_of(child, is_leaf, (*before, key))]


def _with_keys(tree: Any) -> list[tuple[KeyEntry, Any]] | None:
    """The children of a container with their keys; None for a leaf."""
    found = children_of(tree)
    if found is None:
        return None
    if type(tree) in WITH_KEYS:
        return WITH_KEYS[type(tree)](tree)[0]
    if type(tree) in REGISTERED:
        raise ValueError(
            f"Did not find a flatten_with_keys_fn for type: {type(tree)}. Please pass a flatten_with_keys_fn argument "
            "to register_pytree_node."
        )
    children = found[1]
    if isinstance(tree, dict):
        return [(MappingKey(key), child) for key, child in zip(tree, children, strict=True)]
    if hasattr(tree, "_fields"):
        return [(GetAttrKey(name), child) for name, child in zip(tree._fields, children, strict=True)]
    return [(SequenceKey(i), child) for i, child in enumerate(children)]
