"""The engine's threads: workers for devices and for large CPU nodes, and fresh stacks for deep re-entry.

No other file starts a thread.

Note [Threads]
~~~~~~~~~~~~~~
Workers start when first needed, wait for ever, and are daemons: they hold up no exit, and `atexit` tells those that are
idle to go. They run built-in formulas only. Everything a user wrote (hooks, custom Functions, unpack hooks, callbacks)
runs on the thread that called backward, so a hook that blocks holds up nobody else, and a debugger stops where it is
expected to. A forked child has none of its parent's threads: it forgets them and starts its own.

Not always is there a thread to be had: a system limits how many, and Python starts none while it shuts down, though
exit handlers and finalisers may still run backwards. Then the calling thread does the work of those that are missing.

Python may run a finaliser, and so a user's backward, inside any of the blocks below that hold a lock: so locks are
re-entrant, and a worker to which that happens serves such a backward alone, because it cannot wait for itself.

An interrupt that arrives just before a thread falls asleep does not wake it: Python has noted it, and looks at its
notes when the wait is over. So a caller who waits for other threads looks up every `BLINK` seconds.
"""

from __future__ import annotations

import atexit
import contextvars
import os
import sys
import threading
from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from itertools import count
from queue import SimpleQueue
from types import FrameType
from typing import Any

from retrograd.backends.device import device
from retrograd.backends.pack import PACK
from retrograd.backends.quiet import QUIET, hush
from retrograd.core.locks import held
from retrograd.core.modes import current
from retrograd.forks import at_fork

MOST_NESTED = 60  # backwards inside backwards on one stack, as in PyTorch
BLINK = 0.1  # seconds; see Note [Threads]
FRAMES_TO_SPARE = 300  # of Python's stack, for a nested backward and the user's code in it

# A job's priority: deeper re-entry first, then the order of its backward.
Priority = tuple[int, int]
Job = Callable[[], None]


class JobQueue:
    """A priority queue that threads wait at.

    Without a lock that an interrupt could leave locked: the calls are single steps in C. There is a token for each job,
    and one more for each push that was interrupted.
    """

    def __init__(self) -> None:
        self.heap: list[tuple[Priority, int, Job | None]] = []
        self.tokens: SimpleQueue[None] = SimpleQueue()
        self.numbers: Iterator[int] = count()

    def push(self, priority: Priority, job: Job | None) -> None:
        """Adds a job; None sends one worker home."""
        try:
            heappush(self.heap, (priority, next(self.numbers), job))
        finally:
            self.tokens.put(None)

    def pop(self) -> Job | None:
        """Waits for the job of the highest priority."""
        while True:
            self.tokens.get()
            if self.heap:
                return heappop(self.heap)[2]


class Workers:
    """A queue and the threads that serve it; they start as they are needed."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.queue: JobQueue = JobQueue()
        self.threads: list[threading.Thread] = []
        self.wanted: int = 0  # the most that anybody asked for
        self.starting: threading.RLock = threading.RLock()

    def ensure(self, wanted: int) -> int:
        """Has `wanted` threads serve the queue if they can be had; how many of them do."""
        self.wanted = max(self.wanted, wanted)
        while len(self.threads) < wanted and held(self.starting, self._start_one):
            pass
        return min(len(self.threads), wanted)

    def _start_one(self) -> bool:
        """One more thread, if there are still too few; False if none can be had."""
        if len(self.threads) >= self.wanted:
            return True
        name = f"retrograd-{self.name}-{len(self.threads)}"
        thread = threading.Thread(target=_serve, args=(self.queue,), name=name, daemon=True)
        if not _start(thread):
            return False
        self.threads.append(thread)
        return True

    def stop(self) -> None:
        """Sends every thread home after the jobs before it, and waits a moment for them."""
        for _ in self.threads:
            self.queue.push((1, 0), None)
        for thread in self.threads:
            thread.join(0.5)


def _start(thread: threading.Thread) -> bool:
    """Starts a thread if one can be had. See Note [Threads]."""
    if sys.is_finalizing():  # before Python 3.12 the thread would never run, and this one wait for it
        return False
    try:
        thread.start()
    except RuntimeError:
        return False
    return True


def _serve(queue: JobQueue) -> None:
    """A worker's life. A job takes care of its own errors."""
    hush(QUIET)
    current().multithreading = False
    while (job := queue.pop()) is not None:
        job()
        del job  # a finished job must not keep its arrays alive while the worker waits


class Threads:
    """All threads of this process's engine."""

    def __init__(self) -> None:
        self.cpu: Workers = Workers("cpu")
        self.devices: dict[device, Workers] = {}

    def of_device(self, where: device) -> Workers | None:
        """The single worker of a device; None if it cannot be had."""
        found = self.devices.get(where)
        if found is None:
            found = self.devices.setdefault(where, Workers(str(where)))
        return found if found.ensure(1) else None

    def stop(self) -> None:
        """Ends idle workers at the interpreter's exit."""
        for workers in (self.cpu, *self.devices.values()):
            workers.stop()


