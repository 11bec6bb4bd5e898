"""The old place of `func.functional_call`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from retrograd.core.places import warn
from retrograd.core.tensor import Tensor
from retrograd.func.modules import functional_call as _functional_call


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
        "`nn.utils.stateless.functional_call` is deprecated in favor of `func.functional_call`.",
        FutureWarning,
    )
    return _functional_call(
        module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict
    )
