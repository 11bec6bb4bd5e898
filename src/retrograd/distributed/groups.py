"""Groups of ranks, and the world that all of them are in."""

from __future__ import annotations

import warnings
from collections import deque
from datetime import timedelta
from typing import Any, ClassVar, Final

from retrograd.distributed.group_methods import GroupMethods
from retrograd.distributed.progress import Progress, Queue
from retrograd.distributed.transport import Transport

default_pg_timeout: Final = timedelta(minutes=30)
NON_MEMBER: Final = -100  # what `new_group` gives to ranks that are not in the group


class ProcessGroup(GroupMethods):
    """Ranks that do operations together. `group.rank()` is the place in the group, not in the world."""

    timeout: timedelta

    def __init__(
        self,
        transport: Transport,
        ranks: list[int],
        name: str,
        timeout: timedelta,
        description: str | None = None,
    ) -> None:
        self.transport = transport
        self.ranks = ranks
        self.group_name = name
        self.group_desc: str = description or "undefined"
        self.timeout = timeout
        self.queue: Queue = deque()
        self.count = 0  # operations that were called
        self.last: Any = None  # the Call that was called last
        self.destroyed = False

    def rank(self) -> int:
        """This process's place in the group."""
        return self.transport.rank

    def size(self) -> int:
        """How many ranks there are in it."""
        return len(self.ranks)

    def name(self) -> str:
        """The name of what carries its messages."""
        return self.transport.name

    def set_timeout(self, timeout: timedelta) -> None:
        """Sets how long its operations wait for the other ranks."""
        self.timeout = timeout

    def __repr__(self) -> str:
        return f"<ProcessGroup {self.group_name}: {self.name()}, ranks {self.ranks}>"


class World:
    """The one world of this process; `group` is None before `init_process_group` and after `destroy_process_group`."""

    def __init__(self) -> None:
        self.group: ProcessGroup | None = None
        self.groups: list[ProcessGroup] = []
        self.count = 0  # groups that were ever made, those without this process too
        self.outside: list[int] = []  # the ranks of the last of those
        self.progress: Progress = Progress()


WORLD: Final = World()


class _OfWorld(type):
    @property
    def WORLD(cls) -> ProcessGroup | None:
        """The group of all ranks."""
        return WORLD.group


class GroupMember(metaclass=_OfWorld):
    """`GroupMember.WORLD` is the group of all ranks; `NON_GROUP_MEMBER` is what a rank has that is not in a group."""

    NON_GROUP_MEMBER: ClassVar[int] = NON_MEMBER


class group(metaclass=_OfWorld):  # noqa: N801 - PyTorch's name
    """`group.WORLD` is the group of all ranks."""


def is_initialized() -> bool:
    """Whether `init_process_group` was called.

    >>> is_initialized()
    False
    """
    return WORLD.group is not None


def default_group() -> ProcessGroup:
    """The group of all ranks; an error before `init_process_group`."""
    if WORLD.group is None:
        raise ValueError(
            "Default process group has not been initialized, please make sure to call init_process_group."
        )
    return WORLD.group


def member(given: Any, what: str) -> ProcessGroup | None:
    """The group of an operation; None, with a warning, for a rank that is not in it."""
    if given is None:
        return default_group()
    if isinstance(given, ProcessGroup):
        if given.destroyed:
            raise ValueError(
                f"{what}: {given} was given back by destroy_process_group. Make another by new_group."
            )
        return given
    if not rank_not_in_group(given):
        raise ValueError(
            f"Process group {given} is not initialized in the world group map. Please initialize the group first."
        )
    rank = default_group().rank()
    warnings.warn(
        f"Running {what} on global rank {rank} which does not belong to the given group.", stacklevel=3
    )
    return None


def rank_not_in_group(group: object) -> bool:
    """Whether this process is no member of a group."""
    return isinstance(group, int) and group == NON_MEMBER


def _asked(group: Any) -> ProcessGroup | None:
    """The group that is asked about; None if this process is not in it."""
    if group is None:
        return default_group()
    return None if rank_not_in_group(group) else _registered(group)


def check_inside(group: Any) -> None:
    """Refuses a group that this process is not in, where PyTorch does."""
    if rank_not_in_group(group):
        raise ValueError("Invalid process group specified")


def _registered(group: Any) -> ProcessGroup:
    if not isinstance(group, ProcessGroup):
        raise ValueError(
            f"Group {group} is not registered, please create group with torch.distributed.new_group API"
        )
    return group


def ranks_of(group: Any) -> list[int]:
    """The ranks of a group; where this process is not in it, those of the last group of which that is true."""
    return WORLD.outside if rank_not_in_group(group) else _registered(group).ranks


def get_rank(group: Any = None) -> int:
    """The rank of this process in a group, by default in the world; -1 if it is not in it."""
    default_group()
    found = _asked(group)
    return -1 if found is None else found.rank()


def get_world_size(group: Any = None) -> int:
    """How many ranks a group has, by default the world; -1 if this process is not in it."""
    found = _asked(group)
    return -1 if found is None else found.size()


def get_backend(group: Any = None) -> str:
    """What carries the messages of a group: "mpi" or "nccl"."""
    check_inside(group)
    found = _asked(group)
    assert found is not None
    return found.name()


def get_backend_config(group: Any = None) -> str:
    """What carries the messages of a group, by device."""
    name = get_backend(group)
    return "cuda:nccl" if name == "nccl" else f"cpu:{name},cuda:{name}"


def get_group_rank(group: Any, global_rank: int) -> int:
    """The place in a group of a rank of the world."""
    ranks = ranks_of(group)
    if global_rank not in ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return ranks.index(global_rank)


def get_global_rank(group: Any, group_rank: int) -> int:
    """The rank in the world of a place in a group."""
    ranks = ranks_of(group)
    if not 0 <= group_rank < len(ranks):
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return ranks[group_rank]


def get_process_group_ranks(group: Any) -> list[int]:
    """The ranks of a group, in the order of their places in it."""
    return list(ranks_of(default_group() if group is None else group))


def get_pg_count() -> int:
    """How many groups were made, the world included."""
    return WORLD.count
