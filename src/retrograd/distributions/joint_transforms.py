"""Transforms made of others: one after the other, side by side, on top of each other."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any, Final

from retrograd.core.tensor import Tensor
from retrograd.distributions import constraints
from retrograd.distributions.constraints import Constraint
from retrograd.distributions.transform import Shape, Transform
from retrograd.distributions.utils import (
    _sum_rightmost,
)
from retrograd.ops.shape.join import cat, stack
from retrograd.ops.tensor.create import zeros_like


class ComposeTransform(Transform):
    """Transforms one after the other, the first one first.

    >>> import retrograd as rg
    >>> from retrograd.distributions.transforms import AffineTransform, ExpTransform
    >>> double_exp = ComposeTransform([AffineTransform(0.0, 2.0), ExpTransform()])
    >>> double_exp(rg.tensor(0.5)), double_exp.inv(rg.tensor(1.0))
    (tensor(2.7183), tensor(0.))
    """

    def __init__(self, parts: list[Transform], cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.parts: list[Transform] = [part.with_cache(cache_size) for part in parts] if cache_size else parts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Constraint:
        """That of the first part, with as many dimensions as the parts need together."""
        if not self.parts:
            return constraints.real
        need = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            need = max(need + part.domain.event_dim - part.codomain.event_dim, part.domain.event_dim)
        first: Constraint = self.parts[0].domain
        return constraints.independent(first, need - first.event_dim) if need > first.event_dim else first

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Constraint:
        """That of the last part, with as many dimensions as the parts need together."""
        if not self.parts:
            return constraints.real
        need = self.parts[0].domain.event_dim
        for part in self.parts:
            need = max(need + part.codomain.event_dim - part.domain.event_dim, part.codomain.event_dim)
        last: Constraint = self.parts[-1].codomain
        return constraints.independent(last, need - last.event_dim) if need > last.event_dim else last

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        """Whether all parts are."""
        return all(part.bijective for part in self.parts)

    @property
    def sign(self) -> Any:
        found: Any = 1
        for part in self.parts:
            found = found * part.sign
        return found

    @property
    def inv(self) -> Transform:
        inverse = None if self._inv is None else self._inv()
        if inverse is None:
            inverse = ComposeTransform([part.inv for part in reversed(self.parts)])
            self._inv, inverse._inv = weakref.ref(inverse), weakref.ref(self)
        return inverse

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self if self._cache_size == cache_size else ComposeTransform(self.parts, cache_size)

    def __call__(self, x: Tensor) -> Tensor:
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        if not self.parts:
            return zeros_like(x)
        points = [x]
        for part in self.parts[:-1]:
            points.append(part(points[-1]))
        points.append(y)
        event_dim, total = self.domain.event_dim, None
        for part, before, after in zip(self.parts, points, points[1:], strict=False):
            change = part.log_abs_det_jacobian(before, after)
            change = _sum_rightmost(change, event_dim - part.domain.event_dim)
            total = change if total is None else total + change
            event_dim += part.codomain.event_dim - part.domain.event_dim
        assert total is not None
        return total

    def forward_shape(self, shape: Shape) -> Shape:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: Shape) -> Shape:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self) -> str:
        parts = ",\n    ".join(repr(part) for part in self.parts)
        return f"{type(self).__name__}(\n    {parts}\n)"


identity_transform: Final = ComposeTransform([])


class IndependentTransform(Transform):
    """Another transform, of which so many more dimensions on the right are one event."""

    def __init__(
        self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0
    ) -> None:
        super().__init__(cache_size=cache_size)
        self.base_transform: Transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return IndependentTransform(self.base_transform, self.reinterpreted_batch_ndims, cache_size)

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Constraint:
        """The other one's, with more dimensions."""
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Constraint:
        """The other one's, with more dimensions."""
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        """As the other one."""
        return self.base_transform.bijective

    @property
    def sign(self) -> Any:
        return self.base_transform.sign

    def _call(self, x: Tensor) -> Tensor:
        if x.dim() < self.domain.event_dim:
            raise ValueError("Too few dimensions on input")
        return self.base_transform(x)

    def _inverse(self, y: Tensor) -> Tensor:
        if y.dim() < self.codomain.event_dim:
            raise ValueError("Too few dimensions on input")
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return _sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"

    def forward_shape(self, shape: Shape) -> Shape:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Shape) -> Shape:
        return self.base_transform.inverse_shape(shape)


