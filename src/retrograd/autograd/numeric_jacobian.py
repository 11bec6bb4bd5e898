"""Derivatives by central differences: what `gradcheck` holds against autograd."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from retrograd.backends.base import backend_of
from retrograd.values import Array

Evaluate: TypeAlias = Callable[[], list[Array]]  # the outputs as they are now, flat


def numeric_jacobian(evaluate: Evaluate, array: Array, eps: float, unit: complex = 1) -> list[Array]:
    """The derivatives of each output by each element of `array`: a row for each element of the input.

    `unit` is the direction in the complex plane in which the elements are moved: 1 or 1j.
    """
    rows = [
        difference(evaluate, array, np.unravel_index(i, array.shape), eps * unit, eps)
        for i in range(array.size)
    ]
    if not rows:
        return [np.zeros((0, out.size), out.dtype) for out in evaluate()]
    return [np.stack(column) for column in zip(*rows, strict=True)]


def difference(evaluate: Evaluate, array: Array, index: Any, step: Any, eps: float) -> list[Array]:
    """How fast the outputs change as `array[index]` is moved by `step`, a multiple of `eps`.

    The memory itself is written, so that whatever shares it moves along, and put back in any case.
    """
    original = array[index].copy()
    if isinstance(step, np.ndarray):
        step = backend_of(array).asarray(step)
    try:
        array[index] = original - step
        before = evaluate()
        array[index] = original + step
        after = evaluate()
    finally:
        array[index] = original
    return [(b - a) / (2 * eps) for a, b in zip(before, after, strict=True)]


def wirtinger(evaluate: Evaluate, array: Array, eps: float) -> list[Array]:
    """The gradient of each element of real outputs, as autograd defines it: d/dx + i d/dy for a complex input."""
    found = numeric_jacobian(evaluate, array, eps)
    if array.dtype.kind != "c":
        return found
    turned = numeric_jacobian(evaluate, array, eps, 1j)
    return [x + 1j * y for x, y in zip(found, turned, strict=True)]
