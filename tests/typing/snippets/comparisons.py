from typing import reveal_type

import retrograd as rg

x = rg.tensor([1.0, 2.0])
reveal_type(x == 1)  # reveals: Tensor
reveal_type(x < x)  # reveals: Tensor
reveal_type((x > 0) & (x < 2))  # reveals: Tensor
reveal_type(1 in x)  # reveals: bool
