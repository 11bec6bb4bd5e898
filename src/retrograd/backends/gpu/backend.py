"""CudaBackend: CuPy's arrays, by CuPy and kernels of our own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

from retrograd.backends.base import BACKENDS, backend_of, register
from retrograd.backends.device import device
from retrograd.backends.dtype_class import bfloat16
from retrograd.backends.flags import cuda, cudnn
from retrograd.backends.gpu.cudnn import Convolutions
from retrograd.backends.gpu.launch import ROAD, KernelFile, StreamNow, find_cublas, open_road, stream_at
from retrograd.backends.gpu.library import load, names
from retrograd.backends.gpu.narrow import AllFormulas
from retrograd.backends.gpu.operations import KernelBackend
from retrograd.backends.gpu.pinned import is_pinned, pin
from retrograd.backends.gpu.random import CudaStream
from retrograd.backends.kernels.products import COLUMNS_0, COLUMNS_1, FITS, LENGTH_SHIFT
from retrograd.backends.pack import PACK
from retrograd.hints import mypyc_attr
from retrograd.values import Array, Axis, Shape

# How a product is taken, as native/gpu_products.cpp has it: what is transposed, and whether float32 may be rounded.
TURN_X: Final = 1
TURN_Y: Final = 2
TURN_RESULT: Final = 4
TF32: Final = 8


def _not_served(*_: Any) -> Any:
    """A function of the pack's, where there is none."""
    return None


_add_into: Final[Any] = _not_served if PACK is None else PACK.gpu_add_into
_stretch: Final[Any] = _not_served if PACK is None else PACK.gpu_stretch
_filled: Final[Any] = _not_served if PACK is None else PACK.gpu_filled
_sum: Final[Any] = _not_served if PACK is None else PACK.gpu_sum
_loss: Final[Any] = _not_served if PACK is None else PACK.gpu_loss
_loss_backward: Final[Any] = _not_served if PACK is None else PACK.gpu_loss_backward
_product: Final[Any] = _not_served if PACK is None else PACK.gpu_product


