"""RMSprop: gradients over the root of the mean of their squares."""

from __future__ import annotations

from typing import Any

from retrograd.core.tensor import Tensor
from retrograd.optim.formula import FormulaOptimizer, Kept, fade
from retrograd.optim.optimizer import Group, Params, functional_step
from retrograd.optim.options import check_not_negative, check_rate


class RMSprop(FormulaOptimizer):
    """RMSprop: each number moves by its gradient over the root of the fading mean of its squares.

    Args:
        params: what to optimise: tensors, (name, tensor) pairs, or dicts that describe groups.
        lr: the learning rate.
        alpha: how slowly the mean of squares forgets.
        eps: keeps the quotient finite where gradients vanish.
        weight_decay: how strongly a parameter is pulled towards 0.
        momentum: how much of the last step is kept.
        centered: divide by the spread of the gradients around their mean.
        maximize: climb instead of descending.
        foreach: accepted for PyTorch's sake; there is one implementation here.
        capturable: for devices that record steps and play them back; there is none yet.
        differentiable: record the step, so that one can differentiate through it.

    >>> import retrograd as rg
    >>> w = rg.tensor([4.0, -0.01], requires_grad=True)
    >>> optimizer = rg.optim.RMSprop([w], lr=0.1)
    >>> (w**2).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([3.0000, 0.9900], requires_grad=True)
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        check_not_negative(eps, "epsilon")
        check_not_negative(momentum, "momentum")
        check_not_negative(weight_decay, "weight_decay")
        check_not_negative(alpha, "alpha")
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    _absent = {**FormulaOptimizer._absent, "momentum": 0, "centered": False}

    def _names(self, param: Tensor, group: Group) -> tuple[str, ...]:
        momentum = ("momentum_buffer",) if group["momentum"] > 0 else ()
        return ("square_avg", *momentum, *(("grad_avg",) if group["centered"] else ()))

    def _formula(self, xp: Any, param: Any, grad: Any, kept: Kept, step: float, rates: Group) -> Any:
        alpha = rates["alpha"]
        kept["square_avg"] = square = kept["square_avg"] * alpha + grad * grad * (1 - alpha)
        if rates["centered"]:
            kept["grad_avg"] = mean = fade(kept["grad_avg"], grad, 1 - alpha)
            square = square - mean * mean
        move = grad / (xp.sqrt(square) + rates["eps"])
        if rates["momentum"] > 0:
            kept["momentum_buffer"] = move = kept["momentum_buffer"] * rates["momentum"] + move
        return param - move * rates["lr"]

    _rule = 0

    def rule(self, rates: Group) -> int:
        return self._rule + int(rates["momentum"] > 0) + 2 * bool(rates["centered"])

    def _rule_numbers(self, step: float, rates: Group) -> tuple[float, ...]:
        alpha = rates["alpha"]
        return rates["lr"], alpha, 1 - alpha, rates["eps"], rates["momentum"]


def rmsprop(
    params: list[Tensor],
    grads: list[Tensor],
    square_avgs: list[Tensor],
    grad_avgs: list[Tensor],
    momentum_buffer_list: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    lr: float,
    alpha: float,
    eps: float,
    weight_decay: float,
    momentum: float,
    centered: bool,
) -> None:
    """A step of RMSprop whose state the caller keeps: Note [Functional forms]."""
    kept = {
        "square_avg": square_avgs,
        "grad_avg": grad_avgs,
        "momentum_buffer": momentum_buffer_list,
        "step": state_steps,
    }
    rates = {
        "lr": lr,
        "alpha": alpha,
        "eps": eps,
        "weight_decay": weight_decay,
        "momentum": momentum,
        "centered": centered,
        "maximize": maximize,
        "capturable": capturable,
        "differentiable": differentiable,
    }
    functional_step(RMSprop, params, grads, kept, rates)
