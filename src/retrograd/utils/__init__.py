"""Helpers under PyTorch's names.

Names are loaded when they are first asked for: see Note [Loaded on demand] in lazy.py.
"""

import typing as _typing

from retrograd.lazy import lazily as _lazily

if _typing.TYPE_CHECKING:
    from retrograd.utils import checkpoint, data, hooks, progress, run_log
else:
    __getattr__, __dir__ = _lazily(
        __name__,
        {
            "retrograd.utils.checkpoint": "checkpoint=",
            "retrograd.utils.data": "data=",
            "retrograd.utils.hooks": "hooks=",
            "retrograd.utils.progress": "progress=",
            "retrograd.utils.run_log": "run_log=",
        },
    )

__all__ = ["checkpoint", "data", "hooks", "progress", "run_log"]
