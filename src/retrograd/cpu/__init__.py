"""What scripts ask about the CPU as a device.

Names are loaded when they are first asked for: see Note [Loaded on demand] in lazy.py.
"""

import typing as _typing

from retrograd.lazy import lazily as _lazily

if _typing.TYPE_CHECKING:
    from retrograd.cpu import amp
else:
    __getattr__, __dir__ = _lazily(__name__, {"retrograd.cpu.amp": "amp="})

__all__ = ["amp"]
