"""`record`: marks the main function of a script that `torchrun` starts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

_F = TypeVar("_F", bound=Callable[..., Any])

__all__ = ["record"]


def record(fn: _F, error_handler: Any = None) -> _F:
    """The function itself: a rank that raises prints its traceback and ends the others anyway, Note [How ranks end].

    >>> @record
    ... def main():
    ...     return 1
    >>> main()
    1
    """
    return fn
