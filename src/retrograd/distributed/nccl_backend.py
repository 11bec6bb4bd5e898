"""Collectives over NCCL, between GPUs, by CuPy. Arrays of the CPU's go by what carries those.

Note [NCCL beside MPI]
~~~~~~~~~~~~~~~~~~~~~~
NCCL only knows arrays on GPUs, and ranks must find each other before they can use it. So a group has both: MPI, or
nothing if it has one rank, carries objects and tensors of the CPU's; NCCL carries tensors on GPUs. Its operations run
on a stream of their own, in the order of the calls, behind whatever the calling thread had given its current stream to
do; so they stand in no queue. What belongs to an operation, copies of strided tensors too, goes to that stream at
once (`placed`), and its one step waits for the event at the end, as others wait for messages.
"""

from __future__ import annotations

import importlib
import platform
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, Final

import numpy as np

from retrograd.backends.base import backend_of
from retrograd.distributed.errors import DistBackendError
from retrograd.distributed.gpu_marks import Mark, cupy
from retrograd.distributed.progress import Steps
from retrograd.distributed.reduce_op import RedOpType
from retrograd.distributed.transport import Transport
from retrograd.values import Array

# NCCL's numbers of dtypes, by NumPy's names.
_DTYPES: Final = {
    "int8": 0,
    "uint8": 1,
    "int32": 2,
    "uint32": 3,
    "int64": 4,
    "uint64": 5,
    "float16": 6,
    "float32": 7,
    "float64": 8,
    "bfloat16": 9,
}
_BYTE: Final = 1  # what is only moved is moved as bytes
_KINDS: Final = {
    RedOpType.SUM: 0,
    RedOpType.PREMUL_SUM: 0,
    RedOpType.PRODUCT: 1,
    RedOpType.MAX: 2,
    RedOpType.MIN: 3,
    RedOpType.AVG: 4,
}
_BOOLEAN: Final = {RedOpType.SUM: RedOpType.MAX, RedOpType.PRODUCT: RedOpType.MIN}
_NAME_BYTES: Final = 128  # of what NCCL calls a unique id


@cache
def _nccl() -> Any:
    return importlib.import_module("cupy.cuda.nccl")


