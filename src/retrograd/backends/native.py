"""The native kernel pack's Python face: where it is, and the array library that formulas on the CPU use.

The pack (`native/` in the source tree) is optional. `XP` is what formulas know as `xp`: NumPy itself, or the pack,
whose functions of NumPy's names serve plain arrays faster and hand everything else to NumPy.
`RETROGRAD_NO_NATIVE=1` in the environment leaves it out.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

import numpy as np


def _load() -> Any:
    """The pack, or None where it was not built or is not wanted."""
    if os.environ.get("RETROGRAD_NO_NATIVE", "0") not in {"", "0"}:
        return None
    try:
        pack = importlib.import_module("retrograd._native")
    except ImportError:
        return None
    pack.__dict__["__getattr__"] = _from_numpy
    return pack


def _from_numpy(name: str) -> Any:
    """NumPy's function where the pack has none; the pack remembers it."""
    found = getattr(np, name)
    if not name.startswith("__"):
        setattr(PACK, name, found)
    return found


PACK: Any = _load()
XP: Any = np if PACK is None else PACK
