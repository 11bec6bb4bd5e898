"""Sharing memory with other libraries, where PyTorch has it too."""

from retrograd.lazy import lazily as _lazily

__getattr__, __dir__ = _lazily(
    __name__, {"retrograd": "from_dlpack to_dlpack", "retrograd.backends.dlpack": "DLDeviceType"}
)
