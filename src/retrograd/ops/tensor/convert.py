"""Copies and conversions: clone, contiguous, to, float, double, …"""

from __future__ import annotations

from typing import Any, ClassVar, TypeAlias, overload

from retrograd.backends.base import Backend, backend_of, check_device, device_of, placed
from retrograd.backends.casts import cast
from retrograd.backends.device import CPU
from retrograd.backends.device import device as Device
from retrograd.backends.dtype_class import dtype as DtypeClass
from retrograd.backends.dtypes import (
    SCALAR_NAMES,
    as_dtype,
    bfloat16,
    bool_,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    get_default_dtype,
    int8,
    int16,
    int32,
    int64,
    uint8,
)  # fmt: skip
from retrograd.backends.memory_format import (
    check_format,
    copied_in,
    format_of,
    lies_in,
    preserve_format,
)
from retrograd.backends.memory_format import memory_format as MemoryFormat
from retrograd.core.apply import apply1
from retrograd.core.families import Linear
from retrograd.core.lost import NO_DERIVATIVE, cut
from retrograd.core.places import warn
from retrograd.core.tensor import Tensor
from retrograd.errors import DTYPE_NAMES, type_name
from retrograd.ops.common import memory_order, require_tensor
from retrograd.ops.register import public
from retrograd.values import Array, DType

DeviceLike: TypeAlias = Device | str | int | None  # a device, its name or its number; None for the default


class Clone(Linear):
    """a copy"""

    leads_out: ClassVar[bool] = True
    params: ClassVar[tuple[str, ...]] = ("order",)

    def __init__(self, order: str | MemoryFormat = "K") -> None:
        self.order = order

    def forward(self, xp: Backend, x: Array) -> Array:
        if isinstance(self.order, MemoryFormat):
            return copied_in(xp, x, self.order)
        return xp.array(x, order=memory_order(xp, x) if self.order == "K" else self.order, copy=True)

    def transpose(self, g: Any) -> Any:
        return g


class ToCopy(Linear):
    """a copy in another dtype"""

    leads_out: ClassVar[bool] = True
    params: ClassVar[tuple[str, ...]] = ("target",)

    def __init__(self, target: DType, order: MemoryFormat | None = None) -> None:
        self.target = target
        self.order = order  # None keeps that of the operand

    def forward(self, xp: Backend, x: Array) -> Array:
        self.source = x.dtype
        if x.dtype.kind == "c" and self.target.kind != "c":
            x = (x != 0) if self.target.kind == "b" else x.real
        if self.order is not None:
            # A target of None is that of the operand, which is rounded in the end.
            found = x if self.target is None else cast(x, self.target)
            return copied_in(backend_of(found), found, self.order)
        return cast(x, self.target, memory_order(xp, x))

    def given_dtype(self) -> DType:
        return self.target

    def transpose(self, g: Any) -> Any:
        if g.dtype.kind == "c" and self.source.kind != "c":
            g = g.real
        return g if g.dtype == self.source else ToCopy(self.source).on(g)


class ToDevice(Linear):
    """a copy in the memory of another device"""

    node_name = "ToCopyBackward0"
    copies: ClassVar[bool] = True
    leads_out: ClassVar[bool] = True
    params: ClassVar[tuple[str, ...]] = ("target",)

    def __init__(self, target: Device) -> None:
        self.target = target
        self.source = CPU

    def forward(self, xp: Backend, x: Array) -> Array:
        self.source = device_of(x)
        return placed(x, self.target)

    def transpose(self, g: Any) -> Any:
        return ToDevice(self.source).on(g)


