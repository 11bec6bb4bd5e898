"""Which function computes the divergence of two kinds of distributions: the register, and how a pair is found in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from retrograd.core.places import warn
from retrograd.core.tensor import Tensor
from retrograd.distributions.distribution import Distribution

Kinds = tuple[type[Distribution], type[Distribution]]
Formula = Callable[..., Tensor]
F = TypeVar("F", bound=Formula)

_KL_REGISTRY: dict[Kinds, Formula] = {}
_KL_MEMOIZE: dict[Kinds, Formula | None] = {}


def register_kl(type_p: type[Distribution], type_q: type[Distribution]) -> Callable[[F], F]:
    """Decorates a function of two distributions that computes their divergence.

    >>> from retrograd.distributions import Normal
    >>> class Mine(Normal): ...
    >>> @register_kl(Mine, Mine)
    ... def kl_of_mine(p, q):
    ...     return p.loc - q.loc
    """
    for name, kind in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(kind, type):  # one that is no Distribution may be a base of some
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {kind}")

    def record(function: F) -> F:
        _KL_REGISTRY[type_p, type_q] = function
        _KL_MEMOIZE.clear()
        return function

    return record


def formula_of(type_p: type[Distribution], type_q: type[Distribution]) -> Formula | None:
    """The function for the nearest pair of kinds that these two are of."""
    pair = type_p, type_q
    if pair not in _KL_MEMOIZE:
        _KL_MEMOIZE[pair] = _nearest(type_p, type_q)
    return _KL_MEMOIZE[pair]


def _nearest(type_p: type[Distribution], type_q: type[Distribution]) -> Formula | None:
    known = [(p, q) for p, q in _KL_REGISTRY if issubclass(type_p, p) and issubclass(type_q, q)]
    if not known:
        return None
    # A kind is nearer than those that it is derived from; which of p and q comes first may matter.
    by_p = min(known, key=lambda pair: (_distance(type_p, pair[0]), _distance(type_q, pair[1])))
    by_q = min(known, key=lambda pair: (_distance(type_q, pair[1]), _distance(type_p, pair[0])))
    left, right = _KL_REGISTRY[by_p], _KL_REGISTRY[by_q]
    if left is not right:
        warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please register_kl({by_p[0].__name__}, "
            f"{by_q[1].__name__})",
            RuntimeWarning,
        )
    return left


def _distance(kind: type, base: type) -> int:
    return kind.__mro__.index(base)


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The Kullback-Leibler divergence KL(p || q), in nats: what it costs to take q for p.

    >>> from retrograd.distributions import Normal
    >>> kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0))
    tensor(0.5000)
    """
    function = formula_of(type(p), type(q))
    if function is None:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}. Add one with "
            "register_kl."
        )
    return function(p, q)
