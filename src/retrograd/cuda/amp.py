"""Mixed precision for GPUs, under PyTorch's old names: see `retrograd.amp`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from retrograd import amp
from retrograd.backends.dtype_class import float16
from retrograd.core.places import warn

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


def _old(name: str, new: str) -> None:
    warn(
        f"`torch.cuda.amp.{name}(args...)` is deprecated. Please use `torch.amp.{new}` instead.",
        FutureWarning,
    )


class CudaAutocast(amp.autocast):
    """`amp.autocast("cuda")`. Old."""

    def __init__(self, enabled: bool = True, dtype: Any = float16, cache_enabled: bool = True) -> None:
        _old("autocast", "autocast('cuda', args...)")
        super().__init__("cuda", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


class CudaGradScaler(amp.GradScaler):
    """`amp.GradScaler("cuda")`. Old."""

    def __init__(
        self, init_scale: float = 2.0**16, growth_factor: float = 2.0, backoff_factor: float = 0.5,
        growth_interval: int = 2000, enabled: bool = True,
    ) -> None:  # fmt: skip
        _old("GradScaler", "GradScaler('cuda', args...)")
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


autocast = CudaAutocast
GradScaler = CudaGradScaler


def custom_fwd(fwd: Callable[..., Any] | None = None, *, cast_inputs: Any = None) -> Callable[..., Any]:
    """`amp.custom_fwd` for GPUs. Old."""
    _old("custom_fwd", "custom_fwd(args..., device_type='cuda')")
    return amp.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Callable[..., Any]) -> Callable[..., Any]:
    """`amp.custom_bwd` for GPUs. Old."""
    _old("custom_bwd", "custom_bwd(args..., device_type='cuda')")
    return amp.custom_bwd(bwd, device_type="cuda")
