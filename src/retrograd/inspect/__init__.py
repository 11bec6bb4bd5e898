"""Looking at a backward pass.

Names are loaded when they are first asked for: see Note [Loaded on demand] in lazy.py.
"""

import typing as _typing

from retrograd.lazy import lazily as _lazily

if _typing.TYPE_CHECKING:
    from retrograd.inspect.difference import Difference
    from retrograd.inspect.failure import on_failure
    from retrograd.inspect.ledger import Ledger, memory
    from retrograd.inspect.recording import Recording, record
    from retrograd.inspect.text import graph_text
    from retrograd.inspect.torchviz import make_dot
else:
    __getattr__, __dir__ = _lazily(
        __name__,
        {
            "retrograd.inspect.difference": "Difference",
            "retrograd.inspect.failure": "on_failure",
            "retrograd.inspect.ledger": "Ledger memory",
            "retrograd.inspect.recording": "Recording record",
            "retrograd.inspect.text": "graph_text",
            "retrograd.inspect.torchviz": "make_dot",
        },
    )

__all__ = ["Difference", "Ledger", "Recording", "graph_text", "make_dot", "memory", "on_failure", "record"]
