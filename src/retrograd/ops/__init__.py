"""The op library. Importing it plugs the operators in and gives Tensor the method forms of functions."""

import sys
from types import ModuleType
from typing import Any

from retrograd.core import views
from retrograd.ops.methods import name_nodes, place_forms, take_in


class OpLibrary(ModuleType):
    """The package: where Python ends the import of a module of it by making the module an attribute.

    See Note [Loaded on demand].
    """

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if isinstance(value, ModuleType):
            if hasattr(value, "__path__"):  # a room, which is imported before the modules in it
                value.__class__ = OpLibrary
            take_in(value)


def _assemble() -> None:
    """Makes Tensor complete."""
    name_nodes(views)
    place_forms()
    sys.modules[__name__].__class__ = OpLibrary
    from retrograd.ops.operators import plug_in  # now that modules are taken in as they are imported

    plug_in()


_assemble()
