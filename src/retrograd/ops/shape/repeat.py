"""Copies of a tensor laid side by side."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from math import prod
from operator import methodcaller
from typing import Any, ClassVar

from retrograd.backends.base import Backend
from retrograd.backends.long_calls import LARGE
from retrograd.core.apply import apply1
from retrograd.core.families import Linear
from retrograd.core.tensor import Tensor
from retrograd.errors import OutOfMemoryError, ShapeError, sizes
from retrograd.ops.common import require_tensor
from retrograd.ops.register import public
from retrograd.ops.shape.reshape import SIZES, listed, sizes_of
from retrograd.values import Array, Shape

COPIED = methodcaller("copy")


class Repeat(Linear):
    """copies of x laid side by side, so many in each dimension"""

    in_rows: ClassVar[bool] = True
    params: ClassVar[tuple[str, ...]] = ("repeats",)
    shown: ClassVar[dict[str, str]] = {"repeats": "repeats", **SIZES}

    def __init__(self, repeats: Shape) -> None:
        self.repeats = repeats

    def forward(self, xp: Backend, x: Array) -> Array:
        self.in_shape = x.shape
        if x.size * prod(self.repeats) * x.itemsize > sys.maxsize:  # NumPy's product would wrap around
            raise OutOfMemoryError(
                f"not enough memory: {sizes(self.repeats)} copies of a tensor of {sizes(x.shape)}"
            )
        return self.tiled(xp, x) if xp.is_plain and self.takes_long(x) else xp.tile(x, self.repeats)

    def takes_long(self, x: Array) -> bool:
        """Whether there is much to copy."""
        return bool(x.size * prod(self.repeats) > LARGE)

    def tiled(self, xp: Backend, x: Array) -> Array:
        """What `tile` does, some blocks at a time: NumPy would hold all other threads until it is done."""
        shape = (1,) * (len(self.repeats) - x.ndim) + x.shape
        spread = tuple([n for pair in zip(self.repeats, shape, strict=True) for n in pair])
        copies = xp.broadcast_to(x.reshape([n for size in shape for n in (1, size)]), spread)
        return xp.of_lines(COPIED, copies).reshape([r * n for r, n in zip(self.repeats, shape, strict=True)])

    def transpose(self, g: Any) -> Any:
        extra = len(self.repeats) - len(self.in_shape)
        pairs = zip(self.repeats, (1,) * extra + self.in_shape, strict=True)
        copies = g.reshape(tuple([n for pair in pairs for n in pair]))
        return copies.sum(axis=tuple(range(0, 2 * len(self.repeats), 2))).reshape(self.in_shape)


@public("Tensor.repeat")
def repeat(input: Tensor, *given: int | Sequence[int], repeats: Sequence[int] | None = None) -> Tensor:
    """Copies of `input` laid side by side, so many in each dimension; missing dimensions are put in front.

    >>> import retrograd as rg
    >>> rg.tensor([1, 2]).repeat(2, 2)
    tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])
    """
    x = require_tensor("repeat", "input", 1, input)
    counts = sizes_of("repeat", "repeats", given or (repeats,))
    if len(counts) < x.array.ndim:
        raise ShapeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor: got "
            f"{len(counts)} repeats for {x.array.ndim} dimensions. tile() fills up missing ones."
        )
    if any(n < 0 for n in counts):
        raise ShapeError(
            f"Trying to create tensor with negative dimension: repeat counts are {sizes(counts)}"
        )
    found: Tensor = apply1(Repeat(counts), x)
    return found


@public("tile")
def tile(input: Tensor, dims: Sequence[int]) -> Tensor:
    """Copies of `input` laid side by side; dimensions that `dims` does not name stay as they are.

    >>> import retrograd as rg
    >>> rg.tile(rg.tensor([1, 2]), (2, 2))
    tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])
    """
    x = require_tensor("tile", "input", 1, input)
    counts = listed("tile", "dims", dims)
    return repeat(x, (1,) * (x.array.ndim - len(counts)) + counts)


@public("Tensor.tile")
def tile_by(self: Tensor, *given: int | Sequence[int], dims: Sequence[int] | None = None) -> Tensor:
    """`tile`, whose numbers may be given one by one."""
    return tile(self, sizes_of("tile", "dims", given or (dims,)))
