"""Indices that a kernel finds out of range. The host does not wait for it: it is told later.

Note [Faults on a GPU]
~~~~~~~~~~~~~~~~~~~~~~
Whether all indices are in range is known when the GPU has looked at them. To wait for that would let the GPU run dry:
a kernel that meets a wrong one notes it in memory that both sides see, and takes another index in its place, so that
nothing else is overwritten. The host looks there, at no cost, before it starts the next such kernel, and after it has
waited for the GPU for another reason (`synchronize`, `cpu`, `item`): there the error is raised.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

LATE: Final = (
    " A GPU found this after the call that asked for it had returned; the state of the program is that of now, not of "
    "then. Run it on the CPU to see the line."
)
TARGET, INDEX = 1, 2
MESSAGES: Final = {
    TARGET: "Target {value} is out of bounds. The input has {limit} classes, counted from 0.",
    INDEX: "index {value} is out of bounds: the dimension has the size {limit}.",
}


class Faults:
    """What kernels have noted: the kind of fault, the index, and the size that it exceeds."""

    def __init__(self, cupy: Any) -> None:
        self.cupy = cupy
        self.memory: Any = None
        self.noted: Any = None

    def place(self) -> int:
        """The address where kernels note faults; raises what has been noted before."""
        if self.noted is None:
            self.memory = self.cupy.cuda.alloc_pinned_memory(64)
            self.noted = np.frombuffer(self.memory, np.int64, 4)
            self.noted[:] = 0
        self.check()
        found: int = self.memory.ptr
        return found

    def check(self) -> None:
        """Raises what kernels have noted."""
        if self.noted is not None and self.noted[0]:
            kind, value, limit = (int(n) for n in self.noted[:3])
            self.noted[0] = 0
            raise IndexError(MESSAGES[kind].format(value=value, limit=limit) + LATE)
