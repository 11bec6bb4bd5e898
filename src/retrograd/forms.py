"""In which form the package runs: compiled, or interpreted from its sources. Imported before all other modules.

Note [Compiled and interpreted]
~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
An install has the sources of all modules and, if it is a compiled one, a library beside the package in which mypyc put
the code of most of them. Python knows nothing of it: a finder in front of Python's own takes a module from the library
if it is in there. With RETROGRAD_INTERPRETED=1 in the environment, as `retrograd debug` sets it, the library is not
loaded and Python finds the sources, through which a debugger can step.

A compiled module names its source as its file, so that tracebacks and `inspect.getsource` show the text.
"""

from __future__ import annotations

import ctypes
import os
import sys
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, ModuleSpec
from types import ModuleType
from typing import Any

VARIABLE = "RETROGRAD_INTERPRETED"
LIBRARY = "retrograd__mypyc"
ASKED_FOR_SOURCES = os.environ.get(VARIABLE, "0") not in {"", "0"}
_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 - pathlib is slow to load

_address: Any = ctypes.pythonapi.PyCapsule_GetPointer
_address.restype, _address.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
_maker_at: Any = ctypes.PYFUNCTYPE(ctypes.py_object)


class CompiledModules:
    """Finds and loads the modules whose code is in the library."""

    def __init__(self, library: ModuleType) -> None:
        self._library = library
        self._modules: list[ModuleType] = []  # the library refers to its modules but does not own them

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """What Python's import needs to know of a module; None if it is not in the library."""
        if not hasattr(self._library, _maker(name)):
            return None
        loader: Any = self
        return ModuleSpec(name, loader, origin=os.path.join(_FOLDER, *name.split(".")) + ".py")  # noqa: PTH118

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Makes a module and runs it."""
        name = _maker(spec.name)
        make = _maker_at(_address(getattr(self._library, name), f"{LIBRARY}.{name}".encode()))
        module: ModuleType = make()
        self._modules.append(module)
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Nothing: it ran when it was made."""


def _maker(module: str) -> str:
    """The attribute of the library that leads to the function which makes a module."""
    return f"init_{module.replace('.', '___')}"


def _library() -> ModuleType | None:
    """The library of this very package, loaded; None if this is no compiled install."""
    for suffix in EXTENSION_SUFFIXES:
        path = os.path.join(_FOLDER, LIBRARY + suffix)  # noqa: PTH118
        if os.path.exists(path):  # noqa: PTH110
            loader = ExtensionFileLoader(LIBRARY, path)
            library = loader.create_module(ModuleSpec(LIBRARY, loader, origin=path))
            library.__file__ = path
            sys.modules[LIBRARY] = library  # where compiled modules look for it
            loader.exec_module(library)
            return library
    return None


def _refuse_to_run_without_the_gil() -> None:
    """A Python without the GIL (python3.14t) would let two threads into what is written for one at a time."""
    has_gil: Any = getattr(sys, "_is_gil_enabled", None)  # there since Python 3.13
    if has_gil is not None and not has_gil():
        raise ImportError(
            "retrograd needs Python's global interpreter lock, and this Python runs without it. Use the ordinary build "
            "of Python (python3.14, not python3.14t), or switch the lock on for the whole program: python -X gil=1, or "
            "PYTHON_GIL=1 in the environment."
        )


def _choose() -> bool:
    """Has modules taken from the library, if there is one and nobody asked for the sources."""
    library = None if ASKED_FOR_SOURCES else _library()
    if library is None:
        return False
    finder: Any = CompiledModules(library)
    sys.meta_path.insert(0, finder)
    return True


_refuse_to_run_without_the_gil()
COMPILED = _choose()
