"""What all transforms have in common: a cache, an inverse, and what they owe."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from retrograd.core.tensor import Tensor
from retrograd.distributions import constraints
from retrograd.distributions.constraints import Constraint

Shape = tuple[int, ...]


class Transform:
    """A map with an inverse and a Jacobian. A class of your own sets `domain` and `codomain`, `bijective` and `sign`,
    and defines `_call`, `_inverse` and `log_abs_det_jacobian`.

    Args:
        cache_size: with 1, the last input and its output are kept, so that the inverse of that output is that very
            input. It saves time, and exactness where the inverse loses some.
    """

    bijective: bool = False
    if TYPE_CHECKING:
        domain: Any
        codomain: Any

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size = cache_size
        self._cached_x_y: tuple[Tensor | None, Tensor | None] = (None, None)
        self._inv: weakref.ref[Transform] | None = None
        super().__init__()

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_inv": None}

    @property
    def event_dim(self) -> int:
        """How many dimensions are mapped together, where they are as many before as after."""
        if self.domain.event_dim == self.codomain.event_dim:
            return int(self.domain.event_dim)
        raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")

    @property
    def inv(self) -> Transform:
        """The inverse, a transform too."""
        inverse = None if self._inv is None else self._inv()
        if inverse is None:
            inverse = _InverseTransform(self)
            self._inv = weakref.ref(inverse)
        return inverse

    @property
    def sign(self) -> Any:
        """1 for a map that grows, -1 for one that falls; only of single numbers."""
        raise NotImplementedError(f"{type(self).__name__} has no sign")

    def with_cache(self, cache_size: int = 1) -> Transform:
        """This transform, with another cache."""
        if self._cache_size == cache_size:
            return self
        if type(self).__init__ is Transform.__init__:
            return type(self)(cache_size=cache_size)
        raise NotImplementedError(f"{type(self)}.with_cache is not implemented")

    def __eq__(self, other: object) -> bool:
        return self is other

    def __call__(self, x: Tensor) -> Tensor:
        if self._cache_size == 0:
            return self._call(x)
        known, result = self._cached_x_y
        if x is known and result is not None:
            return result
        y = self._call(x)
        self._cached_x_y = x, y
        return y

    def _inv_call(self, y: Tensor) -> Tensor:
        if self._cache_size == 0:
            return self._inverse(y)
        result, known = self._cached_x_y
        if y is known and result is not None:
            return result
        x = self._inverse(y)
        self._cached_x_y = x, y
        return x

    def _call(self, x: Tensor) -> Tensor:
        """The map."""
        raise NotImplementedError(f"{type(self).__name__} has no _call()")

    def _inverse(self, y: Tensor) -> Tensor:
        """What is mapped to `y`."""
        raise NotImplementedError(f"{type(self).__name__} has no _inverse()")

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithm of how volumes around `x` grow; `y` is what `x` is mapped to."""
        raise NotImplementedError(f"{type(self).__name__} has no log_abs_det_jacobian()")

    def forward_shape(self, shape: Shape) -> Shape:
        """The shape of the output for an input of this shape."""
        return shape

    def inverse_shape(self, shape: Shape) -> Shape:
        """The shape of the input for an output of this shape."""
        return shape

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class Parameterless(Transform):
    """A transform that is told by its class alone."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)


class _InverseTransform(Transform):
    """The inverse of another transform, which holds it weakly."""

    def __init__(self, transform: Transform) -> None:
        super().__init__(cache_size=transform._cache_size)
        self._forward = transform

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Constraint:
        """Where the other one leads."""
        return self._forward.codomain  # type: ignore[no-any-return]

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Constraint:
        """Where the other one begins."""
        return self._forward.domain  # type: ignore[no-any-return]

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        """As the other one."""
        return self._forward.bijective

    @property
    def sign(self) -> Any:
        return self._forward.sign

    @property
    def inv(self) -> Transform:
        return self._forward

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self._forward.with_cache(cache_size).inv

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and self._forward == other._forward

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._forward!r})"

    def __call__(self, x: Tensor) -> Tensor:
        return self._forward._inv_call(x)

    def _inv_call(self, y: Tensor) -> Tensor:
        return self._forward(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -self._forward.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Shape) -> Shape:
        return self._forward.inverse_shape(shape)

    def inverse_shape(self, shape: Shape) -> Shape:
        return self._forward.forward_shape(shape)
