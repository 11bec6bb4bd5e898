"""Bases of context managers that decorate too, as `torch.utils._contextlib`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from retrograd.autograd.modes import ModeContext as _DecoratorContextManager

__all__ = ["_DecoratorContextManager", "_NoParamDecoratorContextManager", "context_decorator"]

F = TypeVar("F", bound=Callable[..., Any])


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """One that also decorates without parentheses.

    >>> class Loud(_NoParamDecoratorContextManager):
    ...     def __enter__(self):
    ...         print("in")
    ...     def __exit__(self, *error):
    ...         print("out")
    >>> @Loud
    ... def double(x):
    ...     return 2 * x
    >>> double(3)
    in
    out
    6
    """

    def __new__(cls, orig_func: Any = None) -> Any:
        return super().__new__(cls) if orig_func is None else cls()(orig_func)


class _Made(_DecoratorContextManager):
    """Decorates by what a function makes for each call."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make

    def clone(self) -> Any:
        return self.make()


def context_decorator(ctx: Any, func: F) -> F:
    """`func` with its body inside of `ctx`: a context manager, or a function that makes one for each call."""
    if callable(ctx) and hasattr(ctx, "__enter__"):
        raise AssertionError(
            f"Passed in {ctx} is both callable and a context manager, so it is unclear which is meant. Pass "
            "`lambda: ctx` to enter it, or `ctx` wrapped in a function that makes it."
        )
    if isinstance(func, type):
        raise RuntimeError(
            "Cannot decorate classes: it is ambiguous whether the methods are meant, or the making of instances. "
            "Decorate the methods."
        )
    return _Made(ctx if callable(ctx) else lambda: ctx)(func)
