"""Neural networks: for now, functions."""

from retrograd.nn import functional

__all__ = ["functional"]
