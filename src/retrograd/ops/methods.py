"""How a module of the op library is taken in: its method forms become Tensor's, and its nodes get PyTorch's names."""

from __future__ import annotations

import ctypes
from functools import partial
from types import BuiltinFunctionType, ModuleType
from typing import Any

from retrograd import contents
from retrograd.backends.fused import attach
from retrograd.core.op import Op
from retrograd.core.plain import MethodForm, TensorMethods
from retrograd.lazy import load

# The tables in which a module lists method forms by name; `FUNCTIONS` are methods too, by their own names.
TABLES = ("ALIASES", "METHODS", "DTYPE_METHODS", "MEMORY_METHODS")


def method_forms(module: ModuleType) -> dict[str, Any]:
    """Every method form that a module has, by name."""
    found = {function.__name__: function for function in getattr(module, "FUNCTIONS", ())}
    for table in TABLES:
        found.update(getattr(module, table, {}))
    return found


def place_forms() -> None:
    """Puts a placeholder for every method form where Tensor finds it. See Note [Loaded on demand]."""
    for module, names in contents.METHODS.items():
        fill = partial(_load, module)
        for name in names.split():
            setattr(TensorMethods, name, MethodForm(name, fill))


def _load(module: str) -> None:
    """Imports a module of the library."""
    # The import takes it in; but it may be another thread's, which has not come to that yet.
    take_in(load(module))


def take_in(module: ModuleType) -> None:
    """Installs a module's method forms and names its nodes; doing so twice does no harm."""
    for name, form in method_forms(module).items():
        present = TensorMethods.__dict__.get(name)
        if present is None or isinstance(present, MethodForm):
            setattr(TensorMethods, name, as_method(form))
    name_nodes(module)


def as_method(function: Any) -> Any:
    """A function as a class can hold it: one that mypyc has compiled would not bind `self` by itself."""
    if isinstance(function, BuiltinFunctionType):
        return _instance_method(function)
    return function


_instance_method = ctypes.pythonapi.PyInstanceMethod_New
_instance_method.restype = ctypes.py_object
_instance_method.argtypes = [ctypes.py_object]


def name_nodes(module: ModuleType) -> None:
    """Gives a module's op classes the names PyTorch's nodes have (`type(y.grad_fn).__name__`), and fused kernels."""
    for name, cls in tuple(vars(module).items()):
        if isinstance(cls, type) and issubclass(cls, Op) and cls.__module__ == module.__name__:
            attach(cls, f"{module.__name__.rpartition('.')[2]}.{name}")
            own = cls.__dict__.get("node_name", "")
            # The qualified name stays: by it, `inspect` finds the source of a class, and `pickle` the class.
            cls.__name__ = own or f"{cls.__name__.removesuffix('Backward0')}Backward0"
