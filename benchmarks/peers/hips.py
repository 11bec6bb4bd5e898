"""HIPS autograd."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import autograd
import autograd.numpy

from peers import functional


def programs() -> dict[str, Callable[[], Callable[[], Any]]]:
    """Functions of NumPy arrays, differentiated by a trace of each call."""
    style = functional.Style(autograd.numpy, autograd.value_and_grad, lambda a: a, lambda a: a)
    return functional.programs(style)
