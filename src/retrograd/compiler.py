"""`torch.compile` and `torch.compiler`: functions are left as they are.

There is nothing here that compiles what a user has written. A function that is to be compiled is returned itself, and a
warning says so once.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from retrograd.core.places import warn

_SAID: set[str] = set()


def say_once(what: str) -> None:
    """Warns, the first time, that functions are left as they are."""
    if what not in _SAID:
        _SAID.add(what)
        warn(f"{what} leaves functions as they are: retrograd compiles none. This is said once.")


def compile(
    model: Callable[..., Any] | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] = "inductor",
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
    **more: Any,
) -> Any:
    """The function or module itself; without one, a decorator. Nothing is compiled.

    Args:
        model: a function or module.
        fullgraph, dynamic, backend, mode, options, disable, more: PyTorch's, without an effect.

    >>> import warnings, retrograd as rg
    >>> warnings.simplefilter("ignore")
    >>> rg.compile(len) is len, rg.compile(mode="max-autotune")(len) is len
    (True, True)
    """
    if mode is not None and options is not None:
        raise RuntimeError(
            "Either mode or options can be specified, but both can't be specified at the same time."
        )
    if not disable:
        say_once("torch.compile")
    return _same if model is None else model


def _same(function: Any) -> Any:
    return function


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """A function as it is; without one, a decorator that leaves functions as they are."""
    return _same if fn is None else fn


def allow_in_graph(fn: Any) -> Any:
    """A function as it is."""
    return fn


assume_constant_result = nested_compile_region = wrap_numpy = allow_in_graph


def substitute_in_graph(original_fn: Any, **options: Any) -> Any:
    """A decorator that leaves functions as they are."""
    return _same


def is_compiling() -> bool:
    """Whether a function is being compiled: never."""
    return False


is_dynamo_compiling = is_exporting = is_compiling


def reset() -> None:
    """Nothing: nothing was compiled."""


def cudagraph_mark_step_begin() -> None:
    """Nothing: there is no GPU."""


def list_backends(exclude_tags: Any = ()) -> list[str]:
    """What can compile: nothing."""
    return []


def set_stance(stance: str = "default", **options: Any) -> AbstractContextManager[None]:
    """Nothing: functions are called as they are under every stance."""
    return nullcontext()


class Settings:
    """Settings of a compiler that is not there: they can be set, and nothing comes of it."""

    def __init__(self, **settings: Any) -> None:
        vars(self).update(settings)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        part = vars(self)[name] = Settings()
        return part

    def __bool__(self) -> bool:
        return False  # as what nobody has set


config = Settings()
