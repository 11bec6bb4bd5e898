"""Processes, as `torch.multiprocessing`: Python's own module, and `spawn`.

Tensors are copied to other processes, unless `share_memory_()` has moved them to memory that processes share; gradients
stay where they are.
"""

from __future__ import annotations

import multiprocessing
import traceback
from collections.abc import Callable
from multiprocessing import *  # noqa: F403 - what `torch.multiprocessing` does
from typing import Any

__all__ = [  # noqa: PLE0604 - strings, all of them
    *multiprocessing.__all__,
    "ProcessExitedException",
    "ProcessRaisedException",
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "set_sharing_strategy",
    "spawn",
    "start_processes",
]

_COPIES = "file_system"


def get_all_sharing_strategies() -> set[str]:
    """How tensors get to other processes. One name, since PyTorch's programs ask for it: they are copied."""
    return {_COPIES}


def get_sharing_strategy() -> str:
    """How tensors get to other processes."""
    return _COPIES


def set_sharing_strategy(new_strategy: str) -> None:
    """Nothing: tensors are copied to other processes."""


class ProcessRaisedException(Exception):
    """A process ended with an exception, whose traceback is the message."""

    error_index: int
    error_pid: int

    def __init__(self, msg: str, error_index: int, error_pid: int) -> None:
        super().__init__(msg)
        self.error_index, self.error_pid = error_index, error_pid


class ProcessExitedException(Exception):
    """A process ended by a signal, or with an exit code."""

    error_index: int
    error_pid: int
    exit_code: int

    def __init__(self, msg: str, error_index: int, error_pid: int, exit_code: int) -> None:
        super().__init__(msg)
        self.error_index, self.error_pid, self.exit_code = error_index, error_pid, exit_code


def _call(fn: Callable[..., Any], i: int, args: tuple[Any, ...], told: Any) -> None:
    """What each process runs; an exception goes back as text."""
    try:
        fn(i, *args)
    except KeyboardInterrupt:
        pass
    except Exception:  # noqa: BLE001 - whatever it is, the parent raises it
        told.put((i, traceback.format_exc()))
        raise SystemExit(1) from None


class ProcessContext:
    """Processes that `spawn` has started."""

    def __init__(self, processes: list[Any], told: Any) -> None:
        self.processes = processes
        self._told = told

    def pids(self) -> list[int]:
        """The number of each process."""
        return [int(process.pid) for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Waits for processes to end: true when all have. If one has failed, the others are ended, and it raises."""
        from multiprocessing.connection import wait

        running = {p.sentinel: i for i, p in enumerate(self.processes) if p.exitcode is None}
        if running:
            wait(list(running), timeout)
        failed = next((i for i, p in enumerate(self.processes) if p.exitcode), None)
        if failed is None:
            return all(p.exitcode == 0 for p in self.processes)
        for process in self.processes:
            if process.is_alive():
                process.terminate()
            process.join(grace_period)
        self._raise(failed)
        return False

    def _raise(self, i: int) -> None:
        process = self.processes[i]
        if not self._told.empty():
            i, text = self._told.get()
            raise ProcessRaisedException(
                f"\n\n-- Process {i} terminated with the following error:\n{text}", i, self.processes[i].pid
            )
        raise ProcessExitedException(
            f"process {i} terminated with exit code {process.exitcode}", i, process.pid, process.exitcode
        )


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
