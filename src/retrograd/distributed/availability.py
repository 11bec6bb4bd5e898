"""What scripts ask before they begin: which transports there are, and what has started the process."""

from __future__ import annotations

import os

from retrograd.distributed import mpi


def is_available() -> bool:
    """Whether processes can train together; one process alone always can.

    >>> is_available()
    True
    """
    return True


def is_mpi_available() -> bool:
    """Whether there is mpi4py."""
    return mpi.is_installed()


def is_nccl_available() -> bool:
    """Whether processes can talk by NCCL."""
    return False


def is_gloo_available() -> bool:
    """No: Gloo is PyTorch's own."""
    return False


is_ucc_available = is_xccl_available = is_gloo_available


def is_torchelastic_launched() -> bool:
    """Whether `torchrun` has started this process."""
    return "TORCHELASTIC_RUN_ID" in os.environ