def convert(x: Tensor, dtype: Any, function: str = "to", memory_format: Any = None) -> Tensor:
    """`x` in `dtype`, and in a memory format if one is given: itself if it is so already."""
    target = as_dtype(dtype)
    order = None
    if memory_format is not None and check_format(function, memory_format) is not preserve_format:
        order = memory_format
    if (x.array.dtype is target or x.array.dtype == target) and (
        order is None or format_of(x.array) is order
    ):
        return x
    if x.array.dtype.kind == "c" and target.kind not in "cb":
        warn("Casting complex values to real discards the imaginary part", UserWarning)
    if target.kind in "fc":
        result: Tensor = apply1(ToCopy(target, order), x)
        return result
    result = apply1(ToCopy(target, order), x.detach())  # integers have no gradient
    if x.requires_grad:
        result._lost = cut(x, NO_DERIVATIVE, f"the conversion to {target}")
    return result


@public("Tensor.to_dense")
def to_dense(input: Tensor, dtype: DType | None = None, *, masked_grad: bool | None = None) -> Tensor:
    """The tensor itself, in `dtype` if one is given: all tensors are dense."""
    x = require_tensor("to_dense", "input", 1, input)
    return x if dtype is None else convert(x, dtype)


@public("clone", method=True)
def clone(input: Tensor, *, memory_format: MemoryFormat | None = None) -> Tensor:
    """A copy of `input`; gradients pass through to it.

    >>> import retrograd as rg
    >>> x = rg.tensor([1.0, 2.0])
    >>> y = x.clone()
    >>> y[0] = 5
    >>> x
    tensor([1., 2.])
    """
    order = check_format("clone", memory_format)
    found: Tensor = apply1(Clone() if order is None or order is preserve_format else Clone(order), input)
    return found


@public("Tensor.contiguous")
def contiguous(input: Tensor, *, memory_format: MemoryFormat | None = None) -> Tensor:
    """`input` itself if its elements lie in row-major order, or in the memory format, else a copy where they do."""
    order = check_format("contiguous", memory_format)
    if input.array.flags.c_contiguous if order is None else lies_in(input.array, order):
        return input
    if order is preserve_format:
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    found: Tensor = apply1(Clone("C" if order is None else order), input)
    return found


