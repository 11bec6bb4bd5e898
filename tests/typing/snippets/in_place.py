from typing import reveal_type

import retrograd as rg

x = rg.zeros(3)
x += 1
reveal_type(x)  # reveals: Tensor
reveal_type(rg.relu_(x))  # reveals: Tensor
reveal_type(x.add_(1, alpha=2).clamp_(0, 1))  # reveals: Tensor
