"""Softmax of rows, its logarithm, and their gradients; and how rows are shared out among threads."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from retrograd.backends.gpu.kernels import Kernels, empty, pack_of, types
from retrograd.values import Array, Shape

MOST_HELD: Final = 16  # numbers of a row that a thread keeps in registers
MOST_HELD_BY_WARP: Final = 24


class Share:
    """How a row is shared out: see rows.cuh."""

    threads: int
    packs: int

    def __init__(self, threads: int, group: int, v: int, packs: int) -> None:
        self.threads, self.packs = threads, packs
        self.per_block: int = threads // group  # rows
        self.definitions: tuple[tuple[str, int], ...] = (
            ("THREADS", threads),
            ("GROUP", group),
            ("V", v),
            ("PACKS", packs),
        )


def share(n: int, *arrays: Any) -> Share:
    """For rows of n numbers in all of these arrays: as few threads as can keep them in registers."""
    return _share(n, pack_of(n, *arrays))


@cache
def _share(n: int, v: int) -> Share:
    for group, most in (
        (32, MOST_HELD_BY_WARP),
        (128, MOST_HELD),
        (256, MOST_HELD),
        (512, MOST_HELD),
        (1024, MOST_HELD),
    ):
        packs = -(-n // (v * group))
        if packs * v <= most:
            return Share(max(group, 128), group, v, packs)
    return Share(1024, 1024, v, 0)


class Rows:
    """The kernels of rows.cu."""

    def __init__(self, kernels: Kernels) -> None:
        self.kernels = kernels

    def each(self, name: str, n: int, inputs: tuple[Array, ...], shape: Shape) -> Array:
        """What a kernel makes of rows of n numbers; the result has a shape."""
        x = inputs[0]
        out = empty(shape, x.dtype)
        how, rows = share(n, *inputs, out if out.size == x.size else None), x.size // n
        kernel = self.kernels.get("rows.cu", name, *types(x.dtype), *how.definitions)
        kernel.launch(-(-rows // how.per_block), how.threads, (*inputs, out, rows, n))
        return out
