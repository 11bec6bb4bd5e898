"""Files of tensors: `save` and `load`, in PyTorch's own format.

Names are loaded when they are first asked for: see Note [Loaded on demand] in lazy.py.
"""

import typing as _typing

from retrograd.lazy import lazily as _lazily

if _typing.TYPE_CHECKING:
    from retrograd.serialization.choices import (
        LoadEndianness,
        SourceChangeWarning,
        get_crc32_options,
        get_default_load_endianness,
        get_default_mmap_options,
        set_crc32_options,
        set_default_load_endianness,
        set_default_mmap_options,
        skip_data,
    )
    from retrograd.serialization.loading import get_unsafe_globals_in_checkpoint, load
    from retrograd.serialization.names import (
        add_safe_globals,
        clear_safe_globals,
        get_safe_globals,
        safe_globals,
    )
    from retrograd.serialization.safe_tensors import load_safetensors, save_safetensors
    from retrograd.serialization.saving import save
    from retrograd.serialization.storages import default_restore_location, location_tag
else:
    __getattr__, __dir__ = _lazily(
        __name__,
        {
            "retrograd.serialization.choices": (
                "LoadEndianness SourceChangeWarning get_crc32_options get_default_load_endianness "
                "get_default_mmap_options set_crc32_options set_default_load_endianness "
                "set_default_mmap_options skip_data"
            ),
            "retrograd.serialization.loading": "get_unsafe_globals_in_checkpoint load",
            "retrograd.serialization.names": "add_safe_globals clear_safe_globals get_safe_globals safe_globals",
            "retrograd.serialization.safe_tensors": "load_safetensors save_safetensors",
            "retrograd.serialization.saving": "DEFAULT_PROTOCOL save",
            "retrograd.serialization.storages": "default_restore_location location_tag",
        },
    )

__all__ = [
    "LoadEndianness",
    "SourceChangeWarning",
    "add_safe_globals",
    "clear_safe_globals",
    "default_restore_location",
    "get_crc32_options",
    "get_default_load_endianness",
    "get_default_mmap_options",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "load_safetensors",
    "location_tag",
    "safe_globals",
    "save",
    "save_safetensors",
    "set_crc32_options",
    "set_default_load_endianness",
    "set_default_mmap_options",
    "skip_data",
]
