"""What must be done when the process is copied by `fork`."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable


def _nothing() -> None:
    """Does nothing."""


# What is called before a fork, after it in the parent, and after it in the child. They are called from here, not by
# Python, because a module may be imported, and bring some, while those of another wait for its import to end: Python
# would not call them at this fork, and they might be half done.
_HANDLERS: list[tuple[Callable[[], object], Callable[[], object], Callable[[], object]]] = []
_FORK = threading.local()  # of a thread that forks: `ready`, those whose `before` has been called


def at_fork(
    *,
    before: Callable[[], object] = _nothing,
    after_in_parent: Callable[[], object] = _nothing,
    after_in_child: Callable[[], object] = _nothing,
) -> None:
    """Has these called around every fork, as `os.register_at_fork` does; a system without forks needs none of them.

    >>> at_fork(after_in_child=lambda: None)
    """
    _HANDLERS.append((before, after_in_parent, after_in_child))


def _before() -> None:
    """The newest first, until all have been called."""
    _FORK.ready = []
    while left := [handler for handler in _HANDLERS if handler not in _FORK.ready]:
        left[-1][0]()
        _FORK.ready.append(left[-1])


def _in_parent() -> None:
    for _, after, _ in reversed(_FORK.ready):
        after()


def _in_child() -> None:
    for _, _, after in reversed(_FORK.ready):
        after()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
