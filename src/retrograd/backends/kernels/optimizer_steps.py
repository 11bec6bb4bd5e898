"""What a step does to the memory of parameters: functions for each algorithm, on bare arrays, in place.

They have the same manners: hyperparameters are plain numbers, arrays have the parameter's shape, the gradient is only
read, and results are written into the parameter and its state.
"""

from __future__ import annotations

from math import sqrt
from typing import Any, NamedTuple, TypeAlias

from retrograd.values import Array


class SGDRates(NamedTuple):
    """The hyperparameters of gradient descent, the same for all parameters of a group."""

    lr: float
    momentum: float
    dampening: float
    weight_decay: float
    nesterov: bool
    maximize: bool


class AdamRates(NamedTuple):
    """The hyperparameters of Adam and AdamW, the same for all parameters of a group."""

    lr: float
    beta1: float
    beta2: float
    eps: float
    weight_decay: float
    decoupled: bool
    maximize: bool


# The parameter, its gradient, its velocity if there is momentum, and whether that holds nothing yet.
SGDRow: TypeAlias = "tuple[Array, Array, Array | None, bool]"
# The parameter, its gradient, the two means, the largest mean of squares if it is wanted, and the count of steps.
AdamRow: TypeAlias = "tuple[Array, Array, Array, Array, Array | None, float]"


def sgd_step(
    xp: Any, param: Array, grad: Array, velocity: Array | None, first: bool, rates: SGDRates
) -> None:
    """Moves `param` against the gradient, or by the velocity that gradients have given it so far.

    On the `first` step with momentum the velocity holds nothing yet, and becomes the gradient, undamped.
    """
    grad = _directed(xp, grad, param, rates.maximize, rates.weight_decay)
    if velocity is not None:
        if first:
            xp.copyto(velocity, grad)
        else:
            xp.multiply(velocity, rates.momentum, out=velocity)
            xp.add(velocity, xp.multiply(grad, 1 - rates.dampening), out=velocity)
        grad = xp.add(grad, xp.multiply(velocity, rates.momentum)) if rates.nesterov else velocity
    xp.subtract(param, xp.multiply(grad, rates.lr), out=param)


def adam_step(
    xp: Any,
    param: Array,
    grad: Array,
    exp_avg: Array,
    exp_avg_sq: Array,
    max_exp_avg_sq: Array | None,
    step: float,
    rates: AdamRates,
) -> None:
    """Moves `param` by the running mean of its gradients over the root of the running mean of their squares."""
    if param.dtype.kind == "c":
        _adam_step_by_parts(xp, param, grad, exp_avg, exp_avg_sq, max_exp_avg_sq, step, rates)
        return
    lr, beta1, beta2, eps, weight_decay, decoupled, maximize = rates
    if decoupled and weight_decay != 0:
        xp.multiply(param, 1 - lr * weight_decay, out=param)
    grad = _directed(xp, grad, param, maximize, 0.0 if decoupled else weight_decay)
    scratch = xp.empty_like(exp_avg)
    xp.subtract(grad, exp_avg, out=scratch)
    xp.multiply(scratch, 1 - beta1, out=scratch)
    xp.add(exp_avg, scratch, out=exp_avg)
    xp.multiply(grad, grad, out=scratch)
    xp.multiply(scratch, 1 - beta2, out=scratch)
    xp.multiply(exp_avg_sq, beta2, out=exp_avg_sq)
    xp.add(exp_avg_sq, scratch, out=exp_avg_sq)
    if max_exp_avg_sq is not None:
        xp.maximum(max_exp_avg_sq, exp_avg_sq, out=max_exp_avg_sq)
        exp_avg_sq = max_exp_avg_sq
    xp.sqrt(exp_avg_sq, out=scratch)
    xp.divide(scratch, sqrt(1 - beta2**step), out=scratch)
    xp.add(scratch, eps, out=scratch)
    xp.divide(exp_avg, scratch, out=scratch)
    xp.multiply(scratch, lr / (1 - beta1**step), out=scratch)
    xp.subtract(param, scratch, out=param)


def _adam_step_by_parts(
    xp: Any,
    param: Array,
    grad: Array,
    exp_avg: Array,
    exp_avg_sq: Array,
    max_exp_avg_sq: Array | None,
    step: float,
    rates: AdamRates,
) -> None:
    """A complex parameter is two real ones: each part has a pace of its own."""
    for part in ("real", "imag"):
        largest = None if max_exp_avg_sq is None else getattr(max_exp_avg_sq, part)
        adam_step(
            xp,
            getattr(param, part),
            getattr(grad, part),
            getattr(exp_avg, part),
            getattr(exp_avg_sq, part),
            largest,
            step,
            rates,
        )


def _directed(xp: Any, grad: Array, param: Array, maximize: bool, weight_decay: float) -> Array:
    """The gradient to descend along, with the pull of weight decay in it."""
    if maximize:
        grad = xp.negative(grad)
    return grad if weight_decay == 0 else xp.add(grad, xp.multiply(param, weight_decay))
