"""Datasets and functions that workers of every start method can import."""

from __future__ import annotations

import os
import signal
import time
from typing import NamedTuple

import numpy as np

import retrograd as rg
from retrograd.utils.data import Dataset, IterableDataset, get_worker_info


class Numbers(Dataset):
    """Tensors, arrays, numbers and texts."""

    def __init__(self, length=10, side=4):
        self.length = length
        self.side = side

    def __len__(self):
        return self.length

    def __getitem__(self, i):
        return {
            "x": rg.full((self.side, self.side), float(i)),
            "a": np.arange(3) + i,
            "i": i,
            "name": f"n{i}",
        }


class Failing(Dataset):
    """A sample that cannot be read."""

    def __init__(self, kind, at=2):
        self.kind = kind
        self.at = at

    def __len__(self):
        return 6

    def __getitem__(self, i):
        if i == self.at:
            raise self.kind(f"sample {i} is bad")
        return i


class NeedsTwo(Exception):
    """An exception that a message alone does not make."""

    def __init__(self, message, more=None):
        if more is None and not message.startswith("sample"):
            raise TypeError("two arguments, please")
        super().__init__(message)


class Deadly(Dataset):
    """A sample that kills who reads it."""

    def __init__(self, how):
        self.how = how

    def __len__(self):
        return 8

    def __getitem__(self, i):
        if i == 5:
            if self.how == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            if self.how == "exit":
                os._exit(3)
            time.sleep(60)
        return rg.full((100, 100), float(i))


class Stream(IterableDataset):
    """Numbers in a row; each worker reads its own."""

    def __init__(self, length=10, fail=False):
        self.length = length
        self.fail = fail

    def __iter__(self):
        info = get_worker_info()
        begin, step = (0, 1) if info is None else (info.id, info.num_workers)
        for i in range(begin, self.length, step):
            if self.fail and i == 4:
                raise ValueError("the stream broke")
            yield i


class Who(Dataset):
    """Which worker reads, and what its random numbers are."""

    def __len__(self):
        return 4

    def __getitem__(self, i):
        info = get_worker_info()
        return info.id, info.num_workers, info.seed, rg.initial_seed(), float(rg.rand(1)), os.getpid()


class Pair(NamedTuple):
    x: float
    y: int


def tuples(batch):
    return tuple(batch)


started = []


def note(worker):
    started.append(worker)


def broken_start(worker):
    raise ValueError(f"worker {worker} does not start")


class Started(Dataset):
    """What `note` has noted in this process."""

    def __len__(self):
        return 2

    def __getitem__(self, i):
        return list(started)
