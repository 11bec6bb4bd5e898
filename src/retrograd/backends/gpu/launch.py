"""Kernels of ours and memory for their results, without CuPy's Python in between where the native pack is there.

    kernel = Kernel(cupy, source, "name")       # compiled when it is made; CuPy keeps what was compiled on disk
    out = empty(x.shape, x.dtype)               # on the current device, in rows, not filled
    kernel.launch(blocks, 256, (x, out, x.size, 0.5))

Arguments are arrays (their address is passed), whole numbers (`long long`), floats (`double`) and None (a null pointer).
"""

from __future__ import annotations

from typing import Any, Final

from retrograd.backends.pack import PACK
from retrograd.values import Array, Shape

OPTIONS: Final = ("-std=c++17",)


class Road:
    """How arrays are made and kernels are launched in this process: by CuPy, until `open_road` has found a better way."""

    empty: Any = None
    launch: Any = None


ROAD: Final = Road()


def open_road(cupy: Any) -> None:
    """Finds the quickest way there is."""
    ROAD.empty = cupy.ndarray
    ROAD.launch = None
    if PACK is not None and cupy.cuda.runtime.getDeviceCount() == 1:
        ROAD.launch = PACK.launch


def empty(shape: Shape, dtype: Any) -> Array:
    """An array on the current GPU, in rows, not filled."""
    made: Array = ROAD.empty(shape, dtype)
    return made


class Kernel:
    """A kernel, compiled for the card at hand."""

    def __init__(self, cupy: Any, source: str, name: str, options: tuple[str, ...] = OPTIONS) -> None:
        self.kernel: Any = cupy.RawKernel(source, name, options=options)
        self.address: int = 0 if ROAD.launch is None else self.kernel.kernel.ptr
        self.stream: Any = cupy.cuda.stream.get_current_stream_ptr

    def launch(self, blocks: int, threads: int, args: tuple[Any, ...]) -> None:
        """Runs it on so many blocks of threads, in the current stream."""
        # A thread that has not used the GPU before is refused, and CuPy's way makes the GPU known to it.
        if not self.address or ROAD.launch(self.address, blocks, threads, self.stream(), *args):
            self.kernel((blocks,), (threads,), tuple([0 if a is None else a for a in args]))
