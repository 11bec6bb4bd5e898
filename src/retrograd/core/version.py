"""Version counters: how often a piece of memory was written in place."""

from __future__ import annotations

from typing import Any, Final

from retrograd.core.places import mark
from retrograd.errors import InferenceError


class VersionCounter:
    """Shared by a tensor, its views and its `detach()`ed twins; -1 means "not tracked" (inference tensors)."""

    version: int = 0
    _made: Any = None  # the line of the last write: see Note [Places]
    # Which of the versions came with a `detach_()`. That is no write, and a tensor does not show it; but who has saved
    # the tensor as an operand is to notice, by the check of versions that is made anyway.
    detaches: tuple[int, ...] = ()

    def detached(self) -> None:
        """A tensor of this memory was cut off from its graph in place."""
        if self.version >= 0:
            self.version += 1
            self.detaches = (*self.detaches, self.version)

    def unwritten_since(self, version: int) -> bool:
        """Whether nothing but `detach_()` has happened since a version."""
        return self.version - version == sum(1 for each in self.detaches if each > version)

    def shown(self) -> int:
        """How often the memory was written, `tensor._version`."""
        return self.version - len(self.detaches)

    def show(self, version: int) -> None:
        """Sets how often the memory was written."""
        self.version = version + len(self.detaches)

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


# The kind, in `_view_kind`, of an inference tensor that `detach()` or `.data` has cut off outside of inference mode:
# PyTorch takes writes to it. It is no view, so the kinds in core/views.py do not meet it.
LOOSE: Final = 6


def no_version() -> InferenceError:
    """Inference tensors have no version."""
    return InferenceError("Inference tensors do not track version counter.")
