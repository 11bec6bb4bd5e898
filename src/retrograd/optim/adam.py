"""Adam: each number in a parameter moves at a pace of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from retrograd.backends.kernels.optimizer_steps import AdamRates, AdamRow
from retrograd.backends.quiet import QUIET, hush, unhush
from retrograd.core.inplace import check_writable
from retrograd.core.tensor import Tensor
from retrograd.ops.tensor.create import zeros_like
from retrograd.optim.memory import advanced, must_record, new_count, state_array, steps
from retrograd.optim.optimizer import Group, Optimizer, Params
from retrograd.optim.options import (
    check_betas,
    check_kinds,
    check_not_captured,
    check_not_negative,
    check_rate,
    number,
)
from retrograd.optim.recorded import adam_recorded


class Adam(Optimizer):
    """Adam: the mean of the gradients so far, divided by the root of the mean of their squares, both fading.

    Args:
        params: what to optimise: tensors, (name, tensor) pairs, or dicts that describe groups.
        lr: the learning rate: about how far one step can move a number.
        betas: how slowly the mean and the mean of squares forget.
        eps: keeps the quotient finite where gradients vanish.
        weight_decay: how strongly a parameter is pulled towards 0.
        amsgrad: divide by the largest mean of squares so far.
        maximize: climb instead of descending.
        decoupled_weight_decay: let weight decay act on the parameter and not on its gradient, as AdamW does.
        foreach, fused: accepted for PyTorch's sake; there is one implementation here.
        capturable: for devices that record steps and play them back; there is none yet.
        differentiable: record the step, so that one can differentiate through it.

    >>> import retrograd as rg
    >>> w = rg.tensor([4.0, -0.01], requires_grad=True)
    >>> optimizer = rg.optim.Adam([w], lr=0.5)
    >>> (w**2).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([3.5000, 0.4900], requires_grad=True)
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        _check_tensors(lr, betas, bool(foreach) and not capturable)
        check_rate(lr)
        check_not_negative(eps, "epsilon")
        check_betas(betas)
        check_not_negative(weight_decay, "weight_decay")
        defaults = {
            "lr": lr,
            "betas": (betas[0], betas[1]),
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)
        check_kinds(fused, foreach, differentiable)

    _absent = {
        **dict.fromkeys(
            ("amsgrad", "maximize", "capturable", "differentiable", "decoupled_weight_decay"), False
        ),
        **dict.fromkeys(("foreach", "fused")),
    }
    _counts = ("step",)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Moves every parameter that has a gradient; returns what `closure`, called first, returns."""
        return self._move_groups(closure)

    def _move(self, group: Group) -> None:
        moving = [param for param in group["params"] if param.grad is not None]
        check_not_captured(group, moving)
        if must_record(group):
            for param in moving:
                state = self._state_of(param, group)
                adam_recorded(param, param.grad, state, advanced(state["step"]), group)
            return
        for param in moving:
            check_writable(param)
        rows = [self._row(param, self._state_of(param, group), bool(group["amsgrad"])) for param in moving]
        token = hush(QUIET)
        try:
            steps("adam_steps", rows, _rates(group))
        finally:
            unhush(token)
        for param in moving:
            param._bump_version()

    def _row(self, param: Tensor, state: dict[str, Any], amsgrad: bool) -> AdamRow:
        """The memory of a parameter, of its gradient and of its state, with one more step counted."""
        grad = param.grad
        assert grad is not None
        return (
            param.array,
            grad.array,
            state_array(state["exp_avg"]),
            state_array(state["exp_avg_sq"]),
            state_array(state["max_exp_avg_sq"]) if amsgrad else None,
            advanced(state["step"]),
        )

    def _state_of(self, param: Tensor, group: Group) -> dict[str, Any]:
        """The averages of a parameter, zeros before its first step."""
        state: dict[str, Any] = self.state[param]
        if not state:
            state["step"] = new_count()
            state["exp_avg"] = zeros_like(param, requires_grad=False)
            state["exp_avg_sq"] = zeros_like(param, requires_grad=False)
            if group["amsgrad"]:
                state["max_exp_avg_sq"] = zeros_like(param, requires_grad=False)
        return state


def _rates(group: Group) -> AdamRates:
    """The options of a group as plain numbers."""
    beta1, beta2 = group["betas"]
    return AdamRates(
        number(group["lr"]),
        number(beta1),
        number(beta2),
        number(group["eps"]),
        number(group["weight_decay"]),
        bool(group["decoupled_weight_decay"]),
        bool(group["maximize"]),
    )


def _check_tensors(lr: Any, betas: Any, foreach: bool) -> None:
    """Tensors as options: both betas or none, and none together with `foreach`."""
    if foreach and isinstance(lr, Tensor):
        raise ValueError(
            "lr as a Tensor is not supported for capturable=False and foreach=True. Leave foreach out."
        )
    if isinstance(betas[0], Tensor) != isinstance(betas[1], Tensor):
        raise ValueError("betas must be either both floats or both Tensors")
    for i in range(2):
        if isinstance(betas[i], Tensor) and foreach:
            raise ValueError(
                f"betas[{i}] as a Tensor is not supported for capturable=False and foreach=True. Leave foreach out."
            )
