"""How many threads NumPy's matrix products use: read, and set for a while.

NumPy's wheels carry OpenBLAS under a name of their own; other builds use the system's OpenBLAS or MKL. Each has a pair
of C functions for this. Where none is found, nothing is limited.
"""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path
from typing import Any

import numpy as np

# (get, set) as the libraries spell them.
_NAMES = (
    ("scipy_openblas_get_num_threads64_", "scipy_openblas_set_num_threads64_"),
    ("scipy_openblas_get_num_threads", "scipy_openblas_set_num_threads"),
    ("openblas_get_num_threads64_", "openblas_set_num_threads64_"),
    ("openblas_get_num_threads", "openblas_set_num_threads"),
    ("MKL_Get_Max_Threads", "MKL_Set_Num_Threads"),
)


@functools.cache
def _controls() -> tuple[Any, Any] | None:
    """The library's functions, looked for once."""
    folder = Path(np.__file__).parent
    files = [*folder.parent.glob("numpy.libs/*openblas*"), *folder.glob(".dylibs/*openblas*")]
    for library in [*map(str, files), None]:
        try:
            loaded = ctypes.CDLL(library)  # already in the process: this finds it, and loads nothing
        except OSError:
            continue
        for get, put in _NAMES:
            if hasattr(loaded, get) and hasattr(loaded, put):
                return getattr(loaded, get), getattr(loaded, put)
    return None


def blas_threads() -> int | None:
    """How many threads a matrix product may use; None where that cannot be told."""
    found = _controls()
    return None if found is None else int(found[0]())


def set_blas_threads(count: int) -> None:
    """Lets matrix products use `count` threads, in the whole process."""
    found = _controls()
    if found is not None:
        found[1](ctypes.c_int(count))
