"""Who among the arguments of a function is asked, in which order."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from retrograd.core.tensor import Tensor
from retrograd.errors import OperandError
from retrograd.overrides.state import ALL, STATE, disabled


def overrides(kind: type) -> bool:
    """Whether values of a type are asked: all that have `__torch_function__`, but for Tensors themselves."""
    if kind is Tensor:
        return False
    found = getattr(kind, "__torch_function__", None)
    return found is not None and found is not disabled


def values_to_ask(values: Iterable[Any]) -> list[Any]:
    """One value of each type that is asked, in the order in which they are: a subclass before its base.

    >>> class A:
    ...     __torch_function__ = classmethod(lambda *a: NotImplemented)
    >>> class B(A): pass
    >>> [type(v).__name__ for v in values_to_ask([1, A(), B(), A()])]
    ['B', 'A']
    """
    found: list[Any] = []
    types: set[type] = set()
    for value in values:
        kind = type(value)
        if kind in types or not overrides(kind):
            continue
        types.add(kind)
        place = next((i for i, other in enumerate(found) if issubclass(kind, type(other))), len(found))
        found.insert(place, value)
    return found


def relevant(args: tuple[Any, ...], named: dict[str, Any]) -> Iterable[Any]:
    """The arguments, and what is in those that are lists or tuples."""
    for value in (*args, *named.values()):
        if isinstance(value, (list, tuple)):
            yield from value
        else:
            yield value


def ask(func: Any, values: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Any:
    """Asks the innermost mode, then each of these values, what a function gives."""
    types = tuple(type(v) for v in values)
    if STATE.modes and STATE.off < ALL:
        mode = STATE.modes.pop()
        try:
            found = method_of(mode, "__torch_function__")(func, types, args, kwargs)
        finally:
            STATE.modes.append(mode)
        if found is not NotImplemented:
            return found
    for value in values:
        found = value.__torch_function__(func, types, args, kwargs)
        if found is not NotImplemented:
            return found
    name = _called(func)
    raise OperandError(
        f"Multiple dispatch failed for '{name}'; all __torch_function__ handlers returned NotImplemented: no "
        f"implementation found for '{name}' on types that implement __torch_function__: {list(types)}."
    )


def method_of(mode: Any, name: str) -> Any:
    """What a mode does to a call, which is the mode's own doing and not its class's."""
    method = getattr(mode, name)
    if isinstance(getattr(method, "__self__", None), type):
        raise RuntimeError(
            f"Defining your mode's `{name}` as a classmethod is not supported, please make it a plain method"
        )
    return method


def _called(func: Any) -> str:
    from retrograd.overrides.listing import resolve_name

    return resolve_name(func) or f"{getattr(func, '__module__', '')}.{getattr(func, '__name__', func)}"


# -- for functions of users -----------------------------------------------------------------------------------------


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether a function must ask somebody before it computes: one of its arguments, or a mode.

    >>> has_torch_function([1, "text"])
    False
    """
    if not isinstance(relevant_args, Iterable):
        raise TypeError(
            f"has_torch_function(relevant_args): expected a sequence, not {type(relevant_args).__name__}"
        )
    if STATE.skips:
        STATE.skips = False
        return False
    if STATE.off < ALL and STATE.modes:
        return True
    return not STATE.off and any(overrides(type(value)) for value in relevant_args)


def has_torch_function_unary(argument: Any) -> bool:
    """The same of one argument."""
    return has_torch_function((argument,))


def has_torch_function_variadic(*arguments: Any) -> bool:
    """The same of several."""
    return has_torch_function(arguments)


def handle_torch_function(public_api: Any, relevant_args: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
    """What those who are asked say that a function gives: call it if `has_torch_function` says so."""
    return ask(public_api, [] if STATE.off else values_to_ask(relevant_args), args, kwargs)


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[[Any], Any]:
    """A decorator that has a function ask first; `dispatcher`, called as it is, gives the arguments that matter."""

    def decorate(func: Any) -> Any:
        @functools.wraps(func)
        def asking(*args: Any, **kwargs: Any) -> Any:
            arguments = tuple(dispatcher(*args, **kwargs))
            if has_torch_function(arguments):
                return handle_torch_function(asking, arguments, *args, **kwargs)
            return func(*args, **kwargs)

        return asking

    return decorate


def is_tensor_like(inp: Any) -> bool:
    """Whether something is a Tensor, or has `__torch_function__` and so may pass for one.

    >>> import retrograd as rg
    >>> is_tensor_like(rg.zeros(2)), is_tensor_like([0.0])
    (True, False)
    """
    return isinstance(inp, Tensor) or hasattr(inp, "__torch_function__")
