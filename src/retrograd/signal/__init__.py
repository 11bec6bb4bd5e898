"""Signals: their windows.

Names are loaded when they are first asked for: see Note [Loaded on demand] in lazy.py.
"""

import typing as _typing

from retrograd.lazy import lazily as _lazily

if _typing.TYPE_CHECKING:
    from retrograd.signal import windows
else:
    __getattr__, __dir__ = _lazily(__name__, {"retrograd.signal.windows": "windows="})

__all__ = ["windows"]
