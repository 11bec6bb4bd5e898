"""Checks of the options that optimisers share, with PyTorch's messages."""

from __future__ import annotations

from typing import Any

from retrograd.core.tensor import Tensor


def check_rate(lr: Any) -> None:
    """A learning rate is a number that is not negative, or a tensor of one element."""
    if isinstance(lr, Tensor) and lr.array.size != 1:
        raise ValueError(
            f"Tensor lr must be 1-element, but this one has {lr.array.size}: give parameters with rates of their own "
            "groups of their own"
        )
    if lr < 0.0:
        raise ValueError(f"Invalid learning rate: {lr}. It must be 0 or more; to climb, use maximize=True.")


def check_not_negative(value: Any, what: str) -> None:
    """An option that must be 0 or more."""
    if value < 0.0:
        raise ValueError(f"Invalid {what} value: {value}. It must be 0 or more.")


def check_kinds(fused: Any, foreach: Any, differentiable: Any) -> None:
    """The keywords that ask for an implementation: here there is one, but what contradicts itself is still refused."""
    if not fused:
        return
    if differentiable:
        raise RuntimeError(
            "`fused` does not support `differentiable`: a fused step is not made of recorded operations"
        )
    if foreach:
        raise RuntimeError(
            "`fused` and `foreach` cannot be `True` together. Leave both out: steps are fused here."
        )


def number(value: Any) -> float:
    """An option as a plain number; it may be a tensor of one element, whose gradient no unrecorded step can have."""
    return float(value.array.item() if isinstance(value, Tensor) else value)


def check_betas(betas: Any) -> None:
    """How slowly two means forget: each in [0, 1)."""
    for i in range(2):
        if not 0.0 <= betas[i] < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {betas[i]}. It must be in [0, 1).")


def check_not_captured(group: dict[str, Any], moving: list[Tensor]) -> None:
    """Refuses to record steps for a device that could play them back: there is none."""
    if group.get("capturable") and moving:
        raise AssertionError(
            "If capturable=True, params and state_steps must be on supported devices: this build has the CPU only, "
            "where steps are not captured. Leave capturable out."
        )
