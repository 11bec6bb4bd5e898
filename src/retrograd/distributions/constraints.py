"""Constraints: the regions in which parameters and samples of distributions lie.

A constraint says of each value whether it is inside. Those without parameters are objects (`constraints.positive`), the
others are classes under small names (`constraints.interval(0.0, 1.0)`).

>>> import retrograd as rg
>>> rg.distributions.constraints.interval(0.0, 1.0).check(rg.tensor([0.5, 1.5]))
tensor([ True, False])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from retrograd.backends.limits import finfo
from retrograd.core.tensor import Tensor
from retrograd.ops.linalg.eigenvalues import eigvalsh
from retrograd.ops.linalg.factorizations import cholesky_ex
from retrograd.ops.shape.join import cat as join
from retrograd.ops.shape.join import stack as pile
from retrograd.ops.tensor.create import full

__all__ = [
    "Constraint",
    "MixtureSameFamilyConstraint",
    "boolean",
    "cat",
    "corr_cholesky",
    "dependent",
    "dependent_property",
    "greater_than",
    "greater_than_eq",
    "half_open_interval",
    "independent",
    "integer_interval",
    "interval",
    "is_dependent",
    "less_than",
    "lower_cholesky",
    "lower_triangular",
    "multinomial",
    "nonnegative",
    "nonnegative_integer",
    "one_hot",
    "positive",
    "positive_definite",
    "positive_integer",
    "positive_semidefinite",
    "real",
    "real_vector",
    "simplex",
    "square",
    "stack",
    "symmetric",
    "unit_interval",
]

Bound = Tensor | float


class Constraint:
    """A region. Owes `check`; `event_dim` dimensions on the right of a value are judged together."""

    is_discrete: bool = False
    event_dim: int = 0

    def check(self, value: Tensor) -> Tensor:
        """Whether each value is inside, without the dimensions of an event."""
        raise NotImplementedError(f"{type(self).__name__} has no check()")

    def __repr__(self) -> str:
        return f"{type(self).__name__.removeprefix('_')}()"


# ---- constraints that depend on other parameters --------------------------------------------------------------------


class _Dependent(Constraint):
    """A region that depends on other parameters, so that the class alone cannot tell it."""

    def __init__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        self._is_discrete = is_discrete
        self._event_dim = event_dim

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        """Whether the region is one of separate points, if the class can tell."""
        if self._is_discrete is NotImplemented:
            raise NotImplementedError(".is_discrete cannot be determined statically")
        return bool(self._is_discrete)

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        """How many dimensions an event has, if the class can tell."""
        if self._event_dim is NotImplemented:
            raise NotImplementedError(".event_dim cannot be determined statically")
        return int(self._event_dim)

    def __call__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> Constraint:
        """The same with more that is known: `constraints.dependent(is_discrete=False, event_dim=0)`."""
        return _Dependent(
            is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
            event_dim=self._event_dim if event_dim is NotImplemented else event_dim,
        )

    def check(self, value: Tensor) -> Tensor:
        raise ValueError("Cannot determine validity of dependent constraint")


class _DependentProperty(property, _Dependent):
    """A property that computes a constraint. At the class it is a dependent constraint, at an object the real one.

    >>> class Wide:
    ...     low = 2.0
    ...     @dependent_property(is_discrete=False, event_dim=0)
    ...     def support(self):
    ...         return greater_than(self.low)
    >>> Wide.support.event_dim, Wide().support
    (0, GreaterThan(lower_bound=2.0))
    """

    def __init__(
        self,
        fn: Callable[[Any], Any] | None = None,
        *,
        is_discrete: Any = NotImplemented,
        event_dim: Any = NotImplemented,
    ) -> None:
        super().__init__(fn)
        self._is_discrete = is_discrete
        self._event_dim = event_dim

    def __call__(self, fn: Callable[[Any], Any]) -> _DependentProperty:  # type: ignore[override]
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


def is_dependent(constraint: object) -> bool:
    """Whether a constraint depends on other parameters, so that it cannot be checked by itself."""
    return isinstance(constraint, _Dependent)


# ---- constraints of constraints -------------------------------------------------------------------------------------


class _IndependentConstraint(Constraint):
    """Another constraint, of which so many more dimensions are judged together."""

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        if not isinstance(base_constraint, Constraint):
            raise AssertionError(
                f"base_constraint must be a Constraint, got {type(base_constraint).__name__}"
            )
        if reinterpreted_batch_ndims < 0:
            raise AssertionError(f"reinterpreted_batch_ndims must be >= 0, got {reinterpreted_batch_ndims}")
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        """As the other constraint says."""
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        """The other constraint's, and those that came in."""
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value: Tensor) -> Tensor:
        inside = self.base_constraint.check(value)
        if inside.dim() < self.reinterpreted_batch_ndims:
            need = self.base_constraint.event_dim + self.reinterpreted_batch_ndims
            raise ValueError(f"Expected value.dim() >= {need} but got {value.dim()}")
        kept = inside.dim() - self.reinterpreted_batch_ndims
        return inside.reshape((*inside.shape[:kept], -1)).all(-1)

    def __repr__(self) -> str:
        name = type(self).__name__.removeprefix("_")
        return f"{name}({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(Constraint):
    """The support of a mixture: the components' constraint, on a value without their dimension."""

    def __init__(self, base_constraint: Constraint) -> None:
        if not isinstance(base_constraint, Constraint):
            raise TypeError(f"base_constraint must be a Constraint, not {type(base_constraint).__name__}")
        self.base_constraint = base_constraint

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        """As the components' constraint says."""
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        """As the components' constraint says."""
        return self.base_constraint.event_dim

    def check(self, value: Tensor) -> Tensor:
        inside = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        if value.dim() < self.event_dim:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return inside.reshape((*value.shape[: value.dim() - self.event_dim], -1)).all(-1)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_constraint!r})"


