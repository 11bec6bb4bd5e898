from typing import reveal_type

import retrograd as rg
from retrograd.utils.checkpoint import checkpoint


def block(x: rg.Tensor) -> rg.Tensor:
    return x.exp().sin()


reveal_type(checkpoint(block, rg.ones(2), use_reentrant=False))  # reveals: Tensor