@mypyc_attr(allow_interpreted_subclasses=True)
class CudaBackend(KernelBackend):
    """Arrays in the memory of NVIDIA's GPUs. What is not overridden here is NumPy's code, run by CuPy."""

    device_type: ClassVar[str] = "cuda"
    is_plain: ClassVar[bool] = False
    asynchronous: ClassVar[bool] = True

    def __init__(self, cupy: Any) -> None:
        self.cupy = cupy
        open_road(cupy)
        self.devices: list[device] = [device("cuda", i) for i in range(cupy.cuda.runtime.getDeviceCount())]
        self.formulas: AllFormulas = AllFormulas(cupy)
        self.open_kernels(cupy)
        self.runs_formulas = ROAD.short
        self.streams: dict[int, Any] = {}
        self.kept: list[tuple[list[Any], list[Array]]] = []
        self.convolutions: Convolutions = Convolutions(cupy)
        if ROAD.short:
            PACK.gpu_products(find_cublas(), cupy.cuda.alloc, KernelFile(cupy, "products.cu").address)
            PACK.gpu_sums(KernelFile(cupy, "sums.cu").address)
            PACK.gpu_steps(KernelFile(cupy, "steps.cu", PACK.gpu_step_sizes()).address)
        self.adopt(names(cupy))

    # -- arrays ----------------------------------------------------------------------------------------------------

    def device_of(self, array: Array) -> device:
        found: device = self.devices[array.data.device_id]
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
                bits = (
                    self.of_bfloat16().bits(array) if own else backend_of(array).numpy(array).view("uint16")
                )
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
        found = _stretch(x, shape)
        return self.broadcast_to(x, shape) if found is None else found

    def lies_in_rows(self, x: Array) -> bool:
        return bool(x._c_contiguous)

    # -- memory and the order of work ------------------------------------------------------------------------------

    def pin(self, array: Array) -> Array:
        return pin(self.cupy, array)

    def is_pinned(self, array: Array) -> bool:
        return is_pinned(self.cupy, array)

    def memory_stats(self) -> dict[str, int]:
        self.trim()
        pool = self.cupy.get_default_memory_pool()
        return {"allocated_bytes": pool.used_bytes(), "reserved_bytes": pool.total_bytes()}

    def trim(self) -> None:
        """Gives memory that is kept for the next small arrays back to CuPy's pool."""
        if ROAD.short:
            PACK.gpu_trim()

    def empty_cache(self) -> None:
        self.trim()
        self.cupy.get_default_memory_pool().free_all_blocks()

    def current_stream(self, where: device) -> Any:
        with self.cupy.cuda.Device(where.index or 0):
            return self.cupy.cuda.get_current_stream()

    def record_event(self, stream: Any) -> Any:
        return stream.record(self.cupy.cuda.Event(disable_timing=True))

    def wait_event(self, stream: Any, event: Any) -> None:
        stream.wait_event(event)

    def enter_stream(self, stream: int) -> None:
        self._stream_at(stream).use()

    def join_stream(self, stream: int, other: int) -> None:
        self._stream_at(stream).wait_event(self.record_event(self._stream_at(other)))

    def keep_for(self, streams: list[int], arrays: list[Array]) -> None:
        events = [self.record_event(self._stream_at(stream)) for stream in streams]
        self.kept = [kept for kept in self.kept if not all(event.done for event in kept[0])]
        self.kept.append((events, arrays))

    def _stream_at(self, address: int) -> Any:
        """A queue of CuPy's, by the address that CUDA knows it by."""
        if address not in self.streams:
            self.streams[address] = stream_at(self.cupy, address)
        return self.streams[address]

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

    # -- sums, products, steps -------------------------------------------------------------------------------------

    def add_into(self, target: Array, other: Array) -> Array:
        return target if _add_into(target, other) else super().add_into(target, other)

    def write_sum(self, target: Array, other: Array) -> None:
        if not _add_into(target, other):
            super().write_sum(target, other)

    def ones_like(self, x: Array, *args: Any, **options: Any) -> Array:
        """Ones in the shape and dtype of an array."""
        found = None if args or options else _filled(x, 1.0)
        return self.cupy.ones_like(x, *args, **options) if found is None else found

    def zeros_like(self, x: Array, *args: Any, **options: Any) -> Array:
        """Zeros in the shape and dtype of an array."""
        found = None if args or options else _filled(x, 0.0)
        return self.cupy.zeros_like(x, *args, **options) if found is None else found

    def sum(
        self, x: Array, axis: Axis = None, dtype: Any = None, out: Any = None, keepdims: bool = False
    ) -> Array:
        """The sum over axes."""
        found = _sum(x, axis, keepdims, 1.0) if dtype is None and out is None else None
        return super().sum(x, axis, dtype, out, keepdims) if found is None else found

    def average(self, x: Array, axis: Axis, keepdims: bool, count: int) -> Array:
        found = _sum(x, axis, keepdims, 1 / count) if count else None
        return super().average(x, axis, keepdims, count) if found is None else found

    def loss(self, op: Any, x: Any, target: Any) -> Any:
        found = _loss(op.kind, x, target, op.parameter(), op.reduction)
        return op.computed(self, x, target) if found is None else found

    def loss_backward(self, op: Any, i: int, g: Any, x: Any, target: Any) -> Any:
        share = op.share()
        found = _loss_backward(op.kind, g, x, target, op.parameter(), -share if i else share)
        return op.formula(i, g, x, target) if found is None else found

    def layout_of(self, x: Array, y: Array) -> int:
        columns = COLUMNS_0 if x._f_contiguous and not x._c_contiguous else 0
        if y._f_contiguous and not y._c_contiguous:
            columns |= COLUMNS_1
        return int(x.shape[1]) << LENGTH_SHIFT | columns | FITS

    def product(self, x: Array, y: Array) -> Array:
        found = _product(x, y, None, self.precision())
        return super().product(x, y) if found is None else found

    def precision(self) -> int:
        """TF32 if products of float32 may be rounded."""
        return TF32 if cuda.matmul.allow_tf32 else 0

    def addmm(self, op: Any, x: Any, y: Any, z: Any) -> Any:
        found = _product(y, z, x, self.precision())
        return super().addmm(op, x, y, z) if found is None else found

    def mm_backward(self, op: Any, i: int, turned: bool, g: Any, x: Any, y: Any) -> Any:
        if i == 0:
            a, b, how = (y, g, TURN_Y | TURN_RESULT) if turned else (g, y, TURN_Y)
        else:
            a, b, how = (g, x, TURN_X | TURN_RESULT) if turned else (x, g, TURN_X)
        found = _product(a, b, None, how | self.precision())
        return super().mm_backward(op, i, turned, g, x, y) if found is None else found

    def bmm_backward(self, op: Any, i: int, g: Any, x: Any, y: Any) -> Any:
        a, b, how = (g, y, TURN_Y) if i == 0 else (x, g, TURN_X)
        found = _product(a, b, None, how | self.precision())
        return op.formula(i, g, x, y) if found is None else found

    def sgd_steps(self, rows: list[Any], rates: Any) -> None:
        super().sgd_steps(PACK.gpu_sgd_steps(rows, rates) if ROAD.short else rows, rates)

    def adam_steps(self, rows: list[Any], rates: Any) -> None:
        super().adam_steps(PACK.gpu_adam_steps(rows, rates) if ROAD.short else rows, rates)

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
        if len(found.devices) == 1:
            BACKENDS.homes[cupy.ndarray] = found.devices[0]
            BACKENDS.stream_now = PACK.gpu_stream if ROAD.short else StreamNow(cupy)
    return found  # type: ignore[no-any-return]
