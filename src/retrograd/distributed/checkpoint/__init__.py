"""State dicts of several ranks, written by all of them together and read by any number of them.

Names are loaded when they are first asked for: see Note [Loaded on demand] in lazy.py.
"""

import typing as _typing

from retrograd.lazy import lazily as _lazily

if _typing.TYPE_CHECKING:
    from retrograd.distributed.checkpoint.loading import load, load_whole
    from retrograd.distributed.checkpoint.saving import save
else:
    __getattr__, __dir__ = _lazily(
        __name__,
        {
            "retrograd.distributed.checkpoint.loading": "load load_whole",
            "retrograd.distributed.checkpoint.saving": "save",
        },
    )

__all__ = ["load", "load_whole", "save"]
