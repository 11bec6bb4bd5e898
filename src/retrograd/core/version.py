"""Version counters: how often a piece of memory was written in place."""

from __future__ import annotations

from typing import Any

from retrograd.core.places import mark
from retrograd.errors import InferenceError


class VersionCounter:
    """Shared by a tensor, its views and its `detach()`ed twins; -1 means "not tracked" (inference tensors)."""

    version: int = 0
    made_code: Any = None  # the line of the last write: see Note [Places]
    made_lasti: int = 0

    def bump(self) -> None:
        """One more in-place write."""
        if self.version >= 0:
            self.version += 1
            mark(self)


UNTRACKED = VersionCounter()
UNTRACKED.version = -1

# The counter of a value that went through a pack hook: never equal to a version, so that the check of versions, which
# every unpacking makes anyway, finds it. See Note [Packed values] in core/saved.py.
PACKED = VersionCounter()
PACKED.version = -2


def no_version() -> InferenceError:
    """Inference tensors have no version."""
    return InferenceError("Inference tensors do not track version counter.")