@public("Tensor.to")
def to(
    input: Tensor, *args: Any, device: DeviceLike = None, dtype: DType | None = None, non_blocking: bool = False,
    copy: bool = False, memory_format: MemoryFormat | None = None, other: Tensor | None = None,
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
    elif args and args[0] is not None and not _is_place(args[0]):
        dtype = args[0]
    elif args:
        device, dtype, rest = args[0], dtype if len(args) == 1 else args[1], args[2:]
    if rest and not (rest[0] is True or rest[0] is False):
        raise TypeError(
            "to() received an invalid combination of arguments: what comes after a dtype or a tensor is non_blocking, "
            f"a bool, not {type_name(rest[0])}"
        )
    if len(rest) > 1:
        copy = rest[1]
    order = None if memory_format is None else _wanted_order(memory_format)
    result = input
    if dtype is not None or order is not None:
        result = convert(input, input.array.dtype if dtype is None else dtype, "to", order)
    if device is not None:
        where = check_device(device)
        if where != result.device:
            found: Tensor = apply1(ToDevice(where), result)
            return found
    return clone(result, memory_format=order) if copy and result is input else result


def _is_place(value: Any) -> bool:
    """Whether `to` got a device first: a number is a GPU's."""
    return isinstance(value, (str, Device)) or (isinstance(value, int) and not isinstance(value, bool))


def _wanted_order(value: Any) -> MemoryFormat:
    """What `to` got as its memory format."""
    if isinstance(value, MemoryFormat):
        return value
    raise TypeError(
        "to() received an invalid combination of arguments: memory_format must be torch.memory_format, not "
        f"{type_name(value)}"
    )


@public("Tensor.type_as")
def type_as(input: Tensor, other: Tensor) -> Tensor:
    """`input` in the dtype of `other`."""
    return convert(input, require_tensor("type_as", "other", 1, other).array.dtype)


@overload
def type(input: Tensor) -> str: ...


@overload
def type(input: Tensor, dtype: DType | str, non_blocking: bool = False) -> Tensor: ...


@public("Tensor.type")
def type(input: Tensor, dtype: DType | str | None = None, non_blocking: bool = False) -> str | Tensor:
    """The legacy type name, or `input` converted to a dtype."""
    if dtype is None:
        return input._type_string()
    if dtype is Tensor or (isinstance(dtype, str) and dtype == "torch.Tensor"):
        dtype = get_default_dtype()
    if isinstance(dtype, str) and dtype.startswith("torch."):
        wanted = dtype.removeprefix("torch.").removesuffix("Tensor")
        dtype = next((d for d, name in SCALAR_NAMES.items() if name == wanted), dtype)
    if isinstance(dtype, str) and dtype not in DTYPE_NAMES:
        raise ValueError(f"invalid type: {dtype!r}; it is one like 'torch.FloatTensor'")
    if dtype is int or dtype is float or dtype is bool or dtype is complex:
        raise ValueError(f"invalid type: {dtype.__name__!r}; it is one like 'torch.FloatTensor'")
    of_type = getattr(dtype, "dtype", None)  # of an old type, such as LongTensor
    return convert(input, of_type if isinstance(of_type, DtypeClass) else dtype)


@public("Tensor.cpu")
def cpu(input: Tensor, *, memory_format: MemoryFormat | None = None) -> Tensor:
    """`input` in the host's memory."""
    return to(input, "cpu", memory_format=check_format("cpu", memory_format))


# -- one method per dtype name -------------------------------------------------------------------------------------


@public("Tensor.half", "_cast_Half")
def to_half(input: Tensor, *, memory_format: MemoryFormat | None = None) -> Tensor:
    """`input` as float16."""
    return convert(input, float16, "half", memory_format)


@public("Tensor.bfloat16")
def to_bfloat16(input: Tensor, memory_format: MemoryFormat | None = None) -> Tensor:
    """`input` as bfloat16."""
    return convert(input, bfloat16, "bfloat16", memory_format)


@public("Tensor.float", "_cast_Float")
def to_float(input: Tensor, *, memory_format: MemoryFormat | None = None) -> Tensor:
    """`input` as float32."""
    return convert(input, float32, "float", memory_format)


@public("Tensor.double", "_cast_Double")
def to_double(input: Tensor, *, memory_format: MemoryFormat | None = None) -> Tensor:
    """`input` as float64."""
    return convert(input, float64, "double", memory_format)


@public("Tensor.short", "_cast_Short")
def to_short(input: Tensor, *, memory_format: MemoryFormat | None = None) -> Tensor:
    """`input` as int16."""
    return convert(input, int16, "short", memory_format)


@public("Tensor.int", "_cast_Int")
def to_int(input: Tensor, *, memory_format: MemoryFormat | None = None) -> Tensor:
    """`input` as int32."""
    return convert(input, int32, "int", memory_format)


@public("Tensor.long", "_cast_Long")
def to_long(input: Tensor, *, memory_format: MemoryFormat | None = None) -> Tensor:
    """`input` as int64."""
    return convert(input, int64, "long", memory_format)


@public("Tensor.cfloat")
def to_cfloat(input: Tensor, *, memory_format: MemoryFormat | None = None) -> Tensor:
    """`input` as complex64."""
    return convert(input, complex64, "cfloat", memory_format)


@public("Tensor.cdouble")
def to_cdouble(input: Tensor, *, memory_format: MemoryFormat | None = None) -> Tensor:
    """`input` as complex128."""
    return convert(input, complex128, "cdouble", memory_format)


@public("Tensor.bool")
def to_bool(input: Tensor, *, memory_format: MemoryFormat | None = None) -> Tensor:
    """`input` as bool."""
    return convert(input, bool_, "bool", memory_format)


@public("Tensor.byte", "_cast_Byte")
def to_byte(input: Tensor, *, memory_format: MemoryFormat | None = None) -> Tensor:
    """`input` as uint8."""
    return convert(input, uint8, "byte", memory_format)


@public("Tensor.char", "_cast_Char")
def to_char(input: Tensor, *, memory_format: MemoryFormat | None = None) -> Tensor:
    """`input` as int8."""
    return convert(input, int8, "char", memory_format)
