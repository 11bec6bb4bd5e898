"""Exceptions on their way to another process or thread."""

from __future__ import annotations

import sys
import traceback
from typing import Any


class ExceptionWrapper:
    """An exception as its class and the text of its traceback, to be raised again elsewhere.

    Args:
        exc_info: what `sys.exc_info()` gives; by default, of the exception that is being handled.
        where: what the text says of the place it was raised at.

    >>> try:
    ...     [][0]
    ... except IndexError:
    ...     kept = ExceptionWrapper(where="in a thread")
    >>> kept.reraise()
    Traceback (most recent call last):
    IndexError: Caught IndexError in a thread.
    Original Traceback (most recent call last):
    ...
    """

    def __init__(self, exc_info: Any = None, where: str = "in background") -> None:
        info: Any = sys.exc_info() if exc_info is None else exc_info
        self.exc_type: type[BaseException] = info[0]
        self.exc_msg = "".join(traceback.format_exception(*info))
        self.where = where

    def reraise(self) -> None:
        """Raises an exception of the same class, with the text of the first."""
        message = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:
            raise KeyError(_Text(message))
        try:
            error = self.exc_type(message)
        except Exception:  # noqa: BLE001 - it takes other arguments than a message
            raise RuntimeError(message) from None
        raise error

    def __reduce__(self) -> Any:
        return _rebuilt, (_known(self.exc_type), self.where, self.exc_msg)


class _Text(str):
    """A text that KeyError shows as it is, lines and all."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _known(kind: type[BaseException]) -> type[BaseException]:
    """A class that another process can import: the exception's own, or else RuntimeError."""
    module = sys.modules.get(kind.__module__)
    return kind if getattr(module, kind.__qualname__, None) is kind else RuntimeError


def _rebuilt(kind: type[BaseException], where: str, text: str) -> ExceptionWrapper:
    made = ExceptionWrapper.__new__(ExceptionWrapper)
    made.exc_type, made.where, made.exc_msg = kind, where, text
    return made
