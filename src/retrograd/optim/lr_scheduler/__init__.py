"""Schedules of learning rates: after each epoch, or each step, `scheduler.step()` sets the rates of an optimiser.

Names are loaded when they are first asked for: see Note [Loaded on demand] in lazy.py.

>>> import retrograd as rg
>>> w = rg.tensor([3.0], requires_grad=True)
>>> optimizer = rg.optim.SGD([w], lr=0.8)
>>> scheduler = rg.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
>>> for _ in range(4):
...     optimizer.step()
...     scheduler.step()
>>> scheduler.get_last_lr()
[0.2]
"""

import typing as _typing

from retrograd.lazy import lazily as _lazily

if _typing.TYPE_CHECKING:
    from retrograd.optim.lr_scheduler.cosine import CosineAnnealingLR, CosineAnnealingWarmRestarts
    from retrograd.optim.lr_scheduler.cycles import CyclicLR, OneCycleLR
    from retrograd.optim.lr_scheduler.factors import (
        ConstantLR,
        ExponentialLR,
        LambdaLR,
        LinearLR,
        MultiplicativeLR,
        MultiStepLR,
        PolynomialLR,
        StepLR,
    )
    from retrograd.optim.lr_scheduler.plateau import ReduceLROnPlateau
    from retrograd.optim.lr_scheduler.scheduler import LRScheduler
    from retrograd.optim.lr_scheduler.several import ChainedScheduler, SequentialLR
else:
    __getattr__, __dir__ = _lazily(
        __name__,
        {
            "retrograd.optim.lr_scheduler.cosine": "CosineAnnealingLR CosineAnnealingWarmRestarts",
            "retrograd.optim.lr_scheduler.cycles": "CyclicLR OneCycleLR",
            "retrograd.optim.lr_scheduler.factors": (
                "ConstantLR ExponentialLR LambdaLR LinearLR MultiStepLR MultiplicativeLR PolynomialLR StepLR"
            ),
            "retrograd.optim.lr_scheduler.plateau": "ReduceLROnPlateau",
            "retrograd.optim.lr_scheduler.scheduler": "LRScheduler _LRScheduler=LRScheduler EPOCH_DEPRECATION_WARNING",
            "retrograd.optim.lr_scheduler.several": "ChainedScheduler SequentialLR",
        },
    )

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]
