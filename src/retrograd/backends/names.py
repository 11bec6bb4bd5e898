"""Names that a backend has from its array library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from retrograd.hints import Plain


class LibraryNames(Plain):
    """What has the functions of an array library as attributes, `xp.exp`; type checkers let every name pass."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


__all__ = ["LibraryNames"]
