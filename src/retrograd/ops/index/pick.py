"""One element per place along a dimension: how extrema and losses reach the elements they choose."""

from __future__ import annotations

from typing import Any, ClassVar

from retrograd.backends.base import Backend
from retrograd.core.families import Linear
from retrograd.core.saved import SavedConstant, constant_of
from retrograd.values import Array, Shape


class LinearAtPlaces(Linear):
    """A Linear op at places along an axis."""

    def __init__(self, places: Any, axis: int) -> None:
        self.constants = (constant_of(places),)
        self.axis = axis

    @property
    def places(self) -> SavedConstant:
        """Where along the axis."""
        return self.constant(0)


class Picked(LinearAtPlaces):
    """the elements of x at given places along an axis"""

    params: ClassVar[tuple[str, ...]] = ("places", "axis")

    def forward(self, xp: Backend, x: Array) -> Array:
        self.in_shape = x.shape
        return xp.take_along(x, self.places.array, self.axis)

    def transpose(self, g: Any) -> Any:
        return PickedAdjoint(self.places, self.axis, self.in_shape).on(g)


class PickedAdjoint(LinearAtPlaces):
    """zeros with the elements of x at given places along an axis, no place twice"""

    params: ClassVar[tuple[str, ...]] = ("places", "axis", "size")

    def __init__(self, places: Any, axis: int, size: Shape) -> None:
        super().__init__(places, axis)
        self.size = size

    def forward(self, xp: Backend, x: Array) -> Array:
        out = xp.zeros(self.size, x.dtype)
        xp.put_along(out, self.places.array, self.axis, x)
        return out

    def transpose(self, g: Any) -> Any:
        return Picked(self.places, self.axis).on(g)
