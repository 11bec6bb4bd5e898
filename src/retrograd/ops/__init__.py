"""The op library. Importing it plugs the operators in and gives Tensor the method forms of functions.

Operations that programs define are found here by their namespace, as `torch.ops.mylib.myop`.
"""

from importlib import import_module
from typing import Any as _Any

from retrograd.ops.operators import plug_in

plug_in()


def __getattr__(name: str) -> _Any:
    from retrograd.ops.namespaces import NAMESPACES, load_library

    if name == "load_library":
        return load_library
    if name == "aten":
        return import_module("retrograd.ops.aten")
    if name not in NAMESPACES:
        raise AttributeError(f"module 'retrograd.ops' has no attribute '{name}'", name=name)
    return NAMESPACES[name]
