"""The native kernel pack's Python face: where it is, and the array library that formulas on the CPU use.

The pack (`native/` in the source tree) is optional. `XP` is what formulas know as `xp`: NumPy itself, or the pack,
whose functions of NumPy's names serve plain arrays faster and hand everything else to NumPy.
`RETROGRAD_NO_NATIVE=1` in the environment leaves it out.
"""

from __future__ import annotations

import importlib
import os
import warnings
from typing import Any, Final

import numpy as np


def _load() -> Any:
    """The pack, or None where it was not built or is not wanted."""
    if os.environ.get("RETROGRAD_NO_NATIVE", "0") not in {"", "0"}:
        return None
    try:
        pack = importlib.import_module("retrograd._native")
    except ModuleNotFoundError:
        return None
    except ImportError as error:
        warnings.warn(
            f"retrograd's native kernels could not be loaded, and NumPy serves instead: {error}. Install retrograd "
            "again for this Python and NumPy, or set RETROGRAD_NO_NATIVE=1.",
            RuntimeWarning,
            stacklevel=2,
        )
        return None
    pack.__dict__["__getattr__"] = _from_numpy
    return pack


def _from_numpy(name: str) -> Any:
    """NumPy's function where the pack has none; the pack remembers it."""
    found = getattr(np, name)
    if not name.startswith("__"):
        setattr(PACK, name, found)
    return found


def _add_into(target: Any, other: Any) -> Any:
    """Adds an array to another one, in place."""
    return np.add(target, other, out=target)


def ones_like(array: Any) -> Any:
    """Ones in the shape and dtype of an array."""
    made = NotImplemented if PACK is None else PACK.ones_of(array)
    return np.ones_like(array) if made is NotImplemented else made


def join(arrays: Any, axis: int, is_new: bool) -> Any:
    """Several arrays as one along a dimension, a new one or one they have; None where the pack does not serve that."""
    return None if PACK is None else PACK.join(arrays, axis, is_new)


PACK: Final[Any] = _load()
XP: Final[Any] = np if PACK is None else PACK
add_into: Final[Any] = _add_into if PACK is None else PACK.add_into
