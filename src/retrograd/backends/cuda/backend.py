"""CudaBackend: CuPy's arrays, by CuPy and kernels of our own."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np


from retrograd.backends.base import BACKENDS, backend_of, register
from retrograd.backends.cuda.library import load, names
from retrograd.backends.cuda.random import CudaStream
from retrograd.backends.device import device
from retrograd.backends.numpy_backend import NumpyBackend
from retrograd.values import Array, Shape


class CudaBackend(NumpyBackend):
    """Arrays in the memory of NVIDIA's GPUs. What is not overridden here is NumPy's code, run by CuPy."""

    device_type: ClassVar[str] = "cuda"
    is_plain: ClassVar[bool] = False

    def __init__(self, cupy: Any) -> None:
        self.cupy = cupy
        self.devices: list[device] = [device("cuda", i) for i in range(cupy.cuda.runtime.getDeviceCount())]
        self.adopt(names(cupy))

    # -- arrays ----------------------------------------------------------------------------------------------------

    def device_of(self, array: Array) -> device:
        return self.devices[array.device.id]

    def numbered(self, where: device) -> device:
        index = self.cupy.cuda.runtime.getDevice() if where.index is None else where.index
        if index >= len(self.devices):
            raise RuntimeError(f"there are {len(self.devices)} GPUs, numbered from 0")
        return self.devices[index]

    def bring(self, array: Array, where: device) -> Array:
        with self.cupy.cuda.Device(where.index or 0):
            own = isinstance(array, self.cupy.ndarray)
            return self.cupy.array(array if own else backend_of(array).numpy(array), copy=True)

    def numpy(self, array: Array) -> Array:
        found: Array = self.cupy.asnumpy(array)
        return found

    def owner_of(self, array: Array) -> Array:
        while array.base is not None:
            array = array.base
        return array

    def memory_of(self, array: Array) -> Array:
        return self.owner_of(array)

    def extent_of(self, array: Array) -> tuple[int, int, int]:
        start = int(array.data.ptr)
        if not array.size:
            return start, start, start
        low = start + sum(min(0, s) * (n - 1) for s, n in zip(array.strides, array.shape, strict=True))
        high = start + sum(max(0, s) * (n - 1) for s, n in zip(array.strides, array.shape, strict=True))
        return start, low, high + array.itemsize

    def strided(self, memory: Array, dtype: Any, offset: int, shape: Shape, strides: Shape) -> Array:
        return self.cupy.ndarray(shape, dtype, memory.data + offset, strides)

    def at_address(self, owner: Array, address: int, dtype: Any, shape: Shape, strides: Shape) -> Array:
        return self.strided(owner, dtype, address - owner.data.ptr, shape, strides)

    def stretch(self, x: Array, shape: Shape) -> Array:
        return self.broadcast_to(x, shape)

    # -- memory and the order of work ------------------------------------------------------------------------------

    def memory_stats(self) -> dict[str, int]:
        pool = self.cupy.get_default_memory_pool()
        return {"allocated_bytes": pool.used_bytes(), "reserved_bytes": pool.total_bytes()}

    def empty_cache(self) -> None:
        self.cupy.get_default_memory_pool().free_all_blocks()

    def current_stream(self, where: device) -> Any:
        with self.cupy.cuda.Device(where.index or 0):
            return self.cupy.cuda.get_current_stream()

    def record_event(self, stream: Any) -> Any:
        return stream.record(self.cupy.cuda.Event(disable_timing=True))

    def wait_event(self, stream: Any, event: Any) -> None:
        stream.wait_event(event)

    def synchronize(self, where: device) -> None:
        self.cupy.cuda.Device(where.index or 0).synchronize()

    # -- kernels ---------------------------------------------------------------------------------------------------

    def top(self, x: Array, axis: Any) -> Array:
        # CuPy's `max` has no initial value, and refuses axes without elements.
        if x.size:
            return x.max(axis=axis, keepdims=True)  # type: ignore[no-any-return]
        return self.full(x.sum(axis=axis, keepdims=True).shape, -np.inf, x.dtype)  # type: ignore[no-any-return]

    # -- random numbers --------------------------------------------------------------------------------------------

    def new_stream(self, seed: int) -> Any:
        return CudaStream(self.cupy, seed)

    def stream_state(self, stream: Any) -> bytes:
        found: bytes = stream.state()
        return found

    def restore_stream(self, stream: Any, state: bytes) -> None:
        stream.restore(state)


def install() -> CudaBackend:
    """Makes `cuda` a device, if it is not one yet; an error says what is missing."""
    found: Any = BACKENDS.by_device.get("cuda")
    if found is None:
        cupy = load()
        found = CudaBackend(cupy)
        register(found, cupy.ndarray)
    return found  # type: ignore[no-any-return]


