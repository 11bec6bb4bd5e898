"""What carries messages: the operations that a transport has, on arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from retrograd.distributed.gpu_marks import Mark
from retrograd.distributed.progress import Steps
from retrograd.distributed.reduce_op import RedOpType
from retrograd.values import Array


class Transport(Protocol):
    """One group of ranks. Arrays are contiguous and have one dimension; ranks are places in the group.

    Each operation gives its steps: Note [Who calls MPI]. Arrays called `out` are written.
    """

    name: str
    rank: int
    size: int
    fixed_order: bool
    """Whether sums are to be in the order of the ranks: Note [How numbers are added]."""
    keeps_order: bool
    """Whether operations on GPUs keep the order of the calls without standing in a queue."""

    def reaches(self, array: Array) -> bool:
        """Whether it takes an array of a GPU's as it is; if not, it is given a copy in the CPU's memory."""

    def placed(self, steps: Steps, mark: Mark) -> Steps:
        """The steps of an operation on a GPU's arrays; they begin when `mark` is reached, and end when it is done."""

    def all_reduce(self, out: Array, kind: RedOpType) -> Steps:
        """Makes `out` what it comes to on all ranks."""

    def reduce(self, out: Array, root: int, kind: RedOpType) -> Steps:
        """Makes `out` of the root what it comes to on all ranks; that of the others stays."""

    def reduce_scatter(self, out: Array, parts: Sequence[Array], kind: RedOpType) -> Steps:
        """Makes `out` what the parts for this rank come to."""

    def broadcast(self, out: Array, root: int) -> Steps:
        """Makes `out` what the root has."""

    def all_gather_into(self, out: Array, array: Array) -> Steps:
        """Writes the arrays of all ranks, which are of one size, one after the other."""

    def all_gather(self, outs: Sequence[Array], array: Array) -> Steps:
        """Makes `outs[i]` the array of rank i."""

    def gather(self, outs: Sequence[Array] | None, array: Array, root: int) -> Steps:
        """Makes `outs[i]` of the root the array of rank i; the others give None."""

    def scatter(self, out: Array, parts: Sequence[Array] | None, root: int) -> Steps:
        """Makes `out` the part of the root's for this rank; the others give None."""

    def all_to_all(self, outs: Sequence[Array], parts: Sequence[Array]) -> Steps:
        """Makes `outs[i]` the part of rank i's for this rank."""

    def barrier(self) -> Steps:
        """Is over when all ranks have begun it."""

    def send(self, array: Array, peer: int, tag: int) -> Steps:
        """Sends to another rank."""

    def receive(self, out: Array, peer: int | None, tag: int, source: list[int]) -> Steps:
        """Receives from another rank, or from any; appends to `source` from which."""

    def part(self, ranks: Sequence[int], tag: int) -> Transport:
        """A group of some of these ranks, in the order that is given; called on those only."""

    def free(self) -> None:
        """Gives back what the system knows of it."""
