"""How tensors are printed, as programs ask it of `torch._tensor_str`."""

from __future__ import annotations

from typing import Any

from retrograd.core import printing
from retrograd.core.printing import get_printoptions, printoptions, set_printoptions

__all__ = ["PRINT_OPTS", "get_printoptions", "printoptions", "set_printoptions"]


class _Current:
    """Shows the settings that hold now."""

    def __getattr__(self, name: str) -> Any:
        return getattr(printing._options, name)

    def __repr__(self) -> str:
        return repr(printing._options)


PRINT_OPTS = _Current()
