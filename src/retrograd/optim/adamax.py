"""Adamax: Adam by the largest gradient instead of the mean of squares."""

from __future__ import annotations

from typing import Any

from retrograd.core.tensor import Tensor
from retrograd.optim.formula import FormulaOptimizer, Kept, fade
from retrograd.optim.optimizer import Group, Params, functional_step
from retrograd.optim.options import check_betas, check_not_negative, check_rate


class Adamax(FormulaOptimizer):
    """Adamax: the mean of the gradients so far over the largest of them, both fading.

    Args:
        params: what to optimise: tensors, (name, tensor) pairs, or dicts that describe groups.
        lr: the learning rate: about how far one step can move a number.
        betas: how slowly the mean and the largest gradient are forgotten.
        eps: keeps the quotient finite where gradients vanish.
        weight_decay: how strongly a parameter is pulled towards 0.
        maximize: climb instead of descending.
        foreach: accepted for PyTorch's sake; there is one implementation here.
        capturable: for devices that record steps and play them back; there is none yet.
        differentiable: record the step, so that one can differentiate through it.

    >>> import retrograd as rg
    >>> w = rg.tensor([4.0, -2.0], requires_grad=True)
    >>> optimizer = rg.optim.Adamax([w], lr=0.5)
    >>> (w**2).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([ 3.5000, -1.5000], requires_grad=True)
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_rate(lr)
        check_not_negative(eps, "epsilon")
        check_betas(betas)
        check_not_negative(weight_decay, "weight_decay")
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _names(self, param: Tensor, group: Group) -> tuple[str, ...]:
        return "exp_avg", "exp_inf"

    def _formula(self, xp: Any, param: Any, grad: Any, kept: Kept, step: float, rates: Group) -> Any:
        beta1, beta2 = rates["betas"]
        kept["exp_avg"] = mean = fade(kept["exp_avg"], grad, 1 - beta1)
        kept["exp_inf"] = largest = xp.maximum(kept["exp_inf"] * beta2, abs(grad) + rates["eps"])
        return param - mean / largest * (rates["lr"] / (1 - beta1**step))

    _rule = 6

    def _rule_numbers(self, step: float, rates: Group) -> tuple[float, ...]:
        beta1, beta2 = rates["betas"]
        return rates["lr"] / (1 - beta1**step), 1 - beta1, beta2, rates["eps"]


def adamax(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_infs: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    eps: float,
    beta1: float,
    beta2: float,
    lr: float,
    weight_decay: float,
) -> None:
    """A step of Adamax whose state the caller keeps: Note [Functional forms]."""
    kept = {
        "exp_avg": exp_avgs,
        "exp_inf": exp_infs,
        "step": state_steps,
    }
    rates = {
        "lr": lr,
        "betas": (beta1, beta2),
        "eps": eps,
        "weight_decay": weight_decay,
        "maximize": maximize,
        "capturable": capturable,
        "differentiable": differentiable,
    }
    functional_step(Adamax, params, grads, kept, rates)
