"""The memory of parameters and of their state: asked for before a step writes into it, marked as written after."""

from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.backends.base import BACKENDS, backend_of
from retrograd.backends.dtypes import float32, float64, get_default_dtype
from retrograd.backends.kernels.optimizer_steps import AdamRow, SGDRow
from retrograd.core.inplace import check_writable
from retrograd.core.modes import FORWARD, current
from retrograd.core.tensor import Tensor
from retrograd.ops.tensor.create import full
from retrograd.values import Array


def state_array(tensor: Tensor) -> Array:
    """The memory of a tensor of the state. One whose writes nobody counts is ours alone, and needs no check."""
    if tensor._counter is not None or tensor._base is not None:
        check_writable(tensor)
        tensor._bump_version()
    return tensor.array


def must_record(group: dict[str, Any]) -> bool:
    """Whether a step is to be made of operations: those are recorded, and have tangents."""
    return bool(group.get("differentiable")) or current().special & FORWARD != 0


def new_count(start: float = 0.0) -> Tensor:
    """A count of steps: a floating-point tensor, as PyTorch has it."""
    count: Tensor = full((), start, dtype=float64 if get_default_dtype() == float64 else float32)
    return count


def advanced(count: Any) -> float:
    """The count of steps, one more than before."""
    if not isinstance(count, Tensor):
        raise RuntimeError(
            "API has changed, `state_steps` argument must contain a list of singleton tensors: state['step'] is "
            f"{count!r}, a {type(count).__name__}. Set it to retrograd.tensor({count!r}, dtype=retrograd.float32)."
        )
    array = state_array(count)
    array[()] = step = float(array) + 1
    return step


def check_all_writable(params: list[Tensor]) -> None:
    """Refuses a step that autograd or some parameter's memory cannot take, before the first is written."""
    for param in params:
        check_writable(param)


def mark_written(params: list[Tensor]) -> None:
    """Counts a write for each parameter."""
    for param in params:
        param._bump_version()


def with_gradients(params: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
    """The parameters that have a gradient, and the gradients."""
    moving, grads = [], []
    for param in params:
        grad = param.grad
        if grad is not None:
            moving.append(param)
            grads.append(grad)
    return moving, grads


def adam_rows(
    params: list[Tensor], grads: list[Tensor], states: list[dict[str, Any]], amsgrad: bool
) -> list[AdamRow]:
    """The memory of parameters, of their gradients and of Adam's means, with one more step counted for each."""
    rows = []
    for i in range(len(params)):
        state = states[i]
        mean: Tensor = state["exp_avg"]
        square: Tensor = state["exp_avg_sq"]
        largest: Tensor | None = state["max_exp_avg_sq"] if amsgrad else None
        rows.append(
            (
                params[i].array,
                grads[i].array,
                state_array(mean),
                state_array(square),
                None if largest is None else state_array(largest),
                advanced(state["step"]),
            )
        )
    return rows


def sgd_rows(
    params: list[Tensor], grads: list[Tensor], states: list[dict[str, Any]], momentum: bool
) -> list[SGDRow]:
    """The memory of parameters, of their gradients and of their velocities, if they have some."""
    rows: list[SGDRow] = []
    for i in range(len(params)):
        grad = grads[i].array
        if not momentum:
            rows.append((params[i].array, grad, None, False))
            continue
        kept: Tensor | None = states[i].get("momentum_buffer")
        first = kept is None
        if kept is None:
            kept = states[i]["momentum_buffer"] = Tensor(backend_of(grad).empty_like(grad), share=True)
        rows.append((params[i].array, grad, state_array(kept), first))
    return rows


def steps(kernel: str, rows: list[Any], rates: Any) -> None:
    """A step for each row, whose first array is the parameter, by the kernel of the backend that has its memory."""
    if {type(row[0]) for row in rows} == {np.ndarray}:
        getattr(BACKENDS.cpu, kernel)(rows, rates)
        return
    by_backend: dict[Any, list[Any]] = {}
    for row in rows:
        by_backend.setdefault(backend_of(row[0]), []).append(row)
    for backend, own in by_backend.items():
        getattr(backend, kernel)(own, rates)
