"""Memory formats: PyTorch's names for the order in which dimensions lie in memory."""

from __future__ import annotations

from typing import Any, Final

from retrograd.errors import type_name
from retrograd.values import Array

_KEY: Final = object()
_RANKS: Final = {"channels_last": 4, "channels_last_3d": 5}


class memory_format:  # noqa: N801 - torch's name
    """How a tensor lies in memory: `contiguous_format` (rows), `channels_last`, `channels_last_3d`, `preserve_format`.

    >>> import retrograd as rg
    >>> x = rg.zeros(2, 3, 4, 5).to(memory_format=rg.channels_last)
    >>> x.shape, x.stride(), x.is_contiguous(memory_format=rg.channels_last)
    (torch.Size([2, 3, 4, 5]), (60, 1, 15, 3), True)
    """

    def __init__(self, key: object = None, name: str = "") -> None:
        if key is not _KEY:
            raise TypeError(
                "cannot create 'torch.memory_format' instances: there are four, such as retrograd.channels_last"
            )
        self.name: Final[str] = name
        self.rank: Final[int] = _RANKS.get(
            name, 0
        )  # how many dimensions a tensor must have; 0 for any number

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name  # pickle finds it in this module

    def __copy__(self) -> memory_format:
        return self

    def __deepcopy__(self, memo: Any) -> memory_format:
        return self


contiguous_format: Final = memory_format(_KEY, "contiguous_format")
preserve_format: Final = memory_format(_KEY, "preserve_format")
channels_last: Final = memory_format(_KEY, "channels_last")
channels_last_3d: Final = memory_format(_KEY, "channels_last_3d")


def check_format(function: str, value: object) -> memory_format | None:
    """A memory format, or None for the default; anything else is refused."""
    if value is None or isinstance(value, memory_format):
        return value
    raise TypeError(
        f"{function}(): argument 'memory_format' must be torch.memory_format, not {type_name(value)}"
    )


def _with_channels_last(array: Array, wanted: memory_format) -> Array:
    """A view with the channels behind all other dimensions, so that what lies in `wanted` has rows."""
    if array.ndim != wanted.rank:
        raise RuntimeError(
            f"required rank {wanted.rank} tensor to use {wanted.name} format, but this one has {array.ndim} dimensions"
        )
    return array.transpose((0, *range(2, array.ndim), 1))


def _with_channels_second(array: Array) -> Array:
    return array.transpose((0, array.ndim - 1, *range(1, array.ndim - 1)))


def lies_in(array: Array, wanted: memory_format) -> bool:
    """Whether an array lies in a format, without gaps."""
    if not wanted.rank:
        return bool(array.flags.c_contiguous)
    return array.ndim == wanted.rank and bool(_with_channels_last(array, wanted).flags.c_contiguous)


def copied_in(xp: Any, array: Array, wanted: memory_format) -> Array:
    """A copy of an array that lies in a format."""
    if not wanted.rank:
        copy: Array = xp.array(array, order="C", copy=True)
        return copy
    return _with_channels_second(xp.array(_with_channels_last(array, wanted), order="C", copy=True))


def empty_in(xp: Any, shape: Any, dtype: Any, wanted: memory_format) -> Array:
    """Memory of a shape that lies in a format."""
    if not wanted.rank:
        made: Array = xp.empty(shape, dtype)
        return made
    return copied_in(xp, xp.broadcast_to(xp.empty((), dtype), shape), wanted)


def format_of(array: Array) -> memory_format:
    """The format whose order of dimensions an array has, gaps or not; `contiguous_format` for any other."""
    for wanted in (channels_last, channels_last_3d):
        if array.ndim == wanted.rank and _channels_come_last(array):
            return wanted
    return contiguous_format


def _channels_come_last(array: Array) -> bool:
    """Whether strides rise from the channels to the batch; with one channel alone they could be anything's."""
    strides, sizes = array.strides, array.shape
    least = 0
    if strides[1] == 0 or array.size == 0:
        return False
    for d in (1, *range(array.ndim - 1, 1, -1), 0):
        if strides[d] < least or (d == 0 and least == strides[1]):
            return False
        least = strides[d] * max(sizes[d], 1)
    return True
