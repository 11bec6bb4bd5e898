"""Handles of hooks, where PyTorch has them."""

from retrograd.core.hooks import RemovableHandle

__all__ = ["RemovableHandle"]
