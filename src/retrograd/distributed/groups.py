"""Groups of ranks, and the world that all of them are in."""

from __future__ import annotations

import warnings
from collections import deque
from datetime import timedelta
from typing import Any, ClassVar

from retrograd.distributed.progress import Progress, Queue

default_pg_timeout = timedelta(minutes=30)


class ProcessGroup:
    """Ranks that do operations together. `group.rank()` is the place in the group, not in the world."""

    def __init__(self, backend: Any, ranks: list[int], name: str, timeout: timedelta) -> None:
        self.transport = backend
        self.ranks = ranks
        self.group_name = name
        self.group_desc = "default_pg" if name == "0" else "undefined"
        self.timeout = timeout
        self.limit = timeout.total_seconds()
        self.operations = 0
        self.queue: Queue = deque()

    def rank(self) -> int:
        """This process's place in the group."""
        return int(self.transport.rank)

    def size(self) -> int:
        """How many ranks there are in it."""
        return len(self.ranks)

    def name(self) -> str:
        """The name of what carries its messages."""
        return str(self.transport.name)

    def __repr__(self) -> str:
        return f"<ProcessGroup {self.group_name}: {self.name()}, ranks {self.ranks}>"


class World:
    """The one world of this process; `group` is None before `init_process_group` and after `destroy_process_group`."""

    def __init__(self) -> None:
        self.group: ProcessGroup | None = None
        self.groups: list[ProcessGroup] = []
        self.count = 0
        self.progress = Progress()


WORLD = World()


class GroupMember:
    """`GroupMember.WORLD` is the group of all ranks."""

    NON_GROUP_MEMBER: ClassVar[int] = -100
    WORLD: ClassVar[Any]


class _WorldMeta(type):
    @property
    def WORLD(cls) -> ProcessGroup | None:
        return WORLD.group

    @WORLD.setter
    def WORLD(cls, group: ProcessGroup | None) -> None:
        WORLD.group = group


class group(metaclass=_WorldMeta):
    """`group.WORLD` is the group of all ranks."""


GroupMember = _WorldMeta("GroupMember", (), {"NON_GROUP_MEMBER": -100, "__doc__": GroupMember.__doc__})  # type: ignore


def is_initialized() -> bool:
    """Whether `init_process_group` was called."""
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
    world = default_group()
    if given is None:
        return world
    if given == -100:
        warnings.warn(
            f"Running {what} on global rank {world.rank()} which does not belong to the given group.", stacklevel=3
        )
        return None
    return given  # type: ignore[no-any-return]


def get_rank(group: Any = None) -> int:
    """The rank of this process in a group; -1 if it is not in it."""
    if group == -100:
        return -1
    return (group or default_group()).rank()  # type: ignore[no-any-return]


def get_world_size(group: Any = None) -> int:
    """How many ranks a group has; -1 if this process is not in it."""
    if group == -100:
        return -1
    return (group or default_group()).size()  # type: ignore[no-any-return]


def get_backend(group: Any = None) -> str:
    """The name of what carries the messages of a group."""
    if group == -100:
        raise ValueError("Invalid process group specified")
    return (group or default_group()).name()  # type: ignore[no-any-return]


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """The place in a group of a rank of the world."""
    if global_rank not in group.ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return group.ranks.index(global_rank)


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """The rank in the world of a place in a group."""
    if not 0 <= group_rank < len(group.ranks):
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return group.ranks[group_rank]


def get_process_group_ranks(group: ProcessGroup | None) -> list[int]:
    """The ranks of a group, in the order of their places in it."""
    return list((group or default_group()).ranks)


def get_pg_count() -> int:
    """How many groups there are."""
    return len(WORLD.groups)
