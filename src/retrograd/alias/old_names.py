"""Names that `torch` itself has beside the public ones, and that scripts ask for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from retrograd.backends import flags
from retrograd.core.places import warn
from retrograd.core.tensor import Tensor
from retrograd.library.tags import Tag
from retrograd.ops.tensor.data import tensor

__all__ = ["Tag", "is_vulkan_available"]

_NOW = {
    "has_cuda": ("cuda.is_built", flags.cuda.is_built),
    "has_cudnn": ("cudnn.is_available", flags.cudnn.is_available),
    "has_mkldnn": ("mkldnn.is_available", flags.mkldnn.is_available),
    "has_mps": ("mps.is_built", flags.mps.is_built),
}


def __getattr__(name: str) -> Any:
    if name == "_VF":  # the functions without their Python side
        return import_module("retrograd")
    if name not in _NOW:
        raise AttributeError(f"torch has no attribute {name!r}", name=name)
    now, answer = _NOW[name]
    warn(f"'{name}' is deprecated, please use 'torch.backends.{now}()'", UserWarning)
    return answer()


def is_vulkan_available() -> bool:
    """Whether there is a device of Vulkan: no."""
    return False


def _shape_as_tensor(x: Tensor) -> Tensor:
    """The sizes of a tensor, as one."""
    return tensor(x.shape)
