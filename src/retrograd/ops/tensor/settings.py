"""Switches of the whole process that PyTorch's programs set: determinism, precision, default dtype and device."""

from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.backends import dtypes
from retrograd.backends.base import check_device
from retrograd.backends.device import CPU, default_device, device, use_device
from retrograd.backends.dtype_class import dtype, dtype_of
from retrograd.backends.dtypes import as_dtype, set_default_dtype
from retrograd.core.places import warn
from retrograd.core.tensor import Tensor
from retrograd.errors import DTYPE_NAMES, OperandError, type_name
from retrograd.ops.register import public
from retrograd.ops.tensor.convert import DeviceLike
from retrograd.ops.tensor.unwritten import UNWRITTEN
from retrograd.values import DType, Number


class RequestedSettings:
    """What has been asked for. NumPy computes in one way only, so nothing but the answers depends on it."""

    deterministic: bool = False
    warn_only: bool = False
    precision: str = "highest"
    warn_always: bool = False


SETTINGS = RequestedSettings()
LEVELS = ("default", "warn", "error")
PRECISIONS = ("highest", "high", "medium")


@public("use_deterministic_algorithms")
def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Asks for algorithms that give the same result each time. Those here always do."""
    if not (isinstance(mode, bool) and isinstance(warn_only, bool)):
        name, value = ("'warn_only'", warn_only) if isinstance(mode, bool) else ("'mode' (position 1)", mode)  # type: ignore[unreachable]
        raise OperandError(
            f"_set_deterministic_algorithms(): argument {name} must be bool, not {type_name(value)}"
        )
    SETTINGS.deterministic, SETTINGS.warn_only = mode, warn_only
    UNWRITTEN.filled = mode


@public("are_deterministic_algorithms_enabled")
def are_deterministic_algorithms_enabled() -> bool:
    """Whether `use_deterministic_algorithms` has asked for them."""
    return SETTINGS.deterministic


@public("is_deterministic_algorithms_warn_only_enabled")
def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether an algorithm that is not deterministic should warn rather than raise."""
    return SETTINGS.warn_only


@public("set_deterministic_debug_mode")
def set_deterministic_debug_mode(debug_mode: str | int) -> None:
    """The same switch by level: 0 or "default", 1 or "warn", 2 or "error"."""
    if not isinstance(debug_mode, (str, int)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if isinstance(debug_mode, str):
        if debug_mode not in LEVELS:
            raise RuntimeError(
                f"invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got {debug_mode}"
            )
        debug_mode = LEVELS.index(debug_mode)
    if debug_mode not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}")
    use_deterministic_algorithms(debug_mode > 0, warn_only=debug_mode == 1)


@public("get_deterministic_debug_mode")
def get_deterministic_debug_mode() -> int:
    """The level of `set_deterministic_debug_mode`."""
    return 0 if not SETTINGS.deterministic else 1 if SETTINGS.warn_only else 2


@public("set_float32_matmul_precision")
def set_float32_matmul_precision(precision: str) -> None:
    """How exact products of float32 matrices must be: "highest", "high" or "medium". Here they always are."""
    if not isinstance(precision, str):
        raise RuntimeError(f"set_float32_matmul_precision expects a str, but got {type_name(precision)}")
    if precision in PRECISIONS:
        SETTINGS.precision = precision
    else:
        warn(f"{precision} is not one of {', '.join(PRECISIONS)}: nothing is changed")


@public("get_float32_matmul_precision")
def get_float32_matmul_precision() -> str:
    """What `set_float32_matmul_precision` has asked for."""
    return SETTINGS.precision


@public("set_flush_denormal")
def set_flush_denormal(mode: bool) -> bool:
    """Asks for the smallest floats to be taken for zero; says whether that can be had. Here they are kept."""
    if not isinstance(mode, bool):
        raise RuntimeError(f"flush_denormal expects a bool, but got {type_name(mode)}")
    return not mode


@public("set_warn_always")
def set_warn_always(b: bool) -> None:
    """Asks for warnings to be repeated. Python's `warnings` filters decide that here."""
    if not isinstance(b, bool):
        raise RuntimeError(f"setWarnOnlyOnce expects a bool, but got {type_name(b)}")
    SETTINGS.warn_always = b


@public("is_warn_always_enabled")
def is_warn_always_enabled() -> bool:
    """What `set_warn_always` has asked for."""
    return SETTINGS.warn_always


@public("set_default_device")
def set_default_device(device: DeviceLike) -> None:
    """Sets the device on which this thread makes tensors; None stands for the CPU."""
    use_device(CPU if device is None else check_device(device))


@public("get_default_device")
def get_default_device() -> device:
    """The device on which this thread makes tensors."""
    return default_device()


@public("get_default_dtype")
def get_default_dtype() -> dtype:
    """The dtype that Python floats become; float32 unless `set_default_dtype` changed it."""
    return dtype_of(dtypes.get_default_dtype())


@public("promote_types")
def promote_types(type1: DType, type2: DType) -> dtype:
    """The dtype of a result of operands of these two dtypes.

    >>> import retrograd as rg
    >>> rg.promote_types(rg.int64, rg.float16), rg.promote_types(rg.uint8, rg.int8)
    (torch.float16, torch.int16)
    """
    for position, given in enumerate((type1, type2), 1):
        if given is None:
            raise TypeError(
                f"promote_types(): argument 'type{position}' (position {position}) must be torch.dtype"
            )
    return dtype_of(dtypes.promote_types(type1, type2))


@public("result_type")
def result_type(tensor: Tensor | Number, other: Tensor | Number) -> dtype:
    """The dtype of a result of these two operands, each a tensor or a number.

    >>> import retrograd as rg
    >>> rg.result_type(rg.tensor([1, 2], dtype=rg.int32), 1.0)
    torch.float32
    """
    operands: tuple[Any, ...] = (tensor, other)
    if not all(isinstance(v, (Tensor, int, float, complex, np.number, np.bool_)) for v in operands):
        given = ", ".join(map(type_name, operands))
        raise TypeError(f"result_type() received an invalid combination of arguments - got ({given})")
    return dtype_of(dtypes.result_type(tensor, other))


@public("set_default_tensor_type")
def set_default_tensor_type(t: str | type) -> None:
    """Sets the default dtype by a type's name, such as "torch.DoubleTensor". Deprecated, as in PyTorch."""
    warn(
        "torch.set_default_tensor_type() is deprecated: use set_default_dtype() and set_default_device().",
        UserWarning,
    )
    name = t if isinstance(t, str) else getattr(t, "__name__", str(t))
    if ".cuda." in name:
        raise TypeError(f"type {name} not available. Torch not compiled with CUDA enabled.")
    spelled = {f"{scalar}Tensor": dtype for dtype, scalar in DTYPE_NAMES.items()}
    found = spelled.get(name.rpartition(".")[2])
    if found is None or as_dtype(found).kind != "f":
        raise TypeError(f"only floating-point types are supported as the default type, not {name}")
    set_default_dtype(found)
