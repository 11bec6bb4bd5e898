"""CuPy, as far as transports use it, on a machine without a GPU: what it is called with is checked as CuPy 14 does.

Arrays are those of the strict device (tests/devices/strict.py), under the name `cuda`, in ordinary memory. Their
`__cuda_array_interface__` has the address, so that mpi4py sends them as it sends arrays of a GPU's. Streams do at once
what they are given; an event is reached when it has been asked for some times. NCCL's messages are carried by MPI.

`install()` is for processes of their own: it gives `cuda` to the whole process.
"""

from __future__ import annotations

import ctypes
import sys
from types import ModuleType
from typing import Any

import numpy as np

from retrograd.backends import device, register
from retrograd.distributed import mpi
from tests.devices.strict import StrictArray, StrictBackend, asarray, given, taken

NCCL_DTYPES = ("i1", "u1", "i4", "u4", "i8", "u8", "f2", "f4", "f8")
NCCL_OPS = (np.add, np.multiply, np.maximum, np.minimum, np.add)  # the last one is made a mean
DEVICES = 2
CALLS: list[str] = []  # NCCL's functions that were called


class _Now:
    """The state of the one thread that the fake knows."""

    device = 0
    streams: dict[int, Any] = {}  # by address
    stack: list[Any] = []
    grouped: list[Any] | None = None  # messages between groupStart and groupEnd


class Data:
    """An array's memory."""

    def __init__(self, array: Any) -> None:
        self.ptr: int = array.held.__array_interface__["data"][0]
        self.device_id: int = array.index


class Device:
    """`with Device(1)` makes it the current one."""

    def __init__(self, index: int) -> None:
        assert type(index) is int
        assert 0 <= index < DEVICES
        self.index = index

    def __enter__(self) -> Device:
        self.before, _Now.device = _Now.device, self.index
        return self

    def __exit__(self, *error: object) -> None:
        _Now.device = self.before


class Event:
    """Reached when it was asked for twice."""

    def __init__(self, block: bool = False, disable_timing: bool = False, interprocess: bool = False) -> None:
        self.device = _Now.device
        self.recorded = False
        self.asked = 0

    @property
    def done(self) -> bool:
        assert self.recorded
        self.asked += 1
        return self.asked > 2


class Stream:
    """Does at once what it is given."""

    def __init__(self, null: bool = False, non_blocking: bool = False, ptds: bool = False) -> None:
        self.device = _Now.device
        self.ptr = 0 if null else 1000 + len(_Now.streams)
        _Now.streams[self.ptr] = self

    def record(self, event: Event | None = None) -> Event:
        assert _Now.grouped is None, "an event inside a group comes before the group's messages"
        assert self.ptr == 0 or _Now.device == self.device
        made = event or Event()
        made.recorded = True
        return made

    def wait_event(self, event: Event) -> None:
        assert isinstance(event, Event)
        assert event.recorded

    def synchronize(self) -> None:
        assert _Now.device == self.device or self.ptr == 0

    def __enter__(self) -> Stream:
        _Now.stack.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        _Now.stack.pop()


NULL = Stream(null=True)


def get_current_stream(device_id: int | None = None) -> Stream:
    return _Now.stack[-1] if _Now.stack else NULL


# -- NCCL, with the arguments of cupy_backends/cuda/libs/nccl.pyx ---------------------------------------------------


def get_unique_id() -> bytes:
    CALLS.append("get_unique_id")
    return np.random.default_rng().integers(0, 256, 128, np.uint8).tobytes()


def groupStart() -> None:
    assert _Now.grouped is None
    _Now.grouped = []


def groupEnd() -> None:
    messages, _Now.grouped = _Now.grouped, None
    assert messages is not None
    mpi.library().Request.Waitall([start() for start in messages])


