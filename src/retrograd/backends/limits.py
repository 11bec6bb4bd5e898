"""The limits of dtypes: `finfo` and `iinfo`."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Final

import numpy as np

from retrograd.backends.dtypes import LIMITS, as_dtype, bfloat16, get_default_dtype, real_of
from retrograd.values import DType

# What NumPy would say of bfloat16: the range of float32, and 8 bits of digits.
_BRAIN: Final = SimpleNamespace(
    bits=16, dtype=bfloat16, eps=2.0**-7, precision=2, smallest_normal=2.0**-126,
    min=LIMITS[bfloat16][0], max=LIMITS[bfloat16][1],
)  # fmt: skip


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
        info: Any = _BRAIN if wanted is bfloat16 else np.finfo(real_of(wanted))
        self.bits: Final = int(info.bits)
        self.dtype: Final = str(info.dtype.name)
        self.eps: Final = float(info.eps)
        self.max: Final = float(info.max)
        self.min: Final = float(info.min)
        self.resolution: Final = float(f"1e-{info.precision}")
        self.smallest_normal: Final = float(info.smallest_normal)
        self.tiny: Final = self.smallest_normal

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
        if wanted.kind not in "iu":
            raise TypeError(
                f"torch.iinfo() requires an integer input type. Use finfo for torch.{wanted.name}."
            )
        info: Any = np.iinfo(wanted)
        self.bits: Final = int(info.bits)
        self.dtype: Final = str(info.dtype.name)
        self.max: Final = int(info.max)
        self.min: Final = int(info.min)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, iinfo) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"


def _given(function: str, type: Any) -> DType:
    try:
        return as_dtype(type)
    except TypeError:
        raise TypeError(
            f"{function}(): argument 'type' (position 1) must be torch.dtype, not {type.__class__.__name__}"
        ) from None
