"""The package `functorch`, as PyTorch ships it beside `torch`: transforms by their old names, and models as functions.

Programs find it as `functorch` under `retrograd run` and `install_as_torch()`.
Names are loaded when they are first asked for: see Note [Loaded on demand] in lazy.py.
"""

from retrograd.lazy import lazily as _lazily

_OLD = (
    "combine_state_for_ensemble functionalize grad grad_and_value hessian jacfwd jacrev jvp make_functional "
    "make_functional_with_buffers vjp vmap"
)

__getattr__, __dir__ = _lazily(
    __name__,
    {
        "retrograd.functorch.einops": "einops=",
        "retrograd.functorch.experimental": "experimental=",
        "retrograd.functorch.models": "FunctionalModule FunctionalModuleWithBuffers",
        "retrograd.functorch.transforms": _OLD,
    },
)
