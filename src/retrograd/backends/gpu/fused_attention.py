"""Attention in one kernel, which keeps no scores: see fused_attention.cu.

The forward notes one number for each query, from which the backward computes weights again, a tile at a time. Sums have
a fixed order, so the same operands give the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from retrograd.backends.gpu.attention import like, mask_steps
from retrograd.backends.gpu.kernels import BYTES, COMPUTED, STORED, Kernels, blocks_for, empty, letter, types
from retrograd.backends.gpu.launch import Kernel
from retrograd.values import Array

WIDEST: Final = 128  # a head: sums of wider ones do not fit into registers
THREADS: Final = 128
FLOAT32: Final = np.dtype("float32")
FORWARD, QUERIES, KEYS = "attend", "attend_backward_queries", "attend_backward_keys"
# How many times 16 rows a warp has for itself, and the rows of a tile: by kernel, and for heads up to a width. Wider
# ones leave fewer registers. Found by trying on an H200.
BY_TENSOR_CORES: Final = {
    FORWARD: {64: (2, 64), WIDEST: (2, 32)},
    QUERIES: {64: (2, 64), WIDEST: (2, 32)},
    KEYS: {64: (1, 128), WIDEST: (1, 64)},
}
BY_ORDINARY_INSTRUCTIONS: Final = (1, 32)


class FusedAttention:
    """The kernels of fused_attention.cu."""

    room: int

    def __init__(self, kernels: Kernels) -> None:
        self.kernels = kernels
        self.room = -1  # bytes of a block's memory on this GPU

    def serves(self, q: Array, k: Array, v: Array, mask: Any) -> bool:
        """Whether there are kernels for queries, keys, values and a mask such as these."""
        char = letter(q.dtype)
        if COMPUTED.get(char) != "float" or q.shape[-1] > WIDEST or q.ndim != 4 or not q.size or not k.size:
            return False
        if any(letter(x.dtype) != char or x.strides[3] != x.itemsize for x in (q, k, v)):
            return False
        if mask is not None and letter(mask.dtype) not in STORED:
            return False
        return q.shape[0] * q.shape[1] < 1 << 16 and Sizes(KEYS, q).bytes() <= self._room()

    def _room(self) -> int:
        """How much memory a block may have; 0 where a GPU is too old for these kernels."""
        if self.room < 0:
            device = self.kernels.cupy.cuda.Device()
            new = int(device.compute_capability) >= 80
            self.room = int(device.attributes["MaxSharedMemoryPerBlockOptin"]) if new else 0
        return self.room

    def forward(self, op: Any, xs: Sequence[Any]) -> tuple[Array, Array]:
        """softmax(scale * q @ k.mT + mask) @ v, whose elements lie in the order of q's; and what the backward needs."""
        q, k, v, mask = xs
        out, logs = like(q), empty(q.shape[:3], FLOAT32)
        args = (q, k, v, mask, out, logs, *steps(q, k, v, out), *common(op, xs))
        self._launch(FORWARD, xs, (q, k, v), q, args)
        return out, logs

    def backward(self, op: Any, g: Array, xs: Sequence[Any], out: Array, wanted: int) -> Sequence[Any]:
        """The gradients of q, k and v that are wanted."""
        q, k, v, mask = xs
        g = g if g.strides[3] == g.itemsize else g.copy("C")
        known = (q, k, v, mask, g, op.logs, self._products(out, g, xs))
        dq, dk, dv = (like(x) if wanted >> i & 1 else None for i, x in enumerate((q, k, v)))
        if dq is not None:
            args = (*known, dq, *steps(q, k, v, g, dq), *common(op, xs))
            self._launch(QUERIES, xs, (q, k, v, g), q, args)
        if wanted & 6:
            targets = (
                k if dk is None else dk,
                v if dv is None else dv,
            )  # whose steps nobody uses, if it is none
            args = (*known, dk, dv, *steps(q, k, v, g, *targets), *common(op, xs))
            self._launch(KEYS, xs, (q, k, v, g), k, args)
        return dq, dk, dv

    def _products(self, out: Array, g: Array, xs: Sequence[Any]) -> Array:
        """Of each query the product of the result and its gradient."""
        heads, rows, width = out.shape[1:]
        found = empty(out.shape[:3], FLOAT32)
        kernel = self._kernel("products_with_gradients", xs, 1, Sizes(FORWARD, out), 0)
        args = (out, g, found, *steps(out, g), rows, width, heads, found.size)
        kernel.launch(blocks_for(found.size, THREADS // 32), THREADS, args)
        return found

    def _launch(
        self, name: str, xs: Sequence[Any], read: Sequence[Array], own: Array, args: tuple[Any, ...]
    ) -> None:
        """Runs a kernel whose blocks share out the rows of `own`."""
        sizes = Sizes(name, own)
        shared = sizes.bytes()
        kernel = self._kernel(name, xs, read_at_once(read), sizes, shared)
        samples, heads, rows = own.shape[:3]
        kernel.launch((blocks_for(rows, sizes.own), samples * heads), THREADS, args, shared)

    def _kernel(self, name: str, xs: Sequence[Any], v: int, sizes: Sizes, shared: int) -> Kernel:
        q, mask = xs[0], xs[3]
        kind = STORED[letter(q.dtype if mask is None else mask.dtype)]
        numbers = (("V", v), ("D", sizes.width), ("TILE", sizes.tile), ("BANDS", sizes.bands))
        definitions = (*types(q.dtype), ("M", kind), *numbers, ("THREADS", THREADS))
        return self.kernels.get("fused_attention.cu", name, *definitions, shared=shared)


class Sizes:
    """How wide the tiles of a kernel are, and how many rows they have."""

    bands: int
    tile: int

    def __init__(self, name: str, x: Array) -> None:
        self.size: int = int(x.itemsize)
        self.width: int = -(-int(x.shape[3]) // 16) * 16
        self.bands, self.tile = BY_ORDINARY_INSTRUCTIONS
        if self.size == 2:
            self.bands, self.tile = BY_TENSOR_CORES[name][64 if self.width <= 64 else WIDEST]
        self.own: int = THREADS // 32 * 16 * self.bands
        self.owned = 1 if name == FORWARD else 2  # tiles of a block's own rows

    def bytes(self) -> int:
        """What a block needs for its own rows, four tiles of the other side, weights, and numbers of queries."""
        rows = self.owned * self.own + 4 * self.tile
        weights = 0 if self.size == 2 else self.own * (self.tile + 4) * 4
        return rows * (self.width * self.size + BYTES) + weights + 4 * self.tile * 4


def read_at_once(arrays: Sequence[Array]) -> int:
    """How many numbers a thread reads at once: 16 bytes where all rows allow it, else one number."""
    v = BYTES // int(arrays[0].itemsize)
    for x in arrays:
        if x.shape[3] % v or x.data.ptr % BYTES or any(s % BYTES for s in x.strides[:3]):
            return 1
    return v


def steps(*arrays: Array) -> list[int]:
    """How far apart samples, heads and rows are, counted in numbers."""
    return [s // x.itemsize for x in arrays for s in x.strides[:3]]


def common(op: Any, xs: Sequence[Any]) -> tuple[Any, ...]:
    """What all kernels are told: the mask's steps, sizes, the scale, whether a query sees no later keys."""
    q, k, _, mask = xs
    heads, rows, width = q.shape[1:]
    share = heads // k.shape[1]
    return (*mask_steps(mask), rows, k.shape[2], width, heads, share, float(op.scale), int(op.is_causal))
