"""Hints for mypyc, which compiles much of this package. Without it they do nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

C = TypeVar("C", bound=type[Any])

if TYPE_CHECKING:
    from mypy_extensions import mypyc_attr
else:

    def mypyc_attr(**hints: bool) -> Callable[[C], C]:
        """Of a class: `allow_interpreted_subclasses` if people derive from it, `serializable` if it is copied."""
        return _unchanged


def _unchanged(cls: C) -> C:
    return cls


class Plain:
    """Gives a compiled subclass weak references and room for attributes that it does not declare."""


__all__ = ["Plain", "mypyc_attr"]
