"""`init_process_group`, `new_group` and `destroy_process_group`."""

from __future__ import annotations

import importlib
import os
import socket
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from retrograd.distributed import faults, mpi, rendezvous, watch
from retrograd.distributed.availability import get_node_local_rank
from retrograd.distributed.backend_names import chosen_backend
from retrograd.distributed.calls import call
from retrograd.distributed.environment import MISMATCH, NO_JOINING, Seat, seat_of_mpi, seat_of_torchrun
from retrograd.distributed.errors import DistBackendError
from retrograd.distributed.groups import (
    NON_MEMBER,
    WORLD,
    ProcessGroup,
    default_group,
    default_pg_timeout,
    rank_not_in_group,
)
from retrograd.distributed.local_backend import LocalBackend
from retrograd.distributed.mpi_backend import MPIBackend
from retrograd.distributed.nccl_backend import NCCLBackend, gpus_of_ranks
from retrograd.distributed.progress import EAGER
from retrograd.distributed.stores import FileStore
from retrograd.distributed.transport import Transport
from retrograd.forks import at_fork
from retrograd.ops.tensor.settings import are_deterministic_algorithms_enabled


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
    """Joins the processes that were started together. Each calls it once, before any other function of this package.

    `mpirun`, `srun` and `retrograd launch` say which rank a process is; `rank` and `world_size` are checked against
    that. A process that was started alone is a world of one rank, and needs no MPI.

    >>> import retrograd.distributed as dist
    >>> dist.init_process_group()
    >>> dist.get_rank(), dist.get_world_size(), dist.get_backend()
    (0, 1, 'mpi')
    >>> dist.destroy_process_group()
    """
    if WORLD.group is not None:
        raise ValueError("trying to initialize the default process group twice!")
    if timeout is not None and not isinstance(timeout, timedelta):
        raise TypeError(f"Expected timeout argument to be of type datetime.timedelta, got {timeout}")
    if init_method is not None and store is not None:
        raise AssertionError("Cannot specify both init_method and store.")
    name = chosen_backend(backend)
    limit = timeout or default_pg_timeout
    transport = _joined(init_method, store, world_size, rank, limit.total_seconds())
    WORLD.group = ProcessGroup(transport, list(range(transport.size)), "0", limit, "default_pg")
    WORLD.groups = [WORLD.group]
    WORLD.count = 1
    if name == "nccl":
        try:
            _connect_world(WORLD.group, _device_number(device_id), required=backend is not None)
        except BaseException:  # a program may try another backend; the other ranks may have had no error
            WORLD.groups, WORLD.group = [], None
            raise


def _device_number(device_id: Any) -> int:
    """The GPU of this rank: the one that is named or set, or the one that has the rank's number on its machine."""
    if device_id is not None:
        return int(getattr(device_id, "index", device_id) or 0)
    runtime = importlib.import_module("cupy").cuda.runtime
    return int(runtime.getDevice() or get_node_local_rank(0) % runtime.getDeviceCount())


def _connect_world(world: ProcessGroup, device: int, required: bool) -> None:
    """Gives the world NCCL; if that is not required, only where each rank has a GPU of its own."""
    gpus: list[str] = []
    call(world, "connect", lambda _, __: gpus_of_ranks(world.transport, device, gpus))
    if required or len(set(gpus)) == len(gpus):
        world.transport = NCCLBackend(world.transport, device)
        _connect(world)


def _connect(group: ProcessGroup) -> None:
    """Has the ranks of a group find each other on their GPUs, if they have any."""
    transport = group.transport
    if isinstance(transport, NCCLBackend):
        call(group, "connect", lambda _, __: transport.connect())


def _joined(init_method: str | None, store: Any, world_size: int, rank: int, seconds: float) -> Transport:
    """What carries the messages of the world."""
    seat, complaint = seat_of_mpi(), MISMATCH
    if seat is None or seat.size == 1:
        complaint = NO_JOINING
        seat = _seat_of_script(world_size, rank)
        if seat.size == 1:
            return LocalBackend("mpi")
        address, port = _address(init_method, store, seat.rank)
        rendezvous.join(seat.rank, seat.size, address, port, seconds)
    try:
        world = mpi.library().COMM_WORLD
    except RuntimeError:
        rendezvous.leave()
        raise
    if world.size != seat.size:
        raise RuntimeError(complaint.format(size=seat.size, library=mpi.library_name()))
    _check_place(world, world_size, rank)
    return _world_transport(world, seconds)


