"""Adagrad: gradients over the root of the sum of their squares so far."""

from __future__ import annotations

from typing import Any

from retrograd.core.tensor import Tensor
from retrograd.ops.tensor.create import full_like
from retrograd.optim.formula import FormulaOptimizer, Kept
from retrograd.optim.optimizer import Group, Params, functional_step
from retrograd.optim.options import check_kinds, check_not_negative, check_rate


class Adagrad(FormulaOptimizer):
    """Adagrad: each number moves by its gradient over the root of the sum of the squares of all its gradients.

    Args:
        params: what to optimise: tensors, (name, tensor) pairs, or dicts that describe groups.
        lr: the learning rate.
        lr_decay: how fast the learning rate falls with the count of steps.
        weight_decay: how strongly a parameter is pulled towards 0.
        initial_accumulator_value: what the sums of squares begin with.
        eps: keeps the quotient finite where gradients vanish.
        maximize: climb instead of descending.
        foreach, fused: accepted for PyTorch's sake; there is one implementation here.
        differentiable: record the step, so that one can differentiate through it.

    >>> import retrograd as rg
    >>> w = rg.tensor([4.0, -0.01], requires_grad=True)
    >>> optimizer = rg.optim.Adagrad([w], lr=0.5)
    >>> (w**2).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([3.5000, 0.4900], requires_grad=True)
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_rate(lr)
        check_not_negative(lr_decay, "lr_decay")
        check_not_negative(weight_decay, "weight_decay")
        check_not_negative(initial_accumulator_value, "initial_accumulator_value")
        check_not_negative(eps, "epsilon")
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        check_kinds(fused, foreach, differentiable)

    _absent = {"foreach": None, "maximize": False, "differentiable": False, "fused": None}

    def add_param_group(self, param_group: Group) -> None:
        """Adds a group of parameters, as a dict; their sums of squares begin at once."""
        super().add_param_group(param_group)
        for param in self.param_groups[-1]["params"]:
            self._start(self.state[param], param, self.param_groups[-1])

    def share_memory(self) -> None:
        """Moves the sums of squares to memory that processes share."""
        for group in self.param_groups:
            for param in group["params"]:
                self.state[param]["sum"].share_memory_()

    def _names(self, param: Tensor, group: Group) -> tuple[str, ...]:
        return ("sum",)

    def _begin(self, name: str, param: Tensor, group: Group) -> Tensor:
        start: Any = group["initial_accumulator_value"]
        start = complex(start, start) if param.array.dtype.kind == "c" else start
        made: Tensor = full_like(param, start, requires_grad=False)
        return made

    def _formula(self, xp: Any, param: Any, grad: Any, kept: Kept, step: float, rates: Group) -> Any:
        kept["sum"] = total = kept["sum"] + grad * grad
        lr = rates["lr"] / (1 + (step - 1) * rates["lr_decay"])
        return param - grad / (xp.sqrt(total) + rates["eps"]) * lr

    _rule = 4

    def _rule_numbers(self, step: float, rates: Group) -> tuple[float, ...]:
        return rates["lr"] / (1 + (step - 1) * rates["lr_decay"]), rates["eps"]


def adagrad(
    params: list[Tensor],
    grads: list[Tensor],
    state_sums: list[Tensor],
    state_steps: list[Tensor],
    fused: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    has_sparse_grad: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    lr: float,
    weight_decay: float,
    lr_decay: float,
    eps: float,
    maximize: bool,
) -> None:
    """A step of Adagrad whose state the caller keeps: Note [Functional forms]."""
    kept = {
        "sum": state_sums,
        "step": state_steps,
    }
    rates = {
        "lr": lr,
        "lr_decay": lr_decay,
        "eps": eps,
        "weight_decay": weight_decay,
        "maximize": maximize,
        "differentiable": differentiable,
    }
    functional_step(Adagrad, params, grads, kept, rates, grad_scale, found_inf)
