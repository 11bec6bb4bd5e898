"""Kernels of ours and memory for their results, without CuPy's Python in between where the native pack is there.

    kernel = Kernel(cupy, source, "name")       # compiled when it is made; CuPy keeps what was compiled on disk
    out = empty(x.shape, x.dtype)               # on the current device, in rows, not filled
    kernel.launch(blocks, 256, (x, out, x.size, 0.5))

Arguments are arrays (by their address), whole numbers (`long long`), floats (`double`) and None (a null pointer).

Note [The short road]
~~~~~~~~~~~~~~~~~~~~~
An operation on a small array takes a GPU two microseconds, and CuPy's Python ten. With the native pack and one GPU,
operations go a shorter road: the pack reads and makes CuPy's arrays as they lie in memory (`native/gpu.h`), asks the
driver itself for launches and cuBLASLt for products. Arrays stay CuPy's, in memory of CuPy's pool, so whatever has no
short road goes CuPy's. How CuPy's arrays lie is nobody's promise: `open_road` shows the pack some, and where they are
not as it believes the road stays closed.
"""

from __future__ import annotations

import importlib
from importlib import resources
from typing import Any, Final

import numpy as np

from retrograd.backends.pack import PACK
from retrograd.errors import AcceleratorError
from retrograd.values import Array, Shape

TYPES: Final = {"f": "float", "d": "double"}
BFLOAT16: Final = "b"  # its letter, where the pack asks for a kernel
OPTIONS: Final = ("-std=c++17",)
FREE_TO_TAKE: Final = 48 << 10  # bytes of shared memory that blocks have without asking
NOT_READY: Final = (3, 201)  # codes of the driver's for a thread that has not used the GPU before


class Road:
    """How arrays are made and kernels are launched: by CuPy, unless `open_road` has found a better way."""

    empty: Any = None  # makes an array of a shape and a dtype
    launch: Any = None  # PACK.launch, where there is one GPU
    short: bool = False  # whether the pack serves CuPy's arrays


ROAD: Final = Road()


def open_road(cupy: Any) -> None:
    """Finds the quickest way there is. See Note [The short road]."""
    ROAD.empty = cupy.ndarray
    if PACK is None or cupy.cuda.runtime.getDeviceCount() != 1:
        return
    ROAD.launch = PACK.launch
    PACK.set_launch_refusal(Refusal(cupy))
    stream = cupy.cuda.stream.__pyx_capi__.get("get_current_stream_ptr")
    if stream is not None and PACK.gpu_open(_arrays(cupy), cupy.cuda.alloc, stream):
        ROAD.short = _makes_what_cupy_makes(cupy)
        if ROAD.short:
            ROAD.empty = PACK.gpu_empty
        else:
            PACK.gpu_close()


def close_road(cupy: Any) -> None:
    """Lets CuPy serve its arrays."""
    if ROAD.short:
        PACK.gpu_close()
    ROAD.empty, ROAD.short = cupy.ndarray, False


def _arrays(cupy: Any) -> tuple[Any, ...]:
    """Arrays of all kinds, by which the pack sees how they lie."""
    x = cupy.ndarray((5, 7, 11), np.dtype("f4"))
    return (
        x,
        x[1:, ::2],
        x.T,
        x.view("i4"),
        cupy.ndarray((0, 3), np.dtype("f8")),
        cupy.ndarray((), np.dtype("i8")),
    )


def _makes_what_cupy_makes(cupy: Any) -> bool:
    """Whether an array that the pack makes is as CuPy would have made it."""
    names = ("shape", "strides", "size", "dtype", "ndim", "nbytes", "_c_contiguous", "_f_contiguous", "base")
    for shape in ((), (4,), (3, 4), (2, 0), (3, 1)):
        ours, theirs = PACK.gpu_empty(shape, np.dtype("f4")), cupy.ndarray(shape, np.dtype("f4"))
        if any(getattr(ours, name) != getattr(theirs, name) for name in names):
            return False
        if ours.data.device_id != theirs.data.device_id or ours.data.mem.ptr != ours.data.ptr:
            return False
    return True


