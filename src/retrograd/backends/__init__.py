"""Kinds of arrays, and what computes on each: Note [Backends] in base.py. docs/inside/backends.md brings another."""

from retrograd.backends.base import Backend, register
from retrograd.backends.device import device
from retrograd.backends.numpy_backend import NumpyBackend

__all__ = ["Backend", "NumpyBackend", "device", "register"]
