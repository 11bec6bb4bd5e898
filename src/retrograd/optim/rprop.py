"""Rprop: the sign of a gradient says where, the signs before say how far."""

from __future__ import annotations

from typing import Any

from retrograd.core.tensor import Tensor
from retrograd.ops.tensor.create import full_like
from retrograd.optim.formula import FormulaOptimizer, Kept
from retrograd.optim.optimizer import Group, Params, functional_step
from retrograd.optim.options import check_rate, number


class Rprop(FormulaOptimizer):
    """Resilient propagation: steps grow while a gradient keeps its sign, and shrink when it changes.

    Args:
        params: what to optimise: tensors, (name, tensor) pairs, or dicts that describe groups.
        lr: the length of the first step.
        etas: the factors by which a step shrinks and grows.
        step_sizes: the shortest and the longest step.
        maximize: climb instead of descending.
        foreach: accepted for PyTorch's sake; there is one implementation here.
        capturable: for devices that record steps and play them back; there is none yet.
        differentiable: record the step, so that one can differentiate through it.

    >>> import retrograd as rg
    >>> w = rg.tensor([4.0, -2.0], requires_grad=True)
    >>> optimizer = rg.optim.Rprop([w], lr=1.0)
    >>> for _ in range(2):
    ...     optimizer.zero_grad()
    ...     (w**2).sum().backward()
    ...     optimizer.step()
    >>> w
    tensor([1.8000, 0.2000], requires_grad=True)
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(
                f"Invalid eta values: {etas[0]}, {etas[1]}. The first must be between 0 and 1, the second above 1."
            )
        defaults = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    _decays = False

    def _names(self, param: Tensor, group: Group) -> tuple[str, ...]:
        return "prev", "step_size"

    def _begin(self, name: str, param: Tensor, group: Group) -> Tensor:
        if name == "prev":
            return super()._begin(name, param, group)
        lr: Any = number(group["lr"])
        first = complex(lr, lr) if param.array.dtype.kind == "c" else lr
        made: Tensor = full_like(param, first, requires_grad=False)
        return made

    def _formula(self, xp: Any, param: Any, grad: Any, kept: Kept, step: float, rates: Group) -> Any:
        (shrink, grow), (shortest, longest) = rates["etas"], rates["step_sizes"]
        same, turned = grad * kept["prev"] > 0, grad * kept["prev"] < 0
        factor = xp.where(same, grow, xp.where(turned, shrink, 1.0))
        kept["step_size"] = size = xp.clip(kept["step_size"] * factor, shortest, longest)
        kept["prev"] = slope = xp.where(turned, grad * 0.0, grad)  # where it turned, it waits a step
        return param - xp.sign(slope) * size

    _rule = 10

    def _rule_numbers(self, step: float, rates: Group) -> tuple[float, ...]:
        return (*rates["etas"], *rates["step_sizes"])


def rprop(
    params: list[Tensor],
    grads: list[Tensor],
    prevs: list[Tensor],
    step_sizes: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    capturable: bool = False,
    maximize: bool = False,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    step_size_min: float,
    step_size_max: float,
    etaminus: float,
    etaplus: float,
) -> None:
    """A step of Rprop whose state the caller keeps: Note [Functional forms]."""
    kept = {
        "prev": prevs,
        "step_size": step_sizes,
        "step": state_steps,
    }
    rates = {
        "etas": (etaminus, etaplus),
        "step_sizes": (step_size_min, step_size_max),
        "maximize": maximize,
        "capturable": capturable,
        "differentiable": differentiable,
    }
    functional_step(Rprop, params, grads, kept, rates)
