"""`torch.fx`: what files call in passing. Functions are not traced here."""

from __future__ import annotations

from typing import TypeVar

__all__ = ["wrap"]

T = TypeVar("T")


def wrap(fn_or_name: T) -> T:
    """A function as it is: a tracer would leave it whole."""
    return fn_or_name
