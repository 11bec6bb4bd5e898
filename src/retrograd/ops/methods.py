"""Which functions are also methods of Tensor, and their installation."""

from __future__ import annotations

from typing import Any

from retrograd.core.op import name_nodes
from retrograd.core.plain import TensorMethods
from retrograd.ops import (
    activation,
    arithmetic,
    arrange,
    choose,
    compare,
    complexes,
    convert,
    create,
    einsum,
    entropy,
    erf,
    extrema,
    fused,
    gather,
    index,
    inplace,
    join,
    kinds,
    linalg,
    loss,
    mask,
    math,
    pad,
    random,
    reduce,
    rounding,
    rows,
    scan,
    shape,
    softmax,
    split,
    statistics,
    triangle,
    trigonometry,
)

MODULES = (
    activation,
    arithmetic,
    arrange,
    choose,
    compare,
    complexes,
    convert,
    create,
    einsum,
    entropy,
    erf,
    extrema,
    fused,
    gather,
    index,
    inplace,
    join,
    kinds,
    linalg,
    loss,
    mask,
    math,
    pad,
    random,
    reduce,
    rounding,
    rows,
    scan,
    shape,
    softmax,
    split,
    statistics,
    triangle,
    trigonometry,
)


def method_table() -> dict[str, Any]:
    """Every method form by name."""
    table: dict[str, Any] = {}
    for module in MODULES:
        for function in getattr(module, "FUNCTIONS", ()):
            table[function.__name__] = function
        table.update(getattr(module, "ALIASES", {}))
        table.update(getattr(module, "METHODS", {}))
    table.update(convert.DTYPE_METHODS)
    return table


def install_methods() -> None:
    """Puts the method forms where Tensor finds them, and PyTorch's names on the op classes."""
    for name, function in method_table().items():
        setattr(TensorMethods, name, function)
    name_nodes()
