"""Anomaly mode: where the forward pass made a node, told when the node fails.

Note [Anomaly mode]
~~~~~~~~~~~~~~~~~~~
While it is on, each new node keeps the stack of the call that made it in `metadata["traceback_"]`, and, if it was made
by a backward that records itself, the node that was running then in `metadata["parent_"]`. When a node raises, or (with
`check_nan`) computes a NaN, the stacks are shown: as a warning, as PyTorch does, and as notes on the exception.
"""

from __future__ import annotations

import sys
from typing import Any

from retrograd.backends.base import backend_of
from retrograd.core.modes import ThreadState
from retrograd.core.node import Grads, Node
from retrograd.core.places import warn
from retrograd.errors import GradientError, add_note

_PACKAGE = __file__.rsplit("core", 1)[0]


def remember_origin(node: Node, state: ThreadState) -> None:
    """Keeps the stack that leads to a new node, without our own frames, and the node whose backward made it."""
    import traceback  # rarely needed, and slow to load

    stack = [frame for frame in traceback.extract_stack() if not frame.filename.startswith(_PACKAGE)]
    node.metadata["traceback_"] = traceback.format_list(stack)
    if state.running_node is not None:
        node.metadata["parent_"] = state.running_node


def report(node: Node, error: BaseException) -> None:
    """Shows where a failing node, and the nodes that led to it, were made."""
    first = True
    current: Any = node
    while current is not None:
        text = _origin(current, first)
        add_note(error, text)
        try:
            warn(text, UserWarning)
        except UserWarning:  # made an error by a filter: it may not hide this one, whose note says the same
            sys.stderr.write(f"{text}\n")
        current = None if current.user_metadata is None else current.user_metadata.get("parent_")
        first = False


def _origin(node: Node, first: bool) -> str:
    stack = None if node.user_metadata is None else node.user_metadata.get("traceback_")
    what = f"Error detected in {node.name()}." if first else ""
    if stack is None:
        return (
            f"{what} No forward pass information available. Enable detect anomaly during forward pass for more "
            "information."
        )
    if first:
        return f"{what} Traceback of forward call that caused the error:\n{''.join(stack)}"
    origin = f"Previous calculation was induced by {node.name()}."
    return f"{origin} Traceback of forward call that induced it:\n{''.join(stack)}"


def check_nan(node: Node, results: Grads) -> None:
    """Raises if a node has computed a NaN."""
    for i, value in enumerate(results):
        array: Any = getattr(value, "array", value)
        if array is not None and backend_of(array).isnan(array).any():
            raise GradientError(f"Function '{node.name()}' returned nan values in its {i}th output.")
