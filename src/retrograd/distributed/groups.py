"""Groups of ranks, and the world that all of them are in."""

from __future__ import annotations

import warnings
from collections import deque
from datetime import timedelta
from typing import Any, ClassVar, Final

from retrograd.distributed.progress import Progress, Queue
from retrograd.distributed.transport import Transport

default_pg_timeout = timedelta(minutes=30)
NON_MEMBER: Final = -100  # what `new_group` gives to ranks that are not in the group
_OUTSIDE: Final = "Invalid process group specified"


class ProcessGroup:
    """Ranks that do operations together. `group.rank()` is the place in the group, not in the world."""

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
        self.group_desc = description or "undefined"
        self.timeout = timeout
        self.queue: Queue = deque()
        self.count = 0  # operations that were called
        self.last: Any = None  # the Call that was called last

    def rank(self) -> int:
        """This process's place in the group."""
        return self.transport.rank

    def size(self) -> int:
        """How many ranks there are in it."""
        return len(self.ranks)

    def name(self) -> str:
        """The name of what carries its messages."""
        return self.transport.name

    def __repr__(self) -> str:
        return f"<ProcessGroup {self.group_name}: {self.name()}, ranks {self.ranks}>"


class World:
    """The one world of this process; `group` is None before `init_process_group` and after `destroy_process_group`."""

    def __init__(self) -> None:
        self.group: ProcessGroup | None = None
        self.groups: list[ProcessGroup] = []
        self.count = 0  # groups that were ever made, those without this process too
        self.progress = Progress()


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
    if isinstance(given, int):
        rank = default_group().rank()
        warnings.warn(
            f"Running {what} on global rank {rank} which does not belong to the given group.", stacklevel=3
        )
        return None
    found: ProcessGroup = given
    return found


def get_rank(group: Any = None) -> int:
    """The rank of this process in a group, by default in the world; -1 if it is not in it."""
    default = default_group()
    if isinstance(group, int):
        return -1
    return (group or default).rank()


def get_world_size(group: Any = None) -> int:
    """How many ranks a group has, by default the world; -1 if this process is not in it."""
    if isinstance(group, int):
        return -1
    return (group or default_group()).size()


def get_backend(group: Any = None) -> str:
    """What carries the messages of a group: "mpi" or "nccl"."""
    if isinstance(group, int):
        raise ValueError(_OUTSIDE)
    return (group or default_group()).name()


def get_backend_config(group: Any = None) -> str:
    """What carries the messages of a group, by device."""
    name = get_backend(group)
    return "cuda:nccl" if name == "nccl" else f"cpu:{name},cuda:{name}"


def get_group_rank(group: Any, global_rank: int) -> int:
    """The place in a group of a rank of the world."""
    if isinstance(group, int) or global_rank not in group.ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return int(group.ranks.index(global_rank))


def get_global_rank(group: Any, group_rank: int) -> int:
    """The rank in the world of a place in a group."""
    if isinstance(group, int) or not 0 <= group_rank < len(group.ranks):
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return int(group.ranks[group_rank])


def get_process_group_ranks(group: Any) -> list[int]:
    """The ranks of a group, in the order of their places in it."""
    if isinstance(group, int):
        raise ValueError(_OUTSIDE)
    return list((group or default_group()).ranks)


def get_pg_count() -> int:
    """How many groups were made, the world included."""
    return WORLD.count
