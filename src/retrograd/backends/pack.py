"""The native kernel pack (`native/` in the source tree), where it was built and is wanted.

`RETROGRAD_NO_NATIVE=1` in the environment leaves it out. Loading it changes nothing outside of it, unless
`RETROGRAD_KEEP_ARENAS=1` asks for what `retrograd.memory.keep_arenas` does.
"""

from __future__ import annotations

import importlib
import os
import warnings
from typing import Any, Final


def _load() -> Any:
    """The pack, or None where it was not built or is not wanted."""
    if os.environ.get("RETROGRAD_NO_NATIVE", "0") not in {"", "0"}:
        return None
    try:
        return importlib.import_module("retrograd._native")
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


PACK: Final[Any] = _load()
