"""What NumPy's side of DLPack leaves out: capsules by themselves, and bfloat16, which NumPy has not.

A capsule holds a struct; of it one byte is of interest here, the code of the dtype. Numbers of bfloat16 pass NumPy as
integers of 16 bits: the code is exchanged when they leave, and exchanged back when they come.
"""

from __future__ import annotations

from ctypes import c_char_p, c_int, c_uint8, c_void_p, py_object, pythonapi
from enum import IntEnum
from typing import Any, Final

import numpy as np

from retrograd.backends.dtype_class import bfloat16
from retrograd.lazy import load
from retrograd.values import Array

_UNSIGNED: Final = 1
_BFLOAT: Final = 4
_CODE_AT: Final = 20  # behind the address of the memory, its device and the number of dimensions
# The names of capsules, and where in their struct the tensor begins.
_NAMES: Final = {b"dltensor": 0, b"dltensor_versioned": 32}

_is_valid: Any = pythonapi.PyCapsule_IsValid
_is_valid.restype, _is_valid.argtypes = c_int, (py_object, c_char_p)
_pointer: Any = pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = c_void_p, (py_object, c_char_p)


_enumeration: Any = IntEnum  # a call of IntEnum itself is a class to mypy, and none to mypyc
DLDeviceType: Final[Any] = _enumeration(
    "DLDeviceType",
    {
        "kDLCPU": 1, "kDLCUDA": 2, "kDLCUDAHost": 3, "kDLOpenCL": 4, "kDLVulkan": 7, "kDLMetal": 8, "kDLVPI": 9,
        "kDLROCM": 10, "kDLROCMHost": 11, "kDLExtDev": 12, "kDLCUDAManaged": 13, "kDLOneAPI": 14,
    },
    module=__name__,
)  # fmt: skip


def is_capsule(value: object) -> bool:
    """Whether a value is a capsule: what `__dlpack__()` gives."""
    return type(value).__name__ == "PyCapsule"


def exported(array: Array, options: dict[str, Any]) -> object:
    """A capsule over the memory of an array on the CPU."""
    if array.dtype != bfloat16:
        return array.__dlpack__(**options)
    capsule = load("retrograd.backends.bfloat16").bits(array).__dlpack__(**options)
    _code_of(capsule).value = _BFLOAT
    return capsule


class BorrowedMemory:
    """Memory of another library on the CPU, as NumPy takes it; `is_bfloat16` is known when it has been taken."""

    def __init__(self, lender: Any) -> None:
        self.lender = lender
        self.is_bfloat16 = False
        self.says_what_may_be_written = True

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self, **options: Any) -> object:
        capsule = self.lender if is_capsule(self.lender) else self.lender.__dlpack__(**options)
        self.says_what_may_be_written = bool(_is_valid(capsule, b"dltensor_versioned"))
        code = _code_of(capsule)
        if code.value == _BFLOAT:
            self.is_bfloat16 = True
            code.value = _UNSIGNED
        return capsule

    def array(self, **options: Any) -> Array:
        """The memory as an array."""
        take: Any = np.from_dlpack  # whose stub knows one form of the protocol
        found: Array = take(self, **options)
        if not self.says_what_may_be_written:
            found = np.asarray(_Writable(found))
        return load("retrograd.backends.bfloat16").of_bits(found) if self.is_bfloat16 else found


class _Writable:
    """Memory from a capsule of the old form, which cannot say that it is read-only: NumPy takes it for that."""

    def __init__(self, array: Any) -> None:
        self.array = array

    @property
    def __array_interface__(self) -> dict[str, Any]:
        found: dict[str, Any] = self.array.__array_interface__
        return {**found, "data": (found["data"][0], False)}


def _code_of(capsule: Any) -> c_uint8:
    for name, start in _NAMES.items():
        if _is_valid(capsule, name):
            return c_uint8.from_address(_pointer(capsule, name) + start + _CODE_AT)
    raise RuntimeError(
        "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once: make another "
        "one of the tensor."
    )
