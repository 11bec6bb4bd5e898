"""Kinds of arrays, and what computes on each: Note [Backends] in base.py. docs/inside/backends.md brings another.

The names of PyTorch's package that scripts touch, `cudnn` and the like, are in `flags.py`.
"""

from retrograd.backends.base import Backend, register
from retrograd.backends.device import device
from retrograd.backends.numpy_backend import NumpyBackend
from retrograd.lazy import lazily as _lazily

__all__ = ["Backend", "NumpyBackend", "device", "register"]

__getattr__, __dir__ = _lazily(
    __name__,
    {
        "retrograd.backends.flags": (
            "cpu cuda cudnn cusparselt disable_global_flags flags_frozen mha miopen mkl mkldnn mps nnpack openmp "
            "opt_einsum python_native quantized xnnpack"
        )
    },
)
