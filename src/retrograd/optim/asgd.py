"""ASGD: gradient descent that keeps the mean of where it has been."""

from __future__ import annotations

from typing import Any

from retrograd.core.tensor import Tensor
from retrograd.optim.formula import FormulaOptimizer, Kept, fade
from retrograd.optim.memory import new_count, state_array
from retrograd.optim.optimizer import Group, Params, StateDict, functional_step
from retrograd.optim.options import check_not_negative, check_rate, number


class ASGD(FormulaOptimizer):
    """Averaged gradient descent: a falling learning rate, and the mean of the parameter's values in `state["ax"]`.

    Args:
        params: what to optimise: tensors, (name, tensor) pairs, or dicts that describe groups.
        lr: the learning rate at the beginning.
        lambd: how strongly parameters shrink, and how fast the learning rate falls.
        alpha: the power of the count of steps by which the learning rate falls.
        t0: the step at which averaging begins; until then the mean is the parameter itself.
        weight_decay: how strongly a parameter is pulled towards 0.
        maximize: climb instead of descending.
        foreach: accepted for PyTorch's sake; there is one implementation here.
        capturable: for devices that record steps and play them back; there is none yet.
        differentiable: record the step, so that one can differentiate through it.

    >>> import retrograd as rg
    >>> w = rg.tensor([4.0, -2.0], requires_grad=True)
    >>> optimizer = rg.optim.ASGD([w], lr=0.25, lambd=0.0, t0=0)
    >>> for _ in range(2):
    ...     optimizer.zero_grad()
    ...     (w**2).sum().backward()
    ...     optimizer.step()
    >>> w, optimizer.state[w]["ax"]
    (tensor([ 1.0000, -0.5000], requires_grad=True), tensor([ 1.0000, -0.5000]))
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_rate(lr)
        check_not_negative(weight_decay, "weight_decay")
        defaults = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    _counts = ("step", "eta", "mu")

    def _names(self, param: Tensor, group: Group) -> tuple[str, ...]:
        return ("ax",)

    def _start_numbers(self, state: StateDict, group: Group) -> None:
        state["eta"] = new_count(number(group["lr"]))
        state["mu"] = new_count(1.0)

    def _numbers_of_step(self, state: StateDict, step: float, rates: Group) -> None:
        """The learning rate and the weight in the mean: this step's are kept, and the next one's are put there."""
        lr = number(rates["lr"])
        rates["eta"], rates["mu"] = number(state["eta"]), number(state["mu"])
        state_array(state["eta"])[...] = lr / (1 + rates["lambd"] * lr * step) ** rates["alpha"]
        state_array(state["mu"])[...] = 1 / max(1, step - rates["t0"])

    def _formula(self, xp: Any, param: Any, grad: Any, kept: Kept, step: float, rates: Group) -> Any:
        new = param * (1 - rates["lambd"] * rates["eta"]) - grad * rates["eta"]
        kept["ax"] = new if rates["mu"] == 1 else fade(kept["ax"], new, rates["mu"])
        return new

    _rule = 9

    def _rule_numbers(self, step: float, rates: Group) -> tuple[float, ...]:
        return 1 - rates["lambd"] * rates["eta"], rates["eta"], rates["mu"]


def asgd(
    params: list[Tensor],
    grads: list[Tensor],
    axs: list[Tensor],
    mus: list[Tensor],
    etas: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    lambd: float,
    lr: float,
    t0: float,
    alpha: float,
    weight_decay: float,
) -> None:
    """A step of ASGD whose state the caller keeps: Note [Functional forms]."""
    kept = {
        "ax": axs,
        "mu": mus,
        "eta": etas,
        "step": state_steps,
    }
    rates = {
        "lr": lr,
        "lambd": lambd,
        "t0": t0,
        "alpha": alpha,
        "weight_decay": weight_decay,
        "maximize": maximize,
        "capturable": capturable,
        "differentiable": differentiable,
    }
    functional_step(ASGD, params, grads, kept, rates)
