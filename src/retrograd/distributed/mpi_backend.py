"""Collectives over MPI, on arrays in memory that it reaches. Each is a generator of steps: Note [Who calls MPI].

Note [How numbers are added]
~~~~~~~~~~~~~~~~~~~~~~~~~~~~
There are three ways.

- A few ranks send each other all their numbers if these are few, and each adds them all: one step, which is as quick as
  messages are.
- Few numbers of many ranks are added by MPI's own `Iallreduce`, whose number of messages grows with the logarithm of
  the number of ranks.
- Of many numbers each rank owns one part: all send it their numbers of that part, it adds them and sends the sums to
  all. Each number travels twice, whatever the number of ranks, and NumPy adds. On one machine this is several times as
  quick as `Iallreduce`, and does not depend on how often somebody looks whether it is over.

In the first and the third, sums are in the order of the ranks, so that all have the same bits; those of MPI need not
be. So MPI adds nothing when deterministic sums are asked for, nor what it cannot add: halves and booleans, and the
least and the greatest of floating-point numbers, among which a NaN is to stay one.

Note [Arrays of GPUs over MPI]
~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
An MPI library that is built for it (`cuda_aware.py`) sends arrays from a GPU's memory and receives them there. Such
arrays go by messages from rank to rank alone, for which every one of these libraries does so, and are added on the GPU:
Open MPI's collectives that do not block cannot add them. MPI knows nothing of streams: what computes an array must be
over before it is sent, which `placed` and `settle` wait for. With any other library arrays of GPUs are copied to the
CPU's memory first, and the result back.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from retrograd.backends.base import backend_of
from retrograd.distributed import mpi
from retrograd.distributed.cuda_aware import is_cuda_aware
from retrograd.distributed.gpu_marks import Mark, cupy, settle
from retrograd.distributed.local_backend import LocalBackend
from retrograd.distributed.mpi import Request, Requests
from retrograd.distributed.progress import Steps
from retrograd.distributed.reduce_op import RedOpType, combine, divide
from retrograd.distributed.transport import Transport
from retrograd.values import Array

SMALL = 16384  # bytes up to which MPI adds, and up to which a rank is sent all that the others have
KEPT = 64 << 20  # bytes of memory for arrivals that are kept for the next operation
_TAGS = 16384  # MPI promises tags up to 32767
_MPI_ADDS = "bBhHiIlLqQfdFD"  # dtypes by NumPy's letters
_COMPARE = (
    RedOpType.MIN,
    RedOpType.MAX,
)  # NaN is no less than any number, and MPI's result depends on the order


class MPIBackend:
    """One group of ranks. Arrays are contiguous and of one dimension."""

    name = "mpi"
    fixed_order = False
    keeps_order = False

    def __init__(self, collectives: Any, messages: Any) -> None:
        self.comm = collectives
        self.messages = messages  # another communicator for send and recv, whose tags are the user's
        self.rank: int = collectives.rank
        self.size: int = collectives.size
        self.count: int = 0
        self._room: Array = None

    # -- arrays of GPUs --------------------------------------------------------------------------------------------

    def reaches(self, array: Array) -> bool:
        on_gpu = backend_of(array).device_type == "cuda"
        return on_gpu and array.dtype.name != "bfloat16" and is_cuda_aware()

    def placed(self, steps: Steps, mark: Mark) -> Steps:
        yield mark
        while True:
            with cupy().cuda.Device(mark.device):  # of this thread, which may be another one in the next step
                wait = next(steps, None)
                cupy().cuda.get_current_stream().synchronize()
            if wait is None:
                return
            yield wait

    # -- messages with the tag of an operation ---------------------------------------------------------------------

    def _tag(self) -> int:
        """A tag for two steps, that the other ranks give to the same operation."""
        self.count += 1
        return 2 * (self.count % _TAGS)

    def _exchange(
        self, outgoing: Sequence[Array | None], incoming: Sequence[Array | None], tag: int
    ) -> Requests:
        """Sends `outgoing[i]` to rank i and receives `incoming[i]` from it, but for this rank itself."""
        for part in outgoing:
            if part is not None and not _on_cpu(part):
                settle(part)
                break
        around = [(self.rank + i) % self.size for i in range(1, self.size)]
        received = [(incoming[i], i) for i in reversed(around)]
        sent = [(outgoing[i], i) for i in around]
        return Requests(
            [(self.comm.Irecv(raw(part), i, tag), part.nbytes) for part, i in received if part is not None],
            [self.comm.Isend(raw(part), i, tag) for part, i in sent if part is not None],
        )

    def _nothing(self) -> list[Array | None]:
        return [None] * self.size

    def _only(self, rank: int, array: Array) -> list[Array | None]:
        return [array if i == rank else None for i in range(self.size)]

    # -- reductions ------------------------------------------------------------------------------------------------

    def _adds(self, array: Array, kind: RedOpType) -> Any:
        """MPI's operation for a reduction, or None if it is done here."""
        if (
            self.fixed_order
            or array.nbytes > SMALL
            or array.dtype.char not in _MPI_ADDS
            or not _on_cpu(array)
        ):
            return None
        if kind in _COMPARE and array.dtype.kind == "f":
            return None
        return _operations()[kind]

    def all_reduce(self, out: Array, kind: RedOpType) -> Steps:
        to_all = out.nbytes * (self.size - 1) <= SMALL
        adds = None if to_all else self._adds(out, kind)
        if adds is not None:
            yield Request(self.comm.Iallreduce(mpi.library().IN_PLACE, out, adds))
            if kind is RedOpType.AVG:
                divide(out, self.size)
            return
        tag = self._tag()
        parts = [out] * self.size if to_all else split(out, self.size)
        yield from self._reduce_parts(parts, parts[self.rank], kind, tag)
        if not to_all:
            yield self._exchange([parts[self.rank]] * self.size, parts, tag + 1)

    def _reduce_parts(self, parts: Sequence[Array], out: Array, kind: RedOpType, tag: int) -> Steps:
        """Writes into `out` what the parts at the place of this rank come to."""
        own = parts[self.rank]
        gathered = self._rooms(own)
        yield self._exchange(parts, gathered, tag)
        gathered[self.rank] = own
        combine(gathered, kind, out, gathered[self.rank == 0])

    def _rooms(self, own: Array) -> list[Array]:
        """Memory for what each rank sends, kept from one operation to the next: the system takes long to give some."""
        if not _on_cpu(own):
            return list(backend_of(own).empty((self.size, own.size), own.dtype))
        size = own.nbytes * self.size
        room = self._room
        if room is None or room.nbytes < size:
            room = np.empty(size, np.uint8)
            self._room = room if size <= KEPT else None
        return list(room[:size].view(own.dtype).reshape(self.size, own.size))

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
        mine = parts[self.rank].copy()
        yield from self._reduce_parts(parts, mine, kind, tag)
        if self.rank == root:
            yield self._exchange(self._nothing(), parts, tag + 1)
            parts[root][...] = mine
        else:
            yield self._exchange(self._only(root, mine), self._nothing(), tag + 1)

    def reduce_scatter(self, out: Array, parts: Sequence[Array], kind: RedOpType) -> Steps:
        yield from self._reduce_parts(parts, out, kind, self._tag())

    # -- the same numbers elsewhere --------------------------------------------------------------------------------

    def broadcast(self, out: Array, root: int) -> Steps:
        if _on_cpu(out):
            yield Request(self.comm.Ibcast(raw(out), root))
        elif self.rank == root:
            yield self._exchange([out] * self.size, self._nothing(), self._tag())
        else:
            yield self._exchange(self._nothing(), self._only(root, out), self._tag())

    def all_gather_into(self, out: Array, array: Array) -> Steps:
        if _on_cpu(out):
            yield Request(self.comm.Iallgather(raw(array), raw(out)))
        else:
            yield from self.all_gather(list(out.reshape(self.size, -1)), array)

    def all_gather(self, outs: Sequence[Array], array: Array) -> Steps:
        outs[self.rank][...] = array
        yield self._exchange([array] * self.size, outs, self._tag())

    def gather(self, outs: Sequence[Array] | None, array: Array, root: int) -> Steps:
        if outs is None:
            yield self._exchange(self._only(root, array), self._nothing(), self._tag())
        else:
            outs[root][...] = array
            yield self._exchange(self._nothing(), outs, self._tag())

    def scatter(self, out: Array, parts: Sequence[Array] | None, root: int) -> Steps:
        if parts is None:
            yield self._exchange(self._nothing(), self._only(root, out), self._tag())
        else:
            out[...] = parts[root]
            yield self._exchange(parts, self._nothing(), self._tag())

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


def _on_cpu(array: Array) -> bool:
    return isinstance(array, np.ndarray)


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
