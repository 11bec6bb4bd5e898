"""JAX, operation by operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from peers import functional


def programs() -> dict[str, Callable[[], Callable[[], Any]]]:
    """Functions that JAX traces anew at each call."""
    style = functional.Style(jax.numpy, jax.value_and_grad, jax.numpy.asarray, jax.block_until_ready)
    return functional.programs(style)
