"""Data for training: datasets, the order in which they are read, batches, and processes that read ahead.

Names are loaded when they are first asked for: see Note [Loaded on demand] in lazy.py.

>>> import retrograd as rg
>>> from retrograd.utils.data import DataLoader, TensorDataset
>>> x = rg.arange(6.0).reshape(3, 2)
>>> for features, label in DataLoader(TensorDataset(x, rg.arange(3)), batch_size=2):
...     print(features.tolist(), label.tolist())
[[0.0, 1.0], [2.0, 3.0]] [0, 1]
[[4.0, 5.0]] [2]
"""

import typing as _typing

from retrograd.lazy import lazily as _lazily

if _typing.TYPE_CHECKING:
    from retrograd.utils.data.collate import default_collate, default_convert
    from retrograd.utils.data.dataloader import DataLoader
    from retrograd.utils.data.dataset import (
        ChainDataset,
        ConcatDataset,
        Dataset,
        IterableDataset,
        StackDataset,
        Subset,
        TensorDataset,
        random_split,
    )
    from retrograd.utils.data.distributed import DistributedSampler
    from retrograd.utils.data.sampler import (
        BatchSampler,
        RandomSampler,
        Sampler,
        SequentialSampler,
        SubsetRandomSampler,
        WeightedRandomSampler,
    )
    from retrograd.utils.data.worker import get_worker_info
else:
    __getattr__, __dir__ = _lazily(
        __name__,
        {
            "retrograd.utils.data": "_utils=",  # as programs import `_utils.collate`
            "retrograd.utils.data.collate": "collate= default_collate default_convert",
            "retrograd.utils.data.dataset": (
                "dataset= ChainDataset ConcatDataset Dataset IterableDataset StackDataset Subset TensorDataset "
                "random_split"
            ),
            "retrograd.utils.data.distributed": "distributed= DistributedSampler",
            "retrograd.utils.data.dataloader": "DataLoader _DatasetKind",
            "retrograd.utils.data.sampler": (
                "sampler= BatchSampler RandomSampler Sampler SequentialSampler SubsetRandomSampler "
                "WeightedRandomSampler"
            ),
            "retrograd.utils.data.worker": "worker= get_worker_info",
            "retrograd.utils.data.fetch": "fetch=",
        },
    )

__all__ = [
    "BatchSampler",
    "ChainDataset",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "DistributedSampler",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "StackDataset",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "default_collate",
    "default_convert",
    "get_worker_info",
    "random_split",
]
