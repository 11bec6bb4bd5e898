"""CudaBackend: CuPy's arrays, by CuPy and kernels of our own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from retrograd.backends.base import BACKENDS, backend_of, register
from retrograd.backends.device import device
from retrograd.backends.dtype_class import bfloat16
from retrograd.backends.flags import cudnn
from retrograd.backends.gpu.cudnn import Convolutions
from retrograd.backends.gpu.launch import open_road
from retrograd.backends.gpu.library import load, names
from retrograd.backends.gpu.narrow import AllFormulas
from retrograd.backends.gpu.operations import KernelBackend
from retrograd.backends.gpu.optimizers import Steps
from retrograd.backends.gpu.random import CudaStream
from retrograd.values import Array, Shape


class CudaBackend(KernelBackend):
    """Arrays in the memory of NVIDIA's GPUs. What is not overridden here is NumPy's code, run by CuPy."""

    device_type: ClassVar[str] = "cuda"
    is_plain: ClassVar[bool] = False
    asynchronous: ClassVar[bool] = True

    def __init__(self, cupy: Any) -> None:
        self.cupy = cupy
        self.devices: list[device] = [device("cuda", i) for i in range(cupy.cuda.runtime.getDeviceCount())]
        self.formulas = AllFormulas(cupy)
        open_road(cupy)
        self.open_kernels(cupy)
        self.steps = Steps(cupy)
        self.convolutions = Convolutions(cupy)
        self.adopt(names(cupy))

    # -- arrays ----------------------------------------------------------------------------------------------------

    def device_of(self, array: Array) -> device:
        found: device = self.devices[array.device.id]
        return found

    def numbered(self, where: device) -> device:
        index = self.cupy.cuda.runtime.getDevice() if where.index is None else where.index
        if index >= len(self.devices):
            raise RuntimeError(f"there are {len(self.devices)} GPUs, numbered from 0")
        return self.devices[index]

    def bring(self, array: Array, where: device) -> Array:
        with self.cupy.cuda.Device(where.index or 0):
            own = isinstance(array, self.cupy.ndarray)
            if array.dtype == bfloat16:
                bits = self.of_bfloat16().bits(array) if own else backend_of(array).numpy(array).view("uint16")
                found: Array = self.of_bfloat16().of_bits(self.cupy.array(bits, copy=True))
                return found
            return self.cupy.array(array if own else backend_of(array).numpy(array), copy=True)

    def numpy(self, array: Array) -> Array:
        found: Array = self.cupy.asnumpy(array)
        self.faults.check()
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
        self.faults.check()

    # -- ops ---------------------------------------------------------------------------------------------------

    def forward(self, op: Any, xs: Sequence[Any]) -> Any:
        found = self.formulas.forward(op, xs) if op.elementwise else NotImplemented
        return super().forward(op, xs) if found is NotImplemented else found

    def compiled_vjp(self, kernel: Any, op: Any, given: Sequence[Any]) -> Any:
        unary = len(given) == 3  # the gradient, the operand and the result; else the last says what is wanted
        found = self.formulas.gradients(op, given if unary else given[:-1], 1 if unary else given[-1])
        return found[0] if unary and type(found) is tuple else found

    # -- kernels ---------------------------------------------------------------------------------------------------

    def adam_steps(self, rows: list[Any], rates: Any) -> None:
        super().adam_steps([row for row in rows if not self.steps.adam(row, rates)], rates)

    # -- convolutions ----------------------------------------------------------------------------------------------

    def conv_correlate(self, op: Any, x: Any, w: Any, b: Any) -> Any:
        y = (len(x), len(w), *op.geometry.windows.number)
        return self._convolved("Forward", op, x, w, (x.shape, w.shape, y), b)

    def conv_spread(self, op: Any, y: Any, w: Any, b: Any) -> Any:
        x = (len(y), w.shape[1] * op.geometry.groups, *op.geometry.windows.size)
        if not self.convolutions.serves(op.geometry, w, y):
            return op.computed(self, y, w, b)
        return self._convolved("BackwardData", op, w, y, (x, w.shape, y.shape), b)

    def conv_overlap(self, op: Any, x: Any, y: Any) -> Any:
        w = (y.shape[1], x.shape[1] // op.geometry.groups, *op.geometry.windows.kernel)
        return self._convolved("BackwardFilter", op, x, y, (x.shape, w, y.shape), None)

    def _convolved(self, which: str, op: Any, a: Any, b: Any, shapes: Any, bias: Any) -> Any:
        """One of the three by cuDNN, plus a bias, or as the op computes it."""
        if not self.convolutions.serves(op.geometry, a, b):
            return op.computed(self, a, b, bias)
        out = self.convolutions.run(which, op.geometry, a, b, shapes, bool(cudnn.allow_tf32))
        return op.plus(self, out, bias)

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
