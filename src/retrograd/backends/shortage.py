"""What there is no memory for: NumPy's errors about it, told as ours.

NumPy raises a MemoryError where the system has too little, and a ValueError where no system could have enough. PyTorch
raises a RuntimeError for both, and so do we: `OutOfMemoryError`, which is a MemoryError as well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from retrograd.errors import OutOfMemoryError, out_of_memory
from retrograd.values import Array, DType, Shape

# How NumPy's errors of sizes that no memory could have begin, and Python's of numbers that are no sizes.
_TOO_LARGE = (
    "array is too big",
    "Maximum allowed",
    "Integer overflow",
    "Python int too large",
    "cannot fit 'int'",
)


def shortage(error: BaseException) -> OutOfMemoryError | None:
    """What to raise in the place of an error of NumPy's that speaks of too little memory; None for all others."""
    if not _is_shortage(error) or isinstance(error, OutOfMemoryError):
        return None
    shape, dtype = getattr(error, "shape", None), getattr(error, "dtype", None)
    if shape is not None and dtype is not None:
        return out_of_memory(shape, dtype)
    return OutOfMemoryError(f"not enough memory for the result: {str(error) or 'the system has none left'}")


def tell_shortage(error: BaseException) -> None:
    """Raises OutOfMemoryError if that is what an error means."""
    told = shortage(error)
    if told is not None:
        raise told from None


class ShortageTold:
    """`with SHORTAGE_TOLD:` around what makes large arrays by NumPy's functions: its errors are told as ours."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, where: Any) -> None:
        if error is not None:
            tell_shortage(error)


SHORTAGE_TOLD: Final = ShortageTold()


def made(function: Callable[[Shape, DType], Array], shape: Shape, dtype: DType) -> Array:
    """`function(shape, dtype)`, of an array library, say, which makes such an array; or OutOfMemoryError."""
    try:
        return function(shape, dtype)
    except (MemoryError, ValueError, OverflowError) as error:
        if _is_shortage(error):
            raise out_of_memory(shape, dtype) from None
        raise


def _is_shortage(error: BaseException) -> bool:
    if isinstance(error, MemoryError):
        return True
    return isinstance(error, (ValueError, OverflowError)) and str(error).startswith(_TOO_LARGE)


__all__ = ["SHORTAGE_TOLD", "ShortageTold", "made", "shortage", "tell_shortage"]
