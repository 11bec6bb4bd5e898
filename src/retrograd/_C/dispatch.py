"""Keys of PyTorch's dispatcher. There is none here: keys have names, and choosing between them does nothing."""

from __future__ import annotations

from contextlib import nullcontext


class _Keys(type):
    """Has a key of every name."""

    def __getattr__(cls, name: str) -> str:
        if name.startswith("__"):
            raise AttributeError(name)
        return name


class DispatchKey(metaclass=_Keys):
    """The keys, by name: `DispatchKey.CPU`."""


class DispatchKeySet:
    """Some of the keys."""

    def __init__(self, *keys: str) -> None:
        self.keys = frozenset(keys)

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*self.keys, *other.keys)

    def has(self, key: str) -> bool:
        """Whether a key is among them."""
        return key in self.keys


class _ExcludeDispatchKeyGuard(nullcontext[None]):
    """Around calls that are to pass over some keys."""

    def __init__(self, keys: DispatchKeySet) -> None:
        super().__init__()


class _DisableFuncTorch(nullcontext[None]):
    """Around calls that are to pass over what `vmap` and `grad` add to an operation."""
