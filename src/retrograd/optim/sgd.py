"""Gradient descent, with momentum if wanted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from retrograd.backends.base import backend_of
from retrograd.backends.kernels.optimizer_steps import SGDRates, SGDRow
from retrograd.backends.quiet import QUIET, hush, unhush
from retrograd.core.inplace import check_writable
from retrograd.core.tensor import Tensor
from retrograd.optim.memory import must_record, state_array, steps
from retrograd.optim.optimizer import Group, Optimizer, Params
from retrograd.optim.options import check_kinds, check_not_negative, check_rate, number
from retrograd.optim.recorded import sgd_recorded


class SGD(Optimizer):
    """Gradient descent: each step moves a parameter by `lr` times its gradient.

    Args:
        params: what to optimise: tensors, (name, tensor) pairs, or dicts that describe groups.
        lr: the learning rate.
        momentum: how much of the last step's velocity is kept.
        dampening: how much of a new gradient is kept out of the velocity.
        weight_decay: how strongly a parameter is pulled towards 0.
        nesterov: use the velocity that the next step will have.
        maximize: climb instead of descending.
        foreach, fused: accepted for PyTorch's sake; there is one implementation here.
        differentiable: record the step, so that one can differentiate through it.

    >>> import retrograd as rg
    >>> w = rg.tensor(4.0, requires_grad=True)
    >>> optimizer = rg.optim.SGD([w], lr=0.1, momentum=0.9)
    >>> for _ in range(3):
    ...     optimizer.zero_grad()
    ...     (w**2).backward()
    ...     optimizer.step()
    >>> w
    tensor(0.2480, requires_grad=True)
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_rate(lr)
        check_not_negative(momentum, "momentum")
        check_not_negative(weight_decay, "weight_decay")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError(
                f"Nesterov momentum requires a momentum and zero dampening, not {momentum} and {dampening}"
            )
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        check_kinds(fused, foreach, differentiable)

    _absent = {"nesterov": False, "maximize": False, "foreach": None, "differentiable": False, "fused": False}

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Moves every parameter that has a gradient; returns what `closure`, called first, returns."""
        return self._move_groups(closure)

    def _move(self, group: Group) -> None:
        if must_record(group):
            self._move_recorded(group)
            return
        rates = SGDRates(
            number(group["lr"]),
            number(group["momentum"]),
            number(group["dampening"]),
            number(group["weight_decay"]),
            bool(group["nesterov"]),
            bool(group["maximize"]),
        )
        moving = [param for param in group["params"] if param.grad is not None]
        for param in moving:
            check_writable(param)
        rows = [self._row(param, rates.momentum != 0) for param in moving]
        token = hush(QUIET)
        try:
            steps("sgd_steps", rows, rates)
        finally:
            unhush(token)
        for param in moving:
            param._bump_version()

    def _row(self, param: Tensor, momentum: bool) -> SGDRow:
        """The memory of a parameter, of its gradient and of its velocity, if it has one."""
        grad = param.grad
        assert grad is not None
        if not momentum:
            return param.array, grad.array, None, False
        state = self.state[param]
        kept = state.get("momentum_buffer")
        first = kept is None
        if first:
            kept = state["momentum_buffer"] = Tensor(backend_of(grad.array).empty_like(grad.array))
        return param.array, grad.array, state_array(kept), first

    def _move_recorded(self, group: Group) -> None:
        for param in group["params"]:
            if param.grad is not None:
                kept = self.state[param].get("momentum_buffer") if group["momentum"] != 0 else None
                velocity = sgd_recorded(param, param.grad, kept, group)
                if velocity is not None:
                    self.state[param]["momentum_buffer"] = velocity
