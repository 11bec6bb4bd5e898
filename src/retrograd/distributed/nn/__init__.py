"""Collectives that gradients go through, under the names of `torch.distributed.nn`."""

from typing import TYPE_CHECKING

from retrograd.lazy import lazily as _lazily

if TYPE_CHECKING:
    from retrograd.distributed.nn import functional
    from retrograd.distributed.nn.functional import (
        all_gather,
        all_reduce,
        all_to_all,
        all_to_all_single,
        broadcast,
        gather,
        reduce,
        reduce_scatter,
        scatter,
    )

_FUNCTIONS = (
    "all_gather all_reduce all_to_all all_to_all_single broadcast gather reduce reduce_scatter scatter"
)

if not TYPE_CHECKING:
    __getattr__, __dir__ = _lazily(
        __name__, {"retrograd.distributed.nn.functional": f"functional= {_FUNCTIONS}"}
    )

__all__ = [
    "all_gather",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "broadcast",
    "functional",
    "gather",
    "reduce",
    "reduce_scatter",
    "scatter",
]
