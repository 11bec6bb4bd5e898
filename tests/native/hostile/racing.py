"""Arguments that a thread changes while kernels read them without the GIL. For a process of its own."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from .program import load

N, CALLS = 200_000, 40
FAR = 2**40  # as an index this lies in nobody's memory


def indexed(pack: Any) -> dict[str, tuple[Any, Callable[[], Any]]]:
    """The index array of a call, and the call. There is so much work that it is done without the GIL."""
    index, along = np.zeros(N, "int64"), np.zeros((50, N // 50), "int64")
    table, numbers = np.ones((10, 4), "float32"), np.ones((50, N // 50), "float32")
    rows, target = np.ones((N, 4), "float32"), np.zeros((10, 4), "float32")
    logs, cover = np.ones((N, 3), "float32"), np.zeros((2, 300), "int64")
    planes = np.ones((500, 300), "float32")
    return {
        "take": (index, lambda: pack.take(table, index, 0)),
        "take_along": (along, lambda: pack.take_along(numbers, along, 1)),
        "put_along": (along, lambda: pack.put_along(numbers, along, 1, numbers)),
        "add_along": (along, lambda: pack.add_along(numbers, along, 1, numbers)),
        "sum_rows": (index, lambda: pack.sum_rows(rows, index, 10, -1, False)),
        "add_rows": (index, lambda: pack.add_rows(target, 0, index, rows)),
        "nll": (index, lambda: pack.nll(logs, index, None, 1, -100)),
        "nll_backward": (
            index,
            lambda: pack.nll_backward(np.ones((), "float32"), index, None, 1, -100, (N, 3)),
        ),
        "max_pool_back": (along, lambda: pack.max_pool_back(numbers, along, (50, 100), 1)),
        "max_cover": (cover, lambda: pack.max_cover(planes, (cover,))),
    }


def listed(pack: Any) -> dict[str, tuple[list[Any], Callable[[], list[Any]], Callable[[], Any]]]:
    """The list of arrays of a call, what may be put into it instead, and the call."""

    def arrays() -> list[Any]:
        return [np.ones((4, N // 4), "float32") for _ in range(4)]

    def rows() -> list[Any]:
        return [(*[np.ones(N, "float32") for _ in range(3)], 2.0) for _ in range(4)]

    joined, moved, rates = arrays(), rows(), (0.1, 0.9, 0.0, 0.1, True, False)
    return {
        "join": (joined, arrays, lambda: pack.join(joined, 1, False)),
        "sgd_steps": (moved, rows, lambda: pack.sgd_steps(moved, rates)),
    }


def spoil_index(index: Any) -> None:
    """Makes indices wrong and right again."""
    index.fill(FAR)
    index.fill(0)


def race(change: Callable[[], None], call: Callable[[], Any]) -> None:
    """Calls while another thread changes something."""
    stop = threading.Event()

    def go_on() -> None:
        while not stop.is_set():
            change()

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        for _ in range(CALLS):
            with contextlib.suppress(
                IndexError, RuntimeError
            ):  # a call may have seen that the index is wrong
                call()
    finally:
        stop.set()
        thread.join()


def main(path: str) -> None:
    pack = load(path)
    sys.setswitchinterval(1e-5)
    for name, (index, call) in indexed(pack).items():
        print(name, flush=True)
        race(lambda: spoil_index(index), call)
    for name, (arrays, make, call) in listed(pack).items():
        print(name, flush=True)
        race(lambda: arrays.__setitem__(slice(None), make()), call)


if __name__ == "__main__":
    main(sys.argv[1])
