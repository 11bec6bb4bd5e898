"""Whether two libraries have computed the same: a row that differs measures nothing."""

from __future__ import annotations

from typing import Any

import numpy as np


def array(value: Any) -> np.ndarray:
    """What a program returned, as an array of numbers."""
    return np.asarray(value.detach().numpy() if hasattr(value, "detach") else value, dtype=np.float64)


def disagreement(ours: Any, theirs: Any) -> str:
    """How far the results of two libraries are apart, if further than rounding explains; else nothing."""
    a, b = array(ours), array(theirs)
    if a.shape != b.shape:
        return f"shapes {a.shape} and {b.shape}"
    scale = float(np.abs(b).max(initial=0.0)) or 1.0
    apart = float(np.abs(a - b).max(initial=0.0)) / scale
    return "" if apart < 1e-3 else f"results differ by {apart:.1e} of the largest"
