"""The modules that stand for ours under PyTorch's names."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

from retrograd.alias.callers import OF_IMPORTS, importer, is_prepared
from retrograd.alias.class_names import give_name
from retrograd.alias.missing import missing, sentence

# What such a module has of its own; the rest is looked up in the module that it shows.
_OWN = frozenset(
    {"__name__", "__spec__", "__loader__", "__package__", "__path__", "__doc__", "__dict__", "__class__"}
)
# What may be assigned to at any time, as `torch.backends.cudnn.benchmark` is, and is looked up anew.
_SETTINGS = (bool, int, float, str, type(None))


# Modules of ours with names that PyTorch has beside the public ones.
_PRIVATE = {
    "torch": "retrograd.alias.old_names",
    "torch.nn.functional": "retrograd.nn.functional_names",
    "torch.optim.optimizer": "retrograd.optim.private_names",
}


def _elsewhere(module: str, name: str) -> Any:
    """What a file of PyTorch's has that ours has not, because it is in another one; AttributeError if it is in none.

    `torch.nn.modules.x` has all names of `nn`.
    """
    place = "retrograd.nn" if module.startswith("torch.nn.modules.") else _PRIVATE.get(module)
    if place is None:
        raise AttributeError(name)
    found = getattr(importlib.import_module(place), name)
    if isinstance(found, ModuleType) and found.__name__.partition(".")[0] == "retrograd":
        return importlib.import_module(found.__name__.replace("retrograd", "torch", 1))
    return found


def own(module: ModuleType) -> dict[str, Any]:
    """What a module that stands for another has itself: its `__dict__` shows all that there is."""
    fields: Any = vars(ModuleType)["__dict__"]
    found: dict[str, Any] = fields.__get__(module)
    return found


class TorchModule(ModuleType):
    """Shows a module of ours, its names and its settings, under one of PyTorch's names."""

    def __init__(self, name: str, shown: ModuleType, given: dict[str, Any] | None = None) -> None:
        super().__init__(name, shown.__doc__)
        own(self).update(given or {}, __path__=[], _shown=shown, _given=given or {})

    def __getattr__(self, name: str) -> Any:
        try:
            found = getattr(own(self)["_shown"], name)
        except AttributeError:
            if name == "torch":
                return sys.modules["torch"]  # which PyTorch's files import
            try:
                found = _elsewhere(self.__name__, name)
            except AttributeError:
                return missing(f"{self.__name__}.{name}", sys._getframe(1))
            if isinstance(found, ModuleType):
                return found
        if isinstance(found, ModuleType):
            return importlib.import_module(f"{self.__name__}.{name}")
        give_name(found)
        if not isinstance(found, _SETTINGS):
            own(self)[name] = found  # where Python finds it without us the next time
        return found

    def __setattr__(self, name: str, value: Any) -> None:
        if self._has_function_of_that_name(name, value):
            return
        if name in _OWN or isinstance(value, ModuleType):
            super().__setattr__(name, value)
            return
        own(self).pop(name, None)
        setattr(own(self)["_shown"], name, value)

    def _has_function_of_that_name(self, name: str, module: Any) -> bool:
        """Whether Python's import would put `torch.autograd.gradcheck`, the file, in the place of the function."""
        if not isinstance(module, TorchModule) or module.__name__ != f"{self.__name__}.{name}":
            return False
        return callable(getattr(own(self)["_shown"], name, None))

    def __delattr__(self, name: str) -> None:
        own(self).pop(name, None)
        delattr(own(self)["_shown"], name)

    def forget(self) -> None:
        """Looks everything up anew that is no module."""
        fields = own(self)
        modules = {
            name: value for name, value in fields.items() if name in _OWN or isinstance(value, ModuleType)
        }
        kept = {"_shown": fields["_shown"], "_given": fields["_given"], **fields["_given"]}
        fields.clear()
        fields.update(modules | kept)

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]  # programs walk through it, and miss nothing
        return {name: getattr(self, name) for name in dir(self) if name not in vars(ModuleType)}

    def __dir__(self) -> list[str]:
        return sorted({*dir(own(self)["_shown"]), *own(self)} - {"_shown", "_given"})

    def __repr__(self) -> str:
        return f"<module '{self.__name__}' from '{own(self)['_shown'].__name__}'>"


class MissingModule(TorchModule):
    """A module that PyTorch has and we have not. It offers the names of the package around it, as its files do."""


def module_for(name: str) -> TorchModule | None:
    """The module that an `import` of this name gives; None where Python is to find that there is none."""
    shown = _shown(name.removeprefix("torch."))
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
        around = own(found)["_shown"]
    found = getattr(around, last, None)
    if isinstance(found, ModuleType):
        return found
    try:
        return importlib.import_module(f"retrograd.{path}")
    except ImportError:
        return None
