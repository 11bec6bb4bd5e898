"""PyTorch's old types of tensors: `FloatTensor`, `LongTensor` and kin."""

from __future__ import annotations

from typing import Any, Final

from retrograd.backends.device import CPU
from retrograd.backends.device import device as Device
from retrograd.backends.dtype_class import dtype_of
from retrograd.backends.dtypes import as_dtype
from retrograd.core.tensor import Tensor
from retrograd.ops.tensor.storage import made_of


class tensortype(type):  # noqa: N801 - torch's name
    """The class of the old types: each stands for the tensors of one dtype, and makes them."""

    dtype: Any
    is_cuda = False
    layout = "strided"

    def __call__(cls, *args: Any, device: Any = None) -> Tensor:
        if device is not None and Device(device).type != "cpu":
            raise RuntimeError(
                f"legacy constructor expects device type: cpu but device type: {Device(device).type} was passed"
            )
        return made_of("new", args, cls.dtype.dtype, CPU)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and bool(instance.array.dtype == cls.dtype.dtype)


def _of(name: str, dtype: str) -> tensortype:
    """The type of the tensors of a dtype."""
    fields = {
        "__module__": "torch",
        "__doc__": f"The old name of {dtype} tensors: `{name}(2, 3)` has that size, `{name}([1, 2])` those values.",
        "dtype": dtype_of(as_dtype(dtype)),
    }
    return tensortype(name, (), fields)


BoolTensor: Final = _of("BoolTensor", "bool")
ByteTensor: Final = _of("ByteTensor", "uint8")
CharTensor: Final = _of("CharTensor", "int8")
ShortTensor: Final = _of("ShortTensor", "int16")
IntTensor: Final = _of("IntTensor", "int32")
LongTensor: Final = _of("LongTensor", "int64")
BFloat16Tensor: Final = _of("BFloat16Tensor", "bfloat16")
HalfTensor: Final = _of("HalfTensor", "float16")
FloatTensor: Final = _of("FloatTensor", "float32")
DoubleTensor: Final = _of("DoubleTensor", "float64")

_tensor_classes = {
    BoolTensor, ByteTensor, CharTensor, ShortTensor, IntTensor, LongTensor, BFloat16Tensor,
    HalfTensor, FloatTensor, DoubleTensor,
}  # fmt: skip
