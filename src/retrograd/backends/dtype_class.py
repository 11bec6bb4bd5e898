"""The dtypes that people see: one object each, with PyTorch's names and attributes.

Arrays keep NumPy's dtypes, and so does everything that works on arrays. What a Tensor shows is an object of the class
`dtype`, which equals NumPy's, hashes like it, and is taken wherever NumPy takes one.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from retrograd.errors import DTYPE_NAMES
from retrograd.values import DType

_REAL_OF: Final = {"complex64": "float32", "complex128": "float64"}
_COMPLEX_OF: Final = {"float32": "complex64", "float64": "complex128"}  # NumPy has no complex32
_ABBREVIATIONS: Final = {"bool": "b8", "complex64": "c64", "complex128": "c128"}


class dtype:  # noqa: N801 - torch's name
    """What the elements of a tensor are: `float32`, `int64`, …

    >>> import numpy as np
    >>> import retrograd as rg
    >>> rg.tensor([1.5]).dtype, rg.float32.is_floating_point, rg.complex64.to_real()
    (torch.float32, True, torch.float32)
    >>> rg.float32 == np.dtype("float32"), np.zeros(2, rg.float32).dtype
    (True, dtype('float32'))
    """

    def __init__(self, key: object = None, numpy: Any = None) -> None:
        if key is not _KEY:
            raise TypeError(
                "cannot create 'torch.dtype' instances: there is one for each kind of number, such as retrograd.float32"
            )
        self.dtype: Final[DType] = (
            numpy  # NumPy's own: where NumPy wants a dtype, it looks for this attribute
        )
        self.name: Final[str] = numpy.name
        self.kind: Final[str] = numpy.kind
        self.itemsize: Final[int] = numpy.itemsize
        self.type: Final[Any] = numpy.type

    @property
    def is_floating_point(self) -> bool:
        """Whether it is float16, float32 or float64."""
        return self.kind == "f"

    @property
    def is_complex(self) -> bool:
        """Whether it is complex64 or complex128."""
        return self.kind == "c"

    @property
    def is_signed(self) -> bool:
        """Whether it can hold negative numbers."""
        return self.kind in "ifc"

    @property
    def abbr(self) -> str:
        """PyTorch's abbreviation: `f32`, `i64`, `b8`."""
        return _ABBREVIATIONS.get(self.name, f"{self.kind}{8 * self.itemsize}")

    def to_real(self) -> dtype:
        """The dtype of the real part."""
        return _named(_REAL_OF.get(self.name, self.name))

    def to_complex(self) -> dtype:
        """The complex dtype of the same precision."""
        if self.kind == "c":
            return self
        name = _COMPLEX_OF.get(self.name)
        if name is None:
            raise RuntimeError(
                f"Unknown Complex ScalarType for {DTYPE_NAMES[self.name]}: only float32 and float64 have one"
            )
        return _named(name)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, dtype):
            return self is other
        return other is not None and bool(self.dtype == other)

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __copy__(self) -> dtype:
        return self

    def __deepcopy__(self, memo: Any) -> dtype:
        return self

    def __reduce__(self) -> Any:
        return _named, (self.name,)


_KEY: Final = object()
_OBJECTS: Final[dict[Any, dtype]] = {np.dtype(name): dtype(_KEY, np.dtype(name)) for name in DTYPE_NAMES}


def dtype_of(numpy: DType) -> dtype:
    """The object that people see for one of NumPy's dtypes."""
    return _OBJECTS[numpy]


def _named(name: str) -> dtype:
    """The one of a name, also for unpickling."""
    return _OBJECTS[np.dtype(name)]


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
