"""`torch.jit`: functions and modules are left as they are. Nothing here is scripted or traced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Optional, TypeVar, Union  # noqa: F401 - torch.jit.annotations has them

from retrograd.compiler import say_once
from retrograd.futures import Future
from retrograd.nn.module import Module

__all__ = [
    "Attribute",
    "Final",
    "ScriptFunction",
    "ScriptModule",
    "annotate",
    "export",
    "fork",
    "freeze",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "optimize_for_inference",
    "script",
    "script_if_tracing",
    "script_method",
    "trace",
    "trace_module",
    "unused",
    "wait",
]

T = TypeVar("T")
_isinstance = isinstance


def script(obj: T, *args: Any, **named: Any) -> T:
    """A function, class or module as it is.

    >>> import warnings; warnings.simplefilter("ignore")
    >>> script(len) is len
    True
    """
    say_once("torch.jit.script")
    return obj


def trace(func: T, example_inputs: Any = None, *args: Any, **named: Any) -> T:
    """A function or module as it is; it is not called."""
    say_once("torch.jit.trace")
    return func


def trace_module(mod: T, inputs: Any, *args: Any, **named: Any) -> T:
    """A module as it is."""
    say_once("torch.jit.trace_module")
    return mod


def script_method(fn: T) -> T:
    """A method as it is."""
    return fn


export = script_method
interface = script_method
script_if_tracing = script_method
_script_if_tracing = script_method
_overload = script_method
_overload_method = script_method


def ignore(drop: Any = False, **named: Any) -> Any:
    """A function as it is; with an argument, a decorator that leaves functions so."""
    return drop if callable(drop) else script_method


unused = script_method


def freeze(mod: T, *args: Any, **named: Any) -> T:
    """A module as it is."""
    return mod


def optimize_for_inference(mod: T, *args: Any, **named: Any) -> T:
    """A module as it is."""
    return mod


def is_scripting() -> bool:
    """Whether the code runs as a script of PyTorch's: never."""
    return False


def is_tracing() -> bool:
    """Whether a function is being traced: never."""
    return False


def annotate(the_type: Any, the_value: T) -> T:
    """The value."""
    return the_value


def Attribute(value: T, type: Any) -> T:
    """The value."""
    return value


def isinstance(obj: Any, target_type: Any) -> bool:
    """Python's `isinstance`, for the types that it takes."""
    return _isinstance(obj, target_type)


def fork(func: Callable[..., T], *args: Any, **named: Any) -> Future[T]:
    """Calls a function at once; `wait` gives its result."""
    future: Future[T] = Future()
    future.set_result(func(*args, **named))
    return future


def wait(future: Future[T]) -> T:
    """The result of what `fork` has called."""
    return future.wait()


_fork, _wait = fork, wait


class ScriptModule(Module):
    """A module as any other, for classes whose methods are marked by `script_method`."""


class ScriptFunction:
    """PyTorch's class of scripted functions. Nothing here is one: it is for `isinstance`."""


def set_fusion_strategy(strategy: Any) -> list[Any]:
    """Nothing: nothing is fused by a script."""
    return []


def enable_onednn_fusion(enabled: bool) -> None:
    """Nothing, as `set_fusion_strategy`."""


# Names of types for annotations, as `torch.jit.annotations` has them; the last may be one number or several.
List: Final = list
Dict: Final = dict
Tuple: Final = tuple
BroadcastingList1: Final = list
BroadcastingList2: Final = list
BroadcastingList3: Final = list
BroadcastingList4: Final = list
