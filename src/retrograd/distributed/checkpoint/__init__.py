"""State dicts of several ranks, written by all of them together and read by any number of them.

Names are loaded when they are first asked for: see Note [Loaded on demand] in lazy.py.
"""

import typing as _typing

from retrograd.lazy import lazily as _lazily

if _typing.TYPE_CHECKING:
    from retrograd.distributed.checkpoint import state_dict as state_dict
    from retrograd.distributed.checkpoint import stateful as stateful
    from retrograd.distributed.checkpoint.filesystem import FileSystemReader, FileSystemWriter
    from retrograd.distributed.checkpoint.loading import load, load_whole
    from retrograd.distributed.checkpoint.saving import async_save, save
else:
    __getattr__, __dir__ = _lazily(
        __name__,
        {
            "retrograd.distributed.checkpoint.filesystem": "FileSystemReader FileSystemWriter",
            "retrograd.distributed.checkpoint.loading": "load load_whole",
            "retrograd.distributed.checkpoint.saving": "async_save save",
            "retrograd.distributed.checkpoint.state_dict": "state_dict=",
            "retrograd.distributed.checkpoint.stateful": "stateful=",
        },
    )

__all__ = ["FileSystemReader", "FileSystemWriter", "async_save", "load", "load_whole", "save"]
