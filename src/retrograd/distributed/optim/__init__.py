"""Optimisers whose state is shared out among the ranks.

Names are loaded when they are first asked for: see Note [Loaded on demand] in lazy.py.
"""

import typing as _typing

from retrograd.lazy import lazily as _lazily

if _typing.TYPE_CHECKING:
    from retrograd.distributed.optim import post_localSGD_optimizer as post_localSGD_optimizer
    from retrograd.distributed.optim import zero_redundancy_optimizer as zero_redundancy_optimizer
    from retrograd.distributed.optim.post_localSGD_optimizer import PostLocalSGDOptimizer
    from retrograd.distributed.optim.zero_redundancy_optimizer import ZeroRedundancyOptimizer
else:
    __getattr__, __dir__ = _lazily(
        __name__,
        {
            "retrograd.distributed.optim.post_localSGD_optimizer": (
                "post_localSGD_optimizer= PostLocalSGDOptimizer"
            ),
            "retrograd.distributed.optim.zero_redundancy_optimizer": (
                "zero_redundancy_optimizer= ZeroRedundancyOptimizer"
            ),
        },
    )

__all__ = ["PostLocalSGDOptimizer", "ZeroRedundancyOptimizer"]
