"""Collectives of a group with one rank: nothing is sent, and no MPI is needed."""

from __future__ import annotations

from collections.abc import Sequence

from retrograd.distributed.gpu_marks import Mark
from retrograd.distributed.progress import Steps
from retrograd.distributed.reduce_op import RedOpType
from retrograd.values import Array


class LocalBackend:
    """A group of one rank. What it sends to itself waits until it receives it."""

    rank = 0
    size = 1
    fixed_order = False
    keeps_order = False

    def __init__(self, name: str) -> None:
        self.name = name
        self.sent: list[tuple[int, Array]] = []

    def reaches(self, array: Array) -> bool:
        return False

    def placed(self, steps: Steps, mark: Mark) -> Steps:
        return steps

    def all_reduce(self, out: Array, kind: RedOpType) -> Steps:
        return iter(())

    def reduce(self, out: Array, root: int, kind: RedOpType) -> Steps:
        return iter(())

    def reduce_scatter(self, out: Array, parts: Sequence[Array], kind: RedOpType) -> Steps:
        out[...] = parts[0]
        return iter(())

    def broadcast(self, out: Array, root: int) -> Steps:
        return iter(())

    def all_gather_into(self, out: Array, array: Array) -> Steps:
        out[...] = array
        return iter(())

    def all_gather(self, outs: Sequence[Array], array: Array) -> Steps:
        outs[0][...] = array
        return iter(())

    def gather(self, outs: Sequence[Array] | None, array: Array, root: int) -> Steps:
        return self.all_gather(outs or [], array)

    def scatter(self, out: Array, parts: Sequence[Array] | None, root: int) -> Steps:
        return self.all_gather([out], (parts or [])[0])

    def all_to_all(self, outs: Sequence[Array], parts: Sequence[Array]) -> Steps:
        return self.all_gather(outs, parts[0])

    def barrier(self) -> Steps:
        return iter(())

    def send(self, array: Array, peer: int, tag: int) -> Steps:
        self.sent.append((tag, array.copy()))
        return iter(())

    def receive(self, out: Array, peer: int | None, tag: int, source: list[int]) -> Steps:
        letter = _Letter(self.sent, tag)
        yield letter
        out[...] = letter.message
        source.append(0)

    def part(self, ranks: Sequence[int], tag: int) -> LocalBackend:
        return LocalBackend(self.name)

    def free(self) -> None:
        """There is nothing to give back."""


class _Letter:
    """A message to oneself that may not have been sent yet."""

    def __init__(self, sent: list[tuple[int, Array]], tag: int) -> None:
        self.sent, self.tag = sent, tag
        self.message: Array = None

    def done(self) -> bool:
        for i, (tag, message) in enumerate(self.sent):
            if tag == self.tag:
                self.message = message
                del self.sent[i]
                return True
        return False
