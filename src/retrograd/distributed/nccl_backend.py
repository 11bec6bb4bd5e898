"""Collectives over NCCL, between GPUs, by CuPy. Arrays of the CPU's go by what carries those.

Note [NCCL beside MPI]
~~~~~~~~~~~~~~~~~~~~~~
NCCL only knows arrays on GPUs, and ranks must find each other before they can use it. So a group has both: MPI, or
nothing if it has one rank, carries objects and tensors of the CPU's; NCCL carries tensors on GPUs. Its operations run
on a stream of their own, in the order of the calls, behind whatever the calling thread has given its current stream to
do; so they stand in no queue. A step waits for the event at the end of the operation, as others wait for messages.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from retrograd.distributed.progress import Steps
from retrograd.distributed.reduce_op import RedOpType
from retrograd.distributed.transport import Transport
from retrograd.values import Array

# NCCL's numbers of dtypes, by NumPy's names; what it does not know is moved as what has the same bits.
_DTYPES = {
    "int8": 0,
    "uint8": 1,
    "bool": 1,
    "int32": 2,
    "uint32": 3,
    "int64": 4,
    "uint64": 5,
    "float16": 6,
    "float32": 7,
    "float64": 8,
    "bfloat16": 9,
}
_KINDS = {
    RedOpType.SUM: 0,
    RedOpType.AVG: 0,
    RedOpType.PREMUL_SUM: 0,
    RedOpType.PRODUCT: 1,
    RedOpType.MAX: 2,
    RedOpType.MIN: 3,
}
_BOOLEAN = {RedOpType.SUM: RedOpType.MAX, RedOpType.PRODUCT: RedOpType.MIN}


@cache
def _cupy() -> Any:
    return importlib.import_module("cupy")


@cache
def _nccl() -> Any:
    return importlib.import_module("cupy.cuda.nccl")


class NCCLBackend:
    """One group of ranks, each with a GPU."""

    name = "nccl"

    def __init__(self, cpu: Transport, device: int) -> None:
        self.cpu = cpu
        self.rank, self.size = cpu.rank, cpu.size
        self.fixed_order = cpu.fixed_order
        self.device = device
        self._comm: Any = None

    # -- what an operation needs -----------------------------------------------------------------------------------

    def connect(self) -> Steps:
        """Has the ranks find each other: the first one's name of the group goes to all."""
        name = np.zeros(128, np.int64)
        if self.rank == 0:
            name[:] = _nccl().get_unique_id()
        yield from self.cpu.broadcast(name, 0)
        with _cupy().cuda.Device(self.device):
            self._comm = _nccl().NcclCommunicator(self.size, tuple(int(part) for part in name), self.rank)
            self.stream = _cupy().cuda.Stream(non_blocking=True)

    def _run(self, act: Callable[[Any, int], object]) -> Steps:
        """Gives the group's stream something to do, behind the current one, and waits for the end of it."""
        cupy = _cupy()
        with cupy.cuda.Device(self.device):
            self.stream.wait_event(cupy.cuda.get_current_stream().record())
            with self.stream:
                act(self._comm, self.stream.ptr)
            end = self.stream.record()
        yield _Event(end)

    # -- reductions ------------------------------------------------------------------------------------------------

    def all_reduce(self, out: Array, kind: RedOpType) -> Steps:
        if isinstance(out, np.ndarray):
            return self.cpu.all_reduce(out, kind)
        to, how = _numbers(out), _kind(kind, out)

        def act(comm: Any, stream: int) -> None:
            comm.allReduce(to.data.ptr, to.data.ptr, to.size, _dtype(to), how, stream)
            self._finish(to, kind)

        return self._run(act)

    def _finish(self, out: Array, kind: RedOpType) -> None:
        """Makes a mean of a sum."""
        if kind is RedOpType.AVG:
            out /= self.size

    def reduce(self, out: Array, root: int, kind: RedOpType) -> Steps:
        if isinstance(out, np.ndarray):
            return self.cpu.reduce(out, root, kind)
        to, how = _numbers(out), _kind(kind, out)

        def act(comm: Any, stream: int) -> None:
            comm.reduce(to.data.ptr, to.data.ptr, to.size, _dtype(to), how, root, stream)
            if self.rank == root:
                self._finish(to, kind)

        return self._run(act)

    def reduce_scatter(self, out: Array, parts: Sequence[Array], kind: RedOpType) -> Steps:
        if isinstance(out, np.ndarray):
            return self.cpu.reduce_scatter(out, parts, kind)
        to, how = _numbers(out), _kind(kind, out)

        def act(comm: Any, stream: int) -> None:
            whole = _cupy().concatenate([_numbers(part) for part in parts])
            comm.reduceScatter(whole.data.ptr, to.data.ptr, to.size, _dtype(to), how, stream)
            self._finish(to, kind)

        return self._run(act)

    # -- the same numbers elsewhere --------------------------------------------------------------------------------

    def broadcast(self, out: Array, root: int) -> Steps:
        if isinstance(out, np.ndarray):
            return self.cpu.broadcast(out, root)
        to = _bytes(out)
        return self._run(lambda comm, stream: comm.bcast(to.data.ptr, to.size, 1, root, stream))

    def all_gather_into(self, out: Array, array: Array) -> Steps:
        if isinstance(out, np.ndarray):
            return self.cpu.all_gather_into(out, array)
        to, given = _bytes(out), _bytes(array)
        return self._run(
            lambda comm, stream: comm.allGather(given.data.ptr, to.data.ptr, given.size, 1, stream)
        )

    def all_gather(self, outs: Sequence[Array], array: Array) -> Steps:
        if isinstance(array, np.ndarray):
            return self.cpu.all_gather(outs, array)
        return self._exchange([array] * self.size, outs)

    def gather(self, outs: Sequence[Array] | None, array: Array, root: int) -> Steps:
        if isinstance(array, np.ndarray):
            return self.cpu.gather(outs, array, root)
        sent = [array if i == root else None for i in range(self.size)]
        return self._exchange(sent, outs or [None] * self.size)

    def scatter(self, out: Array, parts: Sequence[Array] | None, root: int) -> Steps:
        if isinstance(out, np.ndarray):
            return self.cpu.scatter(out, parts, root)
        received = [out if i == root else None for i in range(self.size)]
        return self._exchange(parts or [None] * self.size, received)

    def all_to_all(self, outs: Sequence[Array], parts: Sequence[Array]) -> Steps:
        if isinstance(parts[0], np.ndarray):
            return self.cpu.all_to_all(outs, parts)
        return self._exchange(parts, outs)

    def _exchange(self, outgoing: Sequence[Array | None], incoming: Sequence[Array | None]) -> Steps:
        """Sends `outgoing[i]` to rank i and receives `incoming[i]` from it, this rank itself included."""

        def act(comm: Any, stream: int) -> None:
            _nccl().groupStart()
            for i, part in enumerate(outgoing):
                if part is not None:
                    comm.send(part.data.ptr, part.nbytes, 1, i, stream)
            for i, part in enumerate(incoming):
                if part is not None:
                    comm.recv(part.data.ptr, part.nbytes, 1, i, stream)
            _nccl().groupEnd()

        return self._run(act)

    def barrier(self) -> Steps:
        return self.cpu.barrier()

    # -- from one rank to another ----------------------------------------------------------------------------------

    def send(self, array: Array, peer: int, tag: int) -> Steps:
        if isinstance(array, np.ndarray):
            return self.cpu.send(array, peer, tag)
        return self._run(lambda comm, stream: comm.send(array.data.ptr, array.nbytes, 1, peer, stream))

    def receive(self, out: Array, peer: int | None, tag: int, source: list[int]) -> Steps:
        if isinstance(out, np.ndarray):
            return self.cpu.receive(out, peer, tag, source)
        if peer is None:
            raise RuntimeError("NCCL receives from a rank that is named: give recv() its source")
        source.append(peer)
        return self._run(lambda comm, stream: comm.recv(out.data.ptr, out.nbytes, 1, peer, stream))

    # -- groups ----------------------------------------------------------------------------------------------------

    def part(self, ranks: Sequence[int], tag: int) -> Transport:
        return NCCLBackend(self.cpu.part(ranks, tag), self.device)

    def free(self) -> None:
        if self._comm is not None:
            self._comm.destroy()
        self.cpu.free()


class _Event:
    """The end of an operation on a stream."""

    def __init__(self, event: Any) -> None:
        self.event = event

    def done(self) -> bool:
        """Whether it has come."""
        return bool(self.event.done)


def _numbers(array: Array) -> Array:
    """An array as NCCL can add it: complex numbers as pairs, booleans as bytes."""
    if array.dtype.kind == "c":
        return array.view(array.real.dtype)
    return array.view(np.uint8) if array.dtype.kind == "b" else array


def _bytes(array: Array) -> Array:
    return array.view(np.uint8)


def _dtype(array: Array) -> int:
    name = array.dtype.name
    if name not in _DTYPES:
        raise RuntimeError(f"NCCL does not add numbers of the dtype {name}: convert the tensor first")
    return _DTYPES[name]


def _kind(kind: RedOpType, array: Array) -> int:
    """NCCL's number of a reduction."""
    if array.dtype.kind == "b":
        kind = _BOOLEAN.get(kind, kind)
    if kind not in _KINDS:
        raise ValueError(f"Cannot use ReduceOp.{kind.name} with NCCL")
    return _KINDS[kind]
