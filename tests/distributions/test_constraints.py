"""Constraints beside PyTorch's: what is inside, what they say of themselves."""

from __future__ import annotations

import math

import pytest

import retrograd as rg
from retrograd.distributions import constraints

from .test_table import close, outcome, raised

NUMBERS = [-1.0, -0.0, 0.5, 1.0, 2.0, 2.5, 3.0, math.inf, -math.inf, math.nan]
VECTORS = [
    [0.2, 0.8],
    [0.5, 0.6],
    [-0.1, 1.1],
    [1.0, 0.0],
    [0.0, 0.0],
    [1.0, 1.0],
    [2.0, 1.0],
    [math.nan, 1.0],
]
MATRICES = [
    [[1.0, 0.0], [0.5, 2.0]], [[1.0, 0.5], [0.5, 2.0]], [[1.0, 2.0], [2.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]],
    [[1.0, 0.0], [0.6, 0.8]], [[-1.0, 0.0], [0.6, 0.8]], [[0.0, 0.0], [0.0, 0.0]], [[1.0, 0.5], [0.4, 2.0]],
]  # fmt: skip
TABLE = {
    **{
        n: (lambda C, t, n=n: getattr(C, n), NUMBERS)
        for n in (
            "boolean",
            "nonnegative_integer",
            "positive_integer",
            "real",
            "positive",
            "nonnegative",
            "unit_interval",
        )
    },
    **{n: (lambda C, t, n=n: getattr(C, n), VECTORS) for n in ("one_hot", "real_vector", "simplex")},
    **{
        n: (lambda C, t, n=n: getattr(C, n), MATRICES)
        for n in (
            "lower_triangular",
            "lower_cholesky",
            "corr_cholesky",
            "square",
            "symmetric",
            "positive_semidefinite",
            "positive_definite",
        )
    },
    "square of another shape": (lambda C, t: C.square, [[[1.0, 2.0, 3.0]]]),
    "symmetric of another shape": (lambda C, t: C.symmetric, [[[1.0, 2.0, 3.0]]]),
    "integer_interval": (lambda C, t: C.integer_interval(0, 2), NUMBERS),
    "integers to": (lambda C, t: C._IntegerLessThan(2), NUMBERS),
    "interval": (lambda C, t: C.interval(0.5, 2), NUMBERS),
    "interval by tensors": (lambda C, t: C.interval(t([0.0, 1.0]), t(1.0)), VECTORS),
    "half_open_interval": (lambda C, t: C.half_open_interval(0.5, 2.0), NUMBERS),
    "greater_than": (lambda C, t: C.greater_than(1.0), NUMBERS),
    "greater_than_eq": (lambda C, t: C.greater_than_eq(1.0), NUMBERS),
    "less_than": (lambda C, t: C.less_than(1.0), NUMBERS),
    "multinomial": (lambda C, t: C.multinomial(2), VECTORS),
    "independent": (lambda C, t: C.independent(C.positive, 1), VECTORS),
    "independent twice": (lambda C, t: C.independent(C.independent(C.positive, 1), 1), MATRICES),
    "cat": (lambda C, t: C.cat([C.positive, C.real], 1, [1, 1]), VECTORS),
    "stack": (lambda C, t: C.stack([C.positive, C.unit_interval], -1), VECTORS),
    "mixture": (lambda C, t: C.MixtureSameFamilyConstraint(C.positive), NUMBERS),
    "mixture of vectors": (lambda C, t: C.MixtureSameFamilyConstraint(C.simplex), VECTORS),
}


@pytest.mark.parametrize("name", TABLE)
def test_what_is_inside(name, torch):
    make, values = TABLE[name]
    ours, theirs = make(constraints, rg.tensor), make(torch.distributions.constraints, torch.tensor)
    close(ours.check(rg.tensor(values)), theirs.check(torch.tensor(values)), name)
    assert repr(ours) == repr(theirs)
    assert ours.is_discrete == theirs.is_discrete
    assert ours.event_dim == theirs.event_dim


WRONG = {
    "a dependent one": lambda C, t: C.dependent.check(t(1.0)),
    "a dependent one's kind": lambda C, t: C.dependent.is_discrete,
    "a dependent one's dimensions": lambda C, t: C.dependent.event_dim,
    "no formula": lambda C, t: C.Constraint().check(t(1.0)),
    "few dimensions": lambda C, t: C.independent(C.real, 2).check(t([1.0])),
    "no constraints": lambda C, t: C.cat([3]),
    "lengths": lambda C, t: C.cat([C.real], lengths=[1, 2]),
    "a dimension": lambda C, t: C.cat([C.real], dim=2).check(t([1.0])),
    "a dimension of a stack": lambda C, t: C.stack([C.real], dim=2).check(t([1.0])),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments(name, torch):
    expected = raised(WRONG[name], torch.distributions.constraints, torch.tensor)
    assert raised(WRONG[name], constraints, rg.tensor) is expected


def test_dependent_ones(torch):
    for C in (constraints, torch.distributions.constraints):
        assert C.is_dependent(C.dependent)
        assert not C.is_dependent(C.real)
        assert C.dependent(is_discrete=True, event_dim=1).event_dim == 1
        assert C.dependent(is_discrete=True).is_discrete is True
        assert outcome(lambda C=C: C.dependent(is_discrete=True).event_dim) is NotImplementedError


def test_a_support_is_known_by_the_class_where_it_can_be(torch):
    for lib in (rg, torch):
        uniform = lib.distributions.Uniform
        assert lib.distributions.constraints.is_dependent(uniform.support)
        assert (uniform.support.is_discrete, uniform.support.event_dim) == (False, 0)
        assert not lib.distributions.constraints.is_dependent(uniform(0.0, 1.0).support)
        assert str(lib.distributions.Normal.support) == "Real()"
