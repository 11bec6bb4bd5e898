"""Waiting for all ranks: `barrier` and `monitored_barrier`."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from retrograd.distributed.calls import Call, finish, start
from retrograd.distributed.groups import member
from retrograd.distributed.work import Work


def barrier(
    group: Any = None, async_op: bool = False, device_ids: Any = None, timeout: timedelta | None = None
) -> Work | None:
    """Waits until all ranks of a group have come here."""
    if device_ids is not None and not isinstance(device_ids, list):
        raise TypeError("Invalid function argument: device_ids type should be List[int]")
    return _barrier(group, "barrier", async_op, timeout)


def _barrier(group: Any, name: str, async_op: bool, timeout: timedelta | None) -> Work | None:
    found = member(group, name)
    if found is None:
        return None
    made = Call(found, name, (), ())
    if timeout is not None:
        made.timeout = timeout.total_seconds()
    return finish(start(made, lambda _, __: found.transport.barrier()), async_op)


def monitored_barrier(
    group: Any = None, timeout: timedelta | None = None, wait_all_ranks: bool = False
) -> None:
    """Waits until all ranks have come here; after the timeout, the error names the ranks that have not.

    Every operation here names them; `wait_all_ranks` is accepted, and all of them are named in any case.
    """
    _barrier(group, "monitored_barrier", False, timeout)
