"""Which transform leads from all numbers into a constraint.

`biject_to(constraint)` is a bijection with a Jacobian, for samplers that move in all of space;
`transform_to(constraint)` may be any map, for optimisers.

>>> import retrograd as rg
>>> to_positive = rg.distributions.transform_to(rg.distributions.constraints.positive)
>>> to_positive(rg.tensor([-1.0, 0.0]))
tensor([0.3679, 1.0000])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from retrograd.distributions import constraints, transforms
from retrograd.distributions.constraints import Constraint
from retrograd.distributions.transforms import Transform

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]

Factory = Callable[[Any], Transform]


class ConstraintRegistry:
    """Transforms by kinds of constraints. Call it with a constraint; `register` your own kinds."""

    def __init__(self) -> None:
        self._registry: dict[type[Constraint], Factory] = {}
        super().__init__()

    def register(self, constraint: type[Constraint] | Constraint, factory: Factory | None = None) -> Any:
        """Says what makes the transform for a kind of constraint; without `factory` it decorates that."""
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        kind = type(constraint) if isinstance(constraint, Constraint) else constraint
        if not isinstance(kind, type) or not issubclass(kind, Constraint):
            raise TypeError(
                f"Expected constraint to be either a Constraint subclass or instance, but got {constraint}"
            )
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: Constraint) -> Transform:
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints")
        return factory(constraint)


biject_to: Final = ConstraintRegistry()
transform_to: Final = ConstraintRegistry()
BOTH = (biject_to, transform_to)


def _above(constraint: Any) -> Transform:
    moved = transforms.AffineTransform(constraint.lower_bound, 1)
    return transforms.ComposeTransform([transforms.ExpTransform(), moved])


def _below(constraint: Any) -> Transform:
    turned = transforms.AffineTransform(constraint.upper_bound, -1)
    return transforms.ComposeTransform([transforms.ExpTransform(), turned])


def _between(constraint: Any) -> Transform:
    low, high = constraint.lower_bound, constraint.upper_bound
    if isinstance(low, (int, float)) and isinstance(high, (int, float)) and (low, high) == (0, 1):
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform(
        [transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)]
    )


def _real(constraint: Any) -> Transform:
    return transforms.identity_transform


def _stick(constraint: Any) -> Transform:
    return transforms.StickBreakingTransform()


def _softmax(constraint: Any) -> Transform:
    return transforms.SoftmaxTransform()


def _triangle(constraint: Any) -> Transform:
    return transforms.LowerCholeskyTransform()


def _definite(constraint: Any) -> Transform:
    return transforms.PositiveDefiniteTransform()


def _correlation(constraint: Any) -> Transform:
    return transforms.CorrCholeskyTransform()


def _independent(registry: ConstraintRegistry) -> Factory:
    def factory(constraint: Any) -> Transform:
        base = registry(constraint.base_constraint)
        return transforms.IndependentTransform(base, constraint.reinterpreted_batch_ndims)

    return factory


def _cat(registry: ConstraintRegistry) -> Factory:
    return lambda c: transforms.CatTransform([registry(part) for part in c.cseq], c.dim, c.lengths)


def _stack(registry: ConstraintRegistry) -> Factory:
    return lambda c: transforms.StackTransform([registry(part) for part in c.cseq], c.dim)


for _registry in BOTH:
    _registry.register(constraints.real, _real)
    _registry.register(constraints.greater_than, _above)
    _registry.register(constraints.greater_than_eq, _above)
    _registry.register(constraints.less_than, _below)
    _registry.register(constraints.unit_interval, _between)
    _registry.register(constraints.half_open_interval, _between)
    _registry.register(constraints.corr_cholesky, _correlation)
    _registry.register(constraints.independent, _independent(_registry))
    _registry.register(constraints.cat, _cat(_registry))
    _registry.register(constraints.stack, _stack(_registry))
biject_to.register(constraints.simplex, _stick)
transform_to.register(constraints.simplex, _softmax)
transform_to.register(constraints.lower_cholesky, _triangle)
transform_to.register(constraints.positive_definite, _definite)
transform_to.register(constraints.positive_semidefinite, _definite)
