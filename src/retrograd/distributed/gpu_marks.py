"""Points in a GPU's work that operations wait for."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

from retrograd.values import Array


@cache
def cupy() -> Any:
    """CuPy, which is there if there are arrays on a GPU."""
    return importlib.import_module("cupy")


class Mark:
    """The end of what a stream was given to do so far: the current stream of the calling thread, or one that is named.

    What the program has queued for an array is over when the mark is reached, whichever thread then reads the array.
    """

    def __init__(self, device: int, stream: Any = None) -> None:
        self.device = device
        with cupy().cuda.Device(device):
            stream = cupy().cuda.get_current_stream() if stream is None else stream
            self.event: Any = stream.record(cupy().cuda.Event(disable_timing=True))

    def done(self) -> bool:
        """Whether it has been reached."""
        return bool(self.event.done)


def settle(array: Array) -> None:
    """Waits until the current stream has done what it was given to do, before somebody else reads an array."""
    with cupy().cuda.Device(array.data.device_id):
        cupy().cuda.get_current_stream().synchronize()
