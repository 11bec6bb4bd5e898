"""What a subclass of Tensor does that overrides nothing: compute, and give results its own class."""

from __future__ import annotations

from functools import cache
from typing import Any

from retrograd.core.tensor import Tensor
from retrograd.overrides.state import DisableTorchFunctionSubclass


@cache
def get_default_nowrap_functions() -> set[Any]:
    """The functions whose results `Tensor.__torch_function__` leaves as they are: a gradient is what it is."""
    plain: Any = Tensor
    return {plain.grad.__get__}


def compute(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """`Tensor.__torch_function__`, for a class."""
    if not all(issubclass(cls, kind) for kind in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        found = func(*args, **(kwargs or {}))
        return found if func in get_default_nowrap_functions() else converted(found, cls)


def converted(value: Any, cls: Any) -> Any:
    """A result, or the results in a tuple or list, as instances of a class."""
    if cls is Tensor:
        return value
    if isinstance(value, Tensor):
        return value if isinstance(value, cls) else value._in_class(cls)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(converted(v, cls) for v in value))
    if isinstance(value, (tuple, list)):
        return type(value)(converted(v, cls) for v in value)
    return value
