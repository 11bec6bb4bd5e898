"""Datasets, samplers and collate functions beside PyTorch's."""

from __future__ import annotations

import importlib
from collections import OrderedDict, UserDict, UserList, defaultdict

import numpy as np
import pytest

import retrograd as rg

from .samples import Pair


def data(lib):
    return importlib.import_module(f"{lib.__name__}.utils.data")


def attempt(f):
    """What a call gives, or its error: the class and the first words."""
    try:
        return plain(f())
    except Exception as error:
        kind = next(kind for kind in type(error).__mro__ if kind.__module__ == "builtins")
        return kind.__name__, str(error)[:40]


def plain(value):
    """Tensors as lists with their dtype, so that results of the two can be compared."""
    if hasattr(value, "dtype") and hasattr(value, "tolist") and not isinstance(value, np.ndarray):
        return str(value.dtype), value.tolist()
    if isinstance(value, (dict, UserDict)):
        return type(value).__name__, {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple, UserList)):
        return type(value).__name__, [plain(inner) for inner in value]
    return value


def both(torch, program):
    ours, theirs = (attempt(lambda lib=lib: program(lib, data(lib))) for lib in (rg, torch))
    if isinstance(theirs, tuple) and len(theirs) == 2 and str(theirs[0]).endswith("Error"):
        assert ours[0] == theirs[0]
        assert ours[1].startswith(theirs[1])
    else:
        assert ours == theirs


