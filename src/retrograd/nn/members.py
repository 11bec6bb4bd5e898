"""Members: the parameters, buffers or modules of a module by name.

Note [Members of a module]
~~~~~~~~~~~~~~~~~~~~~~~~~~
A module keeps its parameters, buffers and modules in three tables, as PyTorch's does. Python finds nothing in them by
itself: it would look everywhere, raise an error, and then ask `Module.__getattr__`, which costs half a microsecond for
each `self.weight`. So a table writes what it holds into the module's own `__dict__` too, where Python looks first. The
table decides: whoever changes it, by whatever method of a dict, changes what the attribute is. Programs that put a dict
of their own in the place of a table, past `Module.__setattr__`, are served by `Module.__getattr__`. A class that has a
`__getattr__` of its own wants to be asked for its members, as PyTorch asks it: its tables are plain dicts.

A table refers to its module weakly, so that a module is freed as soon as nobody holds it. Copies and pickles have plain
dicts, of which `Module.__setstate__` makes tables again.
"""

from __future__ import annotations

import weakref
from typing import Any

from retrograd.core.tree import COUNTS_AS

TABLES = ("_parameters", "_buffers", "_modules")


class Members(dict[str, Any]):
    """A table of a module. See Note [Members of a module].

    >>> import retrograd as rg
    >>> module = rg.nn.Module()
    >>> module._parameters["scale"] = rg.nn.Parameter(rg.ones(1))
    >>> module.scale is module._parameters["scale"]
    True
    """

    __slots__ = ("owner",)

    def __init__(self, owner: Any, members: Any = ()) -> None:
        super().__init__()
        self.owner: weakref.ref[Any] = weakref.ref(owner)
        self.update(members)

    def _fields(self) -> dict[str, Any]:
        owner = self.owner()
        return {} if owner is None else owner.__dict__

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, value)
        self._fields()[name] = value

    def __delitem__(self, name: str) -> None:
        super().__delitem__(name)
        self._fields().pop(name, None)

    def pop(self, name: str, *default: Any) -> Any:
        """As that of a dict."""
        if name not in self:
            return super().pop(name, *default)
        value = self[name]
        del self[name]
        return value

    def popitem(self) -> tuple[str, Any]:
        """As that of a dict."""
        name, value = super().popitem()
        self._fields().pop(name, None)
        return name, value

    def clear(self) -> None:
        """As that of a dict."""
        for name in list(self):
            del self[name]

    def update(self, *others: Any, **named: Any) -> None:
        """As that of a dict."""
        for name, value in dict(*others, **named).items():
            self[name] = value

    def setdefault(self, name: str, default: Any = None) -> Any:
        """As that of a dict."""
        if name not in self:
            self[name] = default
        return self[name]

    def __ior__(self, other: Any) -> Any:  # type: ignore[misc]
        self.update(other)
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        return dict, (dict(self),)


COUNTS_AS[Members] = dict
