"""The transforms of `func`, and models as functions, by their old names. Each says that it is old."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Final

from retrograd import func
from retrograd.core.places import warn
from retrograd.functorch.models import functional_ensemble, functional_model, functional_model_with_buffers


def _old(name: str, function: Callable[..., Any], newer: str) -> Callable[..., Any]:
    """A function by its old name, which says so."""

    @wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        warn(
            f"We've integrated functorch into PyTorch: `functorch.{name}` is deprecated. Please use `torch.{newer}` "
            "instead.",
            FutureWarning,
        )
        return function(*args, **named)

    call.__name__ = call.__qualname__ = name
    return call


vmap: Final = _old("vmap", func.vmap, "vmap")
grad: Final = _old("grad", func.grad, "func.grad")
grad_and_value: Final = _old("grad_and_value", func.grad_and_value, "func.grad_and_value")
vjp: Final = _old("vjp", func.vjp, "func.vjp")
jvp: Final = _old("jvp", func.jvp, "func.jvp")
jacrev: Final = _old("jacrev", func.jacrev, "func.jacrev")
jacfwd: Final = _old("jacfwd", func.jacfwd, "func.jacfwd")
hessian: Final = _old("hessian", func.hessian, "func.hessian")
functionalize: Final = _old("functionalize", func.functionalize, "func.functionalize")
make_functional: Final = _old("make_functional", functional_model, "func.functional_call")
make_functional_with_buffers: Final = _old(
    "make_functional_with_buffers", functional_model_with_buffers, "func.functional_call"
)
combine_state_for_ensemble: Final = _old(
    "combine_state_for_ensemble", functional_ensemble, "func.stack_module_state"
)
