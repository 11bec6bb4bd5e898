"""Helpers under PyTorch's names."""

from retrograd.utils import checkpoint, hooks

__all__ = ["checkpoint", "hooks"]
