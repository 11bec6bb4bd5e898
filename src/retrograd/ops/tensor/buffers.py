"""Tensors over memory: with strides of one's choice, over a buffer, and lent to or borrowed from other libraries."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from retrograd.backends.base import BACKENDS, check_device, placed
from retrograd.backends.casts import cast, maker_of, reinterpreted
from retrograd.backends.device import CPU
from retrograd.backends.device import device as Device
from retrograd.backends.dlpack import BorrowedMemory, DLDeviceType, exported, is_capsule
from retrograd.backends.dtypes import as_dtype, get_default_dtype
from retrograd.backends.layout import is_dense
from retrograd.backends.memory_format import memory_format
from retrograd.backends.mirror import bits_of
from retrograd.backends.shortage import SHORTAGE_TOLD, made
from retrograd.core.places import warn
from retrograd.core.tensor import Tensor
from retrograd.errors import ShapeError, sizes, type_name, unsupported_dtype
from retrograd.ops.common import number_from, require_tensor
from retrograd.ops.register import public
from retrograd.ops.shape.reshape import integer, sizes_of
from retrograd.ops.shape.strided import strided
from retrograd.ops.tensor.convert import DeviceLike
from retrograd.ops.tensor.create import dtype_for, finish_row, like_options, shape_from
from retrograd.ops.tensor.data import check_options, new_leaf
from retrograd.ops.tensor.unwritten import marked
from retrograd.values import Array, DType, Number, Shape


def strided_memory(size: Shape, stride: Shape, dtype: DType, where: Device) -> Array:
    """Memory for a tensor of this size and these strides, in elements."""
    if len(size) != len(stride):
        raise ShapeError(
            f"dimensionality of sizes ({len(size)}) must match dimensionality of strides ({len(stride)})"
        )
    if any(s < 0 for s in stride):
        raise ShapeError(
            f"Storage size calculation overflowed with sizes={sizes(size)} and strides={sizes(stride)}"
        )
    needed = 0 if 0 in size else sum((n - 1) * s for n, s in zip(size, stride, strict=True)) + 1
    with SHORTAGE_TOLD:
        return strided(made(maker_of(dtype, where).empty, (needed,), dtype), size, stride, 0)


@public("empty_strided")
def empty_strided(
    size: Sequence[int], stride: Sequence[int], *, dtype: DType | None = None, layout: str | None = None,
    device: DeviceLike = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """A tensor of undefined values with the given strides.

    >>> import retrograd as rg
    >>> rg.empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    where = check_options(device, layout, pin_memory)
    shape = shape_from("empty_strided", (size,), None)
    steps = sizes_of("empty_strided", "stride", (stride,))
    kind = get_default_dtype() if dtype is None else as_dtype(dtype)
    return new_leaf(marked(strided_memory(shape, steps, kind, where)), requires_grad)


@public("Tensor.new_empty_strided")
def new_empty_strided(
    self: Tensor, size: Sequence[int], stride: Sequence[int], *, dtype: DType | None = None,
    device: DeviceLike = None, **options: Any,
) -> Tensor:  # fmt: skip
    """`empty_strided` in the dtype of this tensor, on its device."""
    return empty_strided(size, stride, **like_options(self, dtype, device), **options)


