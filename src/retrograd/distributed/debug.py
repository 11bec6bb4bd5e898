"""`TORCH_DISTRIBUTED_DEBUG=DETAIL`: before each collective, ranks compare what they are about to do."""

from __future__ import annotations

import os
from enum import Enum
from typing import Any

import numpy as np

from retrograd.distributed.errors import DistBackendError
from retrograd.distributed.progress import Steps

_WIDTH = 512  # bytes in which a rank says what it does, and where


class DebugLevel(Enum):
    """How much ranks tell each other; DETAIL has each collective compared before it is done."""

    OFF = 0
    INFO = 1
    DETAIL = 2


class _Level:
    """The level that is set; None until somebody asks."""

    now: DebugLevel | None = None


def get_debug_level() -> DebugLevel:
    """The level in force."""
    if _Level.now is None:
        set_debug_level_from_env()
    return _Level.now or DebugLevel.OFF


def set_debug_level(level: DebugLevel) -> None:
    """Sets the level; the same on all ranks, or they wait for each other in vain."""
    _Level.now = level


def set_debug_level_from_env() -> None:
    """Sets the level that the variable TORCH_DISTRIBUTED_DEBUG names."""
    name = os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF").upper()
    if name not in DebugLevel.__members__:
        raise RuntimeError(f"TORCH_DISTRIBUTED_DEBUG is {name!r}; it is to be OFF, INFO or DETAIL")
    _Level.now = DebugLevel[name]


def is_detailed() -> bool:
    """Whether collectives are compared before they are done."""
    return get_debug_level() is DebugLevel.DETAIL


def compare(call: Any) -> Steps:
    """The steps by which all ranks of a group learn that they are about to do the same; an error on all if not."""
    group = call.group
    own = f"{call.signature()}\n{call.described()}, at {call.place}".encode()[:_WIDTH].ljust(_WIDTH)
    out = np.empty(_WIDTH * group.size(), np.uint8)
    yield from group.transport.all_gather_into(out, np.frombuffer(bytearray(own), np.uint8))
    told = [bytes(row).decode(errors="replace").strip().split("\n") for row in out.reshape(-1, _WIDTH)]
    for i, each in enumerate(told):
        if each[0] != told[0][0]:
            raise DistBackendError(
                f"operation {call.number} of the group is not the same on all ranks:\n"
                f"  rank {group.ranks[0]}: {told[0][1]}\n  rank {group.ranks[i]}: {each[1]}\n"
                "All ranks of a group call the same operations in the same order, with tensors of the same shape."
            )
