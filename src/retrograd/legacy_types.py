"""PyTorch's old types of tensors: `FloatTensor`, `LongTensor` and kin."""

from __future__ import annotations

from typing import Any

from retrograd.backends.device import CPU
from retrograd.backends.dtype_class import dtype_of
from retrograd.backends.dtypes import as_dtype
from retrograd.core.tensor import Tensor
from retrograd.ops.tensor.storage import made_of


class tensortype(type):  # noqa: N801 - torch's name
    """The class of the old types: each stands for the tensors of one dtype, and makes them."""

    dtype: Any
    is_cuda = False
    layout = "strided"

    def __call__(cls, *args: Any) -> Tensor:
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


BoolTensor = _of("BoolTensor", "bool")
ByteTensor = _of("ByteTensor", "uint8")
CharTensor = _of("CharTensor", "int8")
ShortTensor = _of("ShortTensor", "int16")
IntTensor = _of("IntTensor", "int32")
LongTensor = _of("LongTensor", "int64")
HalfTensor = _of("HalfTensor", "float16")
FloatTensor = _of("FloatTensor", "float32")
DoubleTensor = _of("DoubleTensor", "float64")
