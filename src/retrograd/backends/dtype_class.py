"""The dtypes that people see: one object each, with PyTorch's names and attributes.

Arrays keep NumPy's dtypes, and so does everything that works on arrays. What a Tensor shows is an object of the class
`dtype`, which equals NumPy's, hashes like it, and is taken wherever NumPy takes one.

NumPy itself has no bfloat16. Arrays of it (`bfloat16.py`) have the object here for their dtype, which answers what is
asked of a dtype: its `kind` is "f", as that of every other floating-point dtype.
"""

from __future__ import annotations

import importlib
from typing import Any, Final, TypeAlias

import numpy as np

from retrograd.errors import DTYPE_NAMES
from retrograd.values import DType

_REAL_OF: Final = {"complex64": "float32", "complex128": "float64"}
_COMPLEX_OF: Final = {
    "bfloat16": "complex64",
    "float32": "complex64",
    "float64": "complex128",
}  # NumPy has no complex32
_ABBREVIATIONS: Final = {"bool": "b8", "bfloat16": "bf16", "complex64": "c64", "complex128": "c128"}

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

    def __init__(self, key: object = None, numpy: Any = None) -> None:
        if key is not _KEY:
            raise TypeError(
                "cannot create 'torch.dtype' instances: there is one for each kind of number, such as retrograd.float32"
            )
        self._numpy: DType = numpy  # None: of ml_dtypes, once it is asked for
        self.held: Final[DType] = self if numpy is None else numpy  # what arrays have
        self.name: Final[str] = "bfloat16" if numpy is None else numpy.name
        self.kind: Final[str] = "f" if numpy is None else numpy.kind
        self.itemsize: Final[int] = 2 if numpy is None else numpy.itemsize

    @property
    def dtype(self) -> DType:
        """NumPy's own: where NumPy wants a dtype, it looks for this attribute."""
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
        """Whether it is float16, bfloat16, float32 or float64."""
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
                f"Unknown Complex ScalarType for {DTYPE_NAMES[self.name]}: only float32 and float64 have one"
            )
        return _named(name)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, dtype):
            return self is other
        if self.held is self:
            return bool(getattr(other, "name", other) == self.name)
        return other is not None and bool(self._numpy == other)

    def __hash__(self) -> int:
        return hash(self.name if self.held is self else self._numpy)

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __copy__(self) -> Dtype:
        return self

    def __deepcopy__(self, memo: Any) -> Dtype:
        return self

    def __reduce__(self) -> Any:
        return _named, (self.name,)


_KEY: Final = object()
bfloat16: Final = dtype(_KEY)
_OBJECTS: Final[dict[Any, dtype]] = {
    np.dtype(name): dtype(_KEY, np.dtype(name)) for name in DTYPE_NAMES if name != "bfloat16"
}
_OBJECTS[bfloat16] = bfloat16


def dtype_of(held: DType) -> dtype:
    """The object that people see for the dtype of an array."""
    return _OBJECTS[held]


def _named(name: str) -> dtype:
    """The one of a name, also for unpickling."""
    return bfloat16 if name == "bfloat16" else _OBJECTS[np.dtype(name)]


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
