"""Functions that take functions: their gradients, products with Jacobians, Jacobians, and the same over batches.

Names are loaded when they are first asked for: see Note [Loaded on demand] in lazy.py.
"""

import typing as _typing

from retrograd.lazy import lazily as _lazily

if _typing.TYPE_CHECKING:
    from retrograd.func.batch_norms import replace_all_batch_norm_modules_
    from retrograd.func.forward import jvp, linearize
    from retrograd.func.functional_form import debug_unwrap, functionalize
    from retrograd.func.grads import grad, grad_and_value, vjp
    from retrograd.func.jacobians import hessian, jacfwd, jacrev
    from retrograd.func.mapping import vmap
    from retrograd.func.modules import functional_call, named_tensors, stack_module_state
    from retrograd.func.patterns import rearrange
    from retrograd.func.per_sample import per_sample_grads
else:
    __getattr__, __dir__ = _lazily(
        __name__,
        {
            "retrograd.func.batch_norms": "replace_all_batch_norm_modules_",
            "retrograd.func.forward": "jvp linearize",
            "retrograd.func.functional_form": "debug_unwrap functionalize",
            "retrograd.func.grads": "grad grad_and_value vjp",
            "retrograd.func.jacobians": "hessian jacfwd jacrev",
            "retrograd.func.mapping": "vmap",
            "retrograd.func.modules": "functional_call named_tensors stack_module_state",
            "retrograd.func.patterns": "rearrange",
            "retrograd.func.per_sample": "per_sample_grads",
        },
    )

__all__ = [
    "debug_unwrap",
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "named_tensors",
    "per_sample_grads",
    "rearrange",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "vjp",
    "vmap",
]
