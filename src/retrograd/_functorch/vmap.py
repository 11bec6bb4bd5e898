"""`torch._functorch.vmap`."""

from retrograd.func.mapping import restore_vmap, vmap

__all__ = ["restore_vmap", "vmap"]
