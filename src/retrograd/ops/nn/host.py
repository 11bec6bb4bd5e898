"""Constants that are computed on the host, such as tables of indices and masks: they come to where an operand lies."""

from __future__ import annotations

from typing import Any

from retrograd.backends.base import backend_of
from retrograd.ops.common import as_value, plain
from retrograd.values import Array


def library_of(v: Any) -> Any:
    """The backend of an array, or of the array that a Tensor holds."""
    return backend_of(plain(v))


def as_constant(array: Array, like: Any) -> Any:
    """An array of NumPy's as the kind of value that `like` is, in its memory."""
    return as_value(library_of(like).asarray(array), like)


def on_host(v: Any) -> Array:
    """What an array or a Tensor holds as an array of NumPy's, to compute such constants from."""
    return library_of(v).numpy(plain(v))
