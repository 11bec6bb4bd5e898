"""Numbering: the notes of a Recorder get the numbers by which a document's parts refer to each other."""

from __future__ import annotations

from typing import Any

from retrograd.inspect.arrays import KeptArray, Unseen
from retrograd.inspect.notes import Kept, NodeNote, StepNote
from retrograd.inspect.recorder import Recorder
from retrograd.inspect.values import Sample, figures


class Numbering:
    """The numbers of nodes, steps, values and blocks; -1 for none."""

    def __init__(self, notes: Recorder) -> None:
        self.nodes: list[NodeNote] = list({id(note): note for note in notes.nodes}.values())
        self._nodes = {id(note): i for i, note in enumerate(self.nodes)}
        self._steps = {
            id(step): (b, i)
            for b, backward in enumerate(notes.backwards)
            for i, step in enumerate(backward.steps)
        }
        self._native_values, blocks, left_out = notes.native_notes()
        here = notes.arrays.blocks
        self.blocks: list[tuple[int, int, int]] = [*blocks, *((b.bytes, b.born, b.died) for b in here)]
        self.blocks_left_out: int = left_out + notes.arrays.left_out
        self._blocks = {id(block): len(blocks) + i for i, block in enumerate(here)}
        self.values: list[dict[str, Any]] = [
            figures(Sample(elements, shape, size, square))
            for elements, shape, size, square, *_ in self._native_values
        ]
        self._values: dict[int, int] = {}

    def node(self, note: NodeNote | None) -> int:
        """The number of a node."""
        return -1 if note is None else self._nodes.get(id(note), -1)

    def step(self, note: StepNote | None) -> tuple[int, int] | None:
        """The numbers of a backward and a step."""
        return None if note is None else self._steps.get(id(note))

    def block(self, block: Any) -> int:
        """The number of a block: one of the pack's, or one of ours."""
        return block if isinstance(block, int) else self._blocks.get(id(block), -1)

    def value(self, kept: Kept) -> int:
        """The number of a value."""
        if isinstance(kept, int):
            return max(kept, -1)
        if isinstance(kept, Unseen):
            return -1
        number = self._values.get(id(kept))
        if number is None:
            number = self._values[id(kept)] = len(self.values)
            self.values.append(figures(kept.sample) if isinstance(kept.sample, Sample) else kept.sample)
        return number

    def memory(self, kept: Kept) -> tuple[int, bool]:
        """The number of the block that a value lies in, and whether the value was the first there."""
        if isinstance(kept, Unseen):
            return self.block(kept.block), False
        if isinstance(kept, KeptArray):
            return self.block(kept.block), kept.first
        if kept < 0:
            return max(-1, -2 - kept), False
        *_, block, first = self._native_values[kept]
        return block, bool(first)
