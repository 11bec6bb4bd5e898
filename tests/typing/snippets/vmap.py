from typing import reveal_type

import retrograd as rg


def distance(a: rg.Tensor, b: rg.Tensor) -> rg.Tensor:
    return ((a - b) ** 2).sum()


reveal_type(rg.vmap(distance)(rg.ones(3, 2), rg.zeros(3, 2)))  # reveals: Tensor
reveal_type(rg.func.grad_and_value(distance)(rg.ones(2), rg.zeros(2))[1])  # reveals: Tensor
