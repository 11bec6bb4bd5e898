"""NAdam: Adam with Nesterov's look ahead."""

from __future__ import annotations

from typing import Any

from retrograd.core.tensor import Tensor
from retrograd.optim.formula import FormulaOptimizer, Kept, fade
from retrograd.optim.memory import new_count, state_array
from retrograd.optim.optimizer import Group, Params, StateDict, functional_step
from retrograd.optim.options import check_betas, check_not_negative, check_rate


class NAdam(FormulaOptimizer):
    """Adam in which a step uses the mean that the next one will have, as Nesterov's momentum does.

    Args:
        params: what to optimise: tensors, (name, tensor) pairs, or dicts that describe groups.
        lr: the learning rate: about how far one step can move a number.
        betas: how slowly the mean and the mean of squares forget.
        eps: keeps the quotient finite where gradients vanish.
        weight_decay: how strongly a parameter is pulled towards 0.
        momentum_decay: how fast the momentum rises to its full size.
        decoupled_weight_decay: let weight decay act on the parameter and not on its gradient.
        maximize: climb instead of descending.
        foreach: accepted for PyTorch's sake; there is one implementation here.
        capturable: for devices that record steps and play them back; there is none yet.
        differentiable: record the step, so that one can differentiate through it.

    >>> import retrograd as rg
    >>> w = rg.tensor([4.0, -2.0], requires_grad=True)
    >>> optimizer = rg.optim.NAdam([w], lr=0.1)
    >>> (w**2).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([ 3.8944, -1.8944], requires_grad=True)
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
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
        check_not_negative(momentum_decay, "momentum_decay")
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    _absent = {**FormulaOptimizer._absent, "decoupled_weight_decay": False}
    _counts = ("step", "mu_product")

    def _names(self, param: Tensor, group: Group) -> tuple[str, ...]:
        return "exp_avg", "exp_avg_sq"

    def _start_numbers(self, state: StateDict, group: Group) -> None:
        state["mu_product"] = new_count(1.0)

    def _numbers_of_step(self, state: StateDict, step: float, rates: Group) -> None:
        def momentum(at: float) -> float:
            return float(rates["betas"][0] * (1.0 - 0.5 * 0.96 ** (at * rates["momentum_decay"])))

        product = state_array(state["mu_product"])
        product *= momentum(step)
        rates["mu"], rates["mu_next"], rates["mu_product"] = (
            momentum(step),
            momentum(step + 1),
            float(product),
        )

    def _formula(self, xp: Any, param: Any, grad: Any, kept: Kept, step: float, rates: Group) -> Any:
        beta1, beta2 = rates["betas"]
        lr, mu, ahead, product = rates["lr"], rates["mu"], rates["mu_next"], rates["mu_product"]
        kept["exp_avg"] = mean = fade(kept["exp_avg"], grad, 1 - beta1)
        kept["exp_avg_sq"] = square = kept["exp_avg_sq"] * beta2 + grad * grad * (1 - beta2)
        pace = xp.sqrt(square / (1 - beta2**step)) + rates["eps"]
        param = param - grad / pace * (lr * (1 - mu) / (1 - product))
        return param - mean / pace * (lr * ahead / (1 - product * ahead))

    _rule = 7

    def _rule_numbers(self, step: float, rates: Group) -> tuple[float, ...]:
        beta1, beta2 = rates["betas"]
        lr, mu, ahead, product = rates["lr"], rates["mu"], rates["mu_next"], rates["mu_product"]
        moves = (lr * (1 - mu) / (1 - product), lr * ahead / (1 - product * ahead))
        return 1 - beta1, beta2, 1 - beta2, 1 - beta2**step, rates["eps"], *moves


def nadam(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    mu_products: list[Tensor],
    state_steps: list[Tensor],
    decoupled_weight_decay: bool = False,
    foreach: bool | None = None,
    capturable: bool = False,
    differentiable: bool = False,
    has_complex: bool = False,
    maximize: bool = False,
    *,
    beta1: float,
    beta2: float,
    lr: float,
    weight_decay: float,
    momentum_decay: float,
    eps: float,
) -> None:
    """A step of NAdam whose state the caller keeps: Note [Functional forms]."""
    kept = {
        "exp_avg": exp_avgs,
        "exp_avg_sq": exp_avg_sqs,
        "mu_product": mu_products,
        "step": state_steps,
    }
    rates = {
        "lr": lr,
        "betas": (beta1, beta2),
        "momentum_decay": momentum_decay,
        "eps": eps,
        "weight_decay": weight_decay,
        "decoupled_weight_decay": decoupled_weight_decay,
        "maximize": maximize,
        "capturable": capturable,
        "differentiable": differentiable,
    }
    functional_step(NAdam, params, grads, kept, rates)
