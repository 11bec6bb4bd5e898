"""`torch._C._fft`: Fourier transforms under the names of their C++ half, as `fft_rfft`."""

from __future__ import annotations

from typing import Any

from retrograd.lazy import load


def __getattr__(name: str) -> Any:
    if not name.startswith("fft_"):
        raise AttributeError(f"module 'torch._C._fft' has no attribute '{name}'", name=name)
    return getattr(load("retrograd.fft"), name.removeprefix("fft_"))
