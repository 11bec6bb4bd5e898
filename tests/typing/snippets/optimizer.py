from typing import reveal_type

import retrograd as rg

w = rg.ones(3, requires_grad=True)
optimizer = rg.optim.SGD([w], lr=0.1)
reveal_type(optimizer)  # reveals: SGD
optimizer.zero_grad()
(w * w).sum().backward()
optimizer.step()
reveal_type(optimizer.param_groups[0]["lr"])  # reveals: Any
