"""Loaders and samplers under one seed: PyTorch's order of samples, and what its workers draw."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import retrograd as rg

torch = pytest.importorskip("torch")


class Draws:
    """Samples that show what every source of random numbers gives."""

    def __init__(self, library: Any) -> None:
        self.library = library

    def __len__(self) -> int:
        return 11

    def __getitem__(self, i: int) -> Any:
        drawn = [self.library.rand(1).item(), random.random(), np.random.rand()]  # noqa: NPY002 - as datasets do
        return np.array([i, *drawn])


def epochs(library: Any, generator: int | None, options: dict[str, Any]) -> list[Any]:
    """Two epochs of a loader, and what its generators give then."""
    library.manual_seed(2)
    random.seed(2)
    np.random.seed(2)  # noqa: NPY002
    made = None if generator is None else library.Generator().manual_seed(generator)
    options = dict(options)
    if "sampler" in options:
        options["sampler"] = eval(options["sampler"], {"data": library.utils.data, "dataset": range(11)})
    loader = library.utils.data.DataLoader(Draws(library), generator=made, **options)
    seen = [batch.numpy() for _ in range(2) for batch in loader]
    if made is not None:
        seen.append(library.rand(1, generator=made).numpy())
    return [*seen, library.rand(1).numpy()]


OPTIONS: list[dict[str, Any]] = [
    {"batch_size": 4, "shuffle": True},
    {"batch_size": 3, "shuffle": True, "drop_last": True, "num_workers": 2},
    {"batch_size": 4, "shuffle": True, "num_workers": 2, "persistent_workers": True},
    {"batch_size": 5, "sampler": "data.RandomSampler(dataset, replacement=True, num_samples=30)"},
    {"batch_size": 5, "sampler": "data.RandomSampler(dataset, num_samples=33)"},
    {"batch_size": 5, "sampler": "data.WeightedRandomSampler([i / 9 for i in range(11)], 12)"},
    {"batch_size": 5, "sampler": "data.SubsetRandomSampler(range(3, 9))"},
]


@pytest.mark.parametrize("generator", [None, 9])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_loaders_under_one_seed(options, generator):
    theirs, ours = (epochs(library, generator, options) for library in (torch, rg))
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(one, other)


SAMPLES = """
[list(data.RandomSampler(range(n))) for n in (1, 2, 100)]
[list(sampler) + list(sampler) for sampler in [data.RandomSampler(range(10), generator=generator)]]
[list(data.RandomSampler(range(10), False, n, generator)) for n in (5, 10, 25, 30)]
[list(data.RandomSampler(range(10), True, n, generator)) for n in (1, 31, 32, 33, 64)]
list(data.SubsetRandomSampler([3, 5, 1], generator=generator))
list(data.WeightedRandomSampler([0.1, 0.2, 0.7, 0], 3, False))
list(data.BatchSampler(data.RandomSampler(range(10)), 3, False))
[list(part.indices) for part in data.random_split(range(11), [0.3, 0.3, 0.4])]
[list(part.indices) for part in data.random_split(range(10), [3, 7], generator)]
list(data.DistributedSampler(range(11), 3, 2, seed=7))
""".strip().splitlines()


@pytest.mark.parametrize("text", SAMPLES)
def test_samplers_under_one_seed(text):
    found = []
    for library in (torch, rg):
        library.manual_seed(17)
        generator = library.Generator().manual_seed(21)
        drawn = eval(text, {"data": library.utils.data, "generator": generator})
        found.append((drawn, library.rand(1).item(), library.rand(1, generator=generator).item()))
    assert found[0] == found[1]
