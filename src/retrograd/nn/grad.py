"""Gradients of convolutions by themselves: of the input, from the weight; of the weight, from the input."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from retrograd.autograd.backward import grad
from retrograd.autograd.modes import enable_grad
from retrograd.core.modes import is_grad_enabled
from retrograd.core.tensor import Tensor
from retrograd.nn import functional as F


def _of_input(
    conv: Callable[..., Tensor], size: Sequence[int], weight: Tensor, g: Tensor, options: Any
) -> Tensor:
    """A convolution is linear in its input, so any one has that gradient."""
    recorded = is_grad_enabled() and (weight.requires_grad or g.requires_grad)
    with enable_grad():
        blank = g.new_zeros(tuple(size)).requires_grad_()
        return grad(conv(blank, weight, None, *options), blank, g, create_graph=recorded)[0]


def _of_weight(
    conv: Callable[..., Tensor], input: Tensor, size: Sequence[int], g: Tensor, options: Any
) -> Tensor:
    """And it is linear in its weight."""
    recorded = is_grad_enabled() and (input.requires_grad or g.requires_grad)
    with enable_grad():
        blank = g.new_zeros(tuple(size)).requires_grad_()
        return grad(conv(input, blank, None, *options), blank, g, create_graph=recorded)[0]


def conv1d_input(
    input_size: Sequence[int], weight: Tensor, grad_output: Tensor, stride: Any = 1, padding: Any = 0,
    dilation: Any = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """The gradient of the input of `conv1d`.

    Args:
        input_size: the shape of the input.
        weight: of the convolution.
        grad_output: the gradient of its output.
        stride, padding, dilation, groups: of the convolution.

    >>> import retrograd as rg
    >>> conv1d_input((1, 1, 3), rg.ones(1, 1, 2), rg.ones(1, 1, 2))
    tensor([[[1., 2., 1.]]])
    """
    return _of_input(F.conv1d, input_size, weight, grad_output, (stride, padding, dilation, groups))


def conv1d_weight(
    input: Tensor, weight_size: Sequence[int], grad_output: Tensor, stride: Any = 1, padding: Any = 0,
    dilation: Any = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """The gradient of the weight of `conv1d`; the arguments are those of `conv1d_input`."""
    return _of_weight(F.conv1d, input, weight_size, grad_output, (stride, padding, dilation, groups))


def conv2d_input(
    input_size: Sequence[int], weight: Tensor, grad_output: Tensor, stride: Any = 1, padding: Any = 0,
    dilation: Any = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """The gradient of the input of `conv2d`; the arguments are those of `conv1d_input`."""
    return _of_input(F.conv2d, input_size, weight, grad_output, (stride, padding, dilation, groups))


def conv2d_weight(
    input: Tensor, weight_size: Sequence[int], grad_output: Tensor, stride: Any = 1, padding: Any = 0,
    dilation: Any = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """The gradient of the weight of `conv2d`; the arguments are those of `conv1d_input`."""
    return _of_weight(F.conv2d, input, weight_size, grad_output, (stride, padding, dilation, groups))


def conv3d_input(
    input_size: Sequence[int], weight: Tensor, grad_output: Tensor, stride: Any = 1, padding: Any = 0,
    dilation: Any = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """The gradient of the input of `conv3d`; the arguments are those of `conv1d_input`."""
    return _of_input(F.conv3d, input_size, weight, grad_output, (stride, padding, dilation, groups))


def conv3d_weight(
    input: Tensor, weight_size: Sequence[int], grad_output: Tensor, stride: Any = 1, padding: Any = 0,
    dilation: Any = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """The gradient of the weight of `conv3d`; the arguments are those of `conv1d_input`."""
    return _of_weight(F.conv3d, input, weight_size, grad_output, (stride, padding, dilation, groups))
