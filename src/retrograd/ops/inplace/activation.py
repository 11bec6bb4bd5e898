"""Activations in place: `rg.celu_(t)`, `nn.functional.leaky_relu_(t)`."""

from __future__ import annotations

from retrograd.core.tensor import Tensor
from retrograd.ops.nn.activation import celu, dropout, leaky_relu, selu
from retrograd.ops.nn.activation import threshold as replace_below
from retrograd.ops.register import public


@public("selu_", "nn.functional.selu_")
def selu_(input: Tensor) -> Tensor:
    """`selu`, in place."""
    found: Tensor = selu(input, inplace=True)
    return found


@public("celu_", "nn.functional.celu_")
def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`celu`, in place."""
    found: Tensor = celu(input, alpha, inplace=True)
    return found


@public("nn.functional.leaky_relu_")
def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """`leaky_relu`, in place."""
    found: Tensor = leaky_relu(input, negative_slope, inplace=True)
    return found


@public("threshold_", "nn.functional.threshold_")
def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    """`threshold`, in place."""
    found: Tensor = replace_below(input, threshold, value, inplace=True)
    return found


@public("dropout_")
def dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`dropout`, in place."""
    found: Tensor = dropout(input, p, train, inplace=True)
    return found
