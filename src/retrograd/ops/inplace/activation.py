"""Activations in place: `rg.celu_(t)`, `nn.functional.elu_(t)`."""

from __future__ import annotations

from typing import Any

from retrograd.ops.nn.activation import celu, dropout, elu, hardtanh, leaky_relu, selu
from retrograd.ops.nn.activation import threshold as replace_below
from retrograd.ops.register import public


@public("nn.functional.elu_")
def elu_(input: Any, alpha: float = 1.0) -> Any:
    """`elu`, in place."""
    return elu(input, alpha, inplace=True)


@public("selu_", "nn.functional.selu_")
def selu_(input: Any) -> Any:
    """`selu`, in place."""
    return selu(input, inplace=True)


@public("celu_", "nn.functional.celu_")
def celu_(input: Any, alpha: float = 1.0) -> Any:
    """`celu`, in place."""
    return celu(input, alpha, inplace=True)


@public("nn.functional.leaky_relu_")
def leaky_relu_(input: Any, negative_slope: float = 0.01) -> Any:
    """`leaky_relu`, in place."""
    return leaky_relu(input, negative_slope, inplace=True)


@public("nn.functional.hardtanh_")
def hardtanh_(input: Any, min_val: float = -1.0, max_val: float = 1.0) -> Any:
    """`hardtanh`, in place."""
    return hardtanh(input, min_val, max_val, inplace=True)


@public("threshold_", "nn.functional.threshold_")
def threshold_(input: Any, threshold: float, value: float) -> Any:
    """`threshold`, in place."""
    return replace_below(input, threshold, value, inplace=True)


@public("dropout_")
def dropout_(input: Any, p: float, train: bool) -> Any:
    """`dropout`, in place."""
    return dropout(input, p, train, inplace=True)
