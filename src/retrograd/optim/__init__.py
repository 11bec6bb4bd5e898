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
    from retrograd.optim import lr_scheduler, swa_utils
    from retrograd.optim.adadelta import Adadelta
    from retrograd.optim.adafactor import Adafactor
    from retrograd.optim.adagrad import Adagrad
    from retrograd.optim.adam import Adam
    from retrograd.optim.adamax import Adamax
    from retrograd.optim.adamw import AdamW
    from retrograd.optim.asgd import ASGD
    from retrograd.optim.lbfgs import LBFGS
    from retrograd.optim.muon import Muon
    from retrograd.optim.nadam import NAdam
    from retrograd.optim.optimizer import Optimizer
    from retrograd.optim.radam import RAdam
    from retrograd.optim.rmsprop import RMSprop
    from retrograd.optim.rprop import Rprop
    from retrograd.optim.sgd import SGD
    from retrograd.optim.swap import swap_in_optimizer_params_and_state
else:
    __getattr__, __dir__ = _lazily(
        __name__,
        {
            "retrograd.optim.adadelta": "adadelta= Adadelta",
            "retrograd.optim.adafactor": "Adafactor",
            "retrograd.optim.adagrad": "adagrad= Adagrad",
            "retrograd.optim.adam": "adam= Adam",
            "retrograd.optim.adamax": "adamax= Adamax",
            "retrograd.optim.adamw": "adamw= AdamW",
            "retrograd.optim.asgd": "asgd= ASGD",
            "retrograd.optim.lbfgs": "lbfgs= LBFGS",
            "retrograd.optim.lr_scheduler": "lr_scheduler=",
            "retrograd.optim.muon": "Muon",
            "retrograd.optim.nadam": "nadam= NAdam",
            "retrograd.optim.optimizer": "optimizer= Optimizer",
            "retrograd.optim.radam": "radam= RAdam",
            "retrograd.optim.rmsprop": "rmsprop= RMSprop",
            "retrograd.optim.rprop": "rprop= Rprop",
            "retrograd.optim.sgd": "sgd= SGD",
            "retrograd.optim.swa_utils": "swa_utils=",
            "retrograd.optim.swap": "swap_in_optimizer_params_and_state",
        },
    )

__all__ = [
    "ASGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "LBFGS",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SGD",
    "lr_scheduler",
    "swa_utils",
    "swap_in_optimizer_params_and_state",
]
