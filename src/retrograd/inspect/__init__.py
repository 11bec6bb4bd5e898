"""Looking at a backward pass.

Names are loaded when they are first asked for: see Note [Loaded on demand] in lazy.py.
"""

import typing as _typing

from retrograd.lazy import lazily as _lazily

if _typing.TYPE_CHECKING:
    from retrograd.inspect.recording import Recording, record
    from retrograd.inspect.text import graph_text
else:
    __getattr__, __dir__ = _lazily(
        __name__,
        {
            "retrograd.inspect.recording": "Recording record",
            "retrograd.inspect.text": "graph_text",
        },
    )

__all__ = ["Recording", "graph_text", "record"]
