"""How to keep NumPy quiet.

PyTorch computes `log(0)` and `inf - inf` without a word; NumPy warns. `token = hush(QUIET)` switches NumPy's
floating-point warnings off around our own calls, `unhush(token)` restores the user's setting.
"""

from __future__ import annotations

from typing import Any

import numpy as np

try:
    # What np.errstate does inside, at a fifth of its price. Probed, because it is not public.
    from numpy._core.umath import _extobj_contextvar, _make_extobj

    QUIET: Any = _make_extobj(all="ignore")
    VARIABLE: Any = _extobj_contextvar
    hush: Any = _extobj_contextvar.set
    unhush: Any = _extobj_contextvar.reset

except (ImportError, TypeError):  # pragma: no cover - depends on NumPy's internals
    QUIET = "ignore"
    VARIABLE = None

    def hush(how: Any) -> Any:
        return np.seterr(all=how)

    def unhush(token: Any) -> None:
        np.seterr(**token)
