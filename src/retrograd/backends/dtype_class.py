"""The dtypes that people see: one object each, with PyTorch's names and attributes.

Arrays keep NumPy's dtypes, and so does everything that works on arrays. What a Tensor shows is an object of the class
`dtype`, which equals NumPy's, hashes like it, and is taken wherever NumPy takes one.

NumPy itself has no bfloat16. Arrays of it (`bfloat16.py`) have the object here for their dtype, which answers what is
asked of a dtype: its `kind` is "f", as that of every other floating-point dtype.

Of some of PyTorch's dtypes there are no arrays at all (float8, quantised numbers, …). Programs put them into tables and
ask what they are, so they are objects like the others; `held` is None, and who wants a tensor of one gets an error.
"""

from __future__ import annotations

import importlib
from typing import Any, Final, TypeAlias

import numpy as np

from retrograd.errors import DTYPE_NAMES
from retrograd.values import DType

_REAL_OF: Final = {"complex32": "float16", "complex64": "float32", "complex128": "float64"}
_COMPLEX_OF: Final = {
    "float16": "complex32",
    "bfloat16": "complex64",
    "float32": "complex64",
    "float64": "complex128",
}
_ABBREVIATIONS: Final = {"bool": "b8", "bfloat16": "bf16", "complex64": "c64", "complex128": "c128"}
# What there are no arrays of: kind ("q": quantised, "V": mere bits), size in bytes, names.
_WITHOUT_ARRAYS: Final = (
    ("c", 4, "complex32"),
    ("f", 1, "float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float4_e2m1fn_x2"),
    ("i", 1, "int1 int2 int3 int4 int5 int6 int7"),
    ("u", 1, "uint1 uint2 uint3 uint4 uint5 uint6 uint7"),
    ("q", 1, "qint8 quint8 quint4x2 quint2x4"),
    ("q", 4, "qint32"),
    ("V", 1, "bits8 bits4x2 bits2x4 bits1x8"),
    ("V", 2, "bits16"),
)
_INSTEAD: Final = {
    "c": "complex64", "f": "float16 or bfloat16", "i": "int8", "u": "uint8", "q": "float32", "V": "uint8",
}  # fmt: skip

Dtype: TypeAlias = "dtype"  # as the class itself can call it, whose attribute has this name too


class dtype:  # noqa: N801 - torch's name
    """What the elements of a tensor are: `float32`, `int64`, …

    >>> import numpy as np
    >>> import retrograd as rg
    >>> rg.tensor([1.5]).dtype, rg.float32.is_floating_point, rg.complex64.to_real()
    (torch.float32, True, torch.float32)
    >>> rg.float32 == np.dtype("float32"), np.zeros(2, rg.float32).dtype
    (True, dtype('float32'))
    """

    def __init__(
        self, key: object = None, name: str = "", kind: str = "", itemsize: Any = 0, numpy: Any = None
    ) -> None:
        if key is not _KEY:
            raise TypeError(
                "cannot create 'torch.dtype' instances: there is one for each kind of number, such as retrograd.float32"
            )
        self._numpy: DType = numpy  # None: that of ml_dtypes, once it is asked for, or nothing
        self.held: Final[DType] = (
            self if name == "bfloat16" else numpy
        )  # what arrays have; None: there are none
        self._hash: Final[int] = hash(name if numpy is None else numpy)
        self.name: Final[str] = name
        self.kind: Final[str] = kind
        self.itemsize: Final[int] = itemsize

    @property
    def dtype(self) -> DType:
        """NumPy's own: where NumPy wants a dtype, it looks for this attribute."""
        if self.held is None:
            raise no_arrays_of(self)
        if self._numpy is None:
            self._numpy = _of_ml_dtypes()
        return self._numpy

    @property
    def type(self) -> Any:
        """What makes a single number: a class of NumPy's."""
        if self.held is not self:
            return self.dtype.type
        from retrograd.backends.bfloat16 import number

        return number

    @property
    def char(self) -> str:
        """NumPy's letter for it."""
        return str(self.dtype.char)

    @property
    def is_floating_point(self) -> bool:
        """Whether it is float16, bfloat16, float32, float64 or one of fewer bits."""
        return self.kind == "f"

    @property
    def is_complex(self) -> bool:
        """Whether it is complex32, complex64 or complex128."""
        return self.kind == "c"

    @property
    def is_signed(self) -> bool:
        """Whether it can hold negative numbers."""
        if self.kind == "q":
            raise RuntimeError(
                "isSignedType not supported for quantized types: ask the dtype of their integers"
            )
        if self.kind == "V":
            raise RuntimeError("Bits types are undefined: they have no sign")
        return self.kind in "ifc" and self.name != "float8_e8m0fnu"

    @property
    def abbr(self) -> str:
        """PyTorch's abbreviation: `f32`, `i64`, `b8`."""
        if self.held is not None or self.kind == "c":
            return _ABBREVIATIONS.get(self.name, f"{self.kind}{8 * self.itemsize}")
        if self.kind == "V":
            return self.name.replace("bits", "b") + ("" if "x" in self.name else "x1")
        return self.name.replace("float", "f").replace("_", "")

    def to_real(self) -> Dtype:
        """The dtype of the real part."""
        return _named(_REAL_OF.get(self.name, self.name))

    def to_complex(self) -> Dtype:
        """The complex dtype of the same precision."""
        if self.kind == "c":
            return self
        name = _COMPLEX_OF.get(self.name)
        if name is None:
            raise RuntimeError(
                f"Unknown Complex ScalarType for {_spelled(self.name)}: only floats of 16 bits and more have one"
            )
        return _named(name)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, dtype):
            return self is other
        held = self.held
        if held is self:
            return bool(getattr(other, "name", other) == self.name)
        return other is not None and held is not None and bool(held == other)  # to NumPy, None is float64

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __copy__(self) -> Dtype:
        return self

    def __deepcopy__(self, memo: Any) -> Dtype:
        return self

    def __reduce__(self) -> Any:
        return _named, (self.name,)