class _Cat(Constraint):
    """Constraints side by side along a dimension, each for so many entries."""

    def __init__(
        self, cseq: Sequence[Constraint], dim: int = 0, lengths: Sequence[int] | None = None
    ) -> None:
        self.cseq: list[Constraint] = _constraints(cseq)
        self.lengths: list[int] = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match constraints ({len(self.cseq)})")
        self.dim = dim

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        """Whether any of them is."""
        return any(c.is_discrete for c in self.cseq)

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        """The largest of theirs."""
        return max(c.event_dim for c in self.cseq)

    def check(self, value: Tensor) -> Tensor:
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"dim {self.dim} out of range for value with {value.dim()} dimensions")
        starts = [sum(self.lengths[:i]) for i in range(len(self.lengths))]
        parts = zip(self.cseq, starts, self.lengths, strict=True)
        return join([c.check(value.narrow(self.dim, start, n)) for c, start, n in parts], self.dim)


class _Stack(Constraint):
    """Constraints on top of each other along a dimension, each for one entry."""

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0) -> None:
        self.cseq: list[Constraint] = _constraints(cseq)
        self.dim = dim

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        """Whether any of them is."""
        return any(c.is_discrete for c in self.cseq)

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        """The largest of theirs, and one more if the dimension is part of the event."""
        found = max(c.event_dim for c in self.cseq)
        return found + 1 if self.dim + found < 0 else found

    def check(self, value: Tensor) -> Tensor:
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"dim {self.dim} out of range for value with {value.dim()} dimensions")
        slices = [value.select(self.dim, i) for i in range(value.size(self.dim))]
        return pile([c.check(v) for c, v in zip(self.cseq, slices, strict=True)], self.dim)


def _constraints(given: Sequence[Constraint]) -> list[Constraint]:
    if not all(isinstance(c, Constraint) for c in given):
        raise AssertionError("All elements of cseq must be Constraint instances")
    return list(given)


# ---- of single numbers ----------------------------------------------------------------------------------------------


class _Boolean(Constraint):
    """0 and 1."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value == 0) | (value == 1)


class _Bounded(Constraint):
    """A region between bounds, which its text names."""

    def __repr__(self) -> str:
        bounds = [f"{name}={value}" for name, value in vars(self).items()]
        return f"{type(self).__name__.removeprefix('_')}({', '.join(bounds)})"


class _Real(Constraint):
    """Every number; NaN is none."""

    def check(self, value: Tensor) -> Tensor:
        return value == value  # noqa: PLR0124 - NaN is not itself


class _GreaterThan(_Bounded):
    """Above a bound."""

    def __init__(self, lower_bound: Bound) -> None:
        self.lower_bound = lower_bound

    def check(self, value: Tensor) -> Tensor:
        return value > self.lower_bound


class _GreaterThanEq(_Bounded):
    """At a bound or above it."""

    def __init__(self, lower_bound: Bound) -> None:
        self.lower_bound = lower_bound

    def check(self, value: Tensor) -> Tensor:
        return value >= self.lower_bound


class _LessThan(_Bounded):
    """Below a bound."""

    def __init__(self, upper_bound: Bound) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        return value < self.upper_bound


class _Interval(_Bounded):
    """Between two bounds, or at one."""

    def __init__(self, lower_bound: Bound, upper_bound: Bound) -> None:
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        return (value >= self.lower_bound) & (value <= self.upper_bound)


class _HalfOpenInterval(_Bounded):
    """Between two bounds, or at the lower one."""

    def __init__(self, lower_bound: Bound, upper_bound: Bound) -> None:
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        return (value >= self.lower_bound) & (value < self.upper_bound)


class _IntegerInterval(_Interval):
    """Integers between two bounds, or at one."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value % 1 == 0) & super().check(value)


