"""`torch._C._nn`: functions of networks by the names of their C++ half, and what the arguments of `Module.to` mean."""

from __future__ import annotations

from typing import Any

from retrograd.autograd.function import Function
from retrograd.backends.device import device
from retrograd.backends.dtype_class import dtype_of
from retrograd.backends.dtypes import as_dtype
from retrograd.core.places import warn
from retrograd.core.tensor import Tensor
from retrograd.lazy import load


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    try:
        return load("retrograd.ops.aten_calls").function_of(name)
    except NotImplementedError:
        raise AttributeError(f"module 'torch._C._nn' has no attribute '{name}'", name=name) from None


class _WarnsInBackward(Function):
    """A copy of a tensor whose gradient comes with a warning."""

    @staticmethod
    def forward(_: Any, x: Tensor) -> Tensor:
        return x.clone()

    @staticmethod
    def backward(_: Any, grad: Tensor) -> Tensor:
        warn("Warn from backward")
        return grad


def _test_warn_in_autograd(x: Tensor) -> Any:
    """What PyTorch tests with that a warning in a backward arrives."""
    return _WarnsInBackward.apply(x)


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """What the arguments of `Module.to` mean: device, dtype, whether not to wait, memory format.

    >>> import retrograd as rg
    >>> _parse_to("cpu", rg.float64, non_blocking=True)
    (device(type='cpu'), torch.float64, True, None)
    """
    given = load("retrograd.nn.conversion").parse_to(args, kwargs)
    where, dtype = given.get("device"), given.get("dtype")
    return (
        None if where is None else device(where),
        None if dtype is None else dtype_of(as_dtype(dtype)),
        given.get("non_blocking", False),
        given.get("memory_format"),
    )
