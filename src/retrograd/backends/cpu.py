"""NumPy as the CPU's array library, and how to keep it quiet.

PyTorch computes `log(0)` and `inf - inf` without a word; NumPy warns. `hush`/`unhush` switch NumPy's floating-point
warnings off around our own calls and leave the user's setting as it was.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.values import Array

try:
    # What np.errstate does inside, at a fifth of its price. Probed, because it is not public.
    from numpy._core.umath import _extobj_contextvar, _make_extobj

    _QUIET = _make_extobj(all="ignore")

    def hush() -> Any:
        """Silences NumPy in this context; give the result to `unhush`."""
        return _extobj_contextvar.set(_QUIET)

    def unhush(token: Any) -> None:
        """Restores what `hush` changed."""
        _extobj_contextvar.reset(token)

except (ImportError, TypeError):  # pragma: no cover - depends on NumPy's internals

    def hush() -> Any:
        """Silences NumPy in this thread; give the result to `unhush`."""
        return np.seterr(all="ignore")

    def unhush(token: Any) -> None:
        """Restores what `hush` changed."""
        np.seterr(**token)


def as_array(value: Any) -> Array:
    """An array again: NumPy turns 0-dim results into scalars."""
    return np.asarray(value)
