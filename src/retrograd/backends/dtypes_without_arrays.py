"""PyTorch's dtypes that NumPy has no arrays of: they can be named, compared and asked, not computed with."""

from __future__ import annotations

from typing import Final

from retrograd.backends.dtype_class import BY_NAME

__all__ = [
    "bit", "bits16", "bits1x8", "bits2x4", "bits4x2", "bits8", "chalf", "complex32", "float4_e2m1fn_x2",
    "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "int1", "int2", "int3",
    "int4", "int5", "int6", "int7", "qint32", "qint8", "quint2x4", "quint4x2", "quint8", "uint1", "uint2", "uint3",
    "uint4", "uint5", "uint6", "uint7",
]  # fmt: skip

complex32: Final = BY_NAME["complex32"]
chalf: Final = complex32
float4_e2m1fn_x2: Final = BY_NAME["float4_e2m1fn_x2"]
float8_e4m3fn: Final = BY_NAME["float8_e4m3fn"]
float8_e4m3fnuz: Final = BY_NAME["float8_e4m3fnuz"]
float8_e5m2: Final = BY_NAME["float8_e5m2"]
float8_e5m2fnuz: Final = BY_NAME["float8_e5m2fnuz"]
float8_e8m0fnu: Final = BY_NAME["float8_e8m0fnu"]

int1: Final = BY_NAME["int1"]
int2: Final = BY_NAME["int2"]
int3: Final = BY_NAME["int3"]
int4: Final = BY_NAME["int4"]
int5: Final = BY_NAME["int5"]
int6: Final = BY_NAME["int6"]
int7: Final = BY_NAME["int7"]

uint1: Final = BY_NAME["uint1"]
uint2: Final = BY_NAME["uint2"]
uint3: Final = BY_NAME["uint3"]
uint4: Final = BY_NAME["uint4"]
uint5: Final = BY_NAME["uint5"]
uint6: Final = BY_NAME["uint6"]
uint7: Final = BY_NAME["uint7"]
bit: Final = uint1

qint8: Final = BY_NAME["qint8"]
qint32: Final = BY_NAME["qint32"]
quint8: Final = BY_NAME["quint8"]
quint4x2: Final = BY_NAME["quint4x2"]
quint2x4: Final = BY_NAME["quint2x4"]

bits8: Final = BY_NAME["bits8"]
bits16: Final = BY_NAME["bits16"]
bits1x8: Final = BY_NAME["bits1x8"]
bits2x4: Final = BY_NAME["bits2x4"]
bits4x2: Final = BY_NAME["bits4x2"]
