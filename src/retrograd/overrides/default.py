"""What a subclass of Tensor does that overrides nothing: compute, and give results its own class."""

from __future__ import annotations

from functools import cache
from typing import Any

from retrograd.core.tensor import Tensor
from retrograd.overrides.listing import resolve_name
from retrograd.overrides.state import STATE, DisableTorchFunction, DisableTorchFunctionSubclass


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


def redispatch_function(func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """Calls a function without asking about it; a function of a user asks about those that it calls in turn.

    >>> import retrograd as rg
    >>> class Notes(rg.Tensor):
    ...     @classmethod
    ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...         print(func.__name__)
    ...         return rg.overrides.redispatch_function(func, types, args, kwargs)
    >>> def squared(x):
    ...     if rg.overrides.has_torch_function((x,)):
    ...         return rg.overrides.handle_torch_function(squared, (x,), x)
    ...     return x * x
    >>> result = squared(rg.ones(2).as_subclass(Notes))
    squared
    mul
    """
    if resolve_name(func) is not None:
        with DisableTorchFunction():
            return func(*args, **(kwargs or {}))
    before, STATE.skips = STATE.skips, True
    try:
        return func(*args, **(kwargs or {}))
    finally:
        STATE.skips = before


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
