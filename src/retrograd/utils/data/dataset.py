"""Datasets: what has samples, by number or one after the other; and datasets made of others."""

from __future__ import annotations

import itertools
import math
import warnings
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from retrograd.core.tensor import Tensor
from retrograd.ops.random.generator import Generator
from retrograd.ops.random.sampling import randperm

T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    """The base of datasets whose samples have numbers; make one of your own with `__getitem__` and `__len__`.

    With a method `__getitems__` a list of numbers is asked for at once.

    >>> from retrograd.utils.data import Dataset
    >>> class Squares(Dataset):
    ...     def __getitem__(self, i):
    ...         return i * i
    ...     def __len__(self):
    ...         return 10
    >>> (Squares() + Squares())[13]
    9
    """

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError(
            "Subclasses of Dataset should implement __getitem__: it gives the sample of a number"
        )

    def __add__(self, other: Dataset[Any]) -> ConcatDataset[Any]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co]):
    """The base of datasets that are read one sample after the other; make one of your own with `__iter__`.

    Each worker of a DataLoader has a copy: `get_worker_info()` says which, so that each can read its own part.
    """

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError(
            "Subclasses of IterableDataset should implement __iter__: it gives the samples in their order"
        )

    def __add__(self, other: Dataset[Any]) -> ChainDataset[Any]:  # type: ignore[override]
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """The rows of tensors: sample `i` is the tuple of their `i`-th rows.

    >>> import retrograd as rg
    >>> rg.utils.data.TensorDataset(rg.arange(3), rg.ones(3, 2))[1]
    (tensor(1), tensor([1., 1.]))
    """

    tensors: tuple[Tensor, ...]

    def __init__(self, *tensors: Tensor) -> None:
        if any(len(tensor) != len(tensors[0]) for tensor in tensors):
            sizes = ", ".join(str(len(tensor)) for tensor in tensors)
            raise AssertionError(f"Size mismatch between tensors: they have {sizes} rows")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return len(self.tensors[0])


class StackDataset(Dataset[T_co]):
    """Several datasets side by side: a sample is a tuple of theirs, or a dict if they are given by name.

    >>> from retrograd.utils.data import StackDataset
    >>> StackDataset(image=["a", "b"], label=[0, 1])[1]
    {'image': 'b', 'label': 1}
    """

    datasets: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or``dict``- (via ``kwargs``) like input/output, but both "
                "types are given."
            )
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        self.datasets = args or kwargs
        self._length = len(self._all()[0])
        if any(len(dataset) != self._length for dataset in self._all()):
            raise ValueError("Size mismatch between datasets")

    def _all(self) -> list[Any]:
        return list(self.datasets.values() if isinstance(self.datasets, dict) else self.datasets)

    def _sample(self, parts: Iterable[Any]) -> T_co:
        found: Any = tuple(parts)
        return dict(zip(self.datasets, found, strict=True)) if isinstance(self.datasets, dict) else found  # type: ignore[return-value]

    def __getitem__(self, index: Any) -> T_co:
        return self._sample(dataset[index] for dataset in self._all())

    def __getitems__(self, indices: list[Any]) -> list[T_co]:
        columns = [samples_of(dataset, indices) for dataset in self._all()]
        for column in columns:
            if len(column) != len(indices):
                raise ValueError(
                    f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(column)}"
                )
        return [self._sample(row) for row in zip(*columns, strict=True)]

    def __len__(self) -> int:
        return self._length


def samples_of(dataset: Any, indices: Sequence[Any]) -> list[Any]:
    """Several samples of a dataset, at once if it can."""
    several = getattr(dataset, "__getitems__", None)
    if callable(several):
        found: list[Any] = several(indices)
        return found
    return [dataset[index] for index in indices]


