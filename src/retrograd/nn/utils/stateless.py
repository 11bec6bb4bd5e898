"""The old place of `func.functional_call`, and what packages take from there."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

from retrograd.core.places import warn
from retrograd.core.tensor import Tensor
from retrograd.func.modules import functional_call as _functional_call
from retrograd.func.modules import replaced_tensors


def functional_call(
    module: Any,
    parameters_and_buffers: Mapping[str, Tensor],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Calls a module with other tensors in the place of its own: `func.functional_call`, which is the new name."""
    warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated: use `torch.func.functional_call` instead.",
        FutureWarning,
    )
    return _functional_call(
        module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict
    )


def _reparametrize_module(
    module: Any,
    parameters_and_buffers: Mapping[str, Tensor],
    tie_weights: bool = False,
    strict: bool = False,
    stack_weights: bool = False,
) -> AbstractContextManager[None]:
    """A block in which a module has other tensors in the place of its own."""
    return replaced_tensors(module, parameters_and_buffers, tie_weights, strict)
