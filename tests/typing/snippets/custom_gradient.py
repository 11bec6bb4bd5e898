from collections.abc import Callable
from typing import reveal_type

import retrograd as rg


@rg.custom_gradient
def clip(x: rg.Tensor) -> tuple[rg.Tensor, Callable[[rg.Tensor], rg.Tensor]]:
    return x, lambda grad: grad.clamp(-1, 1)


reveal_type(clip(rg.ones(2)))  # reveals: Tensor
