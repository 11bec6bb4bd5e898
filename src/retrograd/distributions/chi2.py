"""The chi-squared distribution."""

from __future__ import annotations

from typing import Any

from retrograd.core.plain import Size
from retrograd.core.tensor import Tensor
from retrograd.distributions import constraints
from retrograd.distributions.gamma import Gamma
from retrograd.distributions.utils import Given

__all__ = ["Chi2"]


class Chi2(Gamma):
    """Sums of the squares of `df` normal numbers."""

    arg_constraints: dict[str, constraints.Constraint] = {"df": constraints.positive}

    def __init__(self, df: Given, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    @property
    def df(self) -> Tensor:
        """How many squares are added up: the degrees of freedom."""
        return self.concentration * 2

    def _expanded(self, name: str, value: Any, shape: Size) -> Any:
        return value.expand(shape) if isinstance(value, Tensor) else value
