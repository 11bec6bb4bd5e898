"""Names of what carries messages, as `torch.distributed.Backend` has them."""

from __future__ import annotations

from typing import Any, ClassVar

from retrograd.distributed import mpi
from retrograd.distributed.availability import is_nccl_available


class Backend(str):
    """The name of a backend, in small letters.

    >>> Backend("MPI")
    'mpi'
    """

    UNDEFINED: ClassVar[str] = "undefined"
    GLOO: ClassVar[str] = "gloo"
    NCCL: ClassVar[str] = "nccl"
    MPI: ClassVar[str] = "mpi"
    UCC: ClassVar[str] = "ucc"
    XCCL: ClassVar[str] = "xccl"
    FAKE: ClassVar[str] = "fake"
    backend_list: ClassVar[list[str]] = ["undefined", "gloo", "nccl", "xccl", "ucc", "mpi", "fake"]

    def __new__(cls, name: Any) -> Backend:
        """The name; any string is one."""
        if not isinstance(name, str):
            raise ValueError("Backend constructor parameter must be string-ish")
        return str.__new__(cls, name.lower())


def chosen_backend(asked: str | None) -> str:
    """What carries the messages of a program that asks for a backend of this name.

    Note [Gloo is MPI here]
    ~~~~~~~~~~~~~~~~~~~~~~~
    Gloo is PyTorch's own transport for CPUs, and the one that its tutorials name. A program that asks for it wants
    its CPUs to talk, and they do, over MPI; `get_backend()` says "mpi". By device, as in "cpu:gloo,cuda:nccl", what
    is named for GPUs counts, if NCCL is there.
    """
    if asked is None or asked == Backend.UNDEFINED:
        return "nccl" if is_nccl_available() else "mpi"
    names = [part.rpartition(":")[2] for part in str(asked).lower().split(",")]
    for name in names:
        if name not in Backend.backend_list:
            raise AssertionError(f"Unknown backend type {name}. There are 'mpi' and 'nccl' here.")
    if "nccl" in names and not is_nccl_available():
        if len(names) > 1:
            return "mpi"
        raise ValueError(
            "the backend 'nccl' needs a GPU and CuPy with NCCL, and one of them is missing. Use 'mpi', or None for "
            "what there is."
        )
    return "nccl" if "nccl" in names else "mpi"


def get_default_backend_for_device(device: Any) -> str:
    """What carries the messages between devices of a type."""
    name = str(device).partition(":")[0]
    if name == "cuda":
        return "nccl"
    if name == "cpu":
        return "mpi"
    raise ValueError(f"Default backend not registered for device : {name}")


def is_backend_available(backend: str) -> bool:
    """Whether there is a backend of this name."""
    return {"mpi": mpi.is_installed, "nccl": is_nccl_available}.get(backend.lower(), bool)()
