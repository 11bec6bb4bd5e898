"""Version counters: how often a piece of memory was written in place."""

from __future__ import annotations

from typing import Any, Final

from retrograd.core.places import mark
from retrograd.errors import InferenceError


class VersionCounter:
    """Shared by a tensor, its views and its `detach()`ed twins; -1 means "not tracked" (inference tensors)."""

    version: int = 0
    _made: Any = None  # the line of the last write: see Note [Places]

    def bump(self) -> None:
        """One more in-place write."""
        if self.version >= 0:
            self.version += 1
            mark(self)


UNTRACKED: Final = VersionCounter()
UNTRACKED.version = -1

# The counter of a value that went through a pack hook: never equal to a version, so that the check of versions, which
# every unpacking makes anyway, finds it. See Note [Packed values] in core/saved.py.
PACKED: Final = VersionCounter()
PACKED.version = -2


def no_version() -> InferenceError:
    """Inference tensors have no version."""
    return InferenceError("Inference tensors do not track version counter.")
