"""Copies and conversions: clone, contiguous, to, float, double, …"""

from __future__ import annotations

from typing import Any, TypeAlias, overload

from retrograd.backends.base import Backend, check_device, device_of, placed
from retrograd.backends.device import CPU
from retrograd.backends.device import device as Device
from retrograd.backends.dtypes import (
    SCALAR_NAMES,
    as_dtype,
    bool_,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
)  # fmt: skip
from retrograd.core.apply import apply1
from retrograd.core.lost import NO_DERIVATIVE, cut
from retrograd.core.op import Linear
from retrograd.core.places import warn
from retrograd.core.tensor import Tensor
from retrograd.ops.common import memory_order
from retrograd.ops.register import public
from retrograd.values import Array, DType

DeviceLike: TypeAlias = Device | str | int | None  # a device, its name or its number; None for the default


class Clone(Linear):
    """a copy"""

    params = ("order",)

    def __init__(self, order: str = "K") -> None:
        self.order = order

    def forward(self, xp: Backend, x: Array) -> Array:
        return xp.array(x, order=memory_order(xp, x) if self.order == "K" else self.order, copy=True)

    def transpose(self, g: Any) -> Any:
        return g


class ToCopy(Linear):
    """a copy in another dtype"""

    params = ("target",)

    def __init__(self, target: DType) -> None:
        self.target = target

    def forward(self, xp: Backend, x: Array) -> Array:
        self.source = x.dtype
        if x.dtype.kind == "c" and self.target.kind != "c":
            x = (x != 0) if self.target.kind == "b" else x.real
        return x.astype(self.target, order=memory_order(xp, x))

    def transpose(self, g: Any) -> Any:
        if g.dtype.kind == "c" and self.source.kind != "c":
            g = g.real
        return g if g.dtype == self.source else ToCopy(self.source).on(g)


class ToDevice(Linear):
    """a copy in the memory of another device"""

    node_name = "ToCopyBackward0"
    params = ("target",)

    def __init__(self, target: Device) -> None:
        self.target = target
        self.source = CPU

    def forward(self, xp: Backend, x: Array) -> Array:
        self.source = device_of(x)
        return placed(x, self.target)

    def transpose(self, g: Any) -> Any:
        return ToDevice(self.source).on(g)


def convert(x: Tensor, dtype: Any) -> Tensor:
    """`x` in `dtype`: itself if it has it already."""
    target = as_dtype(dtype)
    if x.array.dtype is target or x.array.dtype == target:
        return x
    if x.array.dtype.kind == "c" and target.kind not in "cb":
        warn("Casting complex values to real discards the imaginary part", UserWarning)
    if target.kind in "fc":
        result: Tensor = apply1(ToCopy(target), x)
        return result
    result = apply1(ToCopy(target), x.detach())  # integers have no gradient
    if x.requires_grad:
        result._lost = cut(x, NO_DERIVATIVE, f"the conversion to {target}")
    return result


@public("clone", method=True)
def clone(input: Tensor, *, memory_format: str | None = None) -> Tensor:
    """A copy of `input`; gradients pass through to it."""
    found: Tensor = apply1(Clone(), input)
    return found


@public("Tensor.contiguous")
def contiguous(input: Tensor, memory_format: str | None = None) -> Tensor:
    """`input` itself if its elements lie in row-major order, else a copy where they do."""
    return input if input.array.flags.c_contiguous else apply1(Clone("C"), input)


@public("Tensor.to")
def to(
    input: Tensor, *args: Any, device: DeviceLike = None, dtype: DType | None = None, non_blocking: bool = False,
    copy: bool = False, memory_format: str | None = None, other: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """`input` in another dtype or on another device: `to(dtype)`, `to(device)`, `to(device, dtype)`, `to(other)`.

    >>> import retrograd as rg
    >>> rg.tensor([1, 2]).to(rg.float64)
    tensor([1., 2.], dtype=torch.float64)
    """
    rest = args[1:]
    if other is not None or (args and isinstance(args[0], Tensor)):
        example: Tensor = args[0] if other is None else other
        device, dtype = example.device, example.array.dtype
    elif args and args[0] is not None and not isinstance(args[0], (str, Device)):
        dtype = args[0]
    elif args:
        device, dtype, rest = args[0], dtype if len(args) == 1 else args[1], args[2:]
    if len(rest) > 1:
        copy = rest[1]
    result = input if dtype is None else convert(input, dtype)
    if device is not None:
        where = check_device(device)
        if where != result.device:
            found: Tensor = apply1(ToDevice(where), result)
            return found
    return clone(result) if copy and result is input else result


@public("Tensor.type_as")
def type_as(input: Tensor, other: Tensor) -> Tensor:
    """`input` in the dtype of `other`."""
    return convert(input, other.array.dtype)


@overload
def type(input: Tensor) -> str: ...


@overload
def type(input: Tensor, dtype: DType | str, non_blocking: bool = False) -> Tensor: ...


@public("Tensor.type")
def type(input: Tensor, dtype: DType | str | None = None, non_blocking: bool = False) -> str | Tensor:
    """The legacy type name, or `input` converted to a dtype."""
    if dtype is None:
        return input._type_string()
    if isinstance(dtype, str) and dtype.startswith("torch."):
        wanted = dtype.removeprefix("torch.").removesuffix("Tensor")
        dtype = next((d for d, name in SCALAR_NAMES.items() if name == wanted), dtype)
    return convert(input, dtype)


@public("cpu", method=True)
def cpu(input: Tensor) -> Tensor:
    """`input` in the host's memory."""
    return to(input, "cpu")


# -- one method per dtype name -------------------------------------------------------------------------------------


@public("Tensor.half")
def to_half(input: Tensor, memory_format: str | None = None) -> Tensor:
    """`input` as float16."""
    return convert(input, float16)


@public("Tensor.float")
def to_float(input: Tensor, memory_format: str | None = None) -> Tensor:
    """`input` as float32."""
    return convert(input, float32)


@public("Tensor.double")
def to_double(input: Tensor, memory_format: str | None = None) -> Tensor:
    """`input` as float64."""
    return convert(input, float64)


@public("Tensor.short")
def to_short(input: Tensor, memory_format: str | None = None) -> Tensor:
    """`input` as int16."""
    return convert(input, int16)


@public("Tensor.int")
def to_int(input: Tensor, memory_format: str | None = None) -> Tensor:
    """`input` as int32."""
    return convert(input, int32)


@public("Tensor.long")
def to_long(input: Tensor, memory_format: str | None = None) -> Tensor:
    """`input` as int64."""
    return convert(input, int64)


@public("Tensor.cfloat")
def to_cfloat(input: Tensor, memory_format: str | None = None) -> Tensor:
    """`input` as complex64."""
    return convert(input, complex64)


@public("Tensor.cdouble")
def to_cdouble(input: Tensor, memory_format: str | None = None) -> Tensor:
    """`input` as complex128."""
    return convert(input, complex128)


@public("Tensor.bool")
def to_bool(input: Tensor, memory_format: str | None = None) -> Tensor:
    """`input` as bool."""
    return convert(input, bool_)


@public("Tensor.byte")
def to_byte(input: Tensor, memory_format: str | None = None) -> Tensor:
    """`input` as uint8."""
    return convert(input, uint8)


@public("Tensor.char")
def to_char(input: Tensor, memory_format: str | None = None) -> Tensor:
    """`input` as int8."""
    return convert(input, int8)
