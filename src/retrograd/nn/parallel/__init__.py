"""Modules that several processes, or several devices, train together.

Names are loaded when they are first asked for: see Note [Loaded on demand] in lazy.py.
"""

import typing as _typing

from retrograd.lazy import lazily as _lazily
from retrograd.lazy import prefer_functions as _prefer_functions

if _typing.TYPE_CHECKING:
    from retrograd.nn.parallel import distributed as distributed
    from retrograd.nn.parallel import scatter_gather as scatter_gather
    from retrograd.nn.parallel.data_parallel import DataParallel, data_parallel
    from retrograd.nn.parallel.distributed import DistributedDataParallel
    from retrograd.nn.parallel.parallel_apply import parallel_apply
    from retrograd.nn.parallel.replicate import replicate
    from retrograd.nn.parallel.scatter_gather import gather, scatter
else:
    __getattr__, __dir__ = _lazily(
        __name__,
        {
            "retrograd.nn.parallel.data_parallel": "DataParallel data_parallel",
            "retrograd.nn.parallel.distributed": "distributed= DistributedDataParallel",
            "retrograd.nn.parallel.parallel_apply": "parallel_apply",
            "retrograd.nn.parallel.replicate": "replicate",
            "retrograd.nn.parallel.scatter_gather": "scatter_gather= gather scatter",
        },
    )
    _prefer_functions(__name__)

__all__ = [
    "DataParallel",
    "DistributedDataParallel",
    "data_parallel",
    "gather",
    "parallel_apply",
    "replicate",
    "scatter",
]
