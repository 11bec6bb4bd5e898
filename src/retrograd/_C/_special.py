"""`torch._C._special`: special functions under the names of their C++ half, as `special_i0`."""

from __future__ import annotations

from typing import Any

from retrograd.lazy import load


def __getattr__(name: str) -> Any:
    if not name.startswith("special_"):
        raise AttributeError(f"module 'torch._C._special' has no attribute '{name}'", name=name)
    return getattr(load("retrograd.special"), name.removeprefix("special_"))
