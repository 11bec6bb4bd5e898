"""How a tensor would lie on several ranks, as `torch.distributed.tensor` says it. Nothing is laid out so here."""

from typing import TYPE_CHECKING

from retrograd.lazy import lazily as _lazily

if TYPE_CHECKING:
    from retrograd.distributed.tensor import placement_types
    from retrograd.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard

if not TYPE_CHECKING:
    __getattr__, __dir__ = _lazily(
        __name__,
        {
            "retrograd.distributed.tensor.placement_types": "placement_types= Partial Placement Replicate Shard",
        },
    )

__all__ = ["Partial", "Placement", "Replicate", "Shard", "placement_types"]
