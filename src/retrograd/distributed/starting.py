"""`init_process_group`, `new_group` and `destroy_process_group`."""

from __future__ import annotations

import atexit
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from retrograd.distributed import mpi
from retrograd.distributed.environment import started_as, started_by_mpi
from retrograd.distributed.groups import WORLD, ProcessGroup, default_group, default_pg_timeout
from retrograd.distributed.local_backend import LocalBackend
from retrograd.distributed.mpi_backend import MPIBackend


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Any = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
    _ranks: list[int] | None = None,
) -> None:
    """Joins the processes that were started together; each calls it once, before anything else here."""
    if WORLD.group is not None:
        raise ValueError("trying to initialize the default process group twice!")
    if timeout is not None and not isinstance(timeout, timedelta):
        raise TypeError(f"Expected timeout argument to be of type datetime.timedelta, got {timeout}")
    transport = _joined(world_size)
    ranks = list(range(transport.size))
    WORLD.group = ProcessGroup(transport, ranks, "0", timeout or default_pg_timeout)
    WORLD.groups = [WORLD.group]
    WORLD.count = 1


def _joined(world_size: int) -> Any:
    if started_by_mpi():
        world = mpi.library().COMM_WORLD
        if world.size > 1:
            atexit.unregister(_leave)
            atexit.register(_leave)
            return MPIBackend(world.Dup(), world.Dup())
    found = started_as()
    if (found and found.size > 1) or world_size > 1:
        raise RuntimeError(
            "this process is to be one of several, and no MPI has started it. Start it by mpirun, srun or "
            "`retrograd launch -n 2 script.py`"
        )
    return LocalBackend("mpi")


def _leave() -> None:
    library = mpi.library()
    if library.Is_initialized() and not library.Is_finalized():
        library.Finalize()


def new_group(
    ranks: Sequence[int] | None = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: Any = None,
    sort_ranks: bool = True,
) -> Any:
    """A group of some ranks. All ranks call it, with the same ranks; those outside get `GroupMember.NON_GROUP_MEMBER`."""
    world = default_group()
    chosen = list(range(world.size())) if ranks is None else list(ranks)
    if sort_ranks:
        chosen.sort()
    name = str(WORLD.count)
    WORLD.count += 1
    if world.rank() not in chosen:
        return -100
    with WORLD.progress.lock:
        transport = LocalBackend("mpi") if len(chosen) == 1 else world.transport.part(chosen, WORLD.count)
    group = ProcessGroup(transport, chosen, name, timeout or world.timeout)
    WORLD.groups.append(group)
    return group


def destroy_process_group(group: Any = None) -> None:
    """Gives a group back; without one, all groups, and the world with them."""
    if group == -100:
        return
    if WORLD.group is None:
        raise AssertionError("Process group cannot be None")
    if group is None or group is WORLD.group:
        WORLD.progress.end()
        WORLD.groups, WORLD.group = [], None
    else:
        WORLD.groups.remove(group)
