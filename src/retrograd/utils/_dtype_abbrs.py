"""Short names of dtypes, such as `f32`, as PyTorch's tools print them."""

from __future__ import annotations

from retrograd.backends import dtype_class as ours
from retrograd.backends import dtypes_without_arrays as others

dtype_abbrs: dict[ours.dtype, str] = {
    ours.uint8: "u8", ours.int8: "i8", ours.int16: "i16", ours.int32: "i32", ours.int64: "i64", ours.float16: "f16",
    ours.float32: "f32", ours.float64: "f64", others.complex32: "c32", ours.complex64: "c64", ours.complex128: "c128",
    ours.bool_: "b8", ours.bfloat16: "bf16", others.bits1x8: "b1x8", others.bits2x4: "b2x4", others.bits4x2: "b4x2",
    others.bits8: "b8x1", others.bits16: "b16x1", others.float8_e5m2: "f8e5m2", others.float8_e4m3fn: "f8e4m3fn",
    others.float8_e5m2fnuz: "f8e5m2fnuz", others.float8_e4m3fnuz: "f8e4m3fnuz", ours.uint16: "u16", ours.uint32: "u32",
    ours.uint64: "u64", others.float8_e8m0fnu: "f8e8m0fnu", others.float4_e2m1fn_x2: "f4e2m1fnx2",
}  # fmt: skip
