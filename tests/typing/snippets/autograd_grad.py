from typing import reveal_type

import retrograd as rg

w, b = rg.ones(2, requires_grad=True), rg.zeros(2, requires_grad=True)
loss = (w * 3 + b).sum()
reveal_type(rg.autograd.grad(loss, [w, b], retain_graph=True))  # reveals: tuple[Tensor, ...]
reveal_type(rg.autograd.grad(loss, {"w": w, "b": b}))  # reveals: dict[str, Tensor]