class ConcatDataset(Dataset[T_co]):
    """Several datasets one behind the other.

    >>> import retrograd as rg
    >>> both = rg.utils.data.ConcatDataset([[1, 2], [3]])
    >>> len(both), both[2]
    (3, 3)
    """

    datasets: list[Any]
    cumulative_sizes: list[int]

    @staticmethod
    def cumsum(sequence: Iterable[Any]) -> list[int]:
        """Where each of some datasets ends."""
        return list(itertools.accumulate(len(dataset) for dataset in sequence))

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise AssertionError(
                "ConcatDataset does not support IterableDataset: chain them with ChainDataset"
            )
        self.cumulative_sizes = self.cumsum(self.datasets)

    @property
    def cummulative_sizes(self) -> list[int]:
        """The old name of `cumulative_sizes`."""
        warnings.warn(
            "`cummulative_sizes` attribute is renamed to `cumulative_sizes`", FutureWarning, stacklevel=2
        )
        return self.cumulative_sizes

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> T_co:
        if index < 0:
            if -index > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            index += len(self)
        which = bisect_right(self.cumulative_sizes, index)
        before = self.cumulative_sizes[which - 1] if which else 0
        found: T_co = self.datasets[which][index - before]
        return found


class ChainDataset(IterableDataset[T_co]):
    """Several iterable datasets one after the other."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        super().__init__()
        self.datasets = datasets

    def __iter__(self) -> Iterator[T_co]:
        for dataset in self.datasets:
            yield from self._checked(dataset)

    def __len__(self) -> int:
        return sum(len(self._checked(dataset)) for dataset in self.datasets)

    @staticmethod
    def _checked(dataset: Any) -> Any:
        if not isinstance(dataset, IterableDataset):
            raise AssertionError("ChainDataset only supports IterableDataset")
        return dataset


class Subset(Dataset[T_co]):
    """Some samples of a dataset, by their numbers.

    >>> import retrograd as rg
    >>> [*rg.utils.data.Subset(["a", "b", "c"], [2, 0])]
    ['c', 'a']
    """

    dataset: Any
    indices: Sequence[int]

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, index: Any) -> T_co:
        if isinstance(index, list):
            found: T_co = self.dataset[[self.indices[i] for i in index]]
        else:
            found = self.dataset[self.indices[index]]
        return found

    def __getitems__(self, indices: list[int]) -> list[T_co]:
        return samples_of(self.dataset, [self.indices[i] for i in indices])

    def __len__(self) -> int:
        return len(self.indices)


def random_split(
    dataset: Any, lengths: Sequence[int | float], generator: Generator | None = None
) -> list[Subset[Any]]:
    """Divides a dataset by chance into parts that share nothing.

    Args:
        dataset: what to divide.
        lengths: of the parts; or fractions that add up to 1, where what is left over goes to the first parts.
        generator: of the random numbers; the default one if None.

    >>> import retrograd as rg
    >>> [len(part) for part in rg.utils.data.random_split(range(10), [0.5, 0.25, 0.25])]
    [6, 2, 2]
    """
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        lengths = _lengths(len(dataset), lengths)
    if sum(lengths) != len(dataset):
        raise ValueError(
            f"Sum of input lengths does not equal the length of the input dataset! They are {sum(lengths)} and "
            f"{len(dataset)}."
        )
    order = randperm(int(sum(lengths)), generator=generator).tolist()
    ends = itertools.accumulate(int(length) for length in lengths)
    return [
        Subset(dataset, order[end - int(length) : end]) for end, length in zip(ends, lengths, strict=True)
    ]


def _lengths(total: int, fractions: Sequence[float]) -> list[int]:
    """How long parts are, by their fractions."""
    for i, fraction in enumerate(fractions):
        if not 0 <= fraction <= 1:
            raise ValueError(f"Fraction at index {i} is not between 0 and 1")
    lengths = [math.floor(total * fraction) for fraction in fractions]
    for i in range(total - sum(lengths)):
        lengths[i % len(lengths)] += 1
    for i, length in enumerate(lengths):
        if length == 0:
            warnings.warn(
                f"Length of split at index {i} is 0. This might result in an empty dataset.", stacklevel=3
            )
    return lengths
