"""Which functions are also methods of Tensor, and their installation."""

from __future__ import annotations

from typing import Any

from retrograd.core.op import Op
from retrograd.core.plain import TensorMethods
from retrograd.ops import (
    activation,
    arithmetic,
    arrange,
    choose,
    combine,
    compare,
    complexes,
    convert,
    copies,
    create,
    einsum,
    entropy,
    erf,
    extrema,
    fourier,
    fused,
    gather,
    index,
    inplace,
    inplace_functions,
    join,
    kinds,
    linalg,
    loss,
    mask,
    math,
    memory,
    pad,
    random,
    reduce,
    rounding,
    rows,
    scan,
    scatters,
    shape,
    softmax,
    split,
    statistics,
    strided,
    triangle,
    trigonometry,
    windows,
)

MODULES = (
    activation,
    arithmetic,
    arrange,
    choose,
    combine,
    compare,
    complexes,
    convert,
    copies,
    create,
    einsum,
    entropy,
    erf,
    extrema,
    fourier,
    fused,
    gather,
    index,
    inplace,
    inplace_functions,
    join,
    kinds,
    linalg,
    loss,
    mask,
    math,
    memory,
    pad,
    random,
    reduce,
    rounding,
    rows,
    scan,
    scatters,
    shape,
    softmax,
    split,
    statistics,
    strided,
    triangle,
    trigonometry,
    windows,
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
    table.update(strided.MEMORY_METHODS)
    for name in inplace.NAMES_IF_THERE:
        if name in table:
            table.setdefault(f"{name}_", inplace.in_place(name))
    return table


def install_methods() -> None:
    """Puts the method forms where Tensor finds them, and PyTorch's names on the op classes."""
    for name, function in method_table().items():
        setattr(TensorMethods, name, function)
    name_nodes()


def name_nodes() -> None:
    """Gives each op class the name PyTorch's node has, so that `type(y.grad_fn).__name__` reads as people expect."""
    waiting: list[Any] = [Op]
    while waiting:
        cls = waiting.pop()
        waiting.extend(cls.__subclasses__())
        if cls.__module__.startswith(("retrograd.ops.", "retrograd.core.views")):
            own = cls.__dict__.get("node_name", "")
            cls.__name__ = cls.__qualname__ = own or f"{cls.__name__.removesuffix('Backward0')}Backward0"
