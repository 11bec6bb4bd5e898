"""DataLoader: batches of a dataset, in an order, read by this process or by others ahead of time."""

from __future__ import annotations

import itertools
import math
import multiprocessing
import os
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from retrograd.backends.base import accelerator
from retrograd.core.places import warn
from retrograd.ops.random.generator import Generator
from retrograd.utils.data.collate import default_collate, default_convert
from retrograd.utils.data.dataset import IterableDataset
from retrograd.utils.data.fetch import DatasetKind as _DatasetKind
from retrograd.utils.data.iterators import LoaderIterator, MultiProcess, SingleProcess
from retrograd.utils.data.iterators import LoaderIterator as _BaseDataLoaderIter  # noqa: F401 - PyTorch's names here
from retrograd.utils.data.iterators import MultiProcess as _MultiProcessingDataLoaderIter  # noqa: F401
from retrograd.utils.data.iterators import SingleProcess as _SingleProcessDataLoaderIter  # noqa: F401
from retrograd.utils.data.sampler import BatchSampler, RandomSampler, SequentialSampler

T_co = TypeVar("T_co", covariant=True)
_FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


class _Forever:
    """The sampler of a dataset that is read one sample after the other: there are no numbers."""

    def __iter__(self) -> Any:
        return itertools.repeat(None)