class _SeveralTransform(Transform):
    """Transforms that share a tensor along a dimension. Owes `_parts`."""

    transforms: list[Transform]
    dim: int

    def _check(self, tseq: Sequence[Transform]) -> list[Transform]:
        if not all(isinstance(t, Transform) for t in tseq):
            raise AssertionError("All elements of tseq must be Transform instances")
        return [t.with_cache(self._cache_size) for t in tseq] if self._cache_size else list(tseq)

    def _parts(self, x: Tensor) -> list[Tensor]:
        """What each transform gets of a tensor."""
        raise NotImplementedError

    def _joined(self, parts: list[Tensor], dim: int) -> Tensor:
        """The tensor of which these are the parts."""
        raise NotImplementedError

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        """Whether all are."""
        return all(t.bijective for t in self.transforms)

    def _call(self, x: Tensor) -> Tensor:
        pairs = zip(self.transforms, self._parts(x), strict=True)
        return self._joined([t(part) for t, part in pairs], self.dim)

    def _inverse(self, y: Tensor) -> Tensor:
        pairs = zip(self.transforms, self._parts(y), strict=True)
        return self._joined([t.inv(part) for t, part in pairs], self.dim)


class CatTransform(_SeveralTransform):
    """Transforms side by side along a dimension, each for so many entries; by default for one."""

    def __init__(
        self,
        tseq: Sequence[Transform],
        dim: int = 0,
        lengths: Sequence[int] | None = None,
        cache_size: int = 0,
    ) -> None:
        super().__init__(cache_size=cache_size)
        self.transforms: list[Transform] = self._check(tseq)
        self.lengths: list[int] = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(
                f"lengths ({len(self.lengths)}) must match transforms ({len(self.transforms)})"
            )
        self.dim = dim

    @property
    def event_dim(self) -> int:
        return max(t.event_dim for t in self.transforms)

    @property
    def length(self) -> int:
        """How many entries all have together."""
        return sum(self.lengths)

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _parts(self, x: Tensor) -> list[Tensor]:
        if not -x.dim() <= self.dim < x.dim():
            raise AssertionError(f"dim {self.dim} out of range for tensor with {x.dim()} dimensions")
        if x.size(self.dim) != self.length:
            raise AssertionError(
                f"size {x.size(self.dim)} at dim {self.dim} must equal total length {self.length}"
            )
        starts = [sum(self.lengths[:i]) for i in range(len(self.lengths))]
        return [x.narrow(self.dim, start, n) for start, n in zip(starts, self.lengths, strict=True)]

    def _joined(self, parts: list[Tensor], dim: int) -> Tensor:
        return cat(parts, dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        found = []
        for t, before, after in zip(self.transforms, self._parts(x), self._parts(y), strict=True):
            change = t.log_abs_det_jacobian(before, after)
            found.append(_sum_rightmost(change, self.event_dim - t.event_dim))
        dim = self.dim if self.dim < 0 else self.dim - x.dim()
        dim += self.event_dim
        if dim < 0:
            return self._joined(found, dim)
        total = found[0]
        for change in found[1:]:
            total = total + change
        return total

    @constraints.dependent_property
    def domain(self) -> Constraint:
        """Theirs, side by side."""
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> Constraint:
        """Theirs, side by side."""
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(_SeveralTransform):
    """Transforms on top of each other along a dimension, each for one entry."""

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.transforms: list[Transform] = self._check(tseq)
        self.dim = dim

    def with_cache(self, cache_size: int = 1) -> Transform:
        return (
            self if self._cache_size == cache_size else StackTransform(self.transforms, self.dim, cache_size)
        )

    def _parts(self, x: Tensor) -> list[Tensor]:
        if not -x.dim() <= self.dim < x.dim():
            raise AssertionError(f"dim {self.dim} out of range for tensor with {x.dim()} dimensions")
        count = x.size(self.dim)
        if count != len(self.transforms):
            raise AssertionError(
                f"x.size({self.dim}) = {count} must equal len(transforms) {len(self.transforms)}"
            )
        return [x.select(self.dim, i) for i in range(count)]

    def _joined(self, parts: list[Tensor], dim: int) -> Tensor:
        return stack(parts, dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        parts = zip(self.transforms, self._parts(x), self._parts(y), strict=True)
        return stack([t.log_abs_det_jacobian(before, after) for t, before, after in parts], self.dim)

    @constraints.dependent_property
    def domain(self) -> Constraint:
        """Theirs, on top of each other."""
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> Constraint:
        """Theirs, on top of each other."""
        return constraints.stack([t.codomain for t in self.transforms], self.dim)
