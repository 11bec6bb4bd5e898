"""Optimisers: they move parameters along the gradients that `backward()` left in `.grad`.

Names are loaded when they are first asked for: see Note [Loaded on demand] in lazy.py.

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

import typing as _typing

from retrograd.lazy import lazily as _lazily

if _typing.TYPE_CHECKING:
    from retrograd.optim.adam import Adam
    from retrograd.optim.adamw import AdamW
    from retrograd.optim.optimizer import Optimizer
    from retrograd.optim.sgd import SGD
else:
    __getattr__, __dir__ = _lazily(
        __name__,
        {
            "retrograd.optim.adam": "adam= Adam",
            "retrograd.optim.adamw": "adamw= AdamW",
            "retrograd.optim.optimizer": "optimizer= Optimizer",
            "retrograd.optim.sgd": "sgd= SGD",
        },
    )

__all__ = ["Adam", "AdamW", "Optimizer", "SGD"]
