"""Which PyTorch this library behaves like, as `torch.torch_version`."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

TORCH = "2.13.0"  # the release that the conformance suite compares with


class TorchVersion(str):
    """A version as text that compares by its numbers, also with a tuple of them.

    >>> TorchVersion("2.13.0+retrograd") >= (2, 4), TorchVersion("2.13.0") > "2.9"
    (True, True)
    """

    __slots__ = ()

    def _order(self, other: Any) -> int:
        """-1, 0 or 1: whether this comes before another version, is the same, or comes after it."""
        for mine, its in zip_longest(_numbers(self), _numbers(other), fillvalue=0):
            if mine != its:
                return -1 if mine < its else 1
        return 0

    def __lt__(self, other: Any) -> bool:
        return self._order(other) < 0

    def __le__(self, other: Any) -> bool:
        return self._order(other) <= 0

    def __gt__(self, other: Any) -> bool:
        return self._order(other) > 0

    def __ge__(self, other: Any) -> bool:
        return self._order(other) >= 0

    def __eq__(self, other: object) -> bool:
        return self._order(other) == 0 if isinstance(other, tuple) else str.__eq__(self, str(other))

    def __hash__(self) -> int:
        return str.__hash__(self)


def _numbers(version: Any) -> list[int]:
    """The numbers of a version, without what follows a `+`."""
    parts = str(version).partition("+")[0].split(".") if isinstance(version, str) else version
    return [int("".join(c for c in str(part) if c.isdigit()) or 0) for part in parts]


__version__ = TorchVersion(f"{TORCH}+retrograd")
