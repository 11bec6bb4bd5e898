"""Functions that take functions: their gradients, products with Jacobians, Jacobians, and the same over batches."""

from retrograd.func.forward import jvp, linearize
from retrograd.func.grads import grad, grad_and_value, vjp
from retrograd.func.jacobians import hessian, jacfwd, jacrev
from retrograd.func.mapping import vmap
from retrograd.func.modules import functional_call, named_tensors, stack_module_state
from retrograd.func.per_sample import per_sample_grads

__all__ = [
    "functional_call",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "named_tensors",
    "per_sample_grads",
    "stack_module_state",
    "vjp",
    "vmap",
]
