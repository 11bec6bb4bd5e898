"""Names of PyTorch's compiler that scripts touch, as `torch._dynamo`: functions and tensors are left as they are."""

from __future__ import annotations

from typing import Any

from retrograd.compiler import (
    NoEffect,
    Settings,
    allow_in_graph,
    assume_constant_result,
    compile,
    disable,
    is_compiling,
    list_backends,
    reset,
    set_stance,
    substitute_in_graph,
)

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "config",
    "disable",
    "disallow_in_graph",
    "error_on_graph_break",
    "forbid_in_graph",
    "graph_break",
    "is_compiling",
    "is_dynamo_supported",
    "list_backends",
    "mark_dynamic",
    "mark_static",
    "mark_static_address",
    "maybe_mark_dynamic",
    "nonstrict_trace",
    "optimize",
    "patch_dynamo_config",
    "reset",
    "run",
    "set_stance",
    "substitute_in_graph",
]

config = Settings(suppress_errors=False, cache_size_limit=8, recompile_limit=8)
disallow_in_graph = forbid_in_graph = nonstrict_trace = allow_in_graph
run = disable


def optimize(*args: Any, **named: Any) -> Any:
    """A decorator that leaves functions as they are, as `compile` without a function."""
    return compile()


def is_dynamo_supported() -> bool:
    """Whether functions can be compiled: no."""
    return False


def graph_break(msg: str = "") -> None:
    """Nothing: there is no graph of a compiler to end."""


def mark_dynamic(t: Any, index: Any, **more: Any) -> None:
    """Nothing: no size of a tensor is taken to be constant."""


def mark_static(t: Any, index: Any = None) -> None:
    """Nothing, as `mark_dynamic`."""


def mark_static_address(t: Any, guard: bool = False) -> None:
    """Nothing, as `mark_dynamic`."""


maybe_mark_dynamic = mark_dynamic


def error_on_graph_break(error_on_graph_break: bool) -> NoEffect:
    """Nothing: there is no graph of a compiler that could end."""
    return NoEffect()


def patch_dynamo_config(arg1: Any = None, arg2: Any = None, **settings: Any) -> NoEffect:
    """Nothing: settings have no effect."""
    return NoEffect()
