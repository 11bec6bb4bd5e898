"""Names that are loaded when somebody first asks for them, so that `import retrograd` is quick.

Note [Loaded on demand]
~~~~~~~~~~~~~~~~~~~~~~~
`import retrograd` loads the core, the engine and the op modules that Python's operators need. Every other module is
imported by the first use of one of its names: `rg.erfinv` and `rg.linalg.svd` by the package's `__getattr__`, and
`t.erfinv` by a placeholder in the class (`core.plain.MethodForm`). `public_names.py`, which `tools/generate.py` writes,
says which module has which name. Type checkers see ordinary imports.

A module of the op library can be imported by other roads too: by a sibling, or by a user. Its functions say what they
are called as they are defined (`ops.register`), and the placeholders stay: each is replaced when somebody asks for its
method, after an import that is complete. So no thread finds a method of a module that another one is still importing.

Python locks a module while a thread imports it. A process forked at that time would have the lock and not the thread,
and wait for ever when it needs the module itself; so a fork waits until no other thread loads anything.

Two threads that import at once may hold one module each and want the other's. Python notices and raises an error in
one of them, and a module whose import has failed in the middle is no use to anybody. It cannot happen where modules
that are loaded on demand do not import each other in a circle. A package is part of such circles unnoticed: Python
locks a module before it imports the package around it. So no package that is loaded on demand imports its own modules
when it is imported itself: its names are found by its `__getattr__`, as those of `retrograd` are.
`tests/project/test_import.py` looks for circles.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from operator import attrgetter
from types import ModuleType
from typing import Any

from retrograd.forks import at_fork

# The names that each module has, in one string: `acos` is what the module calls so, `arccos=acos` is that too, and
# `linalg=` is the module itself.
Contents = Mapping[str, str]


class _Loads:
    """The threads that are loading something. They do not wait for each other; a fork waits for them."""

    def __init__(self) -> None:
        self.threads: list[int] = []
        self.changed = threading.Condition()

    def __enter__(self) -> None:
        with self.changed:
            self.threads.append(threading.get_ident())

    def __exit__(self, *error: object) -> None:
        with self.changed:
            self.threads.remove(threading.get_ident())
            self.changed.notify_all()

    def before_fork(self) -> None:
        self.changed.acquire()
        while set(self.threads) - {threading.get_ident()}:
            self.changed.wait()

    def after_fork(self) -> None:
        self.changed.release()


class _Forms:
    """What becomes of names and modules that are loaded, once functions can be overridden: `overrides/switch.py`."""

    of_names: Callable[[str, str, Any], Any] | None = None
    of_loads: Callable[[], None] | None = None
    changed: Callable[[], None] | None = None  # for whoever keeps what names stood for: `alias/install.py`


FORMS = _Forms()
_LOADS = _Loads()
at_fork(before=_LOADS.before_fork, after_in_parent=_LOADS.after_fork, after_in_child=_LOADS.after_fork)


def load(module: str) -> ModuleType:
    """Imports a module on demand."""
    finders: Any = sys.meta_path
    if finders is None and module not in sys.modules:
        raise ImportError(
            f"{module} is loaded by the first use of one of its names, but Python is shutting down: use it once before "
            "that, or import it where the program begins",
            name=module,
        )
    with _LOADS:
        found = import_module(module)
    if FORMS.of_loads is not None:
        FORMS.of_loads()
    return found


class Loaded(Mapping[str, Any]):
    """What names stand for, imported at the first lookup.

    >>> functions = Loaded({"retrograd.ops.elementwise.trigonometry": "cos arccos=acos"})
    >>> "arccos" in functions, "acos" in functions, functions["arccos"].__name__
    (True, False, 'acos')
    """

    def __init__(self, *tables: Contents, **prefixed: Contents) -> None:
        self._homes: dict[str, tuple[str, str]] = {}
        self._found: dict[str, Any] = {}
        for table in tables:
            self._add("", table)
        for prefix, table in prefixed.items():
            self._add(f"{prefix}.", table)

    def _add(self, prefix: str, table: Contents) -> None:
        for module, clauses in table.items():
            for clause in clauses.split():
                name, renamed, own = clause.partition("=")
                self._homes[prefix + name] = module, own if renamed else name

    def __getitem__(self, name: str) -> Any:
        if name not in self._found:
            module, own = self._homes[name]
            found = load(module)
            self._found[name] = attrgetter(own)(found) if own else found
        return self._found[name]

    def __contains__(self, name: object) -> bool:
        return name in self._homes

    def __iter__(self) -> Iterator[str]:
        return iter(self._homes)

    def __len__(self) -> int:
        return len(self._homes)


def lazily(package: str, *tables: Contents) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package that has these names and loads them on demand."""
    module = sys.modules[package]
    known = Loaded(*tables)

    def get(name: str) -> Any:
        if name not in known:
            raise AttributeError(f"module '{package}' has no attribute '{name}'", name=name, obj=module)
        found = known[name]
        if FORMS.of_names is not None:
            found = FORMS.of_names(package, name, found)
        vars(module)[name] = found  # where Python finds it without us the next time
        return found

    def names() -> list[str]:  # not those of modules that have been imported: they are our own affair
        own = vars(module)
        return sorted({*own.get("__all__", ()), *known, *(name for name in own if name.startswith("__"))})

    return get, names


class FunctionsFirst(ModuleType):
    """A package in which a submodule does not hide, once imported, the function that it is named after."""

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, ModuleType):
            value = vars(value).get(name, value)
        super().__setattr__(name, value)


def prefer_functions(package: str) -> None:
    """Lets `rg.autograd.gradcheck` be the function, although the import of the module of that name sets it."""
    sys.modules[package].__class__ = FunctionsFirst
