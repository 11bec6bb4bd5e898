"""The modules that stand for ours under PyTorch's names."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

from retrograd.alias.callers import OF_IMPORTS, importer, is_prepared
from retrograd.alias.missing import missing, sentence

# What such a module has of its own; the rest is looked up in the module that it shows.
_OWN = frozenset(
    {"__name__", "__spec__", "__loader__", "__package__", "__path__", "__doc__", "__dict__", "__class__"}
)
# What may be assigned to at any time, as `torch.backends.cudnn.benchmark` is, and is looked up anew.
_SETTINGS = (bool, int, float, str, type(None))


def _whole(name: str) -> ModuleType | None:
    """Where the names of a file of PyTorch's are that ours are cut from otherwise: `nn`, for `torch.nn.modules.x`."""
    return importlib.import_module("retrograd.nn") if name.startswith("torch.nn.modules.") else None


class TorchModule(ModuleType):
    """Shows a module of ours, its names and its settings, under one of PyTorch's names."""

    def __init__(self, name: str, shown: ModuleType, own: dict[str, Any] | None = None) -> None:
        super().__init__(name, shown.__doc__)
        vars(self).update(own or {}, __path__=[], _shown=shown, _given=own or {})

    def __getattr__(self, name: str) -> Any:
        try:
            found = getattr(vars(self)["_shown"], name)
        except AttributeError:
            if name == "torch":
                return sys.modules["torch"]  # which PyTorch's files import
            if not hasattr(elsewhere := _whole(self.__name__), name):
                return missing(f"{self.__name__}.{name}", sys._getframe(1))
            found = getattr(elsewhere, name)
        if isinstance(found, ModuleType):
            return importlib.import_module(f"{self.__name__}.{name}")
        if not isinstance(found, _SETTINGS):
            vars(self)[name] = found  # where Python finds it without us the next time
        return found

    def __setattr__(self, name: str, value: Any) -> None:
        if self._has_function_of_that_name(name, value):
            return
        if name in _OWN or isinstance(value, ModuleType):
            super().__setattr__(name, value)
            return
        vars(self).pop(name, None)
        setattr(vars(self)["_shown"], name, value)

    def _has_function_of_that_name(self, name: str, module: Any) -> bool:
        """Whether Python's import would put `torch.autograd.gradcheck`, the file, in the place of the function."""
        if not isinstance(module, TorchModule) or module.__name__ != f"{self.__name__}.{name}":
            return False
        return callable(getattr(vars(self)["_shown"], name, None))

    def __delattr__(self, name: str) -> None:
        vars(self).pop(name, None)
        delattr(vars(self)["_shown"], name)

    def forget(self) -> None:
        """Looks everything up anew that is no module."""
        own = {
            name: value for name, value in vars(self).items() if name in _OWN or isinstance(value, ModuleType)
        }
        kept = {"_shown": vars(self)["_shown"], "_given": vars(self)["_given"], **vars(self)["_given"]}
        vars(self).clear()
        vars(self).update(own | kept)

    def __dir__(self) -> list[str]:
        return sorted({*dir(vars(self)["_shown"]), *vars(self)} - {"_shown", "_given"})

    def __repr__(self) -> str:
        return f"<module '{self.__name__}' from '{vars(self)['_shown'].__name__}'>"


class MissingModule(TorchModule):
    """A module that PyTorch has and we have not. It offers the names of the package around it, as its files do."""


def module_for(name: str) -> TorchModule | None:
    """The module that an `import` of this name gives; None where Python is to find that there is none."""
    _, _, rest = name.partition(".")
    shown = _shown(rest)
    if shown is not None:
        return TorchModule(name, shown)
    frame, tries = importer()
    if tries:
        return None  # `from torch import x`: x is no module, and then an attribute of torch
    if frame is not None and is_prepared(frame, OF_IMPORTS):
        raise ModuleNotFoundError(sentence(name), name=name)
    around = sys.modules[name.rpartition(".")[0]]
    return MissingModule(name, around)


def _shown(path: str) -> ModuleType | None:
    """The module of ours at this place: a file, or what a package calls so."""
    package, _, last = path.rpartition(".")
    try:
        around = importlib.import_module(f"retrograd.{package}" if package else "retrograd")
    except ImportError:
        found = sys.modules.get(f"torch.{package}")
        if not isinstance(found, TorchModule):
            return None
        around = vars(found)["_shown"]
    found = getattr(around, last, None)
    if isinstance(found, ModuleType):
        return found
    try:
        return importlib.import_module(f"retrograd.{path}")
    except ImportError:
        return None
