"""Mixed precision: `autocast` and `GradScaler` under PyTorch's names.

Names are loaded when they are first asked for: see Note [Loaded on demand] in lazy.py.
"""

import typing as _typing

from retrograd.lazy import lazily as _lazily

if _typing.TYPE_CHECKING:
    from retrograd.amp.autocast_mode import autocast, custom_bwd, custom_fwd, is_autocast_available
    from retrograd.amp.grad_scaler import GradScaler
else:
    __getattr__, __dir__ = _lazily(
        __name__,
        {
            "retrograd.amp.autocast_mode": "autocast custom_bwd custom_fwd is_autocast_available",
            "retrograd.amp.grad_scaler": "GradScaler",
        },
    )

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]
