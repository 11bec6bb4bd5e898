"""Helpers under PyTorch's names."""

from retrograd.utils import hooks

__all__ = ["hooks"]
