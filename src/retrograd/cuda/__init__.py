"""What scripts ask about GPUs. There are none yet: arrays live on the CPU.

`amp` is loaded when it is first asked for: see Note [Loaded on demand] in lazy.py.
"""

from __future__ import annotations

import typing as _typing

from retrograd.lazy import lazily as _lazily

if _typing.TYPE_CHECKING:
    from retrograd.cuda import amp
else:
    __getattr__, __dir__ = _lazily(__name__, {"retrograd.cuda.amp": "amp="})

__all__ = ["amp", "device_count", "is_available"]


def is_available() -> bool:
    """Whether tensors can live on a GPU.

    >>> is_available()
    False
    """
    return False


def device_count() -> int:
    """How many GPUs there are."""
    return 0