class NcclCommunicator:
    """One GPU's place among the others."""

    def __init__(self, ndev: int, commId: bytes, rank: int, config: None = None) -> None:
        assert type(ndev) is int
        assert type(rank) is int
        assert 0 <= rank < ndev
        if type(commId) is not bytes:
            raise TypeError(
                f"Argument 'commId' has incorrect type (expected bytes, got {type(commId).__name__})"
            )
        if len(commId) != 128:
            raise ValueError(f"commId length {len(commId)} != 128.")
        assert ndev in (1, mpi.library().COMM_WORLD.size)
        everyone = mpi.library().COMM_WORLD.Get_group()
        tag = int.from_bytes(commId[:2], "little") % 16384
        self.comm = (
            mpi.library().COMM_SELF.Dup()
            if ndev == 1
            else mpi.library().COMM_WORLD.Create_group(everyone, tag)
        )
        self.device = _Now.device

    def destroy(self) -> None:
        CALLS.append("destroy")
        self.comm.Free()

    def _check(self, stream: int) -> None:
        assert type(stream) is int
        assert _Now.streams[stream] is get_current_stream()
        assert _Now.device == self.device

    def _memory(self, pointer: int, count: int, datatype: int) -> Any:
        assert type(pointer) is int
        assert type(count) is int
        assert type(datatype) is int
        if datatype == 9:
            raise NotImplementedError("the fake has no bfloat16")
        dtype = np.dtype(NCCL_DTYPES[datatype])
        return np.frombuffer((ctypes.c_char * (count * dtype.itemsize)).from_address(pointer), dtype)

    def _combined(self, sent: Any, op: int) -> Any:
        assert type(op) is int
        everyone = self.comm.allgather(sent)
        total = everyone[0].copy()
        for each in everyone[1:]:
            NCCL_OPS[op](total, each, out=total)
        return (total / self.comm.size).astype(total.dtype) if op == 4 else total

    def allReduce(self, sendbuf: int, recvbuf: int, count: int, datatype: int, op: int, stream: int) -> None:
        CALLS.append("allReduce")
        self._check(stream)
        self._memory(recvbuf, count, datatype)[:] = self._combined(self._memory(sendbuf, count, datatype), op)

    def reduce(
        self, sendbuf: int, recvbuf: int, count: int, datatype: int, op: int, root: int, stream: int
    ) -> None:
        CALLS.append("reduce")
        self._check(stream)
        total = self._combined(self._memory(sendbuf, count, datatype), op)
        if self.comm.rank == root:
            self._memory(recvbuf, count, datatype)[:] = total

    def reduceScatter(
        self, sendbuf: int, recvbuf: int, recvcount: int, datatype: int, op: int, stream: int
    ) -> None:
        CALLS.append("reduceScatter")
        self._check(stream)
        total = self._combined(self._memory(sendbuf, recvcount * self.comm.size, datatype), op)
        own = total.reshape(self.comm.size, -1)[self.comm.rank]
        self._memory(recvbuf, recvcount, datatype)[:] = own

    def bcast(self, buff: int, count: int, datatype: int, root: int, stream: int) -> None:
        CALLS.append("bcast")
        self._check(stream)
        self.comm.Bcast(self._memory(buff, count, datatype), root)

    def allGather(self, sendbuf: int, recvbuf: int, count: int, datatype: int, stream: int) -> None:
        CALLS.append("allGather")
        self._check(stream)
        room = self._memory(recvbuf, count * self.comm.size, datatype)
        self.comm.Allgather(self._memory(sendbuf, count, datatype), room)

    def send(self, sendbuf: int, count: int, datatype: int, peer: int, stream: int) -> None:
        CALLS.append("send")
        self._check(stream)
        memory = self._memory(sendbuf, count, datatype)
        assert _Now.grouped is not None
        assert 0 <= peer < self.comm.size
        _Now.grouped.append(lambda: self.comm.Isend(memory, peer))

    def recv(self, recvbuf: int, count: int, datatype: int, peer: int, stream: int) -> None:
        CALLS.append("recv")
        self._check(stream)
        memory = self._memory(recvbuf, count, datatype)
        assert _Now.grouped is not None
        assert 0 <= peer < self.comm.size
        _Now.grouped.append(lambda: self.comm.Irecv(memory, peer))


# -- the package ---------------------------------------------------------------------------------------------------


class CudaBackend(StrictBackend):
    """The strict device, under the name of the real one."""

    device_type = "cuda"
    asynchronous = False

    def device_of(self, array: Any) -> device:
        return device("cuda", array.index)


def _interface(array: Any) -> dict[str, Any]:
    """What mpi4py asks of an array on a GPU."""
    plain = array.held.__array_interface__
    return {**{name: plain[name] for name in ("shape", "typestr", "data")}, "strides": None, "version": 3}


def _module(name: str, **content: Any) -> ModuleType:
    made = ModuleType(name)
    vars(made).update(content)
    sys.modules[name] = made
    return made


def install(shared: bool = False) -> None:
    """Puts the fake in CuPy's place, with one GPU for each of two ranks; or one that they share."""
    rank = 0 if shared else mpi.library().COMM_WORLD.rank
    runtime = _module(
        "cupy.cuda.runtime",
        getDeviceCount=lambda: 1 if shared else DEVICES,
        getDevice=lambda: _Now.device,
        deviceGetPCIBusId=lambda number: f"0000:{number:02}:00.0",
    )
    nccl = _module(
        "cupy.cuda.nccl",
        available=True,
        get_unique_id=get_unique_id,
        groupStart=groupStart,
        groupEnd=groupEnd,
        NcclCommunicator=NcclCommunicator,
    )
    cuda = _module(
        "cupy.cuda",
        __path__=[],
        runtime=runtime,
        nccl=nccl,
        Device=Device,
        Event=Event,
        Stream=Stream,
        get_current_stream=get_current_stream,
    )
    concatenate = lambda arrays: given(np.concatenate(taken(list(arrays))))  # noqa: E731
    _module("cupy", __path__=[], cuda=cuda, ndarray=StrictArray, asarray=asarray, concatenate=concatenate)
    StrictArray.data = property(Data)
    StrictArray.__cuda_array_interface__ = property(_interface)
    StrictArray.device = property(lambda array: array.index)
    _Now.device = rank % DEVICES
    register(CudaBackend(), StrictArray)
