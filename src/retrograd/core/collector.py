"""Which nodes Python's cyclic collector looks at.

Note [Nodes and the collector]
~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
The collector walks all objects that could be part of a cycle again and again while a graph grows: in a chain of 100,000
nodes that took most of the time. A node of one of our operations refers to arrays and to older nodes only, so it is
part of no cycle by itself and need not be walked (with the native pack, which can take it off the collector's lists).
A cycle needs something of the user's, or a gradient with a graph of its own. So these are watched, and whatever is
recorded on top of them: nodes with hooks, metadata or packed values, those of custom Functions, those recorded while a
mode is on, and all nodes that a backward with `create_graph` comes to.

What remains hidden is a cycle that is closed afterwards: a hook on a node that holds a result which was computed from
it before the hook was registered. PyTorch's collector does not see that one either; removing the hook frees it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from retrograd.backends.native import PACK

if TYPE_CHECKING:
    from retrograd.core.node import Node

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
