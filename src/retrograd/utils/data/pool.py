"""The worker processes of a loader: started, given orders, listened to, and stopped, whatever happens."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import resource_tracker
from multiprocessing.connection import wait
from typing import Any

from retrograd.utils.data.fetch import Source
from retrograd.utils.data.parcel import HAS_SEGMENTS, discard, pack, remove
from retrograd.utils.data.worker import Done, Order, Reopen, Worker

# How many orders a worker may have at once. Orders are short, and so many fit into a pipe: to send one never blocks.
MOST_ORDERS = 32
SHORT_ORDER = 512  # bytes
PATIENCE = 5.0  # seconds that a worker has to end by itself


class BrokenPool(RuntimeError):
    """A worker is gone, or does not answer: the others are of no use any more."""


class Pool:
    """Worker processes.

    Args:
        context: of multiprocessing: how processes are started.
        count: how many there are.
        source: where their batches come from.
        seed: of their random numbers.
        begin: the user's `worker_init_fn`.
    """

    def __init__(
        self, context: Any, count: int, source: Source, seed: int, begin: Callable[[int], Any] | None
    ) -> None:
        if HAS_SEGMENTS:
            resource_tracker.ensure_running()  # one for all processes: see Note [Parcels]
        self._owner = os.getpid()
        self._name = f"rg{self._owner}_{secrets.token_hex(4)}"
        self._orders: list[Any] = []
        self._results: list[Any] = []
        self._processes: list[Any] = []
        self._made = 0  # segments with orders
        self._received = [0] * count  # segments with batches, by worker
        self.waiting: list[int] = [0] * count  # orders that have no result yet, by worker
        self.arrived: dict[int, Done] = {}  # results that nobody has taken yet, by place
        try:
            for number in range(count):
                self._add(context, Worker(number, count, source, seed, begin, f"{self._name}_{number}_"))
        except BaseException:
            self.stop()
            raise

    def _add(self, context: Any, worker: Worker) -> None:
        orders, send = context.Pipe(duplex=False)
        receive, results = context.Pipe(duplex=False)
        process = context.Process(target=worker.run, args=(orders, results), daemon=True)
        process.start()
        orders.close()
        results.close()
        self._orders.append(send)
        self._results.append(receive)
        self._processes.append(process)

    def order(self, worker: int, place: int, index: Any) -> None:
        """Orders a batch from a worker."""
        parcel = pack(index, f"{self._name}_{self._made}", SHORT_ORDER)
        self._made += parcel.segment is not None
        self.waiting[worker] += 1
        try:
            self._orders[worker].send(Order(place, parcel))
        except OSError:
            discard(parcel)
            raise self._dead(worker) from None

    def reopen(self, epoch: int) -> None:
        """Lets all workers begin an epoch."""
        for worker, pipe in enumerate(self._orders):
            try:
                pipe.send(Reopen(epoch))
            except OSError:
                raise self._dead(worker) from None

    def receive(self, timeout: float | None) -> list[tuple[int, Done]]:
        """Waits for results, adds them to those that have arrived, and says from which workers they are.

        There are none if it takes longer than `timeout`.
        """
        sentinels = {process.sentinel: i for i, process in enumerate(self._processes)}
        pipes = {pipe: i for i, pipe in enumerate(self._results)}
        ready = wait([*pipes, *sentinels], timeout)
        found = [(pipes[pipe], pipe) for pipe in ready if pipe in pipes]
        results = [(worker, done) for worker, pipe in found for done in self._read(worker, pipe)]
        if not results:
            for handle in ready:
                if handle in sentinels:
                    raise self._dead(sentinels[handle])
        return results

    def _read(self, worker: int, pipe: Any) -> list[Done]:
        try:
            done: Done = pipe.recv()
        except (EOFError, OSError):
            raise self._dead(worker) from None
        self.waiting[worker] -= 1
        self._received[worker] += done.parcel is not None and done.parcel.segment is not None
        self.arrived[done.place] = done
        return [done]

    def forget(self) -> None:
        """Throws away results that nobody wants any more."""
        while self.arrived:
            _, done = self.arrived.popitem()
            if done.parcel is not None:
                discard(done.parcel)

    def _dead(self, worker: int) -> BrokenPool:
        """The error of a worker that is gone."""
        process = self._processes[worker]
        process.join(1.0)
        code = process.exitcode
        how = (
            f"was killed by signal {-code}"
            if code is not None and code < 0
            else f"ended with exit code {code}"
        )
        return BrokenPool(
            f"DataLoader worker (pid(s) {process.pid}) exited unexpectedly: it {how}. If it was killed, memory may "
            "have run out; run with num_workers=0 to see an error in its own place."
        )

    def stop(self) -> None:
        """Ends all workers, and removes what they have left; in a fork of this process it does nothing."""
        if os.getpid() != self._owner:
            return
        for pipe in self._orders:
            with suppress(OSError):
                pipe.send(None)
            pipe.close()
        for worker, pipe in enumerate(self._results):
            self._drain(worker, pipe)
        for process in self._processes:
            process.join(PATIENCE)
            for end in (process.terminate, process.kill):
                if process.is_alive():
                    end()
                    process.join(PATIENCE)
        for worker, pipe in enumerate(self._results):
            self._drain(worker, pipe)
            pipe.close()
        self.forget()
        self._remove_the_rest()
        self._orders, self._results, self._processes = [], [], []

    def _drain(self, worker: int, pipe: Any) -> None:
        """Takes results that nobody wants out of a pipe, so that a worker that wants to send one can end."""
        with suppress(EOFError, OSError):
            while pipe.poll():
                done = pipe.recv()
                self._received[worker] += done.parcel is not None and done.parcel.segment is not None
                if done.parcel is not None:
                    discard(done.parcel)

    def _remove_the_rest(self) -> None:
        """Segments of workers that were killed before they could say that they had made them, or read an order."""
        for worker, received in enumerate(self._received):
            for number in range(received, received + 2):
                remove(f"{self._name}_{worker}_{number}")
        for number in range(max(0, self._made - MOST_ORDERS * len(self._received)), self._made):
            remove(f"{self._name}_{number}")
