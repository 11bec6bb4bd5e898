from typing import reveal_type

import retrograd as rg

x = rg.ones(3, 4)
reveal_type(x.exp())  # reveals: Tensor
reveal_type(x.exp_())  # reveals: Tensor
reveal_type(x.sum(dim=0, keepdim=True))  # reveals: Tensor
reveal_type(x.mean())  # reveals: Tensor
reveal_type(x.reshape(4, 3).relu())  # reveals: Tensor
reveal_type(x.transpose(0, 1))  # reveals: Tensor
