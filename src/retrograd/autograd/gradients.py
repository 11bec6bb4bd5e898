"""The gradients that leaves have, before the next backward."""

from __future__ import annotations

from retrograd.autograd.modes import no_grad
from retrograd.core.tensor import Tensor


def forget_gradient(tensor: Tensor, set_to_none: bool) -> None:
    """Takes a tensor's gradient away, or fills it with zeros, without a history and in the same memory."""
    grad = tensor.grad
    if grad is None:
        return
    if set_to_none:
        tensor.grad = None
        return
    if grad.grad_fn is not None:
        grad.detach_()
    else:
        grad.requires_grad_(False)
    with no_grad():
        grad.zero_()
