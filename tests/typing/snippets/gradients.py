from typing import reveal_type

import retrograd as rg

x = rg.ones(3, requires_grad=True)
(x * x).sum().backward()
reveal_type(x.grad)  # reveals: Tensor | None
reveal_type(x.requires_grad)  # reveals: bool
reveal_type(x.is_leaf)  # reveals: bool
reveal_type(x.detach())  # reveals: Tensor
reveal_type(x.requires_grad_())  # reveals: Tensor
