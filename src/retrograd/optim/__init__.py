"""Optimisers: they move parameters along the gradients that `backward()` left in `.grad`.

>>> import retrograd as rg
>>> x = rg.tensor([3.0, -2.0], requires_grad=True)
>>> optimizer = rg.optim.SGD([x], lr=0.25)
>>> for _ in range(2):
...     optimizer.zero_grad()
...     (x * x).sum().backward()
...     optimizer.step()
>>> x
tensor([ 0.7500, -0.5000], requires_grad=True)
"""

from retrograd.optim.adam import Adam
from retrograd.optim.adamw import AdamW
from retrograd.optim.optimizer import Optimizer
from retrograd.optim.sgd import SGD

__all__ = ["Adam", "AdamW", "Optimizer", "SGD"]
