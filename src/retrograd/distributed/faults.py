"""When a rank fails: its traceback first, with its rank, and then the end of all.

Note [How ranks end]
~~~~~~~~~~~~~~~~~~~~
An exception that nobody catches ends a rank, and the others would wait for it for ever. So `sys.excepthook` prints the
traceback, with the rank in front, and calls MPI_Abort, upon which `mpirun` ends the others before they can print
errors that only follow from the first. An error about an operation that did not end is told by every rank that waits,
so each gives the others a moment to print theirs. A rank that is killed is seen by `mpirun`, which ends the others.

A rank whose program ends tells the others so (`watch.py`); one that waits for it raises an error. It then waits itself
until all have ended, since a process that leaves MPI early may take messages with it that others still need.

Where ranks were started without `mpirun` (Note [Ranks without mpirun]), nobody ends the others, and MPI_Abort comes
back. The rank that has failed then tells them that it is gone, and leaves; whoever waits for it fails in turn.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import time
import traceback
from collections.abc import Callable
from types import TracebackType
from typing import Any

from retrograd.distributed import mpi
from retrograd.distributed.errors import DistBackendError
from retrograd.distributed.groups import WORLD
from retrograd.distributed.watch import CHANNEL

GRACE = 1.5  # seconds that the others have to print their own errors about an operation that did not end
_BEFORE: list[Callable[..., Any]] = []


def guard() -> None:
    """Has failures of this rank end the job, and waits for the others at the end of the program."""
    if _BEFORE:
        return
    _BEFORE.append(sys.excepthook)
    sys.excepthook = _end_all
    atexit.register(_leave)


def _end_all(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if WORLD.progress.owner != os.getpid() or not CHANNEL or CHANNEL[0].ended:
        _BEFORE[0](kind, error, trace)
        return
    rank, size = CHANNEL[0].rank, CHANNEL[0].size
    with contextlib.suppress(Exception):
        sys.stdout.flush()
    if issubclass(kind, KeyboardInterrupt):
        text = f"rank {rank} of {size}: stopped by Ctrl-C\n"
    else:
        text = f"rank {rank} of {size} has failed:\n" + "".join(
            traceback.format_exception(kind, error, trace)
        )
    os.write(2, text.encode(errors="replace"))  # in one piece: ranks share the terminal
    if issubclass(kind, DistBackendError):
        time.sleep(GRACE)
    status = 130 if issubclass(kind, KeyboardInterrupt) else 1
    mpi.library().COMM_WORLD.Abort(status)
    end_now(status)


def end_now(status: int) -> None:
    """Ends this rank where no `mpirun` has started the ranks, who would end them all.

    The others learn that it is gone; each ends when it waits for this one. A process that is no rank goes on.
    """
    if WORLD.progress.owner != os.getpid() or not CHANNEL or CHANNEL[0].ended:
        return
    channel, end = CHANNEL[0], time.monotonic() + GRACE
    with WORLD.progress.lock:
        channel.tell_end(failed=True)
        while channel.is_sending() and time.monotonic() < end:
            time.sleep(0.002)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    os._exit(status)


def _leave() -> None:
    """At the end of the program: waits for the others, and finalises MPI."""
    if WORLD.progress.owner != os.getpid() or not CHANNEL:
        return
    channel, progress, library = CHANNEL[0], WORLD.progress, mpi.library()
    if library.Is_finalized():
        return
    with progress.lock:
        channel.tell_end()
        request = channel.comm.Ibarrier()
    while True:
        progress.poll()
        with progress.lock:
            channel.serve()
            if request.Test():
                break
            if channel.has_lost_one():
                return
        time.sleep(0.002)
    progress.end()
    library.Finalize()
