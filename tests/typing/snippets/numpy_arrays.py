from typing import reveal_type

import numpy as np

import retrograd as rg

x = rg.ones(2)
reveal_type(x.numpy().ndim)  # reveals: int
reveal_type(np.asarray(x).ndim)  # reveals: int
reveal_type(float(x.sum()))  # reveals: float
reveal_type(bool(x.any()))  # reveals: bool
