"""The limits of dtypes: `finfo` and `iinfo`."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Final

import numpy as np

from retrograd.backends.dtype_class import BY_NAME, dtype
from retrograd.backends.dtypes import LIMITS, as_dtype, bfloat16, float16, get_default_dtype, real_of
from retrograd.values import DType

# What NumPy would say of bfloat16: the range of float32, and 8 bits of digits.
_BRAIN: Final = SimpleNamespace(
    bits=16, dtype=bfloat16, eps=2.0**-7, precision=2, smallest_normal=2.0**-126,
    min=LIMITS[bfloat16][0], max=LIMITS[bfloat16][1],
)  # fmt: skip
# Of floats of 8 bits: eps, the smallest and the largest number, and the smallest with all digits.
_OF_8_BITS: Final = {
    "float8_e4m3fn": (2.0**-3, -448.0, 448.0, 2.0**-6),
    "float8_e4m3fnuz": (2.0**-3, -240.0, 240.0, 2.0**-7),
    "float8_e5m2": (2.0**-2, -57344.0, 57344.0, 2.0**-14),
    "float8_e5m2fnuz": (2.0**-3, -57344.0, 57344.0, 2.0**-15),
    "float8_e8m0fnu": (1.0, 2.0**-127, 2.0**127, 2.0**-127),
}
# The dtype whose limits an integer dtype has: its own, or that of quantised numbers' integers.
_INTEGERS: Final[dict[Any, DType]] = {
    **{known: known for known in LIMITS if known.kind in "iu"},
    **{BY_NAME[f"q{name}"]: np.dtype(name) for name in ("int8", "int32", "uint8")},
    **{BY_NAME[name]: np.dtype("uint8") for name in ("quint4x2", "quint2x4")},
}
_FOUND: Final[dict[Any, Any]] = {}  # what has been asked before: programs ask for eps in every step


class finfo:  # noqa: N801 - torch's name
    """The limits of a floating-point dtype, the default one unless given; of a complex one, those of its parts.

    >>> import retrograd as rg
    >>> rg.finfo(rg.float32).eps
    1.1920928955078125e-07
    """

    def __init__(self, type: Any = None) -> None:
        wanted = get_default_dtype() if type is None else _given("finfo", type)
        if wanted.kind not in "fc":
            raise TypeError(
                f"torch.finfo() requires a floating point input type. Use iinfo for torch.{wanted.name}."
            )
        found = _FOUND.get(wanted) or _floats(wanted)
        self.bits: Final[int] = found[0]
        self.dtype: Final[str] = found[1]
        self.eps: Final[float] = found[2]
        self.max: Final[float] = found[3]
        self.min: Final[float] = found[4]
        self.resolution: Final[float] = found[5]
        self.smallest_normal: Final[float] = found[6]
        self.tiny: Final[float] = found[6]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, finfo) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __repr__(self) -> str:
        numbers = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        shown = [f"{name}={getattr(self, name):g}" for name in numbers]
        return f"finfo({', '.join(shown)}, dtype={self.dtype})"


class iinfo:  # noqa: N801 - torch's name
    """The limits of an integer dtype.

    >>> import retrograd as rg
    >>> rg.iinfo(rg.uint8)
    iinfo(min=0, max=255, dtype=uint8)
    """

    def __init__(self, type: Any) -> None:
        wanted = _given("iinfo", type)
        if wanted.kind == "b":
            raise TypeError("torch.bool is not supported by torch.iinfo")
        if wanted not in _INTEGERS:
            cure = (
                f"Use finfo for torch.{wanted.name}." if wanted.kind in "fc" else f"Not torch.{wanted.name}."
            )
            raise TypeError(f"torch.iinfo() requires an integer input type. {cure}")
        found = _FOUND.get(wanted) or _integers(wanted)
        self.bits: Final[int] = found[0]
        self.dtype: Final[str] = found[1]
        self.max: Final[int] = found[2]
        self.min: Final[int] = found[3]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, iinfo) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"


def _floats(wanted: DType) -> Any:
    """What `finfo` says of a dtype."""
    info = _float_limits(wanted)
    found = (
        int(info.bits),
        str(info.dtype.name),
        float(info.eps),
        float(info.max),
        float(info.min),
        float(f"1e-{info.precision}"),
        float(info.smallest_normal),
    )
    _FOUND[wanted] = found
    return found


def _integers(wanted: DType) -> Any:
    """What `iinfo` says of a dtype."""
    info: Any = np.iinfo(_INTEGERS[wanted])
    _FOUND[wanted] = found = (int(info.bits), str(wanted.name), int(info.max), int(info.min))
    return found


def _float_limits(wanted: DType) -> Any:
    """What NumPy's finfo says of a dtype, or would say of one that it has not."""
    if wanted is bfloat16:
        return _BRAIN
    if wanted.name == "complex32":
        return np.finfo(float16)
    if not isinstance(wanted, dtype):
        return np.finfo(real_of(wanted))
    if wanted.name not in _OF_8_BITS:
        raise NotImplementedError(
            f"torch.finfo() is not implemented for {wanted}: each byte holds two numbers"
        )
    eps, least, most, tiny = _OF_8_BITS[wanted.name]
    return SimpleNamespace(
        bits=8, dtype=wanted, eps=eps, precision=0, smallest_normal=tiny, min=least, max=most
    )


def _given(function: str, type: Any) -> DType:
    """The dtype that is asked about: there need be no arrays of it."""
    if isinstance(type, dtype) and type.held is None:
        return type
    try:
        return as_dtype(type)
    except TypeError:
        raise TypeError(
            f"{function}(): argument 'type' (position 1) must be torch.dtype, not {type.__class__.__name__}"
        ) from None
