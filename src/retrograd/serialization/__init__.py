"""Files of tensors: `save` and `load`, in PyTorch's own format.

Names are loaded when they are first asked for: see Note [Loaded on demand] in lazy.py.
"""

import typing as _typing

from retrograd.lazy import lazily as _lazily

if _typing.TYPE_CHECKING:
    from retrograd.serialization.loading import get_unsafe_globals_in_checkpoint, load
    from retrograd.serialization.names import (
        add_safe_globals,
        clear_safe_globals,
        get_safe_globals,
        safe_globals,
    )
    from retrograd.serialization.safe_tensors import load_safetensors, save_safetensors
    from retrograd.serialization.saving import save
else:
    __getattr__, __dir__ = _lazily(
        __name__,
        {
            "retrograd.serialization.loading": "get_unsafe_globals_in_checkpoint load",
            "retrograd.serialization.names": "add_safe_globals clear_safe_globals get_safe_globals safe_globals",
            "retrograd.serialization.safe_tensors": "load_safetensors save_safetensors",
            "retrograd.serialization.saving": "save",
        },
    )

__all__ = [
    "add_safe_globals",
    "clear_safe_globals",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "load_safetensors",
    "safe_globals",
    "save",
    "save_safetensors",
]
