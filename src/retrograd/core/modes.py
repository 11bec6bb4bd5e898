"""Thread-local state: grad mode, inference mode, and whether anything special is on.

Note [One fast path]
~~~~~~~~~~~~~~~~~~~~
`ThreadState.special` is a bit set of everything that makes an op leave the fast road: inference mode, saved-tensor
hooks and anomaly mode now; forward levels and recording as they arrive. `apply` tests it once per op, so features that
are off cost a single integer test.
"""

from __future__ import annotations

from typing import Any

from retrograd.core.plain import ThreadLocal

INFERENCE = 1
SAVED_HOOKS = 2  # pack and unpack hooks for saved values
ANOMALY = 4  # nodes remember where they were made


class ThreadState:
    """What one thread has switched on; workers of the engine get a copy of their caller's."""

    grad_enabled: bool = True
    special: int = 0
    sequence_nr: int = 0
    saved_hooks: tuple[Any, ...] = ()  # (pack, unpack) pairs, the innermost last
    check_nan: bool = True  # whether anomaly mode raises on NaN
    running_node: Any = None  # in anomaly mode: the node whose backward runs
    saved_hooks_refused: str = ""  # why hooks may not be used here, if they may not

    def next_sequence_nr(self) -> int:
        """Rises by one with every node made in this thread."""
        number = self.sequence_nr
        self.sequence_nr = number + 1
        return number


LOCAL = ThreadLocal(ThreadState)


def current() -> ThreadState:
    """This thread's state."""
    state: ThreadState = LOCAL.state
    return state


def is_grad_enabled() -> bool:
    """Whether operations are recorded in this thread."""
    return current().grad_enabled


def is_inference_mode_enabled() -> bool:
    """Whether this thread is inside `inference_mode`."""
    return current().special & INFERENCE != 0
