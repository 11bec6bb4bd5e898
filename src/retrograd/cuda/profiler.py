"""Which part of a program NVIDIA's profilers look at, as `torch.cuda.profiler`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from retrograd.cuda.devices import library

__all__ = ["profile", "start", "stop"]


def start() -> None:
    """From here on."""
    library().cuda.runtime.profilerStart()


def stop() -> None:
    """Up to here."""
    library().cuda.runtime.profilerStop()


@contextmanager
def profile() -> Iterator[None]:
    """This block."""
    start()
    try:
        yield
    finally:
        stop()
