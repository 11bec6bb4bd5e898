"""Marks and ranges for NVIDIA's profilers, as `torch.cuda.nvtx`."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from retrograd.cuda.devices import library

__all__ = ["mark", "range", "range_pop", "range_push"]


class Depth(threading.local):
    """How many ranges this thread is in."""

    count = 0


DEPTH = Depth()


def _nvtx() -> Any:
    try:
        return library().cuda.nvtx
    except AssertionError as error:
        raise RuntimeError(
            f"NVTX functions not installed. Are you sure you have a CUDA build? {error}"
        ) from error


def range_push(msg: str) -> int:
    """Begins a range; gives how many there are around it."""
    _nvtx().RangePush(msg)
    DEPTH.count += 1
    return DEPTH.count - 1


def range_pop() -> int:
    """Ends the innermost range; gives how many there are around it."""
    _nvtx().RangePop()
    DEPTH.count -= 1
    return DEPTH.count


def mark(msg: str) -> None:
    """Marks a moment."""
    _nvtx().Mark(msg)


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """A block, or a function that it decorates, as a range; `msg` is formatted with the other arguments."""
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()
