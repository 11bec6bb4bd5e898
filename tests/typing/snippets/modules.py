from typing import reveal_type

import retrograd as rg
from retrograd import nn

layer = nn.Linear(2, 3)
reveal_type(layer)  # reveals: Linear
reveal_type(layer.weight)  # reveals: Tensor
reveal_type(layer.float())  # reveals: Linear
reveal_type(nn.Sequential(layer).eval())  # reveals: Sequential
reveal_type(next(layer.parameters()))  # reveals: Parameter
reveal_type([name for name, _ in layer.named_parameters()])  # reveals: list[str]
reveal_type(layer.forward(rg.ones(1, 2)))  # reveals: Tensor
reveal_type(layer.load_state_dict(layer.state_dict()).missing_keys)  # reveals: list[str]
reveal_type(nn.utils.clip_grad_norm_(layer.parameters(), 1.0))  # reveals: Tensor
reveal_type(nn.init.zeros_(layer.weight))  # reveals: Tensor
