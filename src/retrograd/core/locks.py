"""Work under a lock that an interrupt cannot leave locked.

Note [Locks and interrupts]
~~~~~~~~~~~~~~~~~~~~~~~~~~~
Ctrl-C raises KeyboardInterrupt on the main thread at the beginning of a function or after a call, and since Python 3.14
entering a `with` block is such a call: the lock is taken, the block has not begun, nobody gives the lock back, and the
next one who wants it waits for ever. So where a lock outlives a backward, or workers wait for it, `try` comes before
`acquire`, and the lock is one that knows its owner: to release what is not ours is an error, and means that the
interrupt was first. The locks of one backward are taken by `with`, and an interrupted caller lets go of them all.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def held(lock: threading.RLock, work: Callable[[], T]) -> T:
    """What `work()` returns, called while this thread has the lock."""
    try:
        lock.acquire()
        return work()
    finally:
        try:  # noqa: SIM105 - a call before `release` would be one more moment for an interrupt
            lock.release()
        except RuntimeError:
            pass


def let_go(lock: threading.RLock | threading.Condition) -> None:
    """Gives a lock back as often as this thread has it."""
    try:
        while True:
            lock.release()
    except RuntimeError:
        pass
