"""Collectives over MPI, on arrays in the CPU's memory. Each is a generator of steps: Note [Who calls MPI].

Note [How numbers are added]
~~~~~~~~~~~~~~~~~~~~~~~~~~~~
Few numbers are added by MPI's own `Iallreduce`, whose number of messages grows with the logarithm of the number of
ranks. For many numbers, each rank owns one part of them: all send it their numbers of that part, it adds them in the
order of the ranks, and sends the sums to all. Each number travels twice, whatever the number of ranks, and NumPy adds.
On one machine this is several times as quick as `Iallreduce`, it does not depend on how often somebody looks whether it
is over, and all ranks have the same bits since each sum is made once. The sums are in a fixed order, which those of MPI
need not be; so this way is taken for any size when deterministic sums are asked for, and for what MPI cannot add:
halves and booleans, and the least and the greatest of floating-point numbers, among which a NaN is to stay one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from retrograd.distributed import mpi
from retrograd.distributed.local_backend import LocalBackend
from retrograd.distributed.mpi import Request, Requests
from retrograd.distributed.progress import Steps
from retrograd.distributed.reduce_op import RedOpType, combined, divide
from retrograd.distributed.transport import Transport
from retrograd.values import Array

SMALL = 16384  # bytes up to which MPI adds
_TAGS = 16384  # MPI promises tags up to 32767
_MPI_ADDS = "bBhHiIlLqQfdFD"  # dtypes by NumPy's letters
_COMPARE = (
    RedOpType.MIN,
    RedOpType.MAX,
)  # NaN is no less than any number, and MPI's result depends on the order


class MPIBackend:
    """One group of ranks. Arrays are contiguous, of one dimension, and in the CPU's memory."""

    name = "mpi"
    fixed_order = False

    def __init__(self, collectives: Any, messages: Any) -> None:
        self.comm = collectives
        self.messages = messages  # another communicator for send and recv, whose tags are the user's
        self.rank: int = collectives.rank
        self.size: int = collectives.size
        self.count = 0

    # -- messages with the tag of an operation ---------------------------------------------------------------------

    def _tag(self) -> int:
        """A tag for two steps, that the other ranks give to the same operation."""
        self.count += 1
        return 2 * (self.count % _TAGS)

    def _exchange(
        self, outgoing: Sequence[Array | None], incoming: Sequence[Array | None], tag: int
    ) -> Requests:
        """Sends `outgoing[i]` to rank i and receives `incoming[i]` from it, but for this rank itself."""
        around = [(self.rank + i) % self.size for i in range(1, self.size)]
        received = [(incoming[i], i) for i in reversed(around)]
        sent = [(outgoing[i], i) for i in around]
        return Requests(
            [(self.comm.Irecv(raw(part), i, tag), part.nbytes) for part, i in received if part is not None],
            [self.comm.Isend(raw(part), i, tag) for part, i in sent if part is not None],
        )

    # -- reductions ------------------------------------------------------------------------------------------------

    def _adds(self, array: Array, kind: RedOpType) -> Any:
        """MPI's operation for a reduction, or None if it is done here."""
        if self.fixed_order or array.nbytes > SMALL or array.dtype.char not in _MPI_ADDS:
            return None
        if kind in _COMPARE and array.dtype.kind == "f":
            return None
        return _operations()[kind]

    def all_reduce(self, out: Array, kind: RedOpType) -> Steps:
        adds = self._adds(out, kind)
        if adds is not None:
            yield Request(self.comm.Iallreduce(mpi.library().IN_PLACE, out, adds))
            if kind is RedOpType.AVG:
                divide(out, self.size)
            return
        tag = self._tag()
        parts = split(out, self.size)
        yield from self._reduce_parts(parts, parts[self.rank], kind, tag)
        yield self._exchange([parts[self.rank]] * self.size, parts, tag + 1)

    def _reduce_parts(self, parts: Sequence[Array], out: Array, kind: RedOpType, tag: int) -> Steps:
        """Writes into `out` what the parts at the place of this rank come to."""
        own = parts[self.rank]
        room = np.empty((self.size, own.size), own.dtype)
        yield self._exchange(parts, list(room), tag)
        gathered = [own if i == self.rank else room[i] for i in range(self.size)]
        out[...] = combined(gathered, kind)

    def reduce(self, out: Array, root: int, kind: RedOpType) -> Steps:
        adds = self._adds(out, kind)
        if adds is not None:
            at_root = self.rank == root
            sent = mpi.library().IN_PLACE if at_root else out
            yield Request(self.comm.Ireduce(sent, out if at_root else None, adds, root))
            if kind is RedOpType.AVG and at_root:
                divide(out, self.size)
            return
        tag = self._tag()
        parts = split(out, self.size)
        mine = np.empty_like(parts[self.rank])
        yield from self._reduce_parts(parts, mine, kind, tag)
        if self.rank == root:
            yield self._exchange([None] * self.size, parts, tag + 1)
            parts[root][...] = mine
        else:
            yield self._exchange(
                [mine if i == root else None for i in range(self.size)], [None] * self.size, tag + 1
            )

    def reduce_scatter(self, out: Array, parts: Sequence[Array], kind: RedOpType) -> Steps:
        yield from self._reduce_parts(parts, out, kind, self._tag())

    # -- the same numbers elsewhere --------------------------------------------------------------------------------

    def broadcast(self, out: Array, root: int) -> Steps:
        yield Request(self.comm.Ibcast(raw(out), root))

    def all_gather_into(self, out: Array, array: Array) -> Steps:
        yield Request(self.comm.Iallgather(raw(array), raw(out)))

    def all_gather(self, outs: Sequence[Array], array: Array) -> Steps:
        outs[self.rank][...] = array
        yield self._exchange([array] * self.size, outs, self._tag())

    def gather(self, outs: Sequence[Array] | None, array: Array, root: int) -> Steps:
        tag = self._tag()
        nothing: list[Array | None] = [None] * self.size
        if outs is None:
            yield self._exchange([array if i == root else None for i in range(self.size)], nothing, tag)
        else:
            outs[root][...] = array
            yield self._exchange(nothing, outs, tag)

    def scatter(self, out: Array, parts: Sequence[Array] | None, root: int) -> Steps:
        tag = self._tag()
        nothing: list[Array | None] = [None] * self.size
        if parts is None:
            yield self._exchange(nothing, [out if i == root else None for i in range(self.size)], tag)
        else:
            out[...] = parts[root]
            yield self._exchange(parts, nothing, tag)

    def all_to_all(self, outs: Sequence[Array], parts: Sequence[Array]) -> Steps:
        outs[self.rank][...] = parts[self.rank]
        yield self._exchange(parts, outs, self._tag())

    def barrier(self) -> Steps:
        yield Request(self.comm.Ibarrier())

    # -- from one rank to another ----------------------------------------------------------------------------------

    def send(self, array: Array, peer: int, tag: int) -> Steps:
        yield Request(self.messages.Isend(raw(array), peer, tag))

    def receive(self, out: Array, peer: int | None, tag: int, source: list[int]) -> Steps:
        anyone = mpi.library().ANY_SOURCE
        arrival = Request(self.messages.Irecv(raw(out), anyone if peer is None else peer, tag), out.nbytes)
        yield arrival
        source.append(arrival.source())

    # -- groups ----------------------------------------------------------------------------------------------------

    def part(self, ranks: Sequence[int], tag: int) -> Transport:
        if len(ranks) == 1:
            return LocalBackend(self.name)
        whole = self.comm.Get_group()
        group = whole.Incl(list(ranks))
        collectives = self.comm.Create_group(group, tag)
        group.Free()
        whole.Free()
        return MPIBackend(collectives, collectives.Dup())

    def free(self) -> None:
        self.comm.Disconnect()
        self.messages.Disconnect()


def raw(array: Array) -> Array:
    """The bytes of an array: what MPI moves without asking what it is."""
    return array.view(np.uint8)


def split(array: Array, count: int) -> list[Array]:
    """An array in parts that are as equal as can be."""
    ends = [array.size * i // count for i in range(count + 1)]
    return [array[a:b] for a, b in pairwise(ends)]


@cache
def _operations() -> dict[RedOpType, Any]:
    library = mpi.library()
    return {
        RedOpType.SUM: library.SUM,
        RedOpType.AVG: library.SUM,
        RedOpType.PREMUL_SUM: library.SUM,
        RedOpType.PRODUCT: library.PROD,
        RedOpType.MIN: library.MIN,
        RedOpType.MAX: library.MAX,
        RedOpType.BAND: library.BAND,
        RedOpType.BOR: library.BOR,
        RedOpType.BXOR: library.BXOR,
    }
