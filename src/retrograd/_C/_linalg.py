"""`torch._C._linalg`: functions of matrices under the names of their C++ half, as `linalg_inv`."""

from __future__ import annotations

from typing import Any

from retrograd.lazy import load


def __getattr__(name: str) -> Any:
    if not name.startswith("linalg_"):
        raise AttributeError(f"module 'torch._C._linalg' has no attribute '{name}'", name=name)
    return getattr(load("retrograd.linalg"), name.removeprefix("linalg_"))
