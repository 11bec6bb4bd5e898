"""What PyTorch's own tools call around modes, as `torch.utils._mode_utils`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from retrograd.utils._python_dispatch import _disable_current_modes as no_dispatch

__all__ = ["all_same_mode", "no_dispatch"]


def all_same_mode(modes: Iterable[Any]) -> bool:
    """Whether all are equal."""
    known = list(modes)
    return all(mode == known[0] for mode in known)
