"""CuPy, loaded when a GPU is first asked for."""

from __future__ import annotations

import importlib
from functools import partial
from types import SimpleNamespace
from typing import Any, Final

from retrograd.backends.gpu.ufuncs import AddUfunc, Ufunc
from retrograd.backends.pack import PACK
from retrograd.values import Array

HOW_TO_INSTALL: Final = "pip install 'retrograd[cuda]' on a machine with an NVIDIA GPU and its driver"


def _not_served(_: Any) -> None:
    """What copies an array, where the pack does not."""


_copy: Final[Any] = _not_served if PACK is None else PACK.gpu_copy


def load() -> Any:
    """The module `cupy`, if it is installed and finds a GPU; an error says what is missing."""
    try:
        cupy = importlib.import_module("cupy")
    except ImportError as error:
        raise RuntimeError(f"CuPy cannot be imported ({error}): {HOW_TO_INSTALL}.") from error
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise RuntimeError(f"CuPy finds no GPU ({error}): {HOW_TO_INSTALL}.") from error
    if not count:
        raise RuntimeError(f"there is no GPU: {HOW_TO_INSTALL}.")
    return cupy


def names(cupy: Any) -> dict[str, Any]:
    """CuPy's functions by NumPy's names, with ours where CuPy's do less than NumPy's."""
    linalg = SimpleNamespace(**vars(cupy.linalg))
    linalg.solve = _raising(lambda a, b: _solve(cupy, a, b))
    linalg.inv, linalg.cholesky = _raising(cupy.linalg.inv), _raising(cupy.linalg.cholesky)
    ours = {
        "add": AddUfunc(cupy, cupy.add),
        "multiply": Ufunc(cupy, cupy.multiply),
        "maximum": Ufunc(cupy, cupy.maximum),
        "minimum": Ufunc(cupy, cupy.minimum),
        "logaddexp": Ufunc(cupy, cupy.logaddexp),
        "array": partial(_array, cupy),
        "linalg": linalg,
    }
    return {**vars(cupy), **ours}


def _array(cupy: Any, x: Any, dtype: Any = None, *, copy: bool = True, order: str = "K", **_: Any) -> Array:
    """`numpy.array`, whose `subok` CuPy refuses: its arrays have no subclasses."""
    found: Any = None
    if (
        copy
        and dtype is None
        and type(x) is cupy.ndarray
        and (order == "C" or (order == "K" and x._c_contiguous))
    ):
        found = _copy(x)
    return cupy.array(x, dtype, copy, order) if found is None else found


def _raising(function: Any) -> Any:
    """A function of `cupy.linalg` that raises where a matrix is singular, as NumPy's do, and waits to know it."""
    errstate = importlib.import_module("cupyx").errstate

    def call(*args: Any) -> Any:
        with errstate(linalg="raise"):
            return function(*args)

    return call


def _solve(cupy: Any, a: Array, b: Array) -> Array:
    """`numpy.linalg.solve`; CuPy's wants the same batches on both sides."""
    if b.ndim > 1 and a.shape[:-2] != b.shape[:-2]:
        lead = cupy.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        a = cupy.broadcast_to(a, lead + a.shape[-2:])
        b = cupy.broadcast_to(b, lead + b.shape[-2:])
    found: Array = cupy.linalg.solve(a, b)
    return found
