"""`torch.compile` and `torch.compiler`: functions are left as they are.

There is nothing here that compiles what a user has written. A function that is to be compiled is returned itself, and a
warning says so once.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ContextDecorator
from typing import Any, Final

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


assume_constant_result = allow_in_graph
wrap_numpy = allow_in_graph


def nested_compile_region(
    fn: Any = None, *, options: Any = None, max_reuse_entries: int = 8, reuse_hash_fn: Any = None
) -> Any:
    """A function as it is; without one, a decorator that leaves functions as they are."""
    return _same if fn is None else fn


def substitute_in_graph(
    original_fn: Any, *, can_constant_fold_through: bool = False, skip_signature_check: bool = False
) -> Any:
    """A decorator that leaves functions as they are."""
    return _same


def is_compiling() -> bool:
    """Whether a function is being compiled: never."""
    return False


is_dynamo_compiling = is_compiling
is_exporting = is_compiling


def reset() -> None:
    """Nothing: nothing was compiled."""


def cudagraph_mark_step_begin() -> None:
    """Nothing: there is no GPU."""


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """What can compile: nothing."""
    return []


class NoEffect(ContextDecorator):
    """A setting of a compiler that is not there: a statement, a context or a decorator that changes nothing."""

    def __enter__(self) -> None:
        """Nothing to set."""

    def __exit__(self, *error: object) -> None:
        """Nothing to undo."""


def set_stance(
    stance: str = "default", *, skip_guard_eval_unsafe: bool = False, force_backend: Any = None
) -> NoEffect:
    """Nothing: functions are called as they are under every stance."""
    return NoEffect()


_default_backend: Any = "inductor"


def set_default_backend(backend: str | Callable[..., Any] | None) -> None:
    """What `compile` would take without `backend`; None is the usual one."""
    global _default_backend
    _default_backend = "inductor" if backend is None else backend


def get_default_backend() -> Any:
    """What `compile` would take without `backend`."""
    return _default_backend


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


config: Final = Settings()
