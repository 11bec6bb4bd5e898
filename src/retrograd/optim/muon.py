"""Muon: momentum, made orthogonal."""

from __future__ import annotations

from math import sqrt
from typing import Any

from retrograd.core.tensor import Tensor
from retrograd.optim.formula import FormulaOptimizer, Kept, fade
from retrograd.optim.optimizer import Group, Params, StateDict

# Iterations beyond this number change nothing any more.
MOST_STEPS = 100


class Muon(FormulaOptimizer):
    """Muon: matrices move by their momentum with all its singular values made about 1.

    For the matrices inside of a network; give its other parameters to another optimiser.

    Args:
        params: what to optimise: matrices, (name, matrix) pairs, or dicts that describe groups.
        lr: the learning rate.
        weight_decay: how strongly a parameter is pulled towards 0, apart from its gradient.
        momentum: how slowly gradients are forgotten.
        nesterov: use the momentum that the next step will have.
        ns_coefficients: of the polynomial that brings singular values towards 1.
        eps: the smallest size that a momentum is divided by.
        ns_steps: how often the polynomial is applied.
        adjust_lr_fn: how the learning rate depends on the shape: "original" (the same as None) or "match_rms_adamw".

    >>> import retrograd as rg
    >>> w = rg.tensor([[4.0, 0.0], [0.0, -2.0]], requires_grad=True)
    >>> optimizer = rg.optim.Muon([w], lr=0.1)
    >>> (w**2).sum().backward()
    >>> optimizer.step()
    >>> w.round(decimals=1)
    tensor([[ 3.9000,  0.0000],
            [ 0.0000, -1.9000]], grad_fn=<RoundBackward1>)
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        if isinstance(lr, Tensor) and lr.array.size != 1:
            raise ValueError("Tensor lr must be 1-element")
        for what, value in (("Learning rate", lr), ("momentum", momentum), ("weight decay", weight_decay)):
            if not value >= 0:
                raise ValueError(f"{what} should be >= 0 but is: {value}")
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        defaults = {
            "lr": lr,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "nesterov": nesterov,
            "ns_coefficients": ns_coefficients,
            "eps": eps,
            "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            for param in group["params"]:
                if param.ndim != 2:
                    raise ValueError(
                        f"Muon only supports 2D parameters whereas we found a parameter with size: {param.shape}. Give "
                        "the others to another optimizer."
                    )

    _absent = {}
    _decoupled = True
    _elementwise = False

    def _names(self, param: Tensor, group: Group) -> tuple[str, ...]:
        return ("momentum_buffer",)

    def _start(self, state: StateDict, param: Tensor, group: Group) -> None:
        if param.array.dtype.kind == "c":
            raise RuntimeError("Muon does not support complex parameters")
        super()._start(state, param, group)
        del state["step"]  # nothing here depends on it

    def _formula(self, xp: Any, param: Any, grad: Any, kept: Kept, step: float, rates: Group) -> Any:
        momentum = rates["momentum"]
        kept["momentum_buffer"] = mean = fade(kept["momentum_buffer"], grad, 1 - momentum)
        move = orthogonal(xp, fade(grad, mean, momentum) if rates["nesterov"] else mean, rates)
        return param - move * (rates["lr"] * _factor(rates["adjust_lr_fn"], param.shape))


def orthogonal(xp: Any, matrix: Any, rates: Group) -> Any:
    """A matrix with the singular vectors of another and singular values of about 1: Newton-Schulz iteration."""
    if rates["ns_steps"] >= MOST_STEPS:
        raise ValueError(f"Number of steps must be less than {MOST_STEPS} for computational efficiency")
    if len(rates["ns_coefficients"]) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = rates["ns_coefficients"]
    tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.swapaxes(0, 1) if tall else matrix
    x = x / xp.maximum(xp.sqrt((x * x).sum()), rates["eps"])
    for _ in range(rates["ns_steps"]):
        gram = x @ x.swapaxes(0, 1)
        x = x * a + (gram * b + gram @ gram * c) @ x
    return x.swapaxes(0, 1) if tall else x


def _factor(kind: str | None, shape: Any) -> float:
    """How the learning rate depends on the shape of a matrix."""
    rows, columns = shape
    return 0.2 * sqrt(max(rows, columns)) if kind == "match_rms_adamw" else sqrt(max(1, rows / columns))
