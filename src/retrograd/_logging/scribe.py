"""Where PyTorch's own continuous integration keeps notes."""

from __future__ import annotations

from typing import Any

__all__ = ["open_source_signpost"]


def open_source_signpost(**note: Any) -> None:
    """Nothing, as in PyTorch outside of its continuous integration."""
