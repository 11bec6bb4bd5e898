"""What must be done when the process is copied by `fork`."""

from __future__ import annotations

import os
from collections.abc import Callable


def _nothing() -> None:
    """Does nothing."""


def at_fork(
    *,
    before: Callable[[], object] = _nothing,
    after_in_parent: Callable[[], object] = _nothing,
    after_in_child: Callable[[], object] = _nothing,
) -> None:
    """Has these called around every fork, as `os.register_at_fork` does; a system without forks needs none of them.

    >>> at_fork(after_in_child=lambda: None)
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=before, after_in_parent=after_in_parent, after_in_child=after_in_child)
