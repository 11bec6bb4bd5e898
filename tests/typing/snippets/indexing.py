from typing import reveal_type

import retrograd as rg

x = rg.ones(3, 4)
reveal_type(x[0])  # reveals: Tensor
reveal_type(x[1:, None, ..., -1])  # reveals: Tensor
reveal_type(x[x > 0])  # reveals: Tensor
for row in x:
    reveal_type(row)  # reveals: Tensor
x[0] = 2.0
