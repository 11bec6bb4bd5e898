"""One row of the table: a program, and what is asked of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

# Does the work once and returns a tensor that shows it was done, so that results can be compared.
Program = Callable[[], Any]
# Prepares the program for a library: the same code runs on `torch` and on `retrograd`.
Make = Callable[[Any], Program]


class Row(NamedTuple):
    """A program, by how many operations its time is divided, and how many times as fast as PyTorch it must be."""

    name: str
    make: Make
    operations: int = 1
    must: float | None = None
    aim: float | None = None
    peer: str = ""  # what adapters of other libraries call the same program; "" if none has it
    step: bool = False  # whether it is a training step, whose peak memory is measured as well


class Section(NamedTuple):
    """Rows under one title."""

    title: str
    rows: tuple[Row, ...]


def numbers(*shape: int, seed: int = 0, scale: float = 1.0) -> np.ndarray:
    """Random float32 numbers, the same for every library."""
    return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(np.float32)


def parameter(lib: Any, *shape: int, seed: int = 0, scale: float | None = None) -> Any:
    """A leaf that requires grad, of the size that keeps activations near 1."""
    scale = (shape[-2] if len(shape) > 1 else 1) ** -0.5 if scale is None else scale
    return lib.tensor(numbers(*shape, seed=seed, scale=scale)).requires_grad_()


def forget(parameters: Any) -> None:
    """Drops the gradients, as a training step does."""
    for parameter in parameters:
        parameter.grad = None
