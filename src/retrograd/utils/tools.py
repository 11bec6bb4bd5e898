"""Small helpers that `torch.utils` itself has."""

from __future__ import annotations

from typing import Any

cmake_prefix_path = ""  # where CMake would find PyTorch's C++ library; there is none


def set_module(obj: Any, mod: str) -> None:
    """Has something say that it comes from a module of this name."""
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod
