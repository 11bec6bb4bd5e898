"""What scripts ask about other processes, as `torch.distributed`. A program is one process here."""

from __future__ import annotations


def is_available() -> bool:
    """Whether processes can train together.

    >>> is_available()
    False
    """
    return False


def is_initialized() -> bool:
    """Whether they do."""
    return False


def is_torchelastic_launched() -> bool:
    """Whether `torchrun` has started this process."""
    return False


def is_nccl_available() -> bool:
    """Whether processes can talk by NCCL."""
    return False


is_gloo_available = is_mpi_available = is_ucc_available = is_xccl_available = is_nccl_available
