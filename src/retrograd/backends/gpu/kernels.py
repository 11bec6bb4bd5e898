"""Kernels written in CUDA's C++, in the files of this folder: compiled when they are first needed.

A kernel is made for the types and sizes that its file leaves open, which `Kernels.get` is given as definitions.
"""

from __future__ import annotations

from importlib import resources
from typing import Any, Final

import numpy as np

from retrograd.backends.dtype_class import bfloat16
from retrograd.backends.gpu import launch
from retrograd.backends.gpu.launch import Kernel
from retrograd.backends.gpu.random import PHILOX
from retrograd.values import Array, Shape

# What each file is compiled with: the files before it.
FILES: Final[dict[str, tuple[str, ...]]] = {
    "attention.cu": ("rows.cuh",),
    "channels.cu": (),
    "conversions.cu": (),
    "fused_attention.cu": (),
    "indices.cu": ("faults.cuh",),
    "losses.cu": ("faults.cuh",),
    "noise.cu": ("PHILOX",),
    "norms.cu": ("rows.cuh",),
    "reductions.cu": (),
    "rows.cu": ("rows.cuh",),
    "additions.cu": (),
}
# By the letters of dtypes: how numbers lie in memory, and what is computed with.
STORED: Final = {"f": "float", "d": "double", "e": "Half", "bf": "BFloat"}
COMPUTED: Final = {"f": "float", "d": "double", "e": "float", "bf": "float"}
WIDE: Final = {"float": np.dtype("float32"), "double": np.dtype("float64")}
INDICES: Final = {"i": "int", "l": "long long", "q": "long long"}
FOREIGN: Final = "E"  # the letter of ml_dtypes' bfloat16
BYTES: Final = 16  # that a thread reads at once, of each array
THREADS: Final = 256
PROCESSORS: Final = (
    132  # of a large card: how far work is split, and so the order of sums, is the same on all
)


class Makers:
    """What makes arrays that are not CuPy's own, once there are such."""

    plain: Any = None  # cupy.ndarray
    bfloat16: Any = None


MAKERS: Final = Makers()


def empty(shape: Shape, dtype: Any) -> Array:
    """An array on the current GPU, in rows, not filled."""
    if dtype is bfloat16:
        made: Array = MAKERS.bfloat16(shape)
        return made
    return launch.empty(shape, dtype)


def in_columns(shape: Shape, dtype: Any) -> Array:
    """The same column by column."""
    if dtype is bfloat16:
        made: Array = MAKERS.bfloat16(shape, "F")
    else:
        made = MAKERS.plain(shape, dtype, order="F")
    return made


def letter(dtype: Any) -> str:
    """NumPy's letter of a dtype; "bf" for bfloat16."""
    if dtype is bfloat16:
        return "bf"
    found: str = dtype.char
    return found if found != FOREIGN else "bf"


def computed(dtype: Any) -> Any:
    """The dtype that sums and statistics of a dtype are in."""
    return WIDE[COMPUTED[letter(dtype)]]


def types(dtype: Any) -> tuple[tuple[str, str], ...]:
    """Definitions of S and T for a dtype."""
    char = letter(dtype)
    return ("S", STORED[char]), ("T", COMPUTED[char])


def source(file: str, definitions: tuple[tuple[str, Any], ...]) -> str:
    """The text that is compiled."""
    folder = resources.files("retrograd.backends.gpu")
    texts = (
        PHILOX if part == "PHILOX" else folder.joinpath(part).read_text("utf-8")
        for part in (*FILES[file], file)
    )
    return prelude(definitions) + "".join(texts)


def prelude(definitions: tuple[tuple[str, Any], ...]) -> str:
    """What all sources begin with; definitions that are strings are types, the others numbers."""
    folder = resources.files("retrograd.backends.gpu")
    parts = [folder.joinpath("numbers.cuh").read_text("utf-8"), "struct Sum; struct Max; struct Min;\n"]
    defined = {"V": 1, "THREADS": THREADS, **dict(definitions)}
    defined.setdefault("GROUP", defined["THREADS"])
    for name, value in defined.items():
        parts.append(f"typedef {value} {name};\n" if isinstance(value, str) else f"#define {name} {value}\n")
    return "".join([*parts, folder.joinpath("together.cuh").read_text("utf-8")])


class Kernels:
    """All that have been compiled."""

    def __init__(self, cupy: Any) -> None:
        self.cupy = cupy
        MAKERS.plain = cupy.ndarray
        self.found: dict[Any, Kernel] = {}

    def get(self, file: str, name: str, *definitions: tuple[str, Any], shared: int = 0) -> Kernel:
        """A kernel of a file, whose blocks may ask for so many bytes of shared memory."""
        key = (file, name, definitions)
        kernel = self.found.get(key)
        if kernel is None:
            kernel = self.found[key] = Kernel(self.cupy, source(file, definitions), name, shared=shared)
        return kernel


def serves(*arrays: Any) -> bool:
    """Whether arrays, where they are given, lie in rows and are of a dtype that there are kernels for."""
    for a in arrays:
        if a is not None and not (a._c_contiguous and letter(a.dtype) in STORED):
            return False
    return True


def pack_of(n: int, *arrays: Any) -> int:
    """How many numbers a thread can read at once from arrays in whose rows there are n of them."""
    addresses, smallest, largest = 0, BYTES, 1
    for a in arrays:
        if a is not None:
            size = a.itemsize
            addresses |= a.data.ptr
            smallest, largest = min(smallest, size), max(largest, size)
    v = BYTES // smallest
    while v > 1 and (n % v or addresses % (largest * v)):
        v //= 2
    return v


def blocks_for(count: int, threads: int = THREADS) -> int:
    """How many blocks have a thread for each of so many."""
    return -(-count // threads)


def runs(shape: Shape, axes: Shape) -> list[tuple[int, bool]]:
    """Neighbouring dimensions that all are among the axes, or all are not, as one: sizes, and whether they are."""
    found: list[tuple[int, bool]] = []
    for i, n in enumerate(shape):
        if n == 1:
            continue
        if found and found[-1][1] == (i in axes):
            found[-1] = (found[-1][0] * n, found[-1][1])
        else:
            found.append((n, i in axes))
    return found
