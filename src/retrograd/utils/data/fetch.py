"""How a batch is got from a dataset: by the numbers of its samples, or by reading on."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from retrograd.utils.data.dataset import samples_of

# What is got for the numbers of a batch, or for the number of a sample where there are no batches.
Fetch = Callable[[Any], Any]


class DatasetKind:
    """How samples are asked for: by their numbers, or one after the other."""

    Map = 0
    Iterable = 1


class Source:
    """What a worker needs to know of a loader to get batches.

    Args:
        dataset: the samples.
        iterable: whether they are read one after the other.
        batches: whether there are batches, or samples alone.
        collate: makes a batch of a list of samples.
        drop_last: whether a last batch that is smaller is left out.
    """

    def __init__(
        self, dataset: Any, iterable: bool, batches: bool, collate: Callable[[Any], Any], drop_last: bool
    ) -> None:
        self.dataset = dataset
        self.iterable = iterable
        self.batches = batches
        self.collate = collate
        self.drop_last = drop_last

    def open(self) -> Fetch:
        """A function that gets batches; of what is read one after the other, from the beginning."""
        return self._from_iterator(iter(self.dataset)) if self.iterable else self._by_number

    def _by_number(self, index: Any) -> Any:
        return self.collate(samples_of(self.dataset, index) if self.batches else self.dataset[index])

    def _from_iterator(self, samples: Any) -> Fetch:
        ended = False

        def fetch(index: Any) -> Any:
            nonlocal ended
            if ended:
                raise StopIteration
            if not self.batches:
                return self.collate(next(samples))
            batch = list(itertools.islice(samples, len(index)))
            ended = len(batch) < len(index)
            if not batch or (ended and self.drop_last):
                raise StopIteration
            return self.collate(batch)

        return fetch
