"""Mixed precision for the CPU, under PyTorch's old names: see `retrograd.amp`."""

from __future__ import annotations

from typing import Any

from retrograd import amp
from retrograd.backends.dtype_class import bfloat16
from retrograd.core.places import warn

__all__ = ["GradScaler", "autocast"]


def _old(name: str, new: str) -> None:
    warn(
        f"`torch.cpu.amp.{name}(args...)` is deprecated. Please use `torch.amp.{new}` instead.",
        FutureWarning,
    )


class CpuAutocast(amp.autocast):
    """`amp.autocast("cpu")`. Old."""

    def __init__(self, enabled: bool = True, dtype: Any = bfloat16, cache_enabled: bool = True) -> None:
        _old("autocast", "autocast('cpu', args...)")
        super().__init__("cpu", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


class CpuGradScaler(amp.GradScaler):
    """`amp.GradScaler("cpu")`. Old."""

    def __init__(
        self, init_scale: float = 2.0**16, growth_factor: float = 2.0, backoff_factor: float = 0.5,
        growth_interval: int = 2000, enabled: bool = True,
    ) -> None:  # fmt: skip
        _old("GradScaler", "GradScaler('cpu', args...)")
        super().__init__("cpu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


autocast = CpuAutocast
GradScaler = CpuGradScaler
