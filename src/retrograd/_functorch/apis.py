"""`torch._functorch.apis`."""

from retrograd.func import grad, grad_and_value, vmap

__all__ = ["grad", "grad_and_value", "vmap"]
