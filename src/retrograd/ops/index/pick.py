"""One element per place along a dimension: how extrema and losses reach the elements they choose."""

from __future__ import annotations

from typing import Any

from retrograd.backends.base import Backend
from retrograd.core.op import Linear
from retrograd.values import Array, Shape


class Picked(Linear):
    """the elements of x at given places along an axis; the places are a bare integer array"""

    params = ("places", "axis")
    array_params = ("places",)

    def __init__(self, places: Array, axis: int) -> None:
        self.places = places
        self.axis = axis

    def forward(self, xp: Backend, x: Array) -> Array:
        self.in_shape = x.shape
        return xp.take_along(x, self.places, self.axis)

    def transpose(self, g: Any) -> Any:
        return PickedAdjoint(self.places, self.axis, self.in_shape).on(g)


class PickedAdjoint(Linear):
    """zeros with the elements of x at given places along an axis, no place twice"""

    params = ("places", "axis", "size")
    array_params = ("places",)

    def __init__(self, places: Array, axis: int, size: Shape) -> None:
        self.places = places
        self.axis = axis
        self.size = size

    def forward(self, xp: Backend, x: Array) -> Array:
        out = xp.zeros(self.size, x.dtype)
        xp.put_along(out, self.places, self.axis, x)
        return out

    def transpose(self, g: Any) -> Any:
        return Picked(self.places, self.axis).on(g)
