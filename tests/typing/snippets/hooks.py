from typing import reveal_type

import retrograd as rg


def double(grad: rg.Tensor) -> rg.Tensor:
    return grad * 2


x = rg.ones(3, requires_grad=True)
with x.register_hook(double) as handle:
    reveal_type(handle)  # reveals: RemovableHandle
