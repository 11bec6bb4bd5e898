"""Weak references to tensors and tables of them, where PyTorch has them. Tensors are told apart by identity."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, MutableMapping
from typing import Any


class TensorWeakRef:
    """A reference that does not keep a tensor alive.

    >>> import retrograd as rg
    >>> x = rg.ones(2)
    >>> TensorWeakRef(x)() is x
    True
    """

    def __init__(self, tensor: Any) -> None:
        self.ref: weakref.ref[Any] = weakref.ref(tensor)
        self._id = id(tensor)

    def __call__(self) -> Any:
        return self.ref()


class WeakIdRef(TensorWeakRef):
    """One that equals others of the same tensor."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, WeakIdRef):
            return False
        mine, its = self.ref(), other.ref()
        return self is other if mine is None or its is None else mine is its

    def __hash__(self) -> int:
        return self._id


class WeakIdKeyDictionary(MutableMapping[Any, Any]):
    """A table whose keys are found by identity; an entry goes when its key does.

    >>> import retrograd as rg
    >>> x = rg.ones(2)
    >>> table = WeakIdKeyDictionary({x: "mine"})
    >>> table[x], rg.ones(2) in table
    ('mine', False)
    >>> del x
    >>> len(table)
    0
    """

    def __init__(self, dict: Any = None) -> None:
        self._entries: Any = {}  # of identities: the reference and the value
        if dict is not None:
            self.update(dict)

    def __getitem__(self, key: Any) -> Any:
        found = self._entries.get(id(key))
        if found is None:
            raise KeyError(key)
        return found[1]

    def __setitem__(self, key: Any, value: Any) -> None:
        entries, identity = self._entries, id(key)
        self._entries[identity] = weakref.ref(key, lambda _: entries.pop(identity, None)), value

    def __delitem__(self, key: Any) -> None:
        if self._entries.pop(id(key), None) is None:
            raise KeyError(key)

    def __iter__(self) -> Iterator[Any]:
        for reference, _ in list(self._entries.values()):  # keys may go meanwhile
            key = reference()
            if key is not None:
                yield key

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: object) -> bool:
        return id(key) in self._entries

    def copy(self) -> WeakIdKeyDictionary:
        """Another table of the same entries."""
        return WeakIdKeyDictionary(self)

    def keyrefs(self) -> list[Any]:
        """References to the keys."""
        return [reference for reference, _ in self._entries.values()]


WeakTensorKeyDictionary = WeakIdKeyDictionary
