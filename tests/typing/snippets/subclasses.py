from typing import reveal_type

import retrograd as rg


class Weight(rg.Tensor):
    decay: float = 0.1


w = Weight([1.0, 2.0])
reveal_type(w.decay)  # reveals: float
reveal_type(w * 2)  # reveals: Tensor
