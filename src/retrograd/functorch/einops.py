"""`functorch.einops`."""

from retrograd.func import rearrange

__all__ = ["rearrange"]