def _seat_of_script(world_size: int, rank: int) -> Seat:
    """Which rank a process is that no MPI has started: what it says itself, or the variables that `torchrun` sets."""
    found = seat_of_torchrun()
    size = world_size if world_size != -1 else found.size if found else 1
    place = rank if rank != -1 else found.rank if found else 0 if size == 1 else -1
    if not 0 <= place < size:
        raise ValueError(
            f"init_process_group: rank {place} of world size {size} is no rank. Give both rank and world_size, set the "
            "variables RANK and WORLD_SIZE, or start the script by mpirun or `retrograd launch`, which say so."
        )
    return Seat(place, size, None)


def _address(init_method: str | None, store: Any, rank: int) -> tuple[str, int]:
    """Where the first rank is to be found: by a store, `tcp://host:port`, or MASTER_ADDR and MASTER_PORT."""
    method = init_method or "env://"
    if method.startswith("file://"):
        store = FileStore(method.removeprefix("file://"))
    if store is not None:
        return _address_in(store, rank)
    if method.startswith("tcp://"):
        host, _, port = method.removeprefix("tcp://").rstrip("/").rpartition(":")
        return host, int(port)
    if not method.startswith("env://"):
        raise ValueError(
            f"init_process_group: init_method={init_method!r}: ranks find each other by 'env://', 'tcp://host:port' or "
            "'file:///path' here. Under mpirun, srun and `retrograd launch` they need neither."
        )
    for name in ("MASTER_ADDR", "MASTER_PORT"):
        if name not in os.environ:
            raise ValueError(
                f"Error initializing torch.distributed using env:// rendezvous: environment variable {name} expected, "
                "but not set. Set it, or start the script by mpirun or `retrograd launch`, which need no address."
            )
    return os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])


def _address_in(store: Any, rank: int) -> tuple[str, int]:
    """The address that the first rank has chosen, and left in a store."""
    host = getattr(store, "host", "127.0.0.1")
    if rank == 0:
        with socket.create_server(("", 0)) as free:
            store.set("retrograd/port", str(free.getsockname()[1]))
    return host, int(store.get("retrograd/port"))


def _check_place(world: Any, world_size: int, rank: int) -> None:
    """Refuses a rank or a number of ranks that are not what MPI says."""
    if world_size not in (-1, world.size) or rank not in (-1, world.rank):
        raise ValueError(
            f"init_process_group: rank={rank} and world_size={world_size} were given, and MPI has started this process "
            f"as rank {world.rank} of {world.size}. Leave both out: MPI says which rank a process is."
        )


def _world_transport(world: Any, seconds: float) -> Transport:
    """Communicators of our own, so that programs may use `mpi4py` beside us; and the channel of the watch."""
    if not watch.CHANNEL:
        watch.CHANNEL.append(watch.Channel(_copied(world, seconds)))
        WORLD.progress.owner = os.getpid()
        WORLD.progress.watch = watch.look
        WORLD.progress.eager = EAGER if _has_processor(world) else 0.0
        faults.guard()
        WORLD.progress.help()
    transport: Transport = MPIBackend(_copied(world, seconds), _copied(world, seconds))
    transport.fixed_order = _any_rank(world, are_deterministic_algorithms_enabled())
    return transport


