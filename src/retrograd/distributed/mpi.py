"""mpi4py: finding it, and the communicators of groups."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import importlib.util
import os
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from retrograd.distributed.errors import DistBackendError


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
    importlib.import_module("mpi4py").rc.finalize = False  # see Note [How ranks end]
    prefer_system_library()
    try:
        return importlib.import_module("mpi4py.MPI")
    except (ImportError, RuntimeError) as error:
        raise RuntimeError(
            f"mpi4py does not find its MPI library: {error}. Install one from PyPI: pip install 'retrograd[mpi]'"
        ) from error


def prefer_system_library() -> None:
    """Has mpi4py load the library of the `mpirun` that has started this process.

    mpi4py's wheels take an MPI library from PyPI if there is one. A process that the system's `mpirun` has started must
    have the system's library, or it would be alone in a world of its own; and the system's knows the cluster's network.
    """
    if "MPI4PY_LIBMPI" in os.environ or sys.platform != "linux":
        return
    name = "libmpi.so.40" if "OMPI_COMM_WORLD_SIZE" in os.environ else "libmpi.so.12"
    with contextlib.suppress(OSError):
        ctypes.CDLL(name, ctypes.RTLD_GLOBAL)  # where the loader looks: the system, and modules of a cluster
        os.environ["MPI4PY_LIBMPI"] = name
        return
    if (found := Path(sys.prefix, "lib", name)).exists():
        os.environ["MPI4PY_LIBMPI"] = str(found)


def library_name() -> str:
    """The first line of what the MPI library says of itself: "MPICH Version: 5.0.2"."""
    return " ".join(library().Get_library_version().splitlines()[0].partition(",")[0].split())


class MessageError(DistBackendError):
    """A message that MPI could not deliver, or that is not of the size that was expected."""


class Requests:
    """Messages under way, those that are received with the number of bytes that they must have."""

    def __init__(self, received: Sequence[tuple[Any, int]], sent: Sequence[Any]) -> None:
        self.sizes: list[int] = [size for _, size in received]
        self.requests: list[Any] = [request for request, _ in received] + list(sent)
        self.statuses: list[Any] = [library().Status() for _ in self.requests]

    def done(self) -> bool:
        """Whether all have arrived."""
        try:
            if not library().Request.Testall(self.requests, self.statuses):
                return False
        except library().Exception as error:
            codes = [status.Get_error() for status in self.statuses]
            known = [
                library().Get_error_string(code) for code in codes if code not in (0, library().ERR_PENDING)
            ]
            raise MessageError(_one_line(known[0] if known else error)) from None
        for status, size in zip(self.statuses, self.sizes, strict=False):
            check_size(status, size)
        return True


class Request:
    """One message or collective of MPI's under way."""

    def __init__(self, request: Any, size: int | None = None) -> None:
        self.request = request
        self.size = size
        self.status: Any = None if size is None else library().Status()

    def done(self) -> bool:
        """Whether it has arrived."""
        try:
            if not self.request.Test(self.status):
                return False
        except library().Exception as error:
            raise MessageError(_one_line(error)) from None
        if self.size is not None:
            check_size(self.status, self.size)
        return True

    def source(self) -> int:
        """Who has sent it."""
        return int(self.status.Get_source()) if self.status is not None else -1


def _one_line(error: Any) -> str:
    """What MPI says of an error: the last line, where the others are its own functions."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else "an unknown error"


def check_size(status: Any, size: int) -> None:
    """Refuses a message of another size."""
    found = status.Get_count(library().BYTE)
    if found != size:
        raise MessageError(
            f"a message of {found} bytes has come from rank {status.Get_source()}, and one of {size} was expected: the "
            "tensors have different sizes"
        )
