"""RAdam: Adam that waits with its paces until they can be trusted."""

from __future__ import annotations

from math import sqrt
from typing import Any

from retrograd.core.tensor import Tensor
from retrograd.optim.formula import FormulaOptimizer, Kept, fade
from retrograd.optim.optimizer import Group, Params, functional_step
from retrograd.optim.options import check_betas, check_not_negative, check_rate


class RAdam(FormulaOptimizer):
    """Adam whose first steps go by the mean of the gradients alone, until the mean of squares has seen enough of them.

    Args:
        params: what to optimise: tensors, (name, tensor) pairs, or dicts that describe groups.
        lr: the learning rate.
        betas: how slowly the mean and the mean of squares forget.
        eps: keeps the quotient finite where gradients vanish.
        weight_decay: how strongly a parameter is pulled towards 0.
        decoupled_weight_decay: let weight decay act on the parameter and not on its gradient.
        maximize: climb instead of descending.
        foreach: accepted for PyTorch's sake; there is one implementation here.
        capturable: for devices that record steps and play them back; there is none yet.
        differentiable: record the step, so that one can differentiate through it.

    >>> import retrograd as rg
    >>> w = rg.tensor([4.0, -2.0], requires_grad=True)
    >>> optimizer = rg.optim.RAdam([w], lr=0.1)
    >>> (w**2).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([ 3.2000, -1.6000], requires_grad=True)
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
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
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    _absent = {**FormulaOptimizer._absent, "decoupled_weight_decay": False}

    def _names(self, param: Tensor, group: Group) -> tuple[str, ...]:
        return "exp_avg", "exp_avg_sq"

    def _formula(self, xp: Any, param: Any, grad: Any, kept: Kept, step: float, rates: Group) -> Any:
        beta1, beta2 = rates["betas"]
        kept["exp_avg"] = mean = fade(kept["exp_avg"], grad, 1 - beta1)
        kept["exp_avg_sq"] = square = kept["exp_avg_sq"] * beta2 + grad * grad * (1 - beta2)
        move = mean / (1 - beta1**step)
        trust = _trust(beta2, step)
        if trust is not None:
            move = move * (sqrt(1 - beta2**step) * trust) / (xp.sqrt(square) + rates["eps"])
        return param - move * rates["lr"]

    _rule = 8

    def _rule_numbers(self, step: float, rates: Group) -> tuple[float, ...]:
        beta1, beta2 = rates["betas"]
        trust = _trust(beta2, step)
        trusted = 0.0 if trust is None else sqrt(1 - beta2**step) * trust
        return rates["lr"], 1 - beta1, beta2, 1 - beta2, rates["eps"], 1 - beta1**step, trusted


def _trust(beta2: float, step: float) -> float | None:
    """How far the mean of squares can be trusted after some steps; None if not at all.

    It counts gradients: `most` is how many the mean sees in the long run, `seen` how many it has seen.
    """
    most = 2 / (1 - beta2) - 1
    seen = most - 2 * step * beta2**step / (1 - beta2**step)
    if seen <= 5:
        return None
    return sqrt((seen - 4) * (seen - 2) * most / ((most - 4) * (most - 2) * seen))


def radam(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    state_steps: list[Tensor],
    decoupled_weight_decay: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    maximize: bool = False,
    *,
    beta1: float,
    beta2: float,
    lr: float,
    weight_decay: float,
    eps: float,
) -> None:
    """A step of RAdam whose state the caller keeps: Note [Functional forms]."""
    kept = {
        "exp_avg": exp_avgs,
        "exp_avg_sq": exp_avg_sqs,
        "step": state_steps,
    }
    rates = {
        "lr": lr,
        "betas": (beta1, beta2),
        "eps": eps,
        "weight_decay": weight_decay,
        "decoupled_weight_decay": decoupled_weight_decay,
        "maximize": maximize,
        "capturable": capturable,
        "differentiable": differentiable,
    }
    functional_step(RAdam, params, grads, kept, rates)
