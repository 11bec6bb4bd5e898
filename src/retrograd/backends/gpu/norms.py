"""Normalisation: of rows (layer norm, group norm, RMS norm) and of channels over a batch."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Final

from retrograd.backends.gpu.kernels import (
    PROCESSORS,
    STORED,
    THREADS,
    Kernels,
    blocks_for,
    computed,
    empty,
    letter,
    pack_of,
    types,
)  # fmt: skip
from retrograd.backends.gpu.reductions import Reductions
from retrograd.backends.gpu.rows import share
from retrograd.values import Array, Shape

PER_PROCESSOR: Final = 8  # blocks
LEAST: Final = 4  # packs that a thread of a slice should have


class Norms:
    """The kernels of norms.cu and channels.cu."""

    def __init__(self, kernels: Kernels, reductions: Reductions) -> None:
        self.kernels = kernels
        self.reductions = reductions

    # -- rows ------------------------------------------------------------------------------------------------------

    def rows(
        self,
        x: Array,
        weight: Any,
        bias: Any,
        eps: float,
        n: int,
        inner: int = 0,
        groups: int = 1,
        centred: int = 1,
    ) -> tuple[Array, Array]:
        """Normalised rows of n numbers, and each row's mean and scale; for `inner` and `groups` see norms.cu."""
        out, moments = empty(x.shape, x.dtype), empty((x.size // n, 2), computed(x.dtype))
        flat = (weight, bias) if not inner else ()
        how = share(n, x, out, *flat)
        kernel = self._kernel("norms.cu", "row_norm", x, weight, bias, ("CENTRED", centred), *how.definitions)
        blocks = -(-len(moments) // how.per_block)
        kernel.launch(
            blocks, how.threads, (x, weight, bias, out, moments, eps, len(moments), n, inner, groups)
        )
        return out, moments

    def rows_backward(
        self, g: Array, x: Array, weight: Any, moments: Array, shape: Shape, wanted: int, centred: int = 1
    ) -> Sequence[Any] | None:
        """The gradients of x, weight and bias that are wanted, of rows with this shape; None if a row is too long."""
        n, rows = prod(shape), len(moments)
        how = share(n, x, g, weight)
        if wanted & 6 and not how.packs:
            return None
        blocks = -(-rows // how.per_block)
        parts = None
        if wanted & 6:
            blocks = min(blocks, PROCESSORS * PER_PROCESSOR // how.per_block)
            parts = empty((blocks * how.per_block, 2 * n), moments.dtype)
        dx = empty(x.shape, x.dtype) if wanted & 1 else None
        kernel = self._kernel(
            "norms.cu", "row_norm_backward", x, weight, None, ("CENTRED", centred), *how.definitions
        )
        kernel.launch(blocks, how.threads, (g, x, weight, moments, dx, parts, rows, n, 0, 1))
        if parts is None:
            return dx, None, None
        dtype = x.dtype if weight is None else weight.dtype
        sums = self.reductions.reduce("Sum", parts, (0,), dtype).reshape((2, *shape))
        return dx, sums[0] if wanted & 2 else None, sums[1] if wanted & 4 else None

    def groups_backward(
        self, g: Array, x: Array, weight: Any, moments: Array, groups: int, wanted: int
    ) -> Sequence[Any]:
        """The same where rows are groups of channels."""
        samples, channels = x.shape[:2]
        inner, n = x.size // (samples * channels), x.size // (samples * groups)
        dx = None
        if wanted & 1:
            dx, how = empty(x.shape, x.dtype), share(n, x, g)
            kernel = self._kernel(
                "norms.cu", "row_norm_backward", x, weight, None, ("CENTRED", 1), *how.definitions
            )
            blocks = -(-len(moments) // how.per_block)
            kernel.launch(
                blocks, how.threads, (g, x, weight, moments, dx, None, len(moments), n, inner, groups)
            )
        if not wanted & 6:
            return dx, None, None
        _, dweight, dbias = self._sums(g, x, weight, moments, groups, channels // groups)
        return dx, dweight if wanted & 2 else None, dbias if wanted & 4 else None

    # -- channels --------------------------------------------------------------------------------------------------

    def channels(
        self,
        x: Array,
        weight: Any,
        bias: Any,
        running: tuple[Any, Any],
        training: bool,
        momentum: float,
        eps: float,
    ) -> tuple[Array, Array]:
        """Normalised channels, and moments of shape (3, channels): means, scales and variances.

        While training, running statistics move towards them; else they are made of these.
        """
        samples, channels = x.shape[:2]
        places = x.size // (samples * channels)
        out, moments = empty(x.shape, x.dtype), empty((3, channels), computed(x.dtype))
        v = pack_of(places, x, out)
        first = next((p for p in (weight, bias, *running) if p is not None), x)
        if training:
            slices = self._slices(samples, channels, places, v)
            parts = empty((channels * slices, 2), moments.dtype)
            kernel = self._kernel("channels.cu", "channel_moments", x, first, None, ("V", v))
            kernel.launch(len(parts), THREADS, (x, parts, slices, samples, channels, places))
            kernel = self._kernel("channels.cu", "finish_moments", x, first, None)
            kernel.launch(
                blocks_for(channels), THREADS,
                (x, parts, moments, *running, momentum, eps, slices, samples, channels, places),
            )  # fmt: skip
        else:
            kernel = self._kernel("channels.cu", "given_moments", x, first, None)
            kernel.launch(blocks_for(channels), THREADS, (*running, moments, eps, channels))
        slices = blocks_for(places, THREADS * v * LEAST)
        kernel = self._kernel("channels.cu", "channel_norm", x, first, None, ("V", v))
        kernel.launch(
            samples * channels * slices, THREADS, (x, weight, bias, moments, out, channels, places, slices)
        )
        return out, moments

    def channels_backward(
        self, g: Array, x: Array, weight: Any, moments: Array, training: bool, wanted: int
    ) -> Sequence[Any]:
        """The gradients of x, weight and bias that are wanted."""
        samples, channels = x.shape[:2]
        places = x.size // (samples * channels)
        sums = dweight = dbias = dx = None
        if training or wanted & 6:
            sums, dweight, dbias = self._sums(g, x, weight, moments, 0, 1)
        if wanted & 1:
            dx = empty(x.shape, x.dtype)
            v = pack_of(places, x, g)
            count, slices = samples * places if training else 0, blocks_for(places, THREADS * v * LEAST)
            kernel = self._kernel("channels.cu", "channel_norm_backward", x, weight, None, ("V", v))
            args = (g, x, weight, moments, sums, dx, count, channels, places, slices)
            kernel.launch(samples * channels * slices, THREADS, args)
        return dx, dweight if wanted & 2 else None, dbias if wanted & 4 else None

    def _sums(
        self, g: Array, x: Array, weight: Any, moments: Array, groups: int, each: int
    ) -> tuple[Array, Array, Array]:
        """The sums of g, and of g times the normalised x, of each channel; and both as gradients of weight and bias."""
        samples, channels = x.shape[:2]
        places = x.size // (samples * channels)
        v = pack_of(places, x, g)
        slices = self._slices(samples, channels, places, v)
        parts, sums = empty((channels * slices, 2), moments.dtype), empty((2, channels), moments.dtype)
        dtype = x.dtype if weight is None else weight.dtype
        dweight, dbias = empty((channels,), dtype), empty((channels,), dtype)
        kernel = self._kernel("channels.cu", "channel_sums", x, weight, None, ("V", v))
        kernel.launch(
            len(parts), THREADS, (g, x, moments, parts, slices, samples, channels, places, groups, each)
        )
        kernel = self._kernel("channels.cu", "finish_sums", x, weight, None)
        kernel.launch(blocks_for(channels), THREADS, (parts, sums, dweight, dbias, slices, channels))
        return sums, dweight, dbias

    def _slices(self, samples: int, channels: int, places: int, v: int) -> int:
        """Into how many parts a channel is split, so that all processors have something to do."""
        most = blocks_for(samples * places, THREADS * v * LEAST)
        return max(1, min(most, blocks_for(PROCESSORS * PER_PROCESSOR, channels)))

    def _kernel(
        self, file: str, name: str, x: Array, weight: Any, bias: Any, *definitions: tuple[str, Any]
    ) -> Any:
        given = x if weight is None and bias is None else bias if weight is None else weight
        return self.kernels.get(file, name, *types(x.dtype), ("W", STORED[letter(given.dtype)]), *definitions)
