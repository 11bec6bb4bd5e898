"""Tries in a process of their own: now and then one of them crashes PyTorch, and the next one goes on."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator
from typing import Any

APART = 10_000_000  # tries of one seed, before those of the next


def each(examine: Callable[[int], Any], seed: int, count: int, seconds: int) -> Iterator[Any]:
    """What is found in so many tries, of which each may take so long."""
    at = seed * APART
    end = at + count
    while at < end:
        receive, send = multiprocessing.Pipe(duplex=False)
        child = multiprocessing.get_context("fork").Process(
            target=_each, args=(examine, at, end, seconds, send)
        )
        child.start()
        send.close()
        try:
            while True:
                at, finding = receive.recv()
                if finding is not None:
                    yield finding
        except EOFError:
            child.join()
        at += 1  # where the process ended: at the end, or in a try that ended it


def _each(examine: Callable[[int], Any], at: int, end: int, seconds: int, send: Any) -> None:
    for number in range(at, end):
        send.send((number, None))
        signal.alarm(seconds)
        found = examine(number)
        signal.alarm(0)
        if found is not None:
            send.send((number, found))
