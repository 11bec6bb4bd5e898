"""Steps of optimisers: all parameters in few launches, all state of each read and written once."""

from __future__ import annotations

from importlib import resources
from typing import Any, Final

from retrograd.backends.gpu.launch import ROAD, Kernel
from retrograd.backends.pack import PACK

TYPES: Final = {"f": "float", "d": "double"}


class Steps:
    """The kernels of `steps.cu`, compiled when they are first needed; `native/gpu_steps.cpp` launches them."""

    def __init__(self, cupy: Any) -> None:
        self.cupy = cupy
        self.kernels: list[Kernel] = []  # the pack has their addresses
        if ROAD.short:
            self.sizes: tuple[int, int, int] = PACK.gpu_steps(self.address)

    def address(self, name: str, char: str) -> int:
        """Where the driver finds a kernel for a dtype."""
        text = resources.files("retrograd.backends.gpu").joinpath("steps.cu").read_text("utf-8")
        sizes = zip(("ROWS", "CHUNK", "THREADS"), self.sizes, strict=True)
        head = "".join(f"#define {what} {n}\n" for what, n in sizes)
        self.kernels.append(Kernel(self.cupy, f"typedef {TYPES[char]} T;\n{head}{text}", name))
        return self.kernels[-1].address
