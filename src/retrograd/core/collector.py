"""Which nodes Python's cyclic collector looks at.

Note [Nodes and the collector]
~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
The collector walks all objects that could be part of a cycle again and again while a graph grows: in a chain of 100,000
nodes that took most of the time. A node of one of our operations refers to arrays and to older nodes only, so it is
part of no cycle by itself and need not be walked (with the native pack, which can take it off the collector's lists).
A cycle needs something of the user's, or a gradient with a graph of its own. So these are watched, and whatever is
recorded on top of them: nodes with hooks, metadata or packed values, those of custom Functions, those recorded while a
mode is on, and all nodes that a backward with `create_graph` comes to.

A hook may also come when something has been recorded on top of its node already, and refer to that. Edges lead the
other way; so when the next full collection begins, which walks over all objects anyway, all nodes that there are get
watched before.
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any, Final

from retrograd.backends.pack import PACK
from retrograd.core.upward import UPWARD

if TYPE_CHECKING:
    from retrograd.core.node import Node
    from retrograd.core.tensor import Tensor

_untrack: Final[Any] = None if PACK is None else PACK.untrack
_track: Final[Any] = None if PACK is None else PACK.track


def hide(node: Node) -> None:
    """Takes a node that cannot be part of a cycle from the collector."""
    if _untrack is not None:
        node._watched = False
        _untrack(node)


def watch(node: Node) -> None:
    """Gives a node to the collector again."""
    if not node._watched:
        node._watched = True
        _track(node)


def expose(node: Node) -> None:
    """Makes a cycle visible that what a user is about to hang on `node` may close."""
    if node._watched:
        return
    watch(node)
    if node._used:
        if not LATE.listens:
            gc.callbacks.append(_at_collection)
            LATE.listens = True
        LATE.hooks = True


class Late:
    """Whether something hangs on a node since another one was recorded on top of it."""

    hooks: bool = False
    listens: bool = False  # whether the collector tells us when it begins


LATE: Final = Late()


def _at_collection(phase: str, info: dict[str, int]) -> None:
    """Called by the collector before and after each of its runs; number 2 are the full ones."""
    if LATE.hooks and phase == "start" and info["generation"] == 2:
        LATE.hooks = False
        _watch_all()


def _watch_all() -> None:
    """Gives all nodes to the collector: whatever is hidden hangs on a tensor, or on a node that is not."""
    waiting: list[Node] = PACK.instances(UPWARD.node)
    for thing in PACK.instances(UPWARD.tensor):
        tensor: Tensor = thing
        if tensor._node is not None and not tensor._node._watched:
            watch(tensor._node)
            waiting.append(tensor._node)
    while waiting:
        for successor in waiting.pop().successors():
            if not successor._watched:
                watch(successor)
                waiting.append(successor)
