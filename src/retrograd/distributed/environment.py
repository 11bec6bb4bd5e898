"""What the process was started with: which rank it is, of how many, and on which machine.

`mpirun`, `srun` and `torchrun` say so in variables of the environment, each in its own.
"""

from __future__ import annotations

import os
from typing import NamedTuple

# (rank, number of ranks, rank on this machine): those of torchrun, Open MPI, MPICH and Intel, Slurm.
_VARIABLES = (
    ("RANK", "WORLD_SIZE", "LOCAL_RANK"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"),
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"),
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"),
)

MISMATCH = (
    "this process was started as one of {size}, and the MPI library that mpi4py has loaded, {library}, knows of no other: "
    "`mpirun` belongs to another MPI. Start it by the `mpirun` of that library (`retrograd launch` finds it), or name the "
    "other library in the variable MPI4PY_LIBMPI."
)


class Place(NamedTuple):
    """Where a process stands among the others."""

    rank: int
    size: int
    local_rank: int | None
    variables: str
    """The name of the variable that says which rank it is."""


def started_as() -> Place | None:
    """What the environment says; None if the process was started alone."""
    for rank, size, local in _VARIABLES:
        if rank in os.environ and size in os.environ:
            found = os.environ.get(local)
            return Place(int(os.environ[rank]), int(os.environ[size]), int(found) if found else None, rank)
    return None


def started_by_mpi() -> bool:
    """Whether an `mpirun` or `srun` has started this process, with others or alone."""
    return any(rank in os.environ for rank, _, _ in _VARIABLES[1:])
