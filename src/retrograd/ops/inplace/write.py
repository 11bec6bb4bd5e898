"""The move that ends an in-place computation, and the ops that record one without a derivative."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, ClassVar

from retrograd.backends.base import Backend
from retrograd.backends.casts import cast
from retrograd.core.apply import apply1
from retrograd.core.autocast import autocasting, without_autocast
from retrograd.core.families import Linear
from retrograd.core.inplace import check_writable, write_back
from retrograd.core.modes import current
from retrograd.core.places import warn
from retrograd.core.tensor import Tensor
from retrograd.core.views import is_stretched
from retrograd.errors import DtypeError, InferenceError, InplaceError
from retrograd.ops.common import c_name, require_tensor, zero_like
from retrograd.values import Array


class Independent(Linear):
    """something that does not depend on x"""

    def transpose(self, g: Any) -> Any:
        return zero_like(g)

    def jvp(self, t: Any, x: Any, out: Any) -> Any:
        return zero_like(t)


class Replaced(Independent):
    """given values in place of x"""

    params: ClassVar[tuple[str, ...]] = ("values",)
    array_params: ClassVar[tuple[str, ...]] = ("values",)

    def __init__(self, values: Array) -> None:
        self.values = values

    def forward(self, xp: Backend, x: Array) -> Array:
        return self.values


def write(x: Tensor, result: Tensor) -> Tensor:
    """`write_back`, also for results without a derivative."""
    if result._node is None and x.requires_grad and current().grad_enabled:
        result = apply1(Replaced(cast(result.array, x.array.dtype)), x)
    return write_back(x, result)


# Writes that PyTorch lets overwrite expanded memory, which most may not; some of them say that they should not.
ON_EXPANDED = {"masked_fill_": True, "index_fill_": True, "index_put_": True, "tril_": False, "triu_": False}


def _check_arguments(function: Callable[..., Any], x: Tensor, *args: Any, **kwargs: Any) -> None:
    """Complains of arguments that are of the wrong type: of two faults, that one is told first."""
    with contextlib.suppress(RuntimeError, ValueError, IndexError):
        function(x.detach().clone(), *args, **kwargs)


def compute_in_place(
    name: str, function: Callable[..., Any], input: Any = None, /, *args: Any, **kwargs: Any
) -> Tensor:
    """Writes what `function` gives for `input` into it; `name` is that of the in-place form, for messages."""
    if input is None:
        input = kwargs.pop("input", None)  # it may come by name
    x = require_tensor(name, "input", 1, input)
    on_expanded = name in ON_EXPANDED
    try:
        check_writable(x, on_expanded)
    except (InplaceError, InferenceError):
        _check_arguments(function, x, *args, **kwargs)
        raise
    if on_expanded and ON_EXPANDED[name] and is_stretched(x.array):
        warn(
            f"Use of {name} on expanded tensors is deprecated: elements that share memory change together. "
            "clone() the tensor first.",
            UserWarning,
        )
    if autocasting():  # PyTorch's lists have no in-place forms
        return write(x, without_autocast(function, x, *args, **kwargs))
    if kwargs or len(args) > 1:
        found = function(x, *args, **kwargs)
        if kwargs.get("dtype") is not None and found.dtype != x.dtype:
            raise DtypeError(
                f"Bad in-place call: input tensor dtype {c_name(x.array)} and output tensor dtype "
                f"{c_name(found.array)} should match"
            )
        return write(x, found)
    return write(x, function(x, args[0]) if args else function(x))
