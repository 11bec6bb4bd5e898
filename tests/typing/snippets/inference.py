from typing import reveal_type

import retrograd as rg


@rg.inference_mode()
def predict(x: rg.Tensor) -> tuple[rg.Tensor, int]:
    return x * 2, 1


reveal_type(predict(rg.ones(1)))  # reveals: tuple[Tensor, int]
with rg.set_grad_enabled(False):
    reveal_type(rg.ones(1).is_inference())  # reveals: bool
