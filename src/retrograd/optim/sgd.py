"""Gradient descent, with momentum if wanted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from retrograd.backends.kernels.optimizer_steps import SGDRates
from retrograd.backends.quiet import QUIET, hush, unhush
from retrograd.core.tensor import Tensor
from retrograd.optim.memory import check_all_writable, mark_written, must_record, sgd_rows, steps
from retrograd.optim.optimizer import Group, Optimizer, Params, StateDict, functional_step
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

    def _states_of(self, params: list[Tensor], group: Group) -> list[StateDict]:
        return super()._states_of(params, group) if group["momentum"] else [{} for _ in params]

    def _move_all(
        self, params: list[Tensor], grads: list[Tensor], states: list[StateDict], rates: Group
    ) -> None:
        if must_record(rates):
            _move_recorded(params, grads, states, rates)
            return
        numbers = SGDRates(
            number(rates["lr"]),
            number(rates["momentum"]),
            number(rates["dampening"]),
            number(rates["weight_decay"]),
            bool(rates["nesterov"]),
            bool(rates["maximize"]),
        )
        check_all_writable(params)
        rows = sgd_rows(params, grads, states, numbers.momentum != 0)
        token = hush(QUIET)
        try:
            steps("sgd_steps", rows, numbers)
        finally:
            unhush(token)
        mark_written(params)


def _move_recorded(params: list[Tensor], grads: list[Tensor], states: list[StateDict], rates: Group) -> None:
    for param, grad, state in zip(params, grads, states, strict=True):
        kept = state.get("momentum_buffer") if rates["momentum"] != 0 else None
        velocity = sgd_recorded(param, grad, kept, rates)
        if velocity is not None:
            state["momentum_buffer"] = velocity


def sgd(
    params: list[Tensor],
    d_p_list: list[Tensor],
    momentum_buffer_list: list[Tensor | None],
    has_sparse_grad: bool = False,
    foreach: bool | None = None,
    fused: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    *,
    weight_decay: float,
    momentum: float,
    lr: float,
    dampening: float,
    nesterov: bool,
    maximize: bool,
) -> None:
    """A step of gradient descent whose velocities, None before the first, the caller keeps: Note [Functional forms].

    >>> import retrograd as rg
    >>> w, velocities = rg.tensor([4.0]), [None]
    >>> options = {"weight_decay": 0, "momentum": 0.9, "dampening": 0, "nesterov": False, "maximize": False}
    >>> rg.optim.sgd.sgd([w], [2 * w], velocities, lr=0.25, **options)
    >>> w, velocities
    (tensor([2.]), [tensor([8.])])
    """
    rates = {
        "lr": lr,
        "momentum": momentum,
        "dampening": dampening,
        "weight_decay": weight_decay,
        "nesterov": nesterov,
        "maximize": maximize,
    }
    kept = {"momentum_buffer": momentum_buffer_list}
    functional_step(SGD, params, d_p_list, kept, rates, grad_scale, found_inf)
