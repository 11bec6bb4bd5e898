"""Neural networks: for now, functions.

Names are loaded when they are first asked for: see Note [Loaded on demand] in lazy.py.
"""

import typing as _typing

from retrograd.lazy import lazily as _lazily

if _typing.TYPE_CHECKING:
    from retrograd.nn import functional
else:
    __getattr__, __dir__ = _lazily(
        __name__,
        {
            "retrograd.nn.functional": "functional=",
        },
    )

__all__ = ["functional"]
