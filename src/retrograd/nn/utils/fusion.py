"""A convolution or a linear layer and the batch norm after it, as one layer: for evaluation."""

from __future__ import annotations

import copy
from typing import Any

from retrograd.core.tensor import Tensor
from retrograd.nn.parameter import Parameter
from retrograd.ops.tensor.create import ones_like, zeros_like


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A convolution that gives what `bn(conv(x))` gives. Both must be in evaluation mode.

    Args:
        conv: the convolution.
        bn: the batch norm.
        transpose: whether it is a transposed convolution.

    >>> import retrograd as rg
    >>> conv, bn = rg.nn.Conv1d(2, 3, 1).eval(), rg.nn.BatchNorm1d(3).eval()
    >>> x = rg.randn(1, 2, 4)
    >>> rg.allclose(rg.nn.utils.fuse_conv_bn_eval(conv, bn)(x), bn(conv(x)), atol=1e-6)
    True
    """
    _check_eval(conv, bn)
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """The weight and the bias of the convolution that stands for one and the batch norm after it."""
    shape = [1, -1] if transpose else [-1, 1]
    shape += [1] * (conv_w.dim() - 2)
    return _fused(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, shape)


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A linear layer that gives what `bn(linear(x))` gives. Both must be in evaluation mode."""
    _check_eval(linear, bn)
    if bn.num_features not in (linear.out_features, 1):
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
            f"linear.out_features={linear.out_features} and bn.num_features={bn.num_features}"
        )
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor,
    bn_b: Tensor,
) -> tuple[Parameter, Parameter]:
    """The weight and the bias of the linear layer that stands for one and the batch norm after it."""
    return _fused(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, [-1, 1])


def _check_eval(layer: Any, bn: Any) -> None:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")


def _fused(
    weight: Tensor,
    bias: Any,
    mean: Tensor,
    variance: Tensor,
    eps: float,
    bn_weight: Any,
    bn_bias: Any,
    shape: list[int],
) -> tuple[Parameter, Parameter]:
    """A layer's weight and bias after the scale and shift of a batch norm; `shape` says where the channels are."""
    bias = zeros_like(mean) if bias is None else bias  # one that the layer has not got is not trained
    bn_weight = ones_like(mean) if bn_weight is None else bn_weight
    bn_bias = zeros_like(mean) if bn_bias is None else bn_bias
    scale = bn_weight * (variance + eps).rsqrt()
    made = (weight * scale.reshape(shape)).to(weight.dtype)
    shift = ((bias - mean) * scale + bn_bias).to(bias.dtype)
    return Parameter(made.detach(), weight.requires_grad), Parameter(shift.detach(), bias.requires_grad)
