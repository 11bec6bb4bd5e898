"""Names of PyTorch's compiler that scripts touch, as `torch._dynamo`."""

from __future__ import annotations

from retrograd.compiler import Settings, allow_in_graph, disable, is_compiling, reset

__all__ = ["allow_in_graph", "config", "disable", "is_compiling", "reset"]

config = Settings(suppress_errors=False, cache_size_limit=8, recompile_limit=8)