PROGRAMS = [
    lambda t, d: d.TensorDataset(t.arange(6).reshape(3, 2), t.ones(3))[1],
    lambda t, d: d.TensorDataset(t.arange(6).reshape(3, 2))[:2],
    lambda t, d: len(d.TensorDataset(t.ones(3))),
    lambda t, d: d.TensorDataset(t.ones(2), t.ones(3)),
    lambda t, d: [d.StackDataset([1, 2], ["a", "b"])[1], len(d.StackDataset([1, 2]))],
    lambda t, d: d.StackDataset(x=[1, 2], y=["a", "b"])[0],
    lambda t, d: d.StackDataset(x=[1, 2], y=["a", "b"]).__getitems__([1, 0]),
    lambda t, d: d.StackDataset([1, 2], d.Subset([5, 6, 7], [2, 0])).__getitems__([1, 0]),
    lambda t, d: d.StackDataset(),
    lambda t, d: d.StackDataset([1], [1, 2]),
    lambda t, d: d.StackDataset([1], a=[1]),
    lambda t, d: [d.ConcatDataset([[1, 2], [3], [4, 5]])[i] for i in (0, 1, 2, 4, -1, -5)],
    lambda t, d: d.ConcatDataset([[1, 2], [3]]).cumulative_sizes,
    lambda t, d: d.ConcatDataset([[1, 2], [3]])[-4],
    lambda t, d: d.ConcatDataset([[1, 2], [3]])[3],
    lambda t, d: d.ConcatDataset([]),
    lambda t, d: d.ConcatDataset([type("Row", (d.IterableDataset,), {"__iter__": iter})()]),
    lambda t, d: list(d.ChainDataset([[1]])),
    lambda t, d: len(d.ChainDataset([[1], [2, 3]])),
    lambda t, d: [
        d.Subset("abcdef", [4, 1])[0],
        len(d.Subset("abc", [0])),
        d.Subset("abc", [2, 0]).__getitems__([0, 1]),
    ],
    lambda t, d: d.Subset(np.arange(5) * 2, [4, 1])[[0, 1]].tolist(),
    lambda t, d: d.Dataset()[0],
    lambda t, d: sorted(i for part in d.random_split(range(10), [3, 7]) for i in part.indices),
    lambda t, d: [len(part) for part in d.random_split(range(10), [0.33, 0.33, 0.34])],
    lambda t, d: d.random_split(range(10), [3, 3]),
    lambda t, d: d.random_split(range(10), [0.5, 0.6]),
    lambda t, d: d.random_split(range(10), [-0.5, 1.5]),
    # samplers
    lambda t, d: [list(d.SequentialSampler("abc")), len(d.SequentialSampler("abc"))],
    lambda t, d: [sorted(d.RandomSampler(range(7))), len(d.RandomSampler(range(7)))],
    lambda t, d: [
        len(list(d.RandomSampler(range(3), num_samples=8))),
        len(d.RandomSampler(range(3), num_samples=8)),
    ],
    lambda t, d: sorted(set(list(d.RandomSampler(range(3), num_samples=6))[:3])),
    lambda t, d: len(list(d.RandomSampler(range(3), True, 70))),
    lambda t, d: set(d.RandomSampler(range(1), True, 70)),
    lambda t, d: d.RandomSampler([1], replacement=3),
    lambda t, d: d.RandomSampler([1], num_samples=0),
    lambda t, d: d.RandomSampler([]),
    lambda t, d: [sorted(d.SubsetRandomSampler([5, 2, 9])), len(d.SubsetRandomSampler([5]))],
    lambda t, d: list(d.WeightedRandomSampler([0.0, 2.0, 0.0], 3)),
    lambda t, d: sorted(d.WeightedRandomSampler([1.0, 2.0, 0.0], 2, replacement=False)),
    lambda t, d: len(d.WeightedRandomSampler([1], 4)),
    lambda t, d: d.WeightedRandomSampler([1, 2], 0),
    lambda t, d: d.WeightedRandomSampler([1, 2], True),
    lambda t, d: d.WeightedRandomSampler([1, 2], 2, 3),
    lambda t, d: d.WeightedRandomSampler([[1, 2]], 2),
    lambda t, d: [list(d.BatchSampler(range(5), 2, False)), list(d.BatchSampler(range(5), 2, True))],
    lambda t, d: [len(d.BatchSampler(range(5), 2, False)), len(d.BatchSampler(range(5), 2, True))],
    lambda t, d: list(d.BatchSampler(iter([]), 2, False)),
    lambda t, d: d.BatchSampler(range(3), 0, False),
    lambda t, d: d.BatchSampler(range(3), 2.5, False),
    lambda t, d: d.BatchSampler(range(3), 1, 3),
    lambda t, d: iter(d.Sampler()),
    lambda t, d: [list(d.DistributedSampler(range(7), 3, r, shuffle=False)) for r in range(3)],
    lambda t, d: [
        list(d.DistributedSampler(range(7), 3, r, shuffle=False, drop_last=True)) for r in range(3)
    ],
    lambda t, d: [len(d.DistributedSampler(range(7), 3, 0)), sorted(d.DistributedSampler(range(6), 1, 0))],
    lambda t, d: d.DistributedSampler(range(7), 3, 3),
    # batches
    lambda t, d: d.default_collate([1, 2]),
    lambda t, d: d.default_collate([1.5, 2]),
    lambda t, d: d.default_collate([True, False]),
    lambda t, d: d.default_collate(["a", "b"]),
    lambda t, d: d.default_collate([b"a"]),
    lambda t, d: d.default_collate([t.ones(2), t.zeros(2)]),
    lambda t, d: d.default_collate([np.ones(2, np.float32), np.zeros(2, np.float32)]),
    lambda t, d: d.default_collate([np.float32(1), np.float32(2)]),
    lambda t, d: d.default_collate([np.array("x")]),
    lambda t, d: d.default_collate([(1, 2.0, "a"), (3, 4.0, "b")]),
    lambda t, d: d.default_collate([[1, [2.0]], [3, [4.0]]]),
    lambda t, d: d.default_collate([{"a": 1, "b": {"c": 2.0}}, {"a": 3, "b": {"c": 4.0}}]),
    lambda t, d: d.default_collate([OrderedDict(a=1), OrderedDict(a=2)]),
    lambda t, d: d.default_collate([defaultdict(int, a=1), defaultdict(int, a=2)]),
    lambda t, d: d.default_collate([UserDict(a=1), UserDict(a=2)]),
    lambda t, d: d.default_collate([UserList([1, 2]), UserList([3, 4])]),
    lambda t, d: d.default_collate([Pair(1.0, 2), Pair(3.0, 4)]),
    lambda t, d: d.default_collate([range(2), range(2)]),
    lambda t, d: d.default_collate([object()]),
    lambda t, d: d.default_collate([None]),
    lambda t, d: d.default_collate([]),
    lambda t, d: d.default_collate([[1, 2], [1]]),
    lambda t, d: d.default_collate([{"a": 1}, {"b": 1}]),
    lambda t, d: d.default_collate([t.ones(2), t.ones(3)]),
    lambda t, d: d.default_convert({"a": np.ones(2), "b": (1, np.float32(2.0)), "c": ["x", b"y"], "d": None}),
    lambda t, d: d.default_convert(Pair(np.ones(1), 2)),
    lambda t, d: d.default_convert(np.array(["x"])).tolist(),
    lambda t, d: d.default_convert(UserDict(a=np.ones(1))),
]


@pytest.mark.parametrize("i", range(len(PROGRAMS)))
def test_beside_pytorch(torch, i):
    both(torch, PROGRAMS[i])


def test_the_same_seed_gives_the_same_order():
    d = rg.utils.data

    def orders():
        g = rg.Generator().manual_seed(3)
        return [
            list(d.RandomSampler(range(9), generator=g)),
            list(d.SubsetRandomSampler(range(9), generator=g)),
            list(d.WeightedRandomSampler([1.0] * 5, 9, generator=g)),
            [list(part.indices) for part in d.random_split(range(9), [4, 5], generator=g)],
        ]

    assert orders() == orders()
    rg.manual_seed(5)
    first = list(d.RandomSampler(range(50)))
    second = list(d.RandomSampler(range(50)))
    rg.manual_seed(5)
    assert list(d.RandomSampler(range(50))) == first != second


def test_parts_of_a_distributed_order_change_with_the_epoch():
    samplers = [rg.utils.data.DistributedSampler(range(20), 2, rank) for rank in range(2)]
    assert sorted([*samplers[0], *samplers[1]]) == list(range(20))
    first = list(samplers[0])
    assert list(samplers[0]) == first
    samplers[0].set_epoch(1)
    assert list(samplers[0]) != first
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        rg.utils.data.DistributedSampler(range(3))
