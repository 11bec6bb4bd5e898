"""Adam: each number in a parameter moves at a pace of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from retrograd.backends.kernels.optimizer_steps import AdamRates
from retrograd.backends.quiet import QUIET, hush, unhush
from retrograd.core.tensor import Tensor
from retrograd.ops.tensor.create import zeros_like
from retrograd.optim.memory import (
    adam_rows,
    advanced,
    check_all_writable,
    mark_written,
    must_record,
    new_count,
    steps,
)
from retrograd.optim.optimizer import Group, Optimizer, Params, StateDict, functional_step
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

    def _move_all(
        self, params: list[Tensor], grads: list[Tensor], states: list[StateDict], rates: Group
    ) -> None:
        check_not_captured(rates, params)
        for param, state in zip(params, states, strict=True):
            if not state:
                _start(state, param, rates)
        if must_record(rates):
            for param, grad, state in zip(params, grads, states, strict=True):
                adam_recorded(param, grad, state, advanced(state["step"]), rates)
            return
        check_all_writable(params)
        rows = adam_rows(params, grads, states, bool(rates["amsgrad"]))
        token = hush(QUIET)
        try:
            steps("adam_steps", rows, _rates(rates))
        finally:
            unhush(token)
        mark_written(params)


def _start(state: StateDict, param: Tensor, rates: Group) -> None:
    """The averages before the first step: zeros."""
    state["step"] = new_count()
    state["exp_avg"] = zeros_like(param, requires_grad=False)
    state["exp_avg_sq"] = zeros_like(param, requires_grad=False)
    if rates["amsgrad"]:
        state["max_exp_avg_sq"] = zeros_like(param, requires_grad=False)


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


def adam(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    max_exp_avg_sqs: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    capturable: bool = False,
    differentiable: bool = False,
    fused: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    has_complex: bool = False,
    decoupled_weight_decay: bool = False,
    *,
    amsgrad: bool,
    beta1: float | Tensor,
    beta2: float | Tensor,
    lr: float | Tensor,
    weight_decay: float,
    eps: float,
    maximize: bool,
) -> None:
    """A step of Adam whose state the caller keeps; see Note [Functional forms].

    >>> import retrograd as rg
    >>> w, mean, square, count = rg.tensor([4.0]), rg.zeros(1), rg.zeros(1), rg.tensor(0.0)
    >>> options = {"amsgrad": False, "beta1": 0.9, "beta2": 0.999, "weight_decay": 0, "eps": 1e-8, "maximize": False}
    >>> rg.optim.adam.adam([w], [2 * w], [mean], [square], [], [count], lr=0.5, **options)
    >>> w, count
    (tensor([3.5000]), tensor(1.))
    """
    kept = {
        "exp_avg": exp_avgs, "exp_avg_sq": exp_avg_sqs, "max_exp_avg_sq": max_exp_avg_sqs, "step": state_steps
    }  # fmt: skip
    rates = {
        "lr": lr,
        "betas": (beta1, beta2),
        "eps": eps,
        "weight_decay": weight_decay,
        "amsgrad": amsgrad,
        "maximize": maximize,
        "capturable": capturable,
        "differentiable": differentiable,
        "decoupled_weight_decay": decoupled_weight_decay,
    }
    functional_step(Adam, params, grads, kept, rates, grad_scale, found_inf)
