from typing import reveal_type

import retrograd as rg


@rg.no_grad()
def predict(x: rg.Tensor, scale: float) -> rg.Tensor:
    return x * scale


@rg.enable_grad()
def measure(x: rg.Tensor) -> float:
    return float(x)


reveal_type(predict(rg.ones(1), 2.0))  # reveals: Tensor
reveal_type(measure(rg.ones(1)))  # reveals: float
with rg.no_grad():
    reveal_type(rg.is_grad_enabled())  # reveals: bool
