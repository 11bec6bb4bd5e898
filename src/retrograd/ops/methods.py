"""Which functions are also methods of Tensor, and their installation."""

from __future__ import annotations

import ctypes
import types
from typing import Any

from retrograd.core.op import Op
from retrograd.core.plain import TensorMethods
from retrograd.ops import (
    activation,
    adaptive,
    arithmetic,
    arrange,
    attention,
    attributes,
    bags,
    batchnorm,
    bessel,
    bilinear,
    calculus,
    choose,
    combine,
    compare,
    complexes,
    conv,
    convert,
    copies,
    covariance,
    create,
    ctc,
    curves,
    distance,
    draws,
    dropouts,
    einsum,
    embed,
    entropy,
    erf,
    extrema,
    factor,
    floats,
    fourier,
    frequencies,
    fused,
    gammas,
    gated,
    gather,
    histogram,
    incomplete,
    index,
    inplace,
    inplace_functions,
    join,
    kinds,
    ldl,
    likelihood,
    linalg,
    loss,
    lowrank,
    lstsq,
    lu,
    margin,
    mask,
    math,
    matrix,
    matrix_norm,
    memory,
    multihead,
    norm,
    normal,
    numpy_protocol,
    pad,
    pairs,
    patches,
    polynomials,
    pool,
    quantile,
    random,
    ranking,
    reduce,
    reflect,
    resample,
    rounding,
    rows,
    running,
    sampler,
    scan,
    scatters,
    segments,
    sets,
    settings,
    shape,
    softmax,
    solve,
    sort,
    spectral,
    split,
    statistics,
    strided,
    triangle,
    triangular,
    trigonometry,
    view_scatters,
    windows,
)

MODULES = (
    activation,
    adaptive,
    arithmetic,
    arrange,
    attention,
    attributes,
    bags,
    batchnorm,
    bessel,
    bilinear,
    calculus,
    choose,
    combine,
    compare,
    complexes,
    conv,
    convert,
    copies,
    covariance,
    create,
    ctc,
    curves,
    distance,
    draws,
    dropouts,
    einsum,
    embed,
    entropy,
    erf,
    extrema,
    factor,
    floats,
    fourier,
    frequencies,
    fused,
    gammas,
    gated,
    gather,
    histogram,
    incomplete,
    index,
    inplace,
    inplace_functions,
    join,
    kinds,
    ldl,
    likelihood,
    linalg,
    loss,
    lowrank,
    lstsq,
    lu,
    margin,
    mask,
    math,
    matrix,
    matrix_norm,
    memory,
    multihead,
    norm,
    normal,
    numpy_protocol,
    pad,
    pairs,
    patches,
    polynomials,
    pool,
    quantile,
    random,
    ranking,
    reduce,
    reflect,
    resample,
    rounding,
    rows,
    running,
    sampler,
    scan,
    scatters,
    segments,
    sets,
    settings,
    shape,
    softmax,
    solve,
    sort,
    spectral,
    split,
    statistics,
    strided,
    triangle,
    triangular,
    trigonometry,
    view_scatters,
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
        setattr(TensorMethods, name, as_method(function))
    name_nodes()


def as_method(function: Any) -> Any:
    """A function as a class can hold it: one that mypyc has compiled would not bind `self` by itself."""
    if isinstance(function, types.BuiltinFunctionType):
        return _instance_method(function)
    return function


_instance_method = ctypes.pythonapi.PyInstanceMethod_New
_instance_method.restype = ctypes.py_object
_instance_method.argtypes = [ctypes.py_object]


def name_nodes() -> None:
    """Gives each op class the name PyTorch's node has, so that `type(y.grad_fn).__name__` reads as people expect."""
    waiting: list[Any] = [Op]
    while waiting:
        cls = waiting.pop()
        waiting.extend(cls.__subclasses__())
        if cls.__module__.startswith(("retrograd.ops.", "retrograd.core.views")):
            own = cls.__dict__.get("node_name", "")
            cls.__name__ = cls.__qualname__ = own or f"{cls.__name__.removesuffix('Backward0')}Backward0"
