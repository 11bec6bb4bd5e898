"""What the process was started with: which rank it is, of how many, and on which machine.

`mpirun`, `srun` and `torchrun` say so in variables of the environment, each in its own.
"""

from __future__ import annotations

import os
from typing import NamedTuple

# (rank, number of ranks, rank on this machine, ranks there) of Open MPI, of MPICH and its kin, and of Slurm. Slurm
# sets the second one for what `srun` starts, and not for the batch script itself.
_OF_MPI = (
    (
        "OMPI_COMM_WORLD_RANK",
        "OMPI_COMM_WORLD_SIZE",
        "OMPI_COMM_WORLD_LOCAL_RANK",
        "OMPI_COMM_WORLD_LOCAL_SIZE",
    ),
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_NTASKS_PER_NODE"),
)
_OF_TORCHRUN = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
MISMATCH = (
    "this process was started as one of {size}, and the MPI library that mpi4py has loaded, {library}, knows of no "
    "other: `mpirun` belongs to another MPI. Start it by the `mpirun` of that library (`retrograd launch` finds it), "
    "or name the other library in the variable MPI4PY_LIBMPI."
)
NO_JOINING = (
    "this process is to be one of {size} that no mpirun has started, and {library} cannot join those; MPICH can. Start "
    "the script by `retrograd launch -n {size}` or mpirun."
)


class Seat(NamedTuple):
    """Where a process stands among the others."""

    rank: int
    size: int
    local_rank: int | None
    """Which one of those on its machine."""
    local_size: int | None = None
    """How many there are on its machine."""


def _seat(names: tuple[str, str, str, str]) -> Seat | None:
    found = (os.environ.get(name, "") for name in names)
    rank, size, *local = (int(each) if each.isdigit() else None for each in found)
    return None if rank is None or size is None else Seat(rank, size, *local)


def seat_of_mpi() -> Seat | None:
    """What `mpirun` or `srun` say; None if neither has started the process."""
    return next(filter(None, map(_seat, _OF_MPI)), None)


def seat_of_torchrun() -> Seat | None:
    """What `torchrun` says, or a script that sets its variables; None if nobody does."""
    return _seat(_OF_TORCHRUN)