class Refusal:
    """What to do when the driver has refused a launch."""

    def __init__(self, cupy: Any) -> None:
        self.cupy = cupy

    def __call__(self, status: int) -> None:
        """Makes the GPU known to this thread if that was all; raises the driver's reason otherwise."""
        if status in NOT_READY:
            self.cupy.cuda.runtime.setDevice(0)
            return
        try:
            self.cupy.cuda.driver.check_status(status)
        except self.cupy.cuda.driver.CUDADriverError as error:
            raise AcceleratorError(
                f"CUDA error: {error}. Kernels run after the calls that launch them, so an earlier one may have "
                "failed; CUDA_LAUNCH_BLOCKING=1 in the environment makes each call wait for its own."
            ) from error


class StreamNow:
    """Says where the stream is that work goes into."""

    def __init__(self, cupy: Any) -> None:
        self.current: Any = cupy.cuda.get_current_stream

    def __call__(self) -> int:
        return int(self.current().ptr)


class KnownStream:
    """A stream by its address, as libraries show theirs to each other."""

    def __init__(self, address: int) -> None:
        self.address = address

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.address


def stream_at(cupy: Any, address: int) -> Any:
    """A stream of CuPy's, by its address."""
    cuda = cupy.cuda
    if not address:
        return cuda.Stream.null
    if hasattr(cuda.Stream, "from_external"):
        return cuda.Stream.from_external(KnownStream(address))
    return cuda.ExternalStream(address)


def empty(shape: Shape, dtype: Any) -> Array:
    """An array on the current GPU, in rows, not filled."""
    made: Array = ROAD.empty(shape, dtype)
    return made


class Kernel:
    """A kernel, compiled for the card at hand."""

    def __init__(
        self, cupy: Any, source: str, name: str, options: tuple[str, ...] = OPTIONS, shared: int = 0
    ) -> None:
        self.kernel: Any = cupy.RawKernel(source, name, options=options)
        if shared > FREE_TO_TAKE:
            self.kernel.max_dynamic_shared_size_bytes = shared
        self.address: int = 0 if ROAD.launch is None else self.kernel.kernel.ptr
        self.stream: Any = PACK.gpu_stream if ROAD.short else StreamNow(cupy)

    def launch(self, blocks: Any, threads: int, args: tuple[Any, ...], shared: int = 0) -> None:
        """Runs it on so many blocks of threads (a number, or a pair), in the current stream."""
        # A thread that has not used the GPU before is refused, and CuPy's way makes the GPU known to it.
        if self.address and not ROAD.launch(self.address, blocks, threads, self.stream(), shared, *args):
            return
        grid = blocks if type(blocks) is tuple else (blocks,)
        self.kernel(grid, (threads,), tuple([0 if a is None else a for a in args]), shared_mem=shared)


class KernelFile:
    """The kernels of a file of this folder, compiled for a dtype when the pack first needs them."""

    def __init__(self, cupy: Any, file: str, sizes: dict[str, int] | None = None) -> None:
        self.cupy = cupy
        self.file = file
        self.head: str = "".join(f"#define {name} {size}\n" for name, size in (sizes or {}).items())
        self.kernels: list[Kernel] = []  # the pack has their addresses

    def address(self, name: str, char: str) -> int:
        """Where the driver finds a kernel for a dtype."""
        folder = resources.files("retrograd.backends.gpu")
        numbers, text = (folder.joinpath(file).read_text("utf-8") for file in ("numbers.cuh", self.file))
        stored, computed = ("BFloat", "float") if char == BFLOAT16 else (TYPES[char], TYPES[char])
        types = f"typedef {stored} S;\ntypedef {computed} T;\n"
        self.kernels.append(Kernel(self.cupy, numbers + types + self.head + text, name))
        return self.kernels[-1].address


def find_cublas() -> str:
    """Where cuBLASLt is, "" if nowhere: CuPy knows best, whose other libraries must be of the same CUDA."""
    try:
        finder = importlib.import_module("cuda.pathfinder")
        return str(finder.load_nvidia_dynamic_lib("cublasLt").abs_path or "")
    except Exception:  # noqa: BLE001 - an older CuPy comes without it, and it raises errors of its own
        major = importlib.import_module("cupy").cuda.runtime.runtimeGetVersion() // 1000
        return f"libcublasLt.so.{major}"
