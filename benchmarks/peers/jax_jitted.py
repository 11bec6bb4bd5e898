"""JAX with the function and its gradient compiled before the first timing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from peers import functional


def compiled_value_and_grad(function: Callable[..., Any]) -> Callable[..., Any]:
    """Value and gradient, compiled as one."""
    return jax.jit(jax.value_and_grad(function))


def programs() -> dict[str, Callable[[], Callable[[], Any]]]:
    """Functions that JAX compiles at their first call."""
    style = functional.Style(jax.numpy, compiled_value_and_grad, jax.numpy.asarray, jax.block_until_ready)
    return functional.programs(style)
