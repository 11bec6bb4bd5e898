"""What stands for `torch._functorch`, where PyTorch has the transforms that `func` shows.

Names are loaded when they are first asked for: see Note [Loaded on demand] in lazy.py.
"""

from retrograd.lazy import lazily as _lazily

__getattr__, __dir__ = _lazily(
    __name__,
    {
        "retrograd._functorch.apis": "apis=",
        "retrograd._functorch.eager_transforms": "eager_transforms=",
        "retrograd._functorch.functional_call": "functional_call=",
        "retrograd._functorch.make_functional": "make_functional=",
        "retrograd._functorch.vmap": "vmap=",
    },
)
