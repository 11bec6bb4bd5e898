"""Which functions can be overridden, and what they are called."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from retrograd.core.plain import TensorMethods
from retrograd.core.tensor import Tensor
from retrograd.ops.register import DECLARED
from retrograd.overrides.forms import AskingFunction
from retrograd.overrides.switch import IGNORED, OF_CLASSES, SWITCH


def get_overridable_functions() -> dict[Any, list[Any]]:
    """The functions that can be overridden, by the package, or class, that has them."""
    found: dict[Any, list[Any]] = {}
    for package, names in SWITCH.names.items():
        module = import_module(package)
        found[module] = [getattr(module, name) for name in sorted(names)]
    asked = [name for name in vars(TensorMethods) if not name.startswith("_") and name not in OF_CLASSES]
    methods = [getattr(Tensor, name) for name in asked]
    found[Tensor] = [f.__get__ if isinstance(f, property) else f for f in methods]
    return found


def get_ignored_functions() -> set[Any]:
    """The functions that cannot: they take no tensor, or must see it as it is."""
    package = import_module("retrograd")
    functions = {getattr(package, name) for name in IGNORED if hasattr(package, name)}
    return functions | {getattr(Tensor, name) for name in OF_CLASSES}


def get_testing_overrides() -> dict[Any, Any]:
    """For each function that can be overridden, one that takes its arguments and gives -1."""
    return {f: _minus_one for functions in get_overridable_functions().values() for f in functions}


def _minus_one(*args: Any, **named: Any) -> int:
    return -1


def resolve_name(f: Any) -> str | None:
    """What a function that can be overridden is called; None if it is none of these.

    >>> import retrograd as rg
    >>> resolve_name(rg.exp), resolve_name(rg.Tensor.shape.__get__), resolve_name(len)
    ('torch.exp', 'torch.Tensor.shape.__get__', None)
    """
    if isinstance(f, AskingFunction):
        return f.torch_name
    try:
        return _names().get(f) or _public_name(f)
    except TypeError:  # not hashable
        return None


def _public_name(f: Any) -> str | None:
    """What a function of the op library is called, by where it is declared."""
    found = [name for name, form in DECLARED.items() if form is f]
    return f"torch.{min(found, key=lambda name: name.startswith('Tensor.'))}" if found else None


@cache
def _names() -> dict[Any, str]:
    """What methods and attributes of the class Tensor itself are called."""
    found: dict[Any, str] = {}
    for name in dir(Tensor):
        value: Any = getattr(Tensor, name, None)
        if hasattr(value, "__set__"):
            for end in ("__get__", "__set__", "__delete__"):
                found[getattr(value, end)] = f"torch.Tensor.{name}.{end}"
        elif callable(value) and (name.startswith("__") or name not in vars(TensorMethods)):
            found[value] = f"torch.Tensor.{name}"
    return found


def is_tensor_method_or_property(func: Any) -> bool:
    """Whether a function is a method of Tensor, or gives one of its attributes.

    >>> import retrograd as rg
    >>> is_tensor_method_or_property(rg.Tensor.shape.__get__), is_tensor_method_or_property(rg.stack)
    (True, False)
    """
    return (resolve_name(func) or "").startswith("torch.Tensor.")