class NCCLBackend:
    """One group of ranks, each with a GPU."""

    rank: int
    size: int

    name = "nccl"
    keeps_order = True

    def __init__(self, cpu: Transport, device: int) -> None:
        self.cpu = cpu
        self.rank, self.size = cpu.rank, cpu.size
        self.fixed_order: bool = cpu.fixed_order
        self.device = device
        self._comm: Any = None
        self._stream: Any = None

    # -- where operations run --------------------------------------------------------------------------------------

    def connect(self) -> Steps:
        """Has the ranks find each other: the first one's name of the group goes to all."""
        yield from self._check_gpus()
        name = np.zeros(_NAME_BYTES, np.uint8)
        if self.rank == 0:
            name[:] = np.frombuffer(_nccl().get_unique_id(), np.uint8)
        yield from self.cpu.broadcast(name, 0)
        with cupy().cuda.Device(self.device):
            self._comm = _nccl().NcclCommunicator(self.size, name.tobytes(), self.rank)
            self._stream = cupy().cuda.Stream(non_blocking=True)

    def _check_gpus(self) -> Steps:
        """Refuses two ranks on one GPU, on all ranks: NCCL only says "invalid usage"."""
        names: list[str] = []
        yield from gpus_of_ranks(self.cpu, self.device, names)
        for rank, gpu in enumerate(names):
            if (other := names.index(gpu)) != rank:
                raise DistBackendError(
                    f"NCCL needs a GPU for each rank, and ranks {other} and {rank} of the group have the same one "
                    f"({gpu}). Start fewer ranks, name another GPU by device_id, or use the backend 'mpi'."
                )

    def reaches(self, array: Array) -> bool:
        return backend_of(array).device_type == "cuda"

    def placed(self, steps: Steps, mark: Mark) -> Steps:
        with cupy().cuda.Device(self.device), self._stream:
            self._stream.wait_event(mark.event)
            for _ in steps:
                raise AssertionError("an operation of NCCL's only gives its stream something to do")
        yield Mark(self.device, self._stream)

    # -- reductions ------------------------------------------------------------------------------------------------

    def all_reduce(self, out: Array, kind: RedOpType) -> Steps:
        if isinstance(out, np.ndarray):
            return self.cpu.all_reduce(out, kind)
        to, how = _numbers(out), _kind(kind, out)
        self._comm.allReduce(to.data.ptr, to.data.ptr, to.size, _dtype(to), how, self._stream.ptr)
        return iter(())

    def reduce(self, out: Array, root: int, kind: RedOpType) -> Steps:
        if isinstance(out, np.ndarray):
            return self.cpu.reduce(out, root, kind)
        to, how = _numbers(out), _kind(kind, out)
        self._comm.reduce(to.data.ptr, to.data.ptr, to.size, _dtype(to), how, root, self._stream.ptr)
        return iter(())

    def reduce_scatter(self, out: Array, parts: Sequence[Array], kind: RedOpType) -> Steps:
        if isinstance(out, np.ndarray):
            return self.cpu.reduce_scatter(out, parts, kind)
        to, how = _numbers(out), _kind(kind, out)
        whole = cupy().concatenate([_bytes(part) for part in parts])
        self._comm.reduceScatter(whole.data.ptr, to.data.ptr, to.size, _dtype(to), how, self._stream.ptr)
        return iter(())

    # -- the same numbers elsewhere --------------------------------------------------------------------------------

    def broadcast(self, out: Array, root: int) -> Steps:
        if isinstance(out, np.ndarray):
            return self.cpu.broadcast(out, root)
        self._comm.bcast(out.data.ptr, out.nbytes, _BYTE, root, self._stream.ptr)
        return iter(())

    def all_gather_into(self, out: Array, array: Array) -> Steps:
        if isinstance(out, np.ndarray):
            return self.cpu.all_gather_into(out, array)
        self._comm.allGather(array.data.ptr, out.data.ptr, array.nbytes, _BYTE, self._stream.ptr)
        return iter(())

    def all_gather(self, outs: Sequence[Array], array: Array) -> Steps:
        if isinstance(array, np.ndarray):
            return self.cpu.all_gather(outs, array)
        return self.exchange(enumerate([array] * self.size), enumerate(outs))

    def gather(self, outs: Sequence[Array] | None, array: Array, root: int) -> Steps:
        if isinstance(array, np.ndarray):
            return self.cpu.gather(outs, array, root)
        return self.exchange([(root, array)], enumerate(outs or ()))

    def scatter(self, out: Array, parts: Sequence[Array] | None, root: int) -> Steps:
        if isinstance(out, np.ndarray):
            return self.cpu.scatter(out, parts, root)
        return self.exchange(enumerate(parts or ()), [(root, out)])

    def all_to_all(self, outs: Sequence[Array], parts: Sequence[Array]) -> Steps:
        if isinstance(parts[0], np.ndarray):
            return self.cpu.all_to_all(outs, parts)
        return self.exchange(enumerate(parts), enumerate(outs))

    def exchange(self, sent: Iterable[tuple[int, Array]], received: Iterable[tuple[int, Array]]) -> Steps:
        """Sends arrays to ranks and receives some from ranks, this one included; no message waits for another."""
        _nccl().groupStart()
        try:
            for peer, part in sent:
                self._comm.send(part.data.ptr, part.nbytes, _BYTE, peer, self._stream.ptr)
            for peer, part in received:
                self._comm.recv(part.data.ptr, part.nbytes, _BYTE, peer, self._stream.ptr)
        finally:
            _nccl().groupEnd()
        return iter(())

    def barrier(self) -> Steps:
        return self.cpu.barrier()

    # -- from one rank to another ----------------------------------------------------------------------------------

    def send(self, array: Array, peer: int, tag: int) -> Steps:
        if isinstance(array, np.ndarray):
            return self.cpu.send(array, peer, tag)
        return self.exchange([(peer, array)], ())

    def receive(self, out: Array, peer: int | None, tag: int, source: list[int]) -> Steps:
        if isinstance(out, np.ndarray):
            return self.cpu.receive(out, peer, tag, source)
        if peer is None:
            raise RuntimeError("NCCL receives from a rank that is named: give recv() its source")
        source.append(peer)
        return self.exchange((), [(peer, out)])

    # -- groups ----------------------------------------------------------------------------------------------------

    def part(self, ranks: Sequence[int], tag: int) -> Transport:
        return NCCLBackend(self.cpu.part(ranks, tag), self.device)

    def free(self) -> None:
        if self._comm is not None:
            self._comm.destroy()
            self._comm = None
        self.cpu.free()


def gpus_of_ranks(cpu: Transport, device: int, found: list[str]) -> Steps:
    """Appends to `found` the GPU of each rank of a group: its address on the bus of its machine, and the machine."""
    width = 256
    own = f"{cupy().cuda.runtime.deviceGetPCIBusId(device)} of {platform.node()}".encode()[:width].ljust(
        width
    )
    out = np.empty(width * cpu.size, np.uint8)
    yield from cpu.all_gather_into(out, np.frombuffer(bytearray(own), np.uint8))
    found += [bytes(row).decode(errors="replace").strip() for row in out.reshape(-1, width)]


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