_KEY: Final = object()
bfloat16: Final = dtype(_KEY, "bfloat16", "f", 2)


def _of_numpy(name: str) -> dtype:
    numpy = np.dtype(name)
    return dtype(_KEY, name, numpy.kind, numpy.itemsize, numpy)


BY_NAME: Final[dict[str, dtype]] = {
    **{name: bfloat16 if name == "bfloat16" else _of_numpy(name) for name in DTYPE_NAMES},
    **{
        name: dtype(_KEY, name, kind, size) for kind, size, names in _WITHOUT_ARRAYS for name in names.split()
    },
}
_OBJECTS: Final[dict[Any, dtype]] = {
    found.held: found for found in BY_NAME.values() if found.held is not None
}


def dtype_of(held: DType) -> dtype:
    """The object that people see for the dtype of an array."""
    return _OBJECTS[held]


def _named(name: str) -> dtype:
    """The one of a name, also for unpickling."""
    return BY_NAME[name]


def no_arrays_of(wanted: dtype) -> NotImplementedError:
    """The error of who wants a tensor of a dtype that there are no arrays of."""
    return NotImplementedError(
        f"{wanted} can be named here, not computed with: tensors are arrays of NumPy's, and NumPy has no such numbers. "
        f"Use {_INSTEAD[wanted.kind]} instead."
    )


def _spelled(name: str) -> str:
    """How PyTorch's messages spell a dtype."""
    before, integer, after = name.partition("int")
    return DTYPE_NAMES.get(name, f"{before.upper()}Int{after}" if integer else name.capitalize())


def _of_ml_dtypes() -> DType:
    """NumPy's bfloat16, which another library brings."""
    try:
        library = importlib.import_module("ml_dtypes")
    except ImportError:
        raise ImportError(
            "bfloat16 needs the package ml_dtypes, which brings it to NumPy: pip install 'retrograd[bfloat16]'"
        ) from None
    return np.dtype(library.bfloat16)


bool_: Final = _named("bool")
uint8: Final = _named("uint8")
uint16: Final = _named("uint16")
uint32: Final = _named("uint32")
uint64: Final = _named("uint64")
int8: Final = _named("int8")
int16: Final = _named("int16")
int32: Final = _named("int32")
int64: Final = _named("int64")
float16: Final = _named("float16")
float32: Final = _named("float32")
float64: Final = _named("float64")
complex64: Final = _named("complex64")
complex128: Final = _named("complex128")
