"""Adadelta: steps in proportion to the steps before."""

from __future__ import annotations

from typing import Any

from retrograd.core.tensor import Tensor
from retrograd.optim.formula import FormulaOptimizer, Kept
from retrograd.optim.optimizer import Group, Params, functional_step
from retrograd.optim.options import check_not_negative, check_rate


class Adadelta(FormulaOptimizer):
    """Adadelta: each number moves by its gradient, times the usual size of its moves over that of its gradients.

    Args:
        params: what to optimise: tensors, (name, tensor) pairs, or dicts that describe groups.
        lr: the learning rate.
        rho: how slowly the means forget.
        eps: keeps the quotient finite, and gets the first steps going.
        weight_decay: how strongly a parameter is pulled towards 0.
        maximize: climb instead of descending.
        foreach: accepted for PyTorch's sake; there is one implementation here.
        capturable: for devices that record steps and play them back; there is none yet.
        differentiable: record the step, so that one can differentiate through it.

    >>> import retrograd as rg
    >>> w = rg.tensor([4.0, -2.0], requires_grad=True)
    >>> optimizer = rg.optim.Adadelta([w], lr=100.0)
    >>> (w**2).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([ 3.6838, -1.6838], requires_grad=True)
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}. It must be in [0, 1].")
        check_not_negative(eps, "epsilon")
        check_not_negative(weight_decay, "weight_decay")
        defaults = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _names(self, param: Tensor, group: Group) -> tuple[str, ...]:
        return "square_avg", "acc_delta"

    def _formula(self, xp: Any, param: Any, grad: Any, kept: Kept, step: float, rates: Group) -> Any:
        rho, eps = rates["rho"], rates["eps"]
        kept["square_avg"] = square = kept["square_avg"] * rho + grad * grad * (1 - rho)
        move = xp.sqrt(kept["acc_delta"] + eps) / xp.sqrt(square + eps) * grad
        kept["acc_delta"] = kept["acc_delta"] * rho + move * move * (1 - rho)
        return param - move * rates["lr"]

    _rule = 5

    def _rule_numbers(self, step: float, rates: Group) -> tuple[float, ...]:
        return rates["lr"], rates["rho"], 1 - rates["rho"], rates["eps"]


def adadelta(
    params: list[Tensor],
    grads: list[Tensor],
    square_avgs: list[Tensor],
    acc_deltas: list[Tensor],
    state_steps: list[Tensor],
    capturable: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    lr: float,
    rho: float,
    eps: float,
    weight_decay: float,
    maximize: bool,
) -> None:
    """A step of Adadelta whose state the caller keeps: Note [Functional forms]."""
    kept = {
        "square_avg": square_avgs,
        "acc_delta": acc_deltas,
        "step": state_steps,
    }
    rates = {
        "lr": lr,
        "rho": rho,
        "eps": eps,
        "weight_decay": weight_decay,
        "maximize": maximize,
        "capturable": capturable,
        "differentiable": differentiable,
    }
    functional_step(Adadelta, params, grads, kept, rates)