class _IntegerLessThan(_Bounded):
    """Integers up to a bound."""

    is_discrete = True

    def __init__(self, upper_bound: Bound) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        return (value % 1 == 0) & (value <= self.upper_bound)


class _IntegerGreaterThan(_Bounded):
    """Integers from a bound on."""

    is_discrete = True

    def __init__(self, lower_bound: Bound) -> None:
        self.lower_bound = lower_bound

    def check(self, value: Tensor) -> Tensor:
        return (value % 1 == 0) & (value >= self.lower_bound)


# ---- of vectors -----------------------------------------------------------------------------------------------------


class _Simplex(Constraint):
    """Vectors of numbers that are not negative and add up to 1."""

    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _OneHot(Constraint):
    """Vectors of zeros with a single 1."""

    is_discrete = True
    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return ((value == 0) | (value == 1)).all(-1) & (value.sum(-1) == 1)


class _Multinomial(Constraint):
    """Vectors of counts that add up to a number, or less."""

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: Bound) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(-1) & (value.sum(-1) <= self.upper_bound)


# ---- of matrices ----------------------------------------------------------------------------------------------------


def _all_of_matrix(inside: Tensor) -> Tensor:
    return inside.reshape((*inside.shape[:-2], -1)).all(-1)


class _LowerTriangular(Constraint):
    """Matrices with zeros above the diagonal."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        return _all_of_matrix(value.tril() == value)


class _LowerCholesky(Constraint):
    """Lower triangular matrices with a positive diagonal."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        return _all_of_matrix(value.tril() == value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _CorrCholesky(Constraint):
    """Lower triangular matrices with a positive diagonal and rows of length 1."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        tolerance = finfo(value.dtype).eps * value.size(-1) * 10
        lengths = (value * value).sum(-1).sqrt()
        return _LowerCholesky().check(value) & ((lengths - 1).abs() < tolerance).all(-1)


class _Square(Constraint):
    """Square matrices."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        return full(value.shape[:-2], value.shape[-2] == value.shape[-1], dtype=bool, device=value.device)


class _Symmetric(_Square):
    """Square matrices that equal their transpose."""

    def check(self, value: Tensor) -> Tensor:
        square = super().check(value)
        if value.shape[-2] != value.shape[-1]:
            return square
        return _all_of_matrix(value.isclose(value.mT, atol=1e-6))


class _PositiveSemidefinite(_Symmetric):
    """Symmetric matrices without a negative eigenvalue."""

    def check(self, value: Tensor) -> Tensor:
        symmetric = super().check(value)
        if not bool(symmetric.all()):
            return symmetric
        return (eigvalsh(value) >= 0).all(-1)


class _PositiveDefinite(_Symmetric):
    """Symmetric matrices whose eigenvalues are positive."""

    def check(self, value: Tensor) -> Tensor:
        symmetric = super().check(value)
        if not bool(symmetric.all()):
            return symmetric
        return cholesky_ex(value).info == 0


# ---- under PyTorch's names ------------------------------------------------------------------------------------------

dependent: Final = _Dependent()
dependent_property = _DependentProperty
independent = _IndependentConstraint
boolean: Final = _Boolean()
one_hot: Final = _OneHot()
nonnegative_integer: Final = _IntegerGreaterThan(0)
positive_integer: Final = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real: Final = _Real()
real_vector: Final = independent(real, 1)
positive: Final = _GreaterThan(0.0)
nonnegative: Final = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _Multinomial
unit_interval: Final = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex: Final = _Simplex()
lower_triangular: Final = _LowerTriangular()
lower_cholesky: Final = _LowerCholesky()
corr_cholesky: Final = _CorrCholesky()
square: Final = _Square()
symmetric: Final = _Symmetric()
positive_semidefinite: Final = _PositiveSemidefinite()
positive_definite: Final = _PositiveDefinite()
cat = _Cat
stack = _Stack
