"""Steps made of recorded operations, for `differentiable=True`: learning rates and the like can have gradients.

A parameter is written in place. Its state is not: a new tensor takes the place of the old one, because the backward
through earlier steps may still need that.
"""

from __future__ import annotations

from typing import Any

from retrograd.core.tensor import Tensor
from retrograd.ops.elementwise.choose import maximum
from retrograd.ops.elementwise.complex_numbers import view_as_complex, view_as_real


def sgd_recorded(
    param: Tensor, grad: Tensor, velocity: Tensor | None, group: dict[str, Any]
) -> Tensor | None:
    """A step of gradient descent; gives the velocity that is left, if there is momentum."""
    lr, momentum = group["lr"], group["momentum"]
    if group["maximize"]:
        grad = -grad
    grad = _decayed(grad, param, group["weight_decay"])
    if momentum != 0:
        if velocity is None:
            velocity = grad.detach().clone()
        else:
            velocity = (velocity * momentum).add(grad, alpha=1 - group["dampening"])
        grad = grad.add(velocity, alpha=momentum) if group["nesterov"] else velocity
    if isinstance(lr, Tensor):
        param.addcmul_(grad, lr, value=-1)
    else:
        param.add_(grad, alpha=-lr)
    return velocity


def adam_recorded(
    param: Tensor, grad: Tensor, state: dict[str, Any], step: float, group: dict[str, Any]
) -> None:
    """A step of Adam or AdamW; leaves the new averages in `state`."""
    lr, (beta1, beta2) = group["lr"], group["betas"]
    if group["maximize"]:
        grad = -grad
    if group["decoupled_weight_decay"]:
        if group["weight_decay"] != 0:
            param.mul_(1 - lr * group["weight_decay"])
    else:
        grad = _decayed(grad, param, group["weight_decay"])
    is_complex = param.array.dtype.kind == "c"
    param, grad = part(param, is_complex), part(grad, is_complex)
    mean = part(state["exp_avg"], is_complex)
    mean = mean + (grad - mean) * (1 - beta1)
    square = part(state["exp_avg_sq"], is_complex) * beta2 + grad * grad * (1 - beta2)
    state["exp_avg"], state["exp_avg_sq"] = whole(mean, is_complex), whole(square, is_complex)
    if group["amsgrad"]:
        square = maximum(part(state["max_exp_avg_sq"], is_complex), square)
        state["max_exp_avg_sq"] = whole(square, is_complex)
    size = lr / (1 - beta1**step)
    pace = square.sqrt() / (1 - beta2**step) ** 0.5 + group["eps"]
    if isinstance(size, Tensor):
        param.addcdiv_(mean * size, pace, value=-1)
    else:
        param.addcdiv_(mean, pace, value=-size)


def part(kept: Tensor, is_complex: bool) -> Tensor:
    """A complex tensor as the two real ones that Adam moves each for itself."""
    parts: Tensor = view_as_real(kept) if is_complex else kept
    return parts


def whole(parts: Tensor, is_complex: bool) -> Tensor:
    """The tensor that `part` took apart."""
    whole: Tensor = view_as_complex(parts) if is_complex else parts
    return whole


def _decayed(grad: Tensor, param: Tensor, weight_decay: Any) -> Tensor:
    """The gradient with the pull of weight decay in it."""
    if isinstance(weight_decay, Tensor):
        # Saved for the gradient of the decay, and about to be overwritten: hence the copy.
        return grad.addcmul(param.clone(), weight_decay)
    return grad.add(param, alpha=weight_decay) if weight_decay != 0 else grad