class DataLoader(Generic[T_co]):
    """Batches of a dataset, one after the other, as often as one iterates.

    Args:
        dataset: has samples by number (`__getitem__`, `__len__`), or one after the other (`IterableDataset`).
        batch_size: how many samples make a batch; None for samples as they are.
        shuffle: read in random order, another one each time.
        sampler: gives the numbers of samples, in the place of `shuffle`.
        batch_sampler: gives lists of numbers, in the place of all of these and of `drop_last`.
        num_workers: how many processes read ahead; 0 to read in this one.
        collate_fn: makes a batch of a list of samples; `default_collate` if None.
        pin_memory: give batches out in memory that a GPU copies from quickly; a warning where there is no GPU.
        pin_memory_device: accepted as PyTorch does; the GPU is known.
        drop_last: leave out the last batch if it is smaller.
        timeout: how many seconds to wait for a worker; 0 for ever.
        worker_init_fn: called in each worker with its number, before it reads.
        multiprocessing_context: how workers are started: "fork", "spawn", "forkserver", or a context.
        generator: of the random numbers for the order and for the seeds of workers.
        prefetch_factor: how many batches each worker reads ahead; 2 if None.
        persistent_workers: keep the workers for the next time.
        in_order: give out batches in their order; False as they come.

    >>> import retrograd as rg
    >>> from retrograd.utils.data import DataLoader
    >>> [batch.tolist() for batch in DataLoader(range(5), batch_size=2)]
    [[0, 1], [2, 3], [4]]
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[list[Any]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        self._check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor: int | None = (
            2 if prefetch_factor is None and num_workers > 0 else prefetch_factor
        )
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        self.persistent_workers = persistent_workers
        self.generator = generator
        self._dataset_kind = (
            _DatasetKind.Iterable if isinstance(dataset, IterableDataset) else _DatasetKind.Map
        )
        self._choose_order(batch_size, shuffle, sampler, batch_sampler, drop_last)
        self.collate_fn: Callable[[Any], Any] = collate_fn or (
            default_collate if self._auto_collation else default_convert
        )
        # How many batches len() has said there are, of what is read in a row.
        self._IterableDataset_len_called: int | None = None
        self._iterator: MultiProcess | None = None
        self._initialized = True
        self.check_worker_number_rationality()

    # -- checks and choices ------------------------------------------------------------------------------------------

    @staticmethod
    def _check_workers(num_workers: int, timeout: float, ahead: int | None, persistent: bool) -> None:
        if num_workers < 0:
            raise ValueError(
                "num_workers option should be non-negative; use num_workers=0 to disable multiprocessing."
            )
        if timeout < 0:
            raise ValueError("timeout option should be non-negative")
        if num_workers == 0 and ahead is not None:
            raise ValueError(
                "prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 to enable "
                "multiprocessing, otherwise set prefetch_factor to None."
            )
        if ahead is not None and ahead < 0:
            raise ValueError("prefetch_factor option should be non-negative")
        if persistent and num_workers == 0:
            raise ValueError("persistent_workers option needs num_workers > 0")

    def _choose_order(
        self, batch_size: int | None, shuffle: bool | None, sampler: Any, batch_sampler: Any, drop_last: bool
    ) -> None:
        """Sets sampler and batch sampler, from the options that say what they are."""
        self._check_order(batch_size, shuffle, sampler, batch_sampler, drop_last)
        if batch_sampler is not None:
            batch_size, drop_last = None, False
        if sampler is None:
            if self._iterable:
                sampler = _Forever()
            elif shuffle:
                sampler = RandomSampler(self.dataset, generator=self.generator)
            else:
                sampler = SequentialSampler(self.dataset)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler

    def _check_order(
        self, batch_size: int | None, shuffle: bool | None, sampler: Any, batch_sampler: Any, drop_last: bool
    ) -> None:
        if self._iterable:
            given = {"shuffle": shuffle or None, "sampler": sampler, "batch_sampler": batch_sampler}
            if shuffle not in (None, False, True):
                given["shuffle"] = shuffle
            for name, value in given.items():
                if value is not None:
                    raise ValueError(
                        f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}"
                    )
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None and (batch_size != 1 or shuffle or sampler is not None or drop_last):
            raise ValueError(
                "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
            )
        if batch_sampler is None and batch_size is None and drop_last:
            raise ValueError(
                "batch_size=None option disables auto-batching and is mutually exclusive with drop_last"
            )

    @property
    def multiprocessing_context(self) -> Any:
        """How workers are started: a context of multiprocessing, or None for Python's default."""
        return self._multiprocessing_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, value: Any) -> None:
        if value is not None:
            if self.num_workers == 0:
                raise ValueError(
                    "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got "
                    "num_workers=0"
                )
            if isinstance(value, str):
                known = multiprocessing.get_all_start_methods()
                if value not in known:
                    raise ValueError(
                        f"multiprocessing_context option should specify a valid start method in {known}, but got "
                        f"multiprocessing_context={value!r}"
                    )
                value = multiprocessing.get_context(value)
            if not isinstance(value, multiprocessing.context.BaseContext):
                raise TypeError(
                    "multiprocessing_context option should be a valid context object or a string specifying the start "
                    f"method, but got multiprocessing_context={value}"
                )
        self._multiprocessing_context = value

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _FIXED and self.__dict__.get("_initialized"):
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    def check_worker_number_rationality(self) -> None:
        """Warns of more workers than there are processors for them."""
        usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        if usable is not None and self.num_workers > usable:
            warn(
                f"This DataLoader will create {self.num_workers} worker processes in total. Our suggested max number "
                f"of worker in current system is {usable}, which is smaller than what this DataLoader is going to "
                "create. More workers than processors are slower."
            )

    # -- going through it --------------------------------------------------------------------------------------------

    @property
    def _index_sampler(self) -> Any:
        """Gives what one batch is made of: a list of numbers, or a number."""
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    @property
    def _auto_collation(self) -> bool:
        """Whether samples are made into batches."""
        return self.batch_sampler is not None

    @property
    def _iterable(self) -> bool:
        return self._dataset_kind == _DatasetKind.Iterable

    def __iter__(self) -> LoaderIterator:
        if self.pin_memory and accelerator() is None:
            warn(
                "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be "
                "used."
            )
        if self.num_workers == 0:
            return SingleProcess(self)
        if not self.persistent_workers:
            return MultiProcess(self)
        if self._iterator is None or not self._iterator._stop.alive:
            self._iterator = MultiProcess(self)
            return self._iterator
        return self._iterator.reset()

    def __len__(self) -> int:
        if not self._iterable:
            return len(self._index_sampler)
        length = len(self.dataset)
        self._IterableDataset_len_called = length
        if self.batch_size is not None:
            share = length / self.batch_size
            length = math.floor(share) if self.drop_last else math.ceil(share)
        self._IterableDataset_len_called = length
        return length
