"""The process that reads ahead: it gets the numbers of batches, and sends the batches back."""

from __future__ import annotations

import random
import signal
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

import numpy as np

from retrograd.engine.threads import set_num_threads
from retrograd.ops.random.generator import manual_seed
from retrograd.utils.data.fetch import Fetch, Source
from retrograd.utils.data.parcel import Parcel, discard, pack, unpack
from retrograd.utils.exceptions import ExceptionWrapper

SHORT = 1 << 14  # bytes: a batch that is no larger travels through the pipe


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """Which worker a process is.

    Args:
        id: its number, from 0.
        num_workers: how many there are.
        seed: of its random numbers.
        dataset: its copy of the dataset.
        rng, worker_method: about workers that are threads, of which there are none here.
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any
    rng: Any = None
    worker_method: str | None = "multiprocessing"


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """Which worker of a DataLoader this process is, with its number, seed and dataset; None in the main process.

    >>> from retrograd.utils.data import get_worker_info
    >>> get_worker_info() is None
    True
    """
    return _info


class Order(NamedTuple):
    """What a worker is to get: a batch, by its place among all and the numbers of its samples."""

    place: int
    numbers: Parcel


class Reopen(NamedTuple):
    """Tells a worker that an epoch begins: what is read one after the other is read from the beginning."""

    epoch: int


class Done(NamedTuple):
    """A batch, or the end of what a worker reads, or an error."""

    place: int
    parcel: Parcel | None
    error: ExceptionWrapper | None


class Worker:
    """What a worker process is started with.

    Args:
        number: which worker it is.
        count: how many there are.
        source: where its batches come from.
        seed: of all workers' random numbers; each adds its own number.
        begin: the user's `worker_init_fn`.
        name: what the names of its segments begin with.
    """

    def __init__(
        self,
        number: int,
        count: int,
        source: Source,
        seed: int,
        begin: Callable[[int], Any] | None,
        name: str,
    ) -> None:
        self.number = number
        self.count = count
        self.source = source
        self.seed = seed
        self.begin = begin
        self.name = name

    def run(self, orders: Connection, results: Connection) -> None:
        """Serves orders until there are no more, or the process that gives them is gone."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the main process hears it too, and says when to stop
        parent = parent_process()
        watched: list[Any] = [orders] if parent is None else [orders, parent.sentinel]
        fetch, failure = self._start()
        sent = 0
        while True:
            if orders not in wait(watched):
                return
            try:
                order = orders.recv()
            except (EOFError, OSError):
                return
            if order is None:
                return
            if isinstance(order, Reopen):
                fetch, failure = self._opened()
                continue
            done = self._done(order, fetch, failure, f"{self.name}{sent}")
            sent += done.parcel is not None and done.parcel.segment is not None
            try:
                results.send(done)
            except OSError:  # nobody is there any more
                if done.parcel is not None:
                    discard(done.parcel)
                return

    def _start(self) -> tuple[Fetch | None, ExceptionWrapper | None]:
        """Random numbers of its own, then what the user wants done, then the dataset."""
        global _info
        set_num_threads(1)
        seed = self.seed + self.number
        random.seed(seed)
        manual_seed(seed)
        words = [self.number, self.seed % 2**32, self.seed // 2**32]
        # Datasets may use the old functions; PyTorch too keeps the streams of NumPy's apart by such a sequence.
        np.random.seed(np.random.SeedSequence(words).generate_state(4))  # noqa: NPY002
        _info = WorkerInfo(self.number, self.count, seed, self.source.dataset)
        try:
            if self.begin is not None:
                self.begin(self.number)
        except Exception:  # noqa: BLE001 - of the user's
            return None, self._failure()
        return self._opened()

    def _opened(self) -> tuple[Fetch | None, ExceptionWrapper | None]:
        try:
            return self.source.open(), None
        except Exception:  # noqa: BLE001 - of the user's
            return None, self._failure()

    def _failure(self) -> ExceptionWrapper:
        """What was raised, on its way to the main process."""
        return ExceptionWrapper(where=f"in DataLoader worker process {self.number}")

    def _done(self, order: Order, fetch: Fetch | None, failure: ExceptionWrapper | None, name: str) -> Done:
        """The result of an order."""
        index = unpack(order.numbers)
        if fetch is None or failure is not None:
            return Done(order.place, None, failure)
        try:
            return Done(order.place, pack(fetch(index), name, SHORT), None)
        except StopIteration:
            if self.source.iterable:
                return Done(order.place, None, None)
            return Done(order.place, None, self._failure())
        except Exception:  # noqa: BLE001 - of the user's
            return Done(order.place, None, self._failure())
