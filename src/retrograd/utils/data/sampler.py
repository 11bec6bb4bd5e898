"""Samplers: in which order the samples of a dataset are read, and how many make a batch."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any, Generic, TypeVar

import numpy as np

from retrograd.core.tensor import Tensor
from retrograd.ops.random.generator import Generator, default_generator
from retrograd.ops.random.sampling import multinomial, randint, randperm
from retrograd.ops.tensor.data import as_tensor

T_co = TypeVar("T_co", covariant=True)


def drawn_seed(generator: Generator | None) -> int:
    """A seed, drawn from a generator or from the default one."""
    return int((default_generator if generator is None else generator).raw.integers(0, 2**63))


class Sampler(Generic[T_co]):
    """The base of samplers; make one of your own with `__iter__`, which gives the numbers of samples."""

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError(f"{type(self).__name__} has no __iter__(): it gives the numbers of samples")


class SequentialSampler(Sampler[int]):
    """All samples in their order.

    >>> import retrograd as rg
    >>> list(rg.utils.data.SequentialSampler("abc"))
    [0, 1, 2]
    """

    data_source: Sized

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """Samples in random order.

    Args:
        data_source: the dataset.
        replacement: draw each as if none had been drawn before.
        num_samples: how many to draw; as many as there are, if None.
        generator: of the random numbers; by default one that the default generator seeds.

    >>> import retrograd as rg
    >>> sorted(rg.utils.data.RandomSampler(range(5)))
    [0, 1, 2, 3, 4]
    """

    data_source: Sized

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement}")
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError(
                f"num_samples should be a positive integer value, but got num_samples={self.num_samples}"
            )

    @property
    def num_samples(self) -> int:
        """How many samples are drawn."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        total = len(self.data_source)
        generator = self.generator or Generator().manual_seed(drawn_seed(None))
        if self.replacement:
            for left in range(self.num_samples, 0, -32):
                yield from randint(total, (min(32, left),), generator=generator).tolist()
            return
        for _ in range(self.num_samples // total):
            yield from randperm(total, generator=generator).tolist()
        # PyTorch draws an order for what is left even if nothing is: the next epoch depends on it.
        yield from randperm(total, generator=generator).tolist()[: self.num_samples % total]

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """Some samples, in random order.

    Args:
        indices: their numbers.
        generator: of the random numbers; the default one if None.
    """

    indices: Sequence[int]

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for i in randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Samples by chance, each as likely as its weight says.

    Args:
        weights: one for each sample; they need not add up to 1.
        num_samples: how many to draw.
        replacement: draw each as if none had been drawn before.
        generator: of the random numbers; the default one if None.

    >>> import retrograd as rg
    >>> list(rg.utils.data.WeightedRandomSampler([0, 0, 1.0], 3))
    [2, 2, 2]
    """

    def __init__(
        self,
        weights: Sequence[float],
        num_samples: int,
        replacement: bool = True,
        generator: Generator | None = None,
    ) -> None:
        if not isinstance(num_samples, int) or isinstance(num_samples, bool) or num_samples <= 0:
            raise ValueError(
                f"num_samples should be a positive integer value, but got num_samples={num_samples}"
            )
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement should be a boolean value, but got replacement={replacement}")
        self.weights: Tensor = as_tensor(weights, dtype=np.float64)
        if self.weights.ndim != 1:
            raise ValueError(
                f"weights should be a 1d sequence but given weights have shape {tuple(self.weights.shape)}"
            )
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        drawn = multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator)
        yield from iter(drawn.tolist())

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """The numbers of another sampler, some at a time.

    Args:
        sampler: gives the numbers.
        batch_size: how many make a batch.
        drop_last: leave out the last batch if it is smaller.

    >>> import retrograd as rg
    >>> list(rg.utils.data.BatchSampler(range(5), batch_size=2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[Any], batch_size: int, drop_last: bool) -> None:
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError(
                f"batch_size should be a positive integer value, but got batch_size={batch_size}"
            )
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler: Any = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        numbers = iter(self.sampler)
        while batch := list(itertools.islice(numbers, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        whole, left = divmod(len(self.sampler), self.batch_size)
        return whole if self.drop_last or not left else whole + 1
