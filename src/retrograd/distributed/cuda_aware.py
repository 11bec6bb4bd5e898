"""Whether the MPI library reads and writes the memory of GPUs itself, as those of clusters with GPUs do."""

from __future__ import annotations

import ctypes
import os
from functools import cache

from retrograd.distributed import mpi

SWITCH = "RETROGRAD_CUDA_AWARE_MPI"  # 0 has tensors of a GPU copied to the CPU first, 1 never
_VENDORS = ("MPICH_GPU_SUPPORT_ENABLED", "MV2_USE_CUDA")  # how Cray's and MVAPICH are told to


@cache
def is_cuda_aware() -> bool:
    """What the library says of itself: by MPI's list of kinds of memory, or by Open MPI's and MPICH's function."""
    asked = os.environ.get(SWITCH)
    if asked in ("0", "1"):
        return asked == "1"
    info = mpi.library().COMM_WORLD.Get_info()
    kinds = info.get("mpi_memory_alloc_kinds") or ""
    info.Free()
    if any(kind.partition(":")[0] == "cuda" for kind in kinds.split(",")):
        return True
    if any(os.environ.get(name) == "1" for name in _VENDORS):
        return True
    query = getattr(ctypes.CDLL(mpi.library().__file__), "MPIX_Query_cuda_support", None)
    return bool(query and query() == 1)
