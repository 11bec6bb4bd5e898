from typing import reveal_type

import numpy as np

import retrograd as rg

x = rg.tensor([1.0, 2.0])
reveal_type(x * 2 + 1)  # reveals: Tensor
reveal_type(2.0 / x)  # reveals: Tensor
reveal_type(x @ x)  # reveals: Tensor
reveal_type(-x)  # reveals: Tensor
reveal_type(x + np.ones(2))  # reveals: Tensor
