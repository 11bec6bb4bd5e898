"""`autocast`, and how a custom Function goes along with it. Which functions it concerns: Note [Autocast]."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from retrograd.backends.base import open_device
from retrograd.backends.device import device
from retrograd.backends.dtype_class import dtype_of
from retrograd.backends.dtypes import as_dtype, bfloat16, float16, float64
from retrograd.core.autocast import AutocastSwitch, setting
from retrograd.core.modes import current
from retrograd.core.places import warn
from retrograd.core.tensor import Tensor

F = TypeVar("F", bound=Callable[..., Any])


def check_type(device_type: Any) -> str:
    """The type of a device, if it is a string and there is such a type."""
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    return device(device_type).type


def is_autocast_available(device_type: str) -> bool:
    """Whether autocast can be used on a type of device: on the CPU, and on GPUs once there are any."""
    return check_type(device_type) in ("cpu", "cuda")


def _is_there(device_type: str) -> bool:
    """Whether there is a device of a type."""
    try:
        return open_device(device_type)
    except RuntimeError:
        return False


class autocast(AutocastSwitch):  # noqa: N801 - torch's name
    """Inside the block, products and convolutions compute in lower precision, and losses in float32.

    It decorates functions, too.

    Args:
        device_type: "cpu" or "cuda".
        dtype: the lower precision, bfloat16 (which needs ml_dtypes) or float16; None for what
            `get_autocast_dtype(device_type)` says, which is bfloat16 on the CPU and float16 on GPUs.
        enabled: whether it is on in the block; False switches it off inside of another.
        cache_enabled: whether a weight is converted once for all its uses in the outermost block.

    >>> import retrograd as rg
    >>> x = rg.ones(2, 2)
    >>> with rg.autocast("cpu", dtype=rg.float16):
    ...     print((x @ x).dtype, (x + x).dtype)
    torch.float16 torch.float32
    """

    def __init__(
        self, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        self.device: str = check_type(device_type)
        if not is_autocast_available(self.device):
            raise RuntimeError(f"User specified an unsupported autocast device_type '{self.device}'")
        self.fast_dtype: Any = dtype_of(setting(self.device)[1] if dtype is None else as_dtype(dtype))
        self._cache_enabled = current().autocast_keeps if cache_enabled is None else cache_enabled
        if self.device == "cuda" and enabled and not _is_there("cuda"):
            warn("CUDA is not available or torch_xla is imported. Disabling autocast.", UserWarning)
            enabled = False
        if self.device == "cpu" and enabled and self.fast_dtype.held not in (bfloat16, float16):
            warn(
                "In CPU autocast, but the target dtype is not supported. Disabling autocast.\n"
                "CPU Autocast only supports dtypes of torch.bfloat16, torch.float16 currently.",
                UserWarning,
            )
            enabled = False
        self._enabled = enabled

    def __call__(self, func: F) -> F:
        """Decorates `func` so that its body runs in the block."""

        @functools.wraps(func)
        def decorated(*args: Any, **kwargs: Any) -> Any:
            with self:
                return func(*args, **kwargs)

        return decorated  # type: ignore[return-value]


# -- custom Functions ------------------------------------------------------------------------------------------------


def custom_fwd(
    fwd: Callable[..., Any] | None = None, *, device_type: str, cast_inputs: Any = None
) -> Callable[..., Any]:
    """Decorates the `forward` of a Function: its backward will run under autocast as this did (see `custom_bwd`).

    Args:
        fwd: the function; without it, a decorator is returned.
        device_type: "cpu".
        cast_inputs: the dtype that floating-point arguments are converted to under autocast, which is then off inside;
            None leaves both as they are.
    """
    kind = check_type(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=kind, cast_inputs=cast_inputs)
    function = fwd

    @functools.wraps(function)
    def decorated(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        enabled, dtype = setting(kind)
        ctx._dtype = dtype_of(dtype)
        ctx._fwd_used_autocast = enabled and cast_inputs is None
        if cast_inputs is None or not enabled:
            return function(ctx, *args, **kwargs)
        with autocast(kind, enabled=False):
            return function(ctx, *_in_dtype(args, cast_inputs, kind), **_in_dtype(kwargs, cast_inputs, kind))

    return decorated


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Callable[..., Any]:
    """Decorates the `backward` of a Function whose `forward` wears `custom_fwd`: autocast is as it was there."""
    kind = check_type(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=kind)
    function = bwd

    @functools.wraps(function)
    def decorated(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        with autocast(kind, dtype=ctx._dtype, enabled=ctx._fwd_used_autocast):
            return function(ctx, *args, **kwargs)

    return decorated


def _in_dtype(value: Any, dtype: Any, kind: str) -> Any:
    """Arguments with their floating-point tensors converted, in containers too."""
    if isinstance(value, Tensor):
        eligible = value.array.dtype.kind == "f" and value.array.dtype is not float64
        return value.to(dtype) if eligible and value.device.type == kind else value
    if isinstance(value, (str, bytes, np.ndarray)):
        return value
    if isinstance(value, dict):
        return {_in_dtype(k, dtype, kind): _in_dtype(v, dtype, kind) for k, v in value.items()}
    if isinstance(value, (tuple, list)):
        return type(value)([_in_dtype(v, dtype, kind) for v in value])
    return value
