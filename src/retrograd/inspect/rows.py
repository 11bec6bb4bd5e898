"""The rows of a Recorder's lists, as it writes them and `gather.py` reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from retrograd.inspect.notes import Kept, NodeNote, StepNote, ThreadNote


def in_turns(flat: Sequence[Any], width: int) -> list[tuple[Any, ...]]:
    """A flat list as rows.

    >>> in_turns(["a", 1, "b", 2], 2)
    [('a', 1), ('b', 2)]
    """
    return list(zip(*(flat[i::width] for i in range(width)), strict=True))


class OpRow(NamedTuple):
    """A forward operation."""

    kind: Any
    name: str
    """Empty if it has a node."""
    made: Any
    thread: ThreadNote
    start: int
    end: int
    module: str
    during: StepNote | None
    """The step of a backward that it is part of: `create_graph`, a checkpoint, a custom Function."""
    node: NodeNote | None
    node0: NodeNote | None
    nr0: int
    meta0: Any
    """Of the first operand; None if that is no tensor."""
    node1: NodeNote | None
    nr1: int
    meta1: Any
    more_operands: list[Any] | None
    out: Any
    """The metadata of the first result."""
    kept: Kept
    more_outs: list[Any] | None

    def operands(self) -> list[tuple[Any, ...]]:
        """Node, output number and metadata of each tensor among the operands."""
        found = [row for row in (self[9:12], self[12:15]) if row[2] is not None]
        return found + in_turns(self.more_operands or (), 3)

    def outs(self) -> list[tuple[Any, ...]]:
        """Metadata of each result, and what is kept of it."""
        first = [] if self.out is None else [(self.out, self.kept)]
        return first + in_turns(self.more_outs or (), 2)


class WalkRow(NamedTuple):
    """The edges of a node, what it has saved and its hooks, when a backward came to it."""

    node: NodeNote
    hooks: Sequence[str]
    edge_count: int
    node0: NodeNote | None
    nr0: int
    node1: NodeNote | None
    nr1: int
    more_edges: list[Any] | None
    meta_x: Any
    x: Any
    """The block of the first operand; `meta_x` is None if that is not saved."""
    meta_y: Any
    y: Any
    meta_out: Any
    out: Any
    more_saved: list[Any] | None

    def edges(self) -> list[tuple[Any, ...]]:
        """The receiver of each gradient, None where none is wanted, and its input."""
        return [self[3:5], self[5:7]][: self.edge_count] + in_turns(self.more_edges or (), 2)

    def saved(self) -> list[tuple[Any, ...]]:
        """Slot, metadata and block of each saved value."""
        slots = zip(("x", "y", "out"), self[8:14:2], self[9:14:2], strict=True)
        return [slot for slot in slots if slot[1] is not None] + in_turns(self.more_saved or (), 3)
