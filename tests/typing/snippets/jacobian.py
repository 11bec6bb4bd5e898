from typing import reveal_type

import retrograd as rg
from retrograd.autograd.functional import hessian, jacobian


def square(x: rg.Tensor) -> rg.Tensor:
    return x * x


x = rg.ones(3)
reveal_type(jacobian(square, x))  # reveals: Tensor
reveal_type(hessian(lambda a, b: (a * b).sum(), (x, x)))  # reveals: tuple[tuple[Tensor, ...], ...]
