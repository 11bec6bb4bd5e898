"""Shapes: views and copies that move elements about."""

from __future__ import annotations

from typing import Any

from retrograd.core.apply import apply1
from retrograd.core.op import View
from retrograd.core.tensor import Tensor
from retrograd.errors import ShapeError, sizes
from retrograd.ops.common import sizes_from
from retrograd.ops.reduce import sum_to
from retrograd.values import Array, Shape


class Expand(View):
    """x broadcast to a larger shape"""

    params = ("size",)

    def __init__(self, size: Shape) -> None:
        self.size = size

    def forward(self, xp: Any, x: Array) -> Array:
        self.in_shape = x.shape
        return xp.broadcast_to(x, self.size)

    def transpose(self, g: Any) -> Any:
        return sum_to(g, self.in_shape)


class Reshape(View):
    """the same elements in another shape, sharing memory"""

    node_name = "ViewBackward0"
    params = ("size",)

    def __init__(self, size: Shape) -> None:
        self.size = size

    def forward(self, xp: Any, x: Array) -> Array:
        self.in_shape = x.shape
        return x.reshape(self.size)

    def transpose(self, g: Any) -> Any:
        return g.reshape(self.in_shape)


def inferred_shape(size: Shape, count: int) -> Shape:
    """A shape with its -1 filled in, checked against the number of elements."""
    if size.count(-1) > 1:
        raise RuntimeError("only one dimension can be inferred")
    known = 1
    for n in size:
        if n < -1:
            raise RuntimeError(f"invalid shape dimension {n}")
        known *= 1 if n == -1 else n
    if -1 in size and known and count % known == 0:
        size = tuple(count // known if n == -1 else n for n in size)
        known = count
    if -1 in size or known != count:
        raise ShapeError(f"shape '{sizes(size)}' is invalid for input of size {count}")
    return size


def reshape(input: Tensor, *shape: Any) -> Any:
    """The same elements in another shape; one size may be -1, to be inferred.

    >>> import retrograd as rg
    >>> rg.arange(6).reshape(2, -1).shape
    torch.Size([2, 3])
    """
    size = inferred_shape(sizes_from(shape), input.array.size)
    return apply1(Reshape(size), input)


FUNCTIONS: tuple[Any, ...] = (reshape,)