def _has_processor(world: Any) -> bool:
    """Whether there is a processor for each rank on this machine; all ranks are there when this is called."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with WORLD.progress.lock:
        neighbours = world.Split_type(mpi.library().COMM_TYPE_SHARED)
        count: int = neighbours.size
        neighbours.Free()
    return count <= cores


def _copied(comm: Any, seconds: float) -> Any:
    """A copy of a communicator, which all its ranks ask for."""
    progress = WORLD.progress
    with progress.lock:
        copy, request = comm.Idup()
    end = time.monotonic() + seconds
    while True:
        with progress.lock:
            if request.Test():
                return copy
        if time.monotonic() > end:
            raise DistBackendError(
                f"rank {comm.rank} has waited in init_process_group for its timeout of {seconds:g} seconds: not all of "
                f"the {comm.size} ranks have called it."
            )
        time.sleep(0.0005)


def _any_rank(comm: Any, flag: bool) -> bool:
    """Whether any rank says yes; those that must do the same ask for it."""
    with WORLD.progress.lock:
        return bool(comm.allreduce(int(flag)))


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
    """A group of some ranks. All ranks call it, in the same order; those outside of it get `NON_GROUP_MEMBER`.

    With `use_local_synchronization` only those in the group need to call it.
    """
    world = default_group()
    size = world.size()
    chosen_backend(backend)  # refuses what is none; a group has that of the world
    chosen = list(range(size)) if ranks is None else [int(rank) for rank in ranks]
    if sort_ranks:
        chosen.sort()
    if len(set(chosen)) != len(chosen):
        raise ValueError(f"ranks list must not contain duplicate entries, got {chosen}")
    for rank in chosen:
        if not 0 <= rank < size:
            raise ValueError(
                f"Rank {rank} is out of range. Valid ranks are 0 to {size - 1} (world_size={size})"
            )
    name, tag = _name_of_group(chosen, use_local_synchronization)
    inside = world.rank() in chosen
    if (
        not use_local_synchronization
    ):  # ranks that are not there yet are waited for here, where there is a timeout
        call(world, "new_group", lambda _, __: world.transport.barrier(), details=f"({chosen})")
    if not inside:
        WORLD.outside = chosen
        return NON_MEMBER
    with WORLD.progress.lock:
        transport = world.transport.part(chosen, tag)
    transport.fixed_order = world.transport.fixed_order
    made = ProcessGroup(transport, chosen, name, timeout or default_pg_timeout, group_desc)
    WORLD.groups.append(made)
    _connect(made)
    return made


def _name_of_group(ranks: list[int], local: bool) -> tuple[str, int]:
    """The name of a group, and the tag under which its ranks find each other: the same on all of them."""
    if local:  # ranks outside do not count this group
        same = sum(each.group_name.startswith(f"local{ranks}") for each in WORLD.groups)
        return f"local{ranks}#{same}", 16384 + hash((*ranks, same)) % 8192
    WORLD.count += 1
    return str(WORLD.count - 1), WORLD.count % 16384


def new_subgroups(
    group_size: int | None = None,
    group: Any = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Cuts the world, or `group`, into groups of one size, neighbours together; this rank's own, and all."""
    ranks = default_group().ranks if group is None else list(group.ranks)
    size = len(ranks)
    if group_size is None:
        group_size = int(os.environ.get("LOCAL_WORLD_SIZE", size))
    if group_size <= 0:
        raise ValueError(f"The arg 'group_size' ({group_size}) must be positive")
    if group_size > size:
        raise ValueError(f"The arg 'group_size' ({group_size}) must not exceed the world size ({size})")
    if size % group_size:
        raise ValueError(f"The world size ({size}) must be divisible by '{group_size=}'")
    lists = [ranks[first : first + group_size] for first in range(0, size, group_size)]
    return new_subgroups_by_enumeration(lists, timeout, backend, pg_options, group_desc)


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Sequence[Sequence[int]],
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Groups of the ranks of each list; this rank's own, and all."""
    if not ranks_per_subgroup_list:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    seen: dict[int, Sequence[int]] = {}
    for ranks in ranks_per_subgroup_list:
        for rank in ranks:
            if rank in seen:
                raise ValueError(f"Rank {rank} has appeared in both subgroup {seen[rank]} and {ranks}")
            seen[rank] = ranks
    groups = [
        new_group(ranks, timeout, backend, pg_options, group_desc=group_desc)
        for ranks in ranks_per_subgroup_list
    ]
    own = next((each for each in groups if not isinstance(each, int)), None)
    return own, groups


def split_group(
    parent_pg: Any = None,
    split_ranks: list[list[int]] | None = None,
    timeout: timedelta | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
    backend: str | None = None,
) -> Any:
    """Cuts the world into the groups whose ranks the lists name; this rank's own, or None."""
    if not split_ranks:
        raise ValueError("split_ranks cannot be None or empty")
    return new_subgroups_by_enumeration(split_ranks, timeout, backend, pg_options, group_desc)[0]


def destroy_process_group(group: Any = None) -> None:
    """Gives a group back; without one, all groups, and the world with them."""
    if rank_not_in_group(group):
        return
    if WORLD.group is None:
        raise AssertionError("Process group cannot be None")
    if group is None or group is WORLD.group:
        for each in reversed(WORLD.groups):
            _free(each)
        WORLD.groups, WORLD.group = [], None
        return
    if group not in WORLD.groups:
        raise ValueError("Invalid process group specified")
    WORLD.groups.remove(group)
    _free(group)


def _free(group: ProcessGroup) -> None:
    """Gives back what MPI knows of a group, unless something is still under way in it."""
    group.destroyed = group.size() > 1  # alone, there is nothing that could be missing
    with WORLD.progress.lock:
        if not group.queue:
            group.transport.free()


def _after_fork() -> None:
    """A child is no rank: it has neither the helper thread nor any right to the parent's messages."""
    WORLD.progress.orphaned()


at_fork(
    before=lambda: WORLD.progress.lock.acquire(),  # noqa: PLW0108 - the lock of that time
    after_in_parent=lambda: WORLD.progress.lock.release(),  # noqa: PLW0108
    after_in_child=_after_fork,
)
