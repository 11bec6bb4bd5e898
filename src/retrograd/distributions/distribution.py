"""What all distributions have in common: shapes, checks of arguments and values, and everything said by others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from retrograd.autograd.modes import no_grad
from retrograd.core.places import warn
from retrograd.core.plain import Size
from retrograd.core.tensor import Tensor
from retrograd.distributions import constraints
from retrograd.distributions.constraints import Constraint
from retrograd.distributions.utils import lazy_property

__all__ = ["Distribution"]

SCALAR = Size()


class Distribution:
    """A distribution of random numbers, or a batch of them.

    A sample has shape `sample_shape + batch_shape + event_shape`: independent draws, then the distributions of the
    batch, then what belongs together in one event.

    A class of your own sets `arg_constraints`, its parameters and where each lies, and `support`, and defines what it
    can of `rsample` or `sample`, `log_prob`, `mean`, `variance` and `expand`.
    """

    has_rsample: bool = False
    has_enumerate_support: bool = False
    _validate_args: bool = __debug__

    def __init__(
        self, batch_shape: Size = SCALAR, event_shape: Size = SCALAR, validate_args: bool | None = None
    ) -> None:
        self._batch_shape = batch_shape
        self._event_shape = event_shape
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_arguments()
        super().__init__()

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether arguments and values are checked where `validate_args` does not say; as it is, unless `python -O`."""
        if value not in (True, False):
            raise ValueError(f"set_default_validate_args takes True or False, not {value!r}")
        Distribution._validate_args = value

    # ---- what a distribution says of itself -------------------------------------------------------------------------

    if TYPE_CHECKING:
        arg_constraints: Any
        support: Any
    else:

        @property
        def arg_constraints(self) -> Mapping[str, Constraint]:
            """Where each parameter must lie, by its name."""
            raise NotImplementedError(f"{type(self)} does not say its arg_constraints")

        @property
        def support(self) -> Constraint:
            """Where values lie."""
            raise NotImplementedError(f"{type(self)} does not say its support")

    @property
    def batch_shape(self) -> Size:
        """The shape of the batch of distributions."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of what is drawn from one distribution at once."""
        return self._event_shape

    @property
    def mean(self) -> Tensor:
        """The expected value."""
        raise NotImplementedError(f"{type(self)} does not implement mean")

    @property
    def mode(self) -> Tensor:
        """The most likely value."""
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The expected square of the distance from the mean."""
        raise NotImplementedError(f"{type(self)} does not implement variance")

    @property
    def stddev(self) -> Tensor:
        """The standard deviation: the root of the variance."""
        return self.variance.sqrt()

    # ---- drawing ----------------------------------------------------------------------------------------------------

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        """Draws values, without a way back to the parameters."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        """Draws values that move with the parameters, so that gradients reach them; `has_rsample` says who can."""
        raise NotImplementedError(
            f"{type(self)} does not implement rsample: gradients cannot pass its samples"
        )

    def sample_n(self, n: int) -> Tensor:
        """`sample((n,))`."""
        warn("`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", FutureWarning)
        return self.sample(Size((n,)))

    # ---- probabilities ----------------------------------------------------------------------------------------------

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of a value, or of its density."""
        raise NotImplementedError(f"{type(self)} does not implement log_prob")

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of this value or less."""
        raise NotImplementedError(f"{type(self)} does not implement cdf")

    def icdf(self, value: Tensor) -> Tensor:
        """The value that is not exceeded with this probability: the inverse of `cdf`."""
        raise NotImplementedError(f"{type(self)} does not implement icdf")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values, along the first dimension; with `expand`, for every distribution of the batch."""
        raise NotImplementedError(f"{type(self)} does not implement enumerate_support")

    def entropy(self) -> Tensor:
        """The entropy, in nats."""
        raise NotImplementedError(f"{type(self)} does not implement entropy")

    def perplexity(self) -> Tensor:
        """The exponential of the entropy: as uncertain as a fair choice among so many."""
        return self.entropy().exp()

    # ---- other batch shapes -----------------------------------------------------------------------------------------

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        """The same distribution with a larger batch; parameters are expanded, not copied."""
        shape = Size(batch_shape)
        new: Self = self._get_checked_instance(self._own_class(), _instance)
        for name, value in vars(self).items():
            derived = isinstance(getattr(type(self), name, None), lazy_property)
            if not derived or name in self.arg_constraints:
                vars(new)[name] = self._expanded(name, value, shape)
        new._batch_shape = shape
        return new

    def _own_class(self) -> type:
        """The nearest class of this package: what was derived from it may be made otherwise."""
        ours = ("retrograd.distributions.", "torch.distributions.")  # the latter under the alias
        return next(c for c in type(self).__mro__ if c.__module__.startswith(ours))

    def _expanded(self, name: str, value: Any, shape: Size) -> Any:
        """An attribute of a distribution with a larger batch."""
        if isinstance(value, Distribution):
            return value.expand(shape)
        if isinstance(value, Tensor) and name in self.arg_constraints:
            event_dim = self.arg_constraints[name].event_dim
            return value.expand(shape + value.shape[value.dim() - event_dim :])
        return value

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        """A new object for an `expand` that was written for `cls`: not for what is derived and made otherwise."""
        if _instance is None and type(self).__init__ != cls.__init__:  # type: ignore[misc]
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ method must also "
                "define a custom .expand() method."
            )
        return self.__new__(type(self)) if _instance is None else _instance

    def _extended_shape(self, sample_shape: Sequence[int] = Size()) -> Size:
        """The shape of samples."""
        return Size(sample_shape) + self._batch_shape + self._event_shape

    # ---- checks -----------------------------------------------------------------------------------------------------

    def _check_arguments(self) -> None:
        try:
            regions = self.arg_constraints
        except NotImplementedError:
            regions = {}
            warn(
                f"{type(self)} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or initialize "
                "the distribution with `validate_args=False` to turn off validation.",
                UserWarning,
            )
        for name, constraint in regions.items():
            derived = isinstance(getattr(type(self), name, None), lazy_property)
            if constraints.is_dependent(constraint) or (derived and name not in vars(self)):
                continue
            value = getattr(self, name)
            if not bool(constraint.check(value).all()):
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                    f"{self!r} to satisfy the constraint {constraint!r}, but found invalid values:\n{value}"
                )

    def _validate_sample(self, value: Tensor) -> None:
        """Raises unless a value has a fitting shape and lies in the support."""
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        event_dims = len(self._event_shape)
        if value.shape[value.dim() - event_dims :] != self._event_shape:
            raise ValueError(
                f"The right-most size of value must match event_shape: {value.shape} vs {self._event_shape}."
            )
        expected = self._batch_shape + self._event_shape
        for i, j in zip(reversed(value.shape), reversed(expected), strict=False):
            if i not in (1, j) and j != 1:
                raise ValueError(
                    f"Value is not broadcastable with batch_shape+event_shape: {value.shape} vs {expected}."
                )
        self._check_support(value)

    def _check_support(self, value: Tensor) -> None:
        try:
            support = self.support
        except NotImplementedError:
            warn(
                f"{type(self)} does not define `support` to enable sample validation. Please initialize the "
                "distribution with `validate_args=False` to turn off validation.",
                UserWarning,
            )
            return
        if not bool(support.check(value).all()):
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the "
                f"support ({support!r}) of the distribution {self!r}, but found invalid values:\n{value}"
            )

    def __repr__(self) -> str:
        given = {name: vars(self)[name] for name in self.arg_constraints if name in vars(self)}
        shown = [f"{n}: {v if v.numel() == 1 else v.size()}" for n, v in given.items()]
        return f"{type(self).__name__}({', '.join(shown)})"
