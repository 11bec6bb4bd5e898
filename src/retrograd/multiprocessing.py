"""Processes, as `torch.multiprocessing`: Python's own module, and `spawn`.

Tensors are copied to other processes, unless `share_memory_()` has moved them to memory that processes share; gradients
stay where they are.
"""

from __future__ import annotations

import math
import multiprocessing
import signal
import sys
import time
import traceback
from collections.abc import Callable
from multiprocessing import *  # noqa: F403 - what `torch.multiprocessing` does
from typing import Any

__all__ = [  # noqa: PLE0604 - strings, all of them
    *multiprocessing.__all__,
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "set_sharing_strategy",
    "spawn",
    "start_processes",
]

_COPIES = "file_system"
_LISTENS = 30.0  # seconds in which a process that is told to end may do so


def get_all_sharing_strategies() -> set[str]:
    """How tensors get to other processes. One name, since PyTorch's programs ask for it: they are copied."""
    return {_COPIES}


def get_sharing_strategy() -> str:
    """How tensors get to other processes."""
    return _COPIES


def set_sharing_strategy(new_strategy: str) -> None:
    """Nothing: tensors are copied to other processes."""


class ProcessException(Exception):
    """A process that `spawn` has started has failed."""

    def __init__(self, msg: str, error_index: int, error_pid: int) -> None:
        super().__init__(msg)
        self.msg, self.error_index, self.error_pid, self.pid = msg, error_index, error_pid, error_pid

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.msg, self.error_index, self.error_pid)


class ProcessRaisedException(ProcessException):
    """A process ended with an exception, whose traceback is the message."""


class ProcessExitedException(ProcessException):
    """A process ended by a signal, or with an exit code."""

    def __init__(
        self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None
    ) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.msg, self.error_index, self.error_pid, self.exit_code, self.signal_name)


def _call(fn: Callable[..., Any], i: int, args: tuple[Any, ...], told: Any) -> None:
    """What each process runs; an exception goes back as text."""
    try:
        fn(i, *args)
    except KeyboardInterrupt:
        pass
    except Exception:  # noqa: BLE001 - whatever it is, the parent raises it
        told.put((i, traceback.format_exc()))
        ranks = sys.modules.get("retrograd.distributed.faults")
        if ranks is not None:
            ranks.end_now(1)
        raise SystemExit(1) from None


class ProcessContext:
    """Processes that `spawn` has started."""

    def __init__(self, processes: list[Any], told: Any) -> None:
        self.processes = processes
        self.sentinels: dict[Any, int] = {process.sentinel: i for i, process in enumerate(processes)}
        """The processes that `join` has not seen the end of, by what it waits for."""
        self._told = told

    def pids(self) -> list[int]:
        """The number of each process."""
        return [int(process.pid) for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Waits for processes to end: true when all have. If one has failed, the others are ended, and it raises.

        `grace_period` are seconds in which the others may end by themselves.
        """
        from multiprocessing.connection import wait

        for sentinel in wait(list(self.sentinels), timeout) if self.sentinels else ():
            i = self.sentinels.pop(sentinel)
            self.processes[i].join()
            if self.processes[i].exitcode:
                self._end_all(grace_period or 0)
                self._raise(i)
        return not self.sentinels

    def _end_all(self, grace_period: float) -> None:
        """Ends all processes, one that does not listen by force."""
        for end, seconds in ((None, grace_period), ("terminate", _LISTENS), ("kill", None)):
            for process in self.processes:
                if end is not None and process.is_alive():
                    getattr(process, end)()
            last = math.inf if seconds is None else time.monotonic() + seconds
            for process in self.processes:
                process.join(None if seconds is None else max(0, last - time.monotonic()))

    def _raise(self, i: int) -> None:
        if not self._told.empty():
            i, text = self._told.get()
            raise ProcessRaisedException(
                f"\n\n-- Process {i} terminated with the following error:\n{text}", i, self.processes[i].pid
            )
        pid, code = self.processes[i].pid, self.processes[i].exitcode
        if code < 0:
            name = signal.Signals(-code).name
            raise ProcessExitedException(f"process {i} terminated with signal {name}", i, pid, code, name)
        raise ProcessExitedException(f"process {i} terminated with exit code {code}", i, pid, code)


SpawnContext = ProcessContext


def start_processes(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Calls `fn(i, *args)` in `nprocs` processes, each with its number i; with `join`, waits until all have ended."""
    context: Any = multiprocessing.get_context(start_method)
    told = context.SimpleQueue()
    processes = [
        context.Process(target=_call, args=(fn, i, args, told), daemon=daemon) for i in range(nprocs)
    ]
    for process in processes:
        process.start()
    running = ProcessContext(processes, told)
    if not join:
        return running
    while not running.join():
        pass
    return None


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """`start_processes`, with processes that begin afresh.

    Args:
        fn: a function that can be imported; it gets the number of its process first.
        args: what else it gets.
        nprocs: how many processes.
        join: whether to wait until all have ended. If not, a context to wait by is returned.
        daemon: whether they end with this process.
        start_method: PyTorch's; only "spawn".
    """
    if start_method != "spawn":
        from retrograd.core.places import warn

        warn(
            f"spawn() starts processes by 'spawn', not by {start_method!r}; start_processes() takes the others"
        )
    return start_processes(fn, args, nprocs, join, daemon, "spawn")
