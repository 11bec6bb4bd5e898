"""Names of PyTorch's compiler that scripts touch, as `torch._inductor`."""

from __future__ import annotations

from retrograd.compiler import Settings

__all__ = ["config"]

config = Settings()