@public("empty_permuted")
def empty_permuted(
    size: Sequence[int], physical_layout: Sequence[int], *, dtype: DType | None = None, layout: str | None = None,
    device: DeviceLike = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """A dense tensor of undefined values whose dimensions lie in memory in the order `physical_layout`."""
    where = check_options(device, layout, pin_memory)
    shape = shape_from("empty_permuted", (size,), None)
    order = sizes_of("empty_permuted", "physical_layout", (physical_layout,))
    if len(order) != len(shape):
        raise ShapeError(
            "Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = "
            f"{len(shape)} is not equal to len(physical_layout) = {len(order)}"
        )
    for place, d in enumerate(order):
        if not 0 <= d < len(shape):
            raise ShapeError(
                f"Dimension out of range (expected to be between 0 and {len(shape) - 1}, but got {d} at index {place})"
            )
    if len(set(order)) < len(order):
        raise ShapeError(f"Duplicate dim not allowed: physical_layout is {sizes(order)}")
    kind = get_default_dtype() if dtype is None else as_dtype(dtype)
    dense = maker_of(kind, where).empty(tuple([shape[d] for d in order]), kind)
    return new_leaf(marked(dense).transpose([order.index(d) for d in range(len(order))]), requires_grad)


@public("frombuffer")
def frombuffer(
    buffer: Any, *, dtype: DType, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Tensor:
    """A tensor over the memory of anything that has a buffer, such as a bytearray.

    >>> import retrograd as rg
    >>> rg.frombuffer(bytearray([1, 2, 3]), dtype=rg.uint8)
    tensor([1, 2, 3], dtype=torch.uint8)
    """
    try:
        room = memoryview(buffer).nbytes
    except TypeError:
        raise ValueError(f"object does not implement Python buffer protocol: {type_name(buffer)}") from None
    kind, number, start = as_dtype(dtype), integer(count), integer(offset)
    if room == 0 or number == 0:
        raise ValueError(f"both buffer length ({room}) and count ({number}) must not be 0")
    if not 0 <= start < room:
        raise ValueError(
            f"offset ({start} bytes) must be non-negative and no greater than buffer length ({room} bytes) minus 1"
        )
    if number > 0 and start + number * kind.itemsize > room:
        raise ValueError(
            f"requested buffer length ({number} * {kind.itemsize} bytes) after offset ({start} bytes) must not be "
            f"greater than actual buffer length ({room} bytes)"
        )
    if number < 0 and (room - start) % kind.itemsize:
        raise ValueError(
            f"buffer length ({room - start} bytes) after offset ({start} bytes) must be a multiple of element size "
            f"({kind.itemsize})"
        )
    count = number if number > 0 else (room - start) // kind.itemsize
    array = reinterpreted(np.frombuffer(buffer, np.uint8, count * kind.itemsize, start), kind)
    if not array.flags.writeable:
        warn(
            "The given buffer is not writable: the tensor can be read, but writing to it raises. Pass a bytearray, or "
            "clone() the tensor.",
            UserWarning,
        )
    return new_leaf(array, requires_grad)


GPU_KINDS = (2, 13)  # DLPack's numbers for CUDA's memory, and for what it manages


@public("from_dlpack")
def from_dlpack(ext_tensor: Any, *, device: DeviceLike = None, copy: bool | None = None) -> Tensor:
    """A tensor over the memory of another library's, by the DLPack protocol: an array of NumPy's or CuPy's, say.

    A capsule, which `to_dlpack` or `__dlpack__()` have made, can be taken once.
    """
    if is_capsule(ext_tensor):
        ext_tensor = BorrowedMemory(ext_tensor)
    if not hasattr(ext_tensor, "__dlpack__"):
        raise RuntimeError(
            f"from_dlpack needs an object that has __dlpack__() and __dlpack_device__(), not {type_name(ext_tensor)}"
        )
    kind, _ = ext_tensor.__dlpack_device__()
    own = check_device("cuda" if kind in GPU_KINDS else CPU)
    options = {} if copy is None else {"copy": copy}
    if own is CPU:
        array = (ext_tensor if isinstance(ext_tensor, BorrowedMemory) else BorrowedMemory(ext_tensor)).array(
            **options
        )
    else:
        array = BACKENDS.on(own).from_dlpack(ext_tensor, **options)
    where = check_device(device)
    return new_leaf(array if device is None and where is CPU else placed(array, where))


@public("to_dlpack")
def to_dlpack(tensor: Tensor) -> object:
    """A capsule over the memory of a tensor, for another library to take once."""
    return dlpack(require_tensor("to_dlpack", "tensor", 1, tensor))


@public("Tensor.__dlpack__")
def dlpack(self: Tensor, *, stream: Any = -1, **options: Any) -> object:
    """What other libraries call to look at this tensor's memory."""
    on_cpu = self.device.type == "cpu"
    if stream is not None and not isinstance(stream, int):
        raise TypeError("stream must be ``int`` or ``none``")
    if on_cpu and stream not in (None, -1):
        raise AssertionError("stream should be None on cpu.")
    if self.requires_grad:
        raise BufferError(
            "Can't export tensors that require gradient, use tensor.detach(): the other library keeps no graph."
        )
    conj, neg = bits_of(self.array)
    if conj or neg:
        raise BufferError(
            f"Can't export tensors with the {'conjugate' if conj else 'negative'} bit set: the other library would "
            f"read the memory as it is. Use tensor.resolve_{'conj' if conj else 'neg'}() first."
        )
    if on_cpu:
        return exported(self.array, options)
    return self.array.__dlpack__(**(options if stream == -1 else {"stream": stream, **options}))


@public("Tensor.__dlpack_device__")
def dlpack_device(self: Tensor) -> tuple[Any, int]:  # an int that is named: compiled code would take its name
    """Where the memory lives, in DLPack's numbers: (1, 0) is the CPU."""
    if self.device.type == "cpu":
        return (DLDeviceType.kDLCPU, 0)
    kind, index = self.array.__dlpack_device__()
    return (DLDeviceType(kind), index)


@public("range")
def inclusive_range(
    start: Number | Tensor = 0, end: Number | Tensor | None = None, step: Number | Tensor = 1, *,
    out: Tensor | None = None, dtype: DType | None = None, layout: str | None = None, device: DeviceLike = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """`arange` that includes its end. Deprecated, as in PyTorch."""
    where = check_options(device, layout, False)
    if end is None:
        raise TypeError('range() missing 1 required positional arguments: "end"')
    warn(
        "torch.range is deprecated: it includes its end, unlike Python's range. Use arange.",
        UserWarning,
    )
    first, last, by = (
        number_from("range", name, i + 1, v)
        for i, (name, v) in enumerate((("start", start), ("end", end), ("step", step)))
    )
    if any(isinstance(v, complex) for v in (first, last, by)):
        raise RuntimeError("value cannot be converted to type double without overflow: range has real limits")
    kind = dtype_for(dtype, out, get_default_dtype())
    if kind.kind in "bc":
        raise unsupported_dtype("range_cpu", kind)
    if kind == "int64":
        first, last, by = int(first), int(last), int(by)
    if by == 0:
        raise RuntimeError("step must be nonzero")
    if (last - first) * by < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    with SHORTAGE_TOLD:
        numbers = np.arange(math.floor((last - first) / by) + 1)
    found = cast(first + numbers * by, kind)
    return finish_row(found, out, requires_grad, where)


@public("Tensor.is_set_to")
def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Whether the other tensor is over the same memory, with the same size and strides."""
    other = require_tensor("is_set_to", "tensor", 1, tensor)
    same = self.array.shape == other.array.shape and self.stride() == other.stride()
    address = self.data_ptr()  # 0 without memory
    return bool(same and address and address == other.data_ptr())


@public("_debug_has_internal_overlap")
def _debug_has_internal_overlap(input: Tensor) -> int:
    """Whether elements of a tensor share memory: 0 says no, 1 yes, and 2 that it cannot be told by a glance."""
    array = require_tensor("_debug_has_internal_overlap", "input", 1, input).array
    if is_dense(array):
        return 0
    return 1 if any(n > 1 and not step for n, step in zip(array.shape, array.strides, strict=True)) else 2


@public("Tensor.dim_order")
def dim_order(self: Tensor, *, ambiguity_check: Any = False) -> tuple[int, ...]:
    """The dimensions from the one with the largest stride to the one with the smallest.

    Args:
        ambiguity_check: whether to raise where the strides fit several orders; or memory formats, of which exactly one
            has to fit.
    """
    if ambiguity_check is not False:
        _check_one_order(self, ambiguity_check)
    steps = self.stride()
    return tuple(sorted(range(len(steps)), key=lambda d: -steps[d]))


def _check_one_order(x: Tensor, formats: Any) -> None:
    """Raises where a tensor can be said to lie in several orders."""
    steps = x.stride()
    if formats is True:
        unique = x.numel() == 0 or (1 not in x.shape and len({0, *steps}) == len(steps) + 1)
    elif isinstance(formats, (list, tuple)) and all(isinstance(f, memory_format) for f in formats):
        unique = sum(x.is_contiguous(memory_format=f) for f in formats) == 1
    else:
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    if not unique:
        raise RuntimeError(
            "The tensor does not have unique dim order, or cannot map to exact one of the given memory formats."
        )
