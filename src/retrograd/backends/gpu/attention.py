"""Attention: products of matrices with a softmax between them, some heads at a time.

All weights of long sequences would fill the memory, and be read from it again. So a chunk of heads (of a long sequence:
some queries of one head) is computed at a time, whose scores stay in the GPU's cache; the backward computes them again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from retrograd.backends.gpu.kernels import (
    COMPUTED,
    STORED,
    THREADS,
    Kernels,
    blocks_for,
    computed,
    empty,
    letter,
    types,
)
from retrograd.backends.gpu.products import Products
from retrograd.backends.gpu.reductions import Reductions
from retrograd.backends.gpu.rows import share
from retrograd.values import Array

CHUNK: Final = 32 << 20  # bytes of scores: with their weights and gradients they fit into the cache
INT64: Final = np.dtype("int64")
FLOAT32: Final = np.dtype("float32")


class Heads:
    """The matrices of an array of shape (samples, heads, rows, columns), by their addresses, which lie on the GPU."""

    def __init__(self, x: Array, addresses: Array) -> None:
        self.array = x
        self.addresses = addresses
        self.char: str = letter(x.dtype)
        self.lead: Any | Array = x.strides[2] // x.itemsize if x.shape[2] > 1 else x.shape[3]

    def at(self, first: int, turned: bool = False) -> tuple[int, str, int, bool]:
        """The matrices from number `first` on, as `Products` takes them."""
        return self.addresses.data.ptr + 8 * first, self.char, self.lead, turned


def heads_of(kernels: Kernels, arrays: Sequence[Array], samples: int, heads: int) -> list[Heads]:
    """The matrices of up to eight arrays; a head of an array may be that of several."""
    count = samples * heads
    addresses = empty((len(arrays), count), INT64)
    told: list[int] = []
    for x in arrays:
        told += [x.data.ptr, heads // x.shape[1], x.strides[0], x.strides[1]]
    told += [0, 1, 0, 0] * (8 - len(arrays))
    kernel = kernels.get("attention.cu", "addresses", *types(FLOAT32), ("M", "float"), ("PACKS", 1))
    kernel.launch(blocks_for(count), THREADS, (addresses, count, heads, len(arrays), *told))
    return [Heads(x, addresses[k]) for k, x in enumerate(arrays)]


class Attention:
    """The kernels of attention.cu, between products."""

    def __init__(self, kernels: Kernels, products: Products, reductions: Reductions) -> None:
        self.kernels = kernels
        self.products = products
        self.reductions = reductions

    def serves(self, xs: Sequence[Any]) -> bool:
        """Whether there are kernels for q, k, v and a mask such as these."""
        q, mask = xs[0], xs[3]
        return (
            self.products.library is not None
            and letter(q.dtype) in STORED
            and all(x.dtype == q.dtype and x.size > 0 and x.ndim == 4 and _in_rows(x) for x in xs[:3])
            and (mask is None or letter(mask.dtype) in STORED)
        )

    def forward(self, op: Any, xs: Sequence[Any]) -> Array:
        """softmax(scale * q @ k.mT + mask) @ v, whose elements lie in the order of q's."""
        q, k, v, mask = xs
        out = like(q)
        for first, part in slices(q, k):
            chunk = Chunk(self, op, (part(q), k, v, mask), first, [part(out)])
            sizes = (part(q).shape[2], k.shape[2], v.shape[3])
            for start, count in chunk.steps():
                chunk.weigh(start, count)
                target = chunk.targets[0].at(start)
                self.products.at_addresses(sizes, chunk.p.at(0), chunk.v.at(start), target, count)
        return out

    def backward(self, op: Any, g: Array, xs: Sequence[Any], wanted: int) -> Sequence[Any]:
        """The gradients of q, k and v that are wanted."""
        q, k, v, mask = xs
        shape = (q.shape[0], q.shape[1], k.shape[2], k.shape[3])
        dq = like(q) if wanted & 1 else None
        # Heads that share keys give them a gradient each.
        dk, dv = (like(x) if x.shape == shape else empty(shape, x.dtype) for x in (k, v))
        beta = 0.0
        for first, part in slices(q, k):
            targets = [part(g), part(q if dq is None else dq), dk, dv]
            chunk = Chunk(self, op, (part(q), k, v, mask), first, targets)
            for start, count in chunk.steps():
                self._gradients(chunk, start, count, wanted, beta)
            beta = 1.0
        return dq, self._shared(dk, k) if wanted & 2 else None, self._shared(dv, v) if wanted & 4 else None

    def _gradients(self, chunk: Chunk, start: int, count: int, wanted: int, beta: float) -> None:
        """What a chunk adds to gradients."""
        g, dq, dk, dv = chunk.targets
        rows, keys, width = chunk.q.array.shape[2], chunk.k.array.shape[2], chunk.k.array.shape[3]
        multiply = self.products.at_addresses
        chunk.weigh(start, count)
        if wanted & 4:
            multiply((keys, rows, width), chunk.p.at(0, True), g.at(start), dv.at(start), count, beta)
        if not wanted & 3:
            return
        multiply((rows, width, keys), g.at(start), chunk.v.at(start, True), chunk.scores.at(0), count)
        chunk.weigh_backward(count)
        if wanted & 1:
            multiply((rows, keys, width), chunk.slopes.at(0), chunk.k.at(start), dq.at(start), count)
        if wanted & 2:
            multiply(
                (keys, rows, width), chunk.slopes.at(0, True), chunk.q.at(start), dk.at(start), count, beta
            )

    def _shared(self, d: Array, x: Array) -> Array:
        """A gradient in the shape of its operand: what several heads give to the one they share is summed."""
        if d.shape == x.shape:
            return d
        samples, heads = x.shape[:2]
        apart = d.reshape((samples, heads, d.shape[1] // heads, *d.shape[2:]))
        return self.reductions.reduce("Sum", apart, (2,)).reshape(x.shape)


class Chunk:
    """Some queries of all heads, and room for the scores of so many heads as are computed at a time.

    `targets` are arrays with these heads: the result or, in a backward, its gradient and those that are wanted.
    """

    of: Attention
    op: Any
    first: int
    mask: Any
    count: Any
    q: Heads
    k: Heads
    v: Heads

    def __init__(
        self, of: Attention, op: Any, xs: Sequence[Any], first: int, targets: Sequence[Array]
    ) -> None:
        self.of, self.op, self.first = of, op, first
        q, k, v, self.mask = xs
        samples, heads, rows = q.shape[:3]
        keys = k.shape[2]
        self.count, wide = samples * heads, computed(q.dtype)
        self.each: Any = min(self.count, max(1, CHUNK // (rows * keys * wide.itemsize)))
        # Weights take the place of scores where both are of one dtype; but in a backward their gradients do.
        kinds = [wide] if wide == q.dtype else [wide, q.dtype]
        if len(targets) > 1:
            kinds.append(q.dtype)
        room = [empty((1, self.each, rows, keys), kind) for kind in kinds]
        of_all = [q, k, v, *targets]
        placed = heads_of(of.kernels, of_all, samples, heads)
        self.q, self.k, self.v, *self.targets = placed
        own = heads_of(of.kernels, room, 1, self.each)
        self.scores: Heads = own[0]
        self.p: Heads = own[1] if len(own) > 1 else own[0]
        self.slopes: Heads = own[2] if len(own) > 2 else own[0]

    def steps(self) -> Iterator[tuple[int, int]]:
        """Which heads are computed together: the number of the first, and how many."""
        for start in range(0, self.count, self.each):
            yield start, min(self.each, self.count - start)

    def weigh(self, start: int, count: int) -> None:
        """Writes the weights of heads into `p`."""
        q, k, mask = self.q.array, self.k.array, self.mask
        heads, rows, keys, width = q.shape[1], q.shape[2], k.shape[2], k.shape[3]
        self.of.products.at_addresses(
            (rows, width, keys), self.q.at(start), self.k.at(start, True), self.scores.at(0), count
        )
        kernel, how = self._kernel("weights")
        args = (
            self.scores.array,
            mask,
            self.p.array,
            float(self.op.scale),
            int(self.op.is_causal),
            count * rows,
            keys,
        )
        where = (rows, self.first, start, heads, *mask_steps(mask))
        kernel.launch(-(-count * rows // how.per_block), how.threads, (*args, *where))

    def weigh_backward(self, count: int) -> None:
        """Writes the gradients of the scores into `slopes`; those of the weights lie in `scores`."""
        rows, keys = self.scores.array.shape[2:]
        kernel, how = self._kernel("weights_backward")
        args = (self.scores.array, self.p.array, self.slopes.array, float(self.op.scale), count * rows, keys)
        kernel.launch(-(-count * rows // how.per_block), how.threads, args)

    def _kernel(self, name: str) -> tuple[Any, Any]:
        how = share(self.scores.array.shape[3], self.scores.array, self.p.array)
        kind = STORED[letter(self.q.array.dtype if self.mask is None else self.mask.dtype)]
        definitions = (*types(self.q.array.dtype), ("M", kind), *how.definitions)
        return self.of.kernels.get("attention.cu", name, *definitions), how


def mask_steps(mask: Any) -> tuple[int, ...]:
    """How far apart a mask's samples, heads, queries and keys are, in numbers; 0 where all have the same."""
    if mask is None:
        return (0, 0, 0, 0)
    own = [0 if n == 1 else s // mask.itemsize for n, s in zip(mask.shape, mask.strides, strict=True)]
    return (*[0] * (4 - mask.ndim), *own)


def slices(q: Array, k: Array) -> Iterator[tuple[int, Any]]:
    """Which queries are computed together: the number of the first, and what takes that part of an array."""
    rows, size = q.shape[2], k.shape[2] * (8 if COMPUTED[letter(q.dtype)] == "double" else 4)
    each = max(1, 2 * CHUNK // size)
    if each >= rows:
        yield 0, lambda x: x
        return
    for first in range(0, rows, each):
        yield first, lambda x, first=first: x[:, :, first : first + each]


def like(x: Array) -> Array:
    """An array of x's shape, its elements in the order of x's: heads may lie side by side, as in (N, L, H, E)."""
    if x.strides[1] < x.strides[2]:
        n, heads, rows, width = x.shape
        return empty((n, rows, heads, width), x.dtype).transpose((0, 2, 1, 3))
    return empty(x.shape, x.dtype)


def _in_rows(x: Array) -> bool:
    """Whether rows lie as cuBLAS wants them."""
    size = x.itemsize
    good = x.strides[3] == size or x.shape[3] == 1
    return bool(
        good and (x.shape[2] == 1 or (x.strides[2] >= x.shape[3] * size and x.strides[2] % size == 0))
    )
