"""What scripts ask before they begin: which transports there are, and what has started the process."""

from __future__ import annotations

import importlib
import os
from functools import cache

from retrograd.distributed import mpi
from retrograd.distributed.environment import seat_of_mpi, seat_of_torchrun


def is_available() -> bool:
    """Whether processes can train together; one process alone always can.

    >>> is_available()
    True
    """
    return True


def is_mpi_available() -> bool:
    """Whether there is mpi4py."""
    return mpi.is_installed()


@cache
def is_nccl_available() -> bool:
    """Whether there are a GPU and CuPy's NCCL."""
    try:
        nccl = importlib.import_module("cupy.cuda.nccl")
        runtime = importlib.import_module("cupy.cuda.runtime")
        return bool(nccl.available) and runtime.getDeviceCount() > 0
    except Exception:  # noqa: BLE001 - no CuPy, no driver, no GPU: CuPy has an error for each
        return False


def is_gloo_available() -> bool:
    """No: Gloo is PyTorch's own. A program that asks for it gets MPI, see Note [Gloo is MPI here]."""
    return False


is_ucc_available = is_gloo_available
is_xccl_available = is_gloo_available


def is_torchelastic_launched() -> bool:
    """Whether `torchrun` has started this process."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """Which of the ranks on this machine the process is: the number of its GPU, as a rule."""
    found = seat_of_mpi() or seat_of_torchrun()
    if found is not None and found.local_rank is not None:
        return found.local_rank
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError(
        "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow `get_node_local_rank` to work, "
        "for a process that was started alone."
    )
