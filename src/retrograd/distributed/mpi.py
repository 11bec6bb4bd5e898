"""mpi4py: finding it, and the communicators of groups."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from functools import cache
from typing import Any


@cache
def is_installed() -> bool:
    """Whether there is mpi4py; whether it finds an MPI library is seen when it is loaded."""
    return importlib.util.find_spec("mpi4py") is not None


@cache
def library() -> Any:
    """The module `mpi4py.MPI`, with MPI initialised."""
    if not is_installed():
        raise RuntimeError(
            "the backend 'mpi' needs mpi4py and an MPI library. Install both: pip install 'retrograd[mpi]'"
        )
    import mpi4py

    mpi4py.rc.finalize = False  # by `world.py`, when all ranks have come to their end
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise RuntimeError(
            f"mpi4py does not find its MPI library: {error}. Install one from PyPI: pip install 'retrograd[mpi]'"
        ) from error
    return MPI


class Requests:
    """Messages under way."""

    __slots__ = ("requests", "testall")

    def __init__(self, requests: Sequence[Any]) -> None:
        self.requests = requests
        self.testall = library().Request.Testall

    def done(self) -> bool:
        """Whether all have arrived."""
        return bool(self.testall(self.requests))


class Request:
    """One message or collective of MPI's under way."""

    __slots__ = ("done",)

    def __init__(self, request: Any) -> None:
        self.done = request.Test
