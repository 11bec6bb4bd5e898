"""What this build of retrograd is: `retrograd.__config__.show()` and `parallel_info()`."""

from __future__ import annotations

import os
import platform
from typing import Any, Final

import numpy as np

from retrograd.backends.pack import PACK
from retrograd.engine.threads import available_cpus, get_num_interop_threads, get_num_threads
from retrograd.forms import ASKED_FOR_SOURCES, COMPILED, VARIABLE
from retrograd.version import __version__

# What `torch` says of its build by names of its own.
has_lapack: Final = True
has_spectral: Final = True
has_mkl: Final = False
has_openmp: Final = False

_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def compiled_with_cxx11_abi() -> bool:
    """Whether C++ extensions would have to be built by the newer ABI: always."""
    return True


def show() -> str:
    """What this build consists of, as text for people: what is compiled, the native pack, BLAS and threads.

    >>> import retrograd as rg
    >>> print(rg.__config__.show())
    retrograd built with:
      - retrograd ..., NumPy ...
      - ...
    """
    python = f"{platform.python_implementation()} {platform.python_version()}"
    lines = [
        f"retrograd {__version__}, {python}, NumPy {np.__version__}",
        _modules(),
        _pack(),
        f"BLAS and LAPACK: {_blas()}",
        f"Threads: {get_num_threads()}",
    ]
    return "retrograd built with:\n" + "".join(f"  - {line}\n" for line in lines)


def parallel_info() -> str:
    """How many threads are used for what, as text for people.

    >>> import retrograd as rg
    >>> print(rg.__config__.parallel_info())
    retrograd:
        get_num_threads() : ...
    """
    found = {name: os.environ.get(name, "[not set]") for name in _THREAD_VARIABLES}
    return (
        "retrograd:\n"
        f"\tget_num_threads() : {get_num_threads()}\n"
        f"\tget_num_interop_threads() : {get_num_interop_threads()}\n"
        f"Native kernel pack: {'none' if PACK is None else PACK.instruction_set()}\n"
        f"BLAS: {_blas()}\n"
        f"Processors this process may use : {available_cpus()}\n"
        "Environment variables:\n" + "".join(f"\t{name} : {value}\n" for name, value in found.items())
    )


def is_compiled() -> bool:
    """Whether compiled modules run: not in a build without them, nor where the environment asks for the sources."""
    return COMPILED


def _modules() -> str:
    if COMPILED:
        return "Compiled by mypyc: core, engine, ops and autograd"
    if ASKED_FOR_SOURCES:
        return f"Pure Python: the sources run, as {VARIABLE} asks for"
    return "Pure Python: nothing is compiled"


def _pack() -> str:
    if PACK is not None:
        return f"Native kernel pack: {PACK.instruction_set()} is used of {', '.join(PACK.instruction_sets())}"
    if os.environ.get("RETROGRAD_NO_NATIVE", "0") not in {"", "0"}:
        return "Native kernel pack: switched off by RETROGRAD_NO_NATIVE, NumPy computes"
    return "Native kernel pack: not built, NumPy computes"


def _blas() -> str:
    settings: Any = np.show_config(mode="dicts")
    found = settings.get("Build Dependencies", {}).get("blas", {})
    return f"{found.get('name', 'unknown')} {found.get('version', '')}".strip() + ", NumPy's"
