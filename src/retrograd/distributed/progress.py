"""What drives operations to their end: the thread that waits, and one helper thread.

Note [Who calls MPI]
~~~~~~~~~~~~~~~~~~~~
An operation is a generator of *steps*. Between two of them it gives what it waits for: an object whose `done()` says
whether the messages of the step have arrived. The collectives of a group stand in a queue, in the order of the calls,
and the first of the queue is under way: so two that write the same tensor do it one after the other, and MPI, which
matches collectives by their order, sees the same order on all ranks. Messages from one rank to another stand in no
queue.

Steps are run by `Progress.poll`. It is called by the thread that starts an operation, by a thread that waits for one,
in a loop, and otherwise by the one helper thread, as long as anything is under way. All of this happens under one lock,
and MPI is called nowhere else. So it does not matter which thread calls it, and the level MPI_THREAD_SERIALIZED is
enough. Nothing blocks in MPI: a rank that waits can look at the clock, at Ctrl-C and at what the other ranks have to
say, and it leaves the processor to the others when there are more ranks than cores.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Protocol

SPIN = 2e-4  # seconds for which a waiting thread only yields the processor
EAGER = 1e-4  # seconds for which it keeps the processor, where there is one for each rank
NAPS = (
    1e-6,
    5e-4,
)  # the shortest and the longest nap between two looks, which is a hundredth of the time waited
HELPER_NAP = 5e-5
IDLE = 0.25  # seconds between two looks at the other ranks' messages when nothing is under way

yield_processor: Callable[[], Any] = getattr(os, "sched_yield", lambda: time.sleep(0))


class Wait(Protocol):
    """What a step waits for."""

    def done(self) -> bool: ...


Steps = Iterator[Wait]
Queue = deque["Operation"]


class Operation:
    """An operation under way."""

    over: bool

    def __init__(self) -> None:
        self.steps: Steps = iter(())
        self.wait: Wait | None = None
        self.over = False
        self.error: BaseException | None = None
        self.then: list[Callable[[], object]] = []  # called when it is over

    def advance(self) -> bool:
        """Runs as many steps as can be run; whether that was the last one. With the lock."""
        try:
            while self.wait is None or self.wait.done():
                self.wait = next(self.steps)
        except StopIteration:
            self.over = True
        except Exception as error:  # noqa: BLE001 - raised where somebody waits for it
            self.error = error
            self.over = True
        return self.over


class Progress:
    """Everything that is under way in this process. See Note [Who calls MPI]."""

    owner: int

    def __init__(self) -> None:
        self.lock: Any = threading.Lock()
        self.queues: list[Queue] = []  # those with something under way
        self.watch: Callable[[Operation | None, float], None] | None = None
        self.owner = os.getpid()
        self.eager: float = 0.0  # EAGER where each rank of this machine has a processor of its own
        self._wake = threading.Condition(threading.Lock())
        self._waiting = 0  # threads that poll, so that the helper need not
        self._helper: threading.Thread | None = None
        self._ending = False

    def start(self, operation: Operation, queue: Queue | None = None) -> None:
        """Puts an operation into its queue, or into one of its own; the first one there runs its first step."""
        queue = deque() if queue is None else queue
        with self.lock:
            queue.append(operation)
            if len(queue) > 1:
                return
            if operation.advance():
                queue.popleft()
            else:
                self.queues.append(queue)

    def poll(self) -> None:
        """Runs whatever steps can be run, of all operations."""
        ended: list[Operation] = []
        with self.lock:
            for queue in self.queues:
                while queue and queue[0].advance():
                    ended.append(queue.popleft())
            if ended:
                self.queues = [queue for queue in self.queues if queue]
        for operation in ended:
            for call in operation.then:
                call()

    def when_over(self, operation: Operation, call: Callable[[], object]) -> None:
        """Has a function called when an operation is over."""
        with self.lock:
            if not operation.over:
                operation.then.append(call)
                return
        call()

    def wait(self, operation: Operation, seconds: float) -> bool:
        """Waits until an operation is over; False if it is not after so many seconds."""
        begun = looked = time.monotonic()
        self._waiting += 1
        try:
            while True:
                self.poll()
                if operation.over:
                    return True
                now = time.monotonic()
                if now - begun > seconds:
                    return False
                if now - looked > IDLE:
                    looked = now
                    self._look(operation, now - begun)
                waited = now - begun
                if waited > max(SPIN, self.eager):
                    time.sleep(min(max(waited / 100, NAPS[0]), NAPS[1]))
                elif waited > self.eager:
                    yield_processor()
        finally:
            self._waiting -= 1

    def _look(self, operation: Operation | None, waited: float) -> None:
        if self.watch is not None:
            self.watch(operation, waited)

    def help(self) -> None:
        """Has the helper thread look after what is under way."""
        if self._helper is None:
            self._helper = threading.Thread(target=self._run, name="retrograd-distributed", daemon=True)
            self._helper.start()
        elif not self._waiting:
            with self._wake:
                self._wake.notify()

    def _run(self) -> None:
        looked = time.monotonic()
        while not self._ending:
            if self.queues and not self._waiting:
                self.poll()
                time.sleep(HELPER_NAP)
            else:
                with self._wake:
                    self._wake.wait(IDLE)
            if time.monotonic() - looked > IDLE and not self._waiting:
                looked = time.monotonic()
                self._look(None, 0.0)

    def orphaned(self) -> None:
        """In a process that was forked: this is the parent's affair, and the helper thread is not there."""
        self.lock = threading.Lock()
        self._wake = threading.Condition(threading.Lock())
        self._helper, self.queues, self.owner = None, [], -1

    def end(self) -> None:
        """Ends the helper thread."""
        helper, self._helper = self._helper, None
        if helper is None:
            return
        self._ending = True
        with self._wake:
            self._wake.notify()
        helper.join()
        self._ending = False
