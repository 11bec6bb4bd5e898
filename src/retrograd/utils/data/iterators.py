"""Going through a loader once: in this process, or with workers that read ahead."""

from __future__ import annotations

import multiprocessing
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from retrograd.backends.base import accelerator
from retrograd.core.places import warn
from retrograd.utils.data.collate import pinned
from retrograd.utils.data.fetch import DatasetKind, Source
from retrograd.utils.data.parcel import unpack
from retrograd.utils.data.pool import MOST_ORDERS, BrokenPool, Pool
from retrograd.utils.data.sampler import drawn_seed

if TYPE_CHECKING:
    from retrograd.utils.data.dataloader import DataLoader


def _source(loader: DataLoader[Any]) -> Source:
    """What packages that bring a loader of their own have to tell of it, under PyTorch's names."""
    iterable = loader._dataset_kind == DatasetKind.Iterable
    return Source(loader.dataset, iterable, loader._auto_collation, loader.collate_fn, loader.drop_last)


class LoaderIterator:
    """One epoch of a loader."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        self._loader = loader
        self._promised = (
            loader._IterableDataset_len_called
        )  # by a len() before this: list() asks for one after it
        self._base_seed = drawn_seed(loader.generator)
        self._pins = bool(loader.pin_memory) and accelerator() is not None
        self._begin()

    def _begin(self) -> None:
        self._indices: Iterator[Any] = iter(self._loader._index_sampler)
        self._yielded = 0

    def __iter__(self) -> LoaderIterator:
        return self

    def __len__(self) -> int:
        return len(self._loader._index_sampler)

    def __reduce__(self) -> Any:
        raise NotImplementedError(
            f"{type(self).__name__} cannot be pickled: it is where one process is in its loader"
        )

    def __next__(self) -> Any:
        batch = pinned(self._next()) if self._pins else self._next()
        self._yielded += 1
        expected = self._promised
        if expected is not None and self._yielded > expected:
            warn(
                f"Length of IterableDataset {self._loader.dataset} was reported to be {expected} (when accessing "
                f"len(dataloader)), but {self._yielded} samples have been fetched. With workers, each must read a part "
                "of its own: see get_worker_info()."
            )
        return batch

    def _next(self) -> Any:
        raise NotImplementedError


class SingleProcess(LoaderIterator):
    """Batches are got when they are asked for."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        if loader.timeout != 0:
            raise AssertionError("timeout needs workers: num_workers is 0")
        self._fetch = _source(loader).open()

    def _next(self) -> Any:
        return self._fetch(next(self._indices))


class MultiProcess(LoaderIterator):
    """Batches are ordered from workers ahead of time, and given out in order, or as they come."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        if loader.prefetch_factor == 0:
            raise AssertionError(
                "prefetch_factor must be greater than 0: workers read ahead, or nothing is read"
            )
        super().__init__(loader)
        context = loader.multiprocessing_context or multiprocessing.get_context()
        self._pool = Pool(
            context, loader.num_workers, _source(loader), self._base_seed, loader.worker_init_fn
        )
        self._ahead = min(loader.prefetch_factor or 1, MOST_ORDERS)
        # Not a bound method: this must not keep the iterator alive. It runs at exit, too.
        self._stop = weakref.finalize(self, self._pool.stop)
        self._begin_orders()

    @property
    def _workers(self) -> list[Any]:
        """The processes, as programs that watch them ask for them."""
        return self._pool._processes

    def _begin_orders(self) -> None:
        self._ordered = 0  # the place of the next order
        self._next_place = 0  # the place of the batch that is given out next
        self._turn = 0  # the worker that gets the next order
        self._reading = set(
            range(self._loader.num_workers)
        )  # those that have not come to the end of what they read
        for _ in range(self._ahead * self._loader.num_workers):
            self._order()

    def reset(self) -> MultiProcess:
        """Begins another epoch with the same workers."""
        self._clear()
        self._begin()
        self._pool.reopen(0)
        self._begin_orders()
        return self

    def _clear(self) -> None:
        """Waits for the results of an epoch that nobody wants any more."""
        while any(self._pool.waiting):
            self._pool.receive(None)
        self._pool.forget()

    def _order(self) -> None:
        """Orders the next batch from the next worker that has room."""
        for _ in range(self._loader.num_workers):
            worker = self._turn
            self._turn = (worker + 1) % self._loader.num_workers
            if worker in self._reading and self._pool.waiting[worker] < self._ahead:
                break
        else:
            return
        index = next(self._indices, _NONE)
        if index is not _NONE:
            self._pool.order(worker, self._ordered, index)
            self._ordered += 1

    def _next(self) -> Any:
        try:
            while True:
                place = self._available()
                if place is None:
                    if self._next_place >= self._ordered and not any(self._pool.waiting):
                        self._end()
                        raise StopIteration
                    self._wait()
                    continue
                done = self._pool.arrived[place]
                if done.error is not None or done.parcel is not None:
                    self._order()  # may fail, and then the result is still among those that the pool throws away
                del self._pool.arrived[place]
                self._next_place += 1
                if done.error is not None:
                    done.error.reraise()
                if done.parcel is not None:  # else that worker has come to its end
                    return unpack(done.parcel)
        except (KeyboardInterrupt, BrokenPool):
            self._stop()
            raise

    def _available(self) -> int | None:
        """The place of a batch that can be given out now."""
        if not self._loader.in_order:
            return next(iter(self._pool.arrived), None)
        return self._next_place if self._next_place in self._pool.arrived else None

    def _wait(self) -> None:
        """Waits until a result comes."""
        timeout = self._loader.timeout or None
        results = self._pool.receive(timeout)
        if not results:
            raise BrokenPool(f"DataLoader timed out after {timeout} seconds")
        for worker, done in results:
            if done.error is None and done.parcel is None:
                self._reading.discard(worker)
                self._order()

    def _end(self) -> None:
        """All batches have been given out."""
        if not self._loader.persistent_workers:
            self._stop()


_NONE: Any = object()
