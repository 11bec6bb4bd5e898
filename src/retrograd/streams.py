"""Queues of work on whatever device, and marks in them, as `torch.Stream` and `torch.Event`.

On a GPU these are `retrograd.cuda.Stream` and `Event`. On the CPU a call has done its work when it returns: there is
one queue, which is always done.
"""

from __future__ import annotations

from typing import Any

from retrograd import cuda
from retrograd.backends.base import accelerator
from retrograd.backends.device import CPU
from retrograd.backends.device import device as Device

__all__ = ["Event", "Stream"]


def _where(device: Any) -> Device:
    """The device meant: None is the accelerator, or else the CPU."""
    found = accelerator()
    if device is None:
        return CPU if found is None else found
    if isinstance(device, int):
        if found is None:
            raise RuntimeError(
                "Cannot access accelerator device when none is available: a number is that of a GPU, and there is none"
            )
        return Device(found.type, device)
    where = device if isinstance(device, Device) else Device(device)
    if where.type != "cpu" and (found is None or found.type != where.type):
        raise RuntimeError(f"PyTorch is not linked with support for {where.type} devices: there is none here")
    return where


def _no_marks() -> RuntimeError:
    return RuntimeError(
        "cpu backend doesn't support events: what was called on the CPU is done when it returns"
    )


class Stream:
    """A queue of work: what is put into it runs in order, beside what other queues do.

    Args:
        device: where; the accelerator if None, or else the CPU.
        priority: -1 for work that goes first, on a GPU.

    >>> Stream(device="cpu").query()
    True
    """

    device = CPU
    device_index = -1
    device_type = 0
    stream_id = 0

    def __new__(cls, device: Any = None, *, priority: int = 0) -> Any:
        where = _where(device)
        return cuda.Stream(where, priority) if where.type == "cuda" else super().__new__(cls)

    def query(self) -> bool:
        """Whether all its work is done."""
        return True

    def synchronize(self) -> None:
        """Waits until all its work is done."""

    def record_event(self, event: Event | None = None) -> Event:
        """Puts a mark behind the work that it has so far: a GPU's do."""
        raise _no_marks()

    def wait_event(self, event: Event) -> None:
        """What comes next waits until another queue has come to a mark."""

    def wait_stream(self, other: Stream) -> None:
        """What comes next waits for all work that another queue has so far: a GPU's do."""
        raise _no_marks()

    def is_capturing(self) -> bool:
        """Whether its work is captured and not done: never."""
        return False

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing to undo: there is one queue."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream)

    def __hash__(self) -> int:
        return hash(Stream)

    def __repr__(self) -> str:
        return f"torch.Stream device_type=cpu, device_index={self.device_index}, stream_id={self.stream_id}"


class Event:
    """A mark in a queue of work.

    Args:
        device: where; the accelerator if None, or else the CPU.
        enable_timing: whether `elapsed_time` will be asked for.
        blocking, interprocess: as those of `cuda.Event`.

    >>> Event(device="cpu").query()
    True
    """

    device = CPU
    event_id = 0

    def __new__(
        cls,
        device: Any = None,
        *,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
    ) -> Any:
        where = _where(device)
        if where.type == "cuda":
            return cuda.Event(enable_timing, blocking, interprocess)
        made = super().__new__(cls)
        made._flag = int(enable_timing)
        return made

    _flag: int

    def record(self, stream: Stream | None = None) -> None:
        """Puts the mark behind the work that a queue has so far: a GPU's do."""
        raise _no_marks()

    def wait(self, stream: Stream | None = None) -> None:
        """What a queue gets next waits for the mark."""

    def query(self) -> bool:
        """Whether the work before the mark is done."""
        return True

    def synchronize(self) -> None:
        """Waits until it is."""

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this mark to another: a GPU's know."""
        if not (self._flag and end_event._flag):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        raise _no_marks()

    def __repr__(self) -> str:
        return (
            f"torch.Event device_type=cpu, device_index=-1, event_flag={self._flag}, event_id={self.event_id}"
        )