class ThreadSettings:
    """How many threads may work at once: `set_num_threads` and its relatives."""

    num_threads: int = 0  # 0: as many as the machine has
    num_interop_threads: int = 0

    def threads(self) -> int:
        """How many threads may serve one backward, the caller among them."""
        if not self.num_threads:
            self.num_threads = available_cpus()
        return self.num_threads


SETTINGS = ThreadSettings()
THREADS = Threads()


def available_cpus() -> int:
    """The CPUs this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def get_num_threads() -> int:
    """How many threads a backward may use, the calling one among them."""
    return SETTINGS.threads()


def set_num_threads(count: int) -> None:
    """Lets native kernels, and large independent branches of a backward, use `count` threads, the caller among them.

    Gradients are the same to the last bit whatever the number. Matrix products that NumPy's BLAS computes, large ones
    and all where there is no native pack, use the threads that BLAS is set to use, whatever this number, because BLAS
    rounds differently when it divides a product otherwise.

    >>> import retrograd as rg
    >>> before = rg.get_num_threads()
    >>> rg.set_num_threads(1); rg.get_num_threads()
    1
    >>> rg.set_num_threads(before)
    """
    SETTINGS.num_threads = _checked("set_num_threads", count)
    if PACK is not None:
        PACK.set_threads(SETTINGS.num_threads)


def get_num_interop_threads() -> int:
    """How many independent computations may run at once; kept for programs that ask."""
    return SETTINGS.num_interop_threads or available_cpus()


def set_num_interop_threads(count: int) -> None:
    """Sets what `get_num_interop_threads` says; here one setting, `set_num_threads`, governs all threads."""
    SETTINGS.num_interop_threads = _checked("set_num_interop_threads", count)


def _checked(function: str, count: object) -> int:
    if isinstance(count, bool) or not isinstance(count, int):
        raise RuntimeError(f"{function} expects an int, but got {type(count).__name__}")
    if count < 1:
        raise RuntimeError(f"{function} expects a positive integer; got {count}")
    return count


# -- fresh stacks ----------------------------------------------------------------------------------------------------


class Call:
    """A function that runs on a thread of its own while its caller waits."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self.function = function
        self.process: int = os.getpid()
        self.taken: threading.Lock = threading.Lock()  # by the thread that calls the function
        self.done: threading.Event = threading.Event()
        self.error: BaseException | None = None

    def run(self) -> None:
        """Runs on the new thread."""
        if not self.taken.acquire(blocking=False):
            return
        hush(QUIET)
        try:
            self.function()
        except BaseException as error:  # noqa: BLE001 - it is the caller's
            self.error = error
            if self.process != os.getpid():
                _end_child(error)
        finally:
            self.done.set()

    def wait(self, stop: Callable[[BaseException], None], interrupt: BaseException | None = None) -> None:
        """Waits for the end of it; an interrupt of the caller stops the function and is raised when it has ended."""
        while True:
            try:
                if interrupt is not None:
                    self.error = interrupt
                    stop(interrupt)
                while not self.done.wait(BLINK):
                    pass
                break
            except BaseException as another:  # noqa: BLE001 - whatever it is, it is raised in the end
                interrupt = another


def raise_and_forget(holder: Any) -> None:
    """Raises `holder.error`, if there is one. An error holds its frames, and must not be held by what they hold."""
    error, holder.error = holder.error, None
    try:
        if error is not None:
            raise error
    finally:
        del error


def on_fresh_stack(function: Callable[[], None], stop: Callable[[BaseException], None]) -> None:
    """Calls `function` with an empty stack, if there is one; `stop` tells it that its caller was interrupted."""
    call = Call(function)
    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(call.run,), name="retrograd-reentry", daemon=True)
    interrupt: BaseException | None = None
    started = True
    try:
        started = _start(thread)
    except BaseException as error:  # noqa: BLE001 - the thread is about to run
        interrupt = error
    # What looks like a failure may be a signal's handler, which has raised an error while the thread was about to run.
    if not started and call.taken.acquire(blocking=False):
        function()
        return
    call.wait(stop, interrupt)
    interrupt = None
    raise_and_forget(call)


def _end_child(error: BaseException) -> None:
    """In a child that was forked on a fresh stack: nobody waits for the error there, so the child ends with it."""
    sys.excepthook(type(error), error, error.__traceback__)
    os._exit(1)


def stack_is_deep(depth: int) -> bool:
    """Whether a backward nested so deep should go on with a fresh stack: Python's own is limited."""
    if depth % MOST_NESTED == 0:
        return True
    return depth % 4 == 0 and _frames_in_use() > sys.getrecursionlimit() - FRAMES_TO_SPARE


def _frames_in_use() -> int:
    count = 0
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        count += 1
        frame = frame.f_back
    return count


def _forget_threads() -> None:
    """In a forked child: its parent's threads are not there."""
    global THREADS
    THREADS = Threads()


def _stop() -> None:
    """At exit; a backward in a later exit handler starts workers of its own."""
    global THREADS
    ending, THREADS = THREADS, Threads()
    ending.stop()


at_fork(after_in_child=_forget_threads)
atexit.register(_stop)
