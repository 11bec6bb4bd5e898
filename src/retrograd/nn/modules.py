"""The modules where PyTorch has them too: `nn.modules.Linear`, `nn.modules.batchnorm._BatchNorm`, …

Names are loaded when they are first asked for: see Note [Loaded on demand] in lazy.py.
"""

import typing as _typing

from retrograd.lazy import lazily as _lazily
from retrograd.nn import _CLASSES

if _typing.TYPE_CHECKING:
    from retrograd.nn import *  # noqa: F403
else:
    __getattr__, __dir__ = _lazily(
        __name__,
        _CLASSES,
        {
            "retrograd.nn.activation": "activation=",
            "retrograd.nn.adaptive_softmax": "adaptive=",
            "retrograd.nn.batchnorm": "batchnorm=",
            "retrograd.nn.containers": "container=",
            "retrograd.nn.conv": "conv=",
            "retrograd.nn.distance": "distance=",
            "retrograd.nn.dropout": "dropout=",
            "retrograd.nn.embedding": "sparse=",
            "retrograd.nn.instancenorm": "instancenorm=",
            "retrograd.nn.lazy_modules": "lazy=",
            "retrograd.nn.linear": "linear=",
            "retrograd.nn.losses": "linear_cross_entropy_options= loss=",
            "retrograd.nn.module": "module=",
            "retrograd.nn.normalization": "normalization=",
            "retrograd.nn.padding": "padding=",
            "retrograd.nn.pooling": "pooling=",
            "retrograd.nn.recurrent": "rnn=",
            "retrograd.nn.shapes": "channelshuffle= flatten= fold= pixelshuffle= upsampling=",
            "retrograd.nn.transformer": "transformer=",
            "retrograd.nn.tuples": "utils=",
        },
    )
    # PyTorch has these elsewhere.
    _OTHERS = {
        "Buffer",
        "DataParallel",
        "Parameter",
        "UninitializedBuffer",
        "UninitializedParameter",
        "factory_kwargs",
    }
    __all__ = tuple(sorted({name for names in _CLASSES.values() for name in names.split()} - _OTHERS))
