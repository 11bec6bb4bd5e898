"""Gradients that are too large: made smaller together, or cut off one by one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from retrograd.autograd.modes import no_grad
from retrograd.core.places import warn
from retrograd.core.tensor import Tensor
from retrograd.ops.reduce.statistics import vector_norm
from retrograd.ops.shape.join import stack
from retrograd.ops.tensor.data import tensor

Tensors = Tensor | Iterable[Tensor]


def _listed(tensors: Tensors) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _gradients(parameters: Tensors) -> list[Tensor]:
    params = _listed(parameters)
    if not params and not isinstance(parameters, (list, tuple)):
        warn("`parameters` is an empty generator, no gradient clipping will occur.", UserWarning)
    return [p.grad for p in params if p.grad is not None]


def get_total_norm(
    tensors: Tensors, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Tensor:
    """The norm of several tensors as if they were one vector.

    Args:
        tensors: the tensors.
        norm_type: p, which may be infinite.
        error_if_nonfinite: refuse a norm that is infinite or NaN.
        foreach: accepted for PyTorch's sake.

    >>> import retrograd as rg
    >>> rg.nn.utils.get_total_norm([rg.tensor([3.0]), rg.tensor([4.0])])
    tensor(5.)
    """
    norm_type = float(norm_type)
    with no_grad():
        norms = [vector_norm(t, norm_type) for t in _listed(tensors)]
        if not norms:
            return tensor(0.0)
        total: Tensor = vector_norm(stack([n.to(norms[0].device) for n in norms]), norm_type)
    if error_if_nonfinite and not bool(total.isfinite()):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be "
            "clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
            "`error_if_nonfinite=False`"
        )
    return total


def clip_grads_with_norm_(
    parameters: Tensors, max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Makes gradients smaller, so that their norm, which is known, becomes `max_norm` at most."""
    with no_grad():
        share = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
        for grad in [p.grad for p in _listed(parameters) if p.grad is not None]:
            grad.mul_(share.to(grad.device))


def clip_grad_norm_(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Makes the gradients of parameters smaller, so that their norm is `max_norm` at most; gives what it was.

    Args:
        parameters: whose gradients these are.
        max_norm: what the norm of all together may be.
        norm_type: p of the norm, which may be infinite.
        error_if_nonfinite: refuse a norm that is infinite or NaN.
        foreach: accepted for PyTorch's sake.

    >>> import retrograd as rg
    >>> p = rg.tensor([3.0, 4.0], requires_grad=True)
    >>> (p * p / 2).sum().backward()
    >>> rg.nn.utils.clip_grad_norm_([p], 1.0), p.grad
    (tensor(5.), tensor([0.6000, 0.8000]))
    """
    if not isinstance(parameters, (Tensor, list, tuple)):
        grads_of: Any = list(parameters)
        if not grads_of:
            _gradients(iter(()))
        parameters = grads_of
    total = get_total_norm(_gradients(parameters), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(parameters, max_norm, total, foreach)
    return total


def clip_grad_norm(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The old name of `clip_grad_norm_`."""
    warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


def clip_grad_value_(parameters: Tensors, clip_value: float, foreach: bool | None = None) -> None:
    """Cuts the elements of gradients off at a value and its negative."""
    limit = float(clip_value)
    with no_grad():
        for param in _listed(parameters):
            if param.grad is not None:
                param.grad.clamp_(min=-limit, max=limit)
