"""Calls that wait for the GPU though nobody asked them to: `set_sync_debug_mode`."""

from __future__ import annotations

import importlib
from typing import Any, Final

from retrograd.core.places import warn
from retrograd.cuda.devices import library

MODES: Final = {"default": 0, "warn": 1, "error": 2}
MESSAGE: Final = (
    "called a synchronizing CUDA operation: the program waits here until the GPU has done all its work. Keep the value "
    "on the GPU, or move it later; rg.cuda.set_sync_debug_mode('default') lets such calls pass."
)


class Waiting:
    """What happens at a call that waits."""

    mode: int = 0
    original: Any = None  # CuPy's function, called before each of its copies to the CPU


WAITING: Final = Waiting()


def _tell() -> None:
    """What CuPy calls before it waits."""
    if WAITING.mode == MODES["error"]:
        raise RuntimeError(MESSAGE)
    if WAITING.mode == MODES["warn"]:
        warn(MESSAGE, UserWarning)
    WAITING.original()


def set_sync_debug_mode(debug_mode: int | str) -> None:
    """Says what happens at a call that waits for the GPU: nothing ("default", 0), a warning (1) or an error (2).

    Such calls are those that need a value on the CPU: `t.item()`, `t.cpu()`, `t.tolist()`, `if t:`, `t.nonzero()`.
    """
    if isinstance(debug_mode, str):
        if debug_mode not in MODES:
            raise RuntimeError("invalid value of debug_mode, expected one of `default`, `warn`, `error`")
        debug_mode = MODES[debug_mode]
    if debug_mode not in MODES.values():
        raise RuntimeError("invalid value of debug_mode, expected 0 (default), 1 (warn) or 2 (error)")
    library()
    if WAITING.original is None:
        detect: Any = importlib.import_module("cupy._core.syncdetect")
        WAITING.original = detect._declare_synchronize
        detect._declare_synchronize = _tell
    WAITING.mode = debug_mode


def get_sync_debug_mode() -> int:
    """The mode that `set_sync_debug_mode` has set."""
    library()
    return WAITING.mode
