"""Waiting for all ranks: `barrier` and `monitored_barrier`."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from retrograd.distributed import watch
from retrograd.distributed.calls import Call, finish, start
from retrograd.distributed.errors import DistBackendError
from retrograd.distributed.groups import WORLD, ProcessGroup, member
from retrograd.distributed.work import Work

_NAP = 0.001  # seconds between two looks for messages


def barrier(
    group: Any = None, async_op: bool = False, device_ids: Any = None, timeout: timedelta | None = None
) -> Work | None:
    """Waits until all ranks of a group have come here."""
    found = member(group, "barrier")
    if found is None:
        return None
    made = Call(found, "barrier", (), ())
    if timeout is not None:
        made.timeout = timeout.total_seconds()
    return finish(start(made, lambda _, __: found.transport.barrier()), async_op)


def monitored_barrier(
    group: Any = None, timeout: timedelta | float | None = None, wait_all_ranks: bool = False
) -> None:
    """Waits until all ranks have come here; the error of the first rank names one that has not come in time.

    Ranks report to the first rank beside the group's operations, which can go on after an error.

    Args:
        group: the ranks; all if None.
        timeout: how long to wait, by default the timeout of the group.
        wait_all_ranks: name all ranks that have not come.
    """
    found = member(group, "monitored_barrier")
    if found is None or found.size() == 1 or not watch.CHANNEL:
        return
    limit = found.timeout if timeout is None else timeout
    seconds = limit.total_seconds() if isinstance(limit, timedelta) else float(limit)
    if found.rank() == 0:
        _receive_reports(found, seconds, wait_all_ranks)
    else:
        _report(found, seconds)


def _receive_reports(group: ProcessGroup, seconds: float, name_all: bool) -> None:
    """Waits for the reports of the other ranks, and tells those that wait how it has ended."""
    if seconds <= 0:
        raise DistBackendError(f"Rank 0 timed out in monitoredBarrier after {seconds * 1000:g} ms.")
    channel, name = watch.CHANNEL[0], group.group_name

    def missing() -> list[int]:
        return [place for place in range(1, group.size()) if not channel.reports[name, group.ranks[place]]]

    _wait(lambda: not missing(), seconds)
    late = missing()
    with WORLD.progress.lock:
        for place in set(range(1, group.size())).difference(late):
            channel.reports[name, group.ranks[place]] -= 1
            channel.answer(group.ranks[place], name, not late)
    if late:
        named = late if name_all else late[:1]
        ranks = ", ".join(map(str, named))
        raise DistBackendError(
            f"[Rank 0]: Rank{'s' * name_all} {ranks} failed to pass monitoredBarrier in {seconds * 1000:g} ms.\n"
            + watch.positions([group.ranks[place] for place in named])
        )


def _report(group: ProcessGroup, seconds: float) -> None:
    """Tells the first rank that this one has come, and waits for its answer."""
    channel, name, first = watch.CHANNEL[0], group.group_name, group.ranks[0]
    with WORLD.progress.lock:
        channel.answers.pop(name, None)
        channel.report(first, name)
    _wait(lambda: name in channel.answers, seconds)
    with WORLD.progress.lock:
        answered = channel.answers.pop(name, None)
        if answered is None:
            channel.report(first, name, taken_back=True)
    if not answered:
        raise DistBackendError(
            f"Rank {group.rank()} successfully reached monitoredBarrier, but received errors while waiting for "
            "send/recv from rank 0. Please check rank 0 logs for faulty rank.\n" + watch.positions([first])
        )


def _wait(done: Callable[[], bool], seconds: float) -> None:
    """Waits for messages of the channel until something has happened, or time is up."""
    progress, channel = WORLD.progress, watch.CHANNEL[0]
    end = time.monotonic() + seconds
    while not done() and time.monotonic() < end:
        progress.poll()
        with progress.lock:
            channel.serve()
        time.sleep(_NAP)
