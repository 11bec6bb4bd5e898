"""Transforms beside PyTorch's: forward, inverse, Jacobian, shapes, composition, caches; and which lead where."""

from __future__ import annotations

import copy
import gc
import pickle

import numpy as np
import pytest

import retrograd as rg
from retrograd.distributions import constraints, transforms

from .test_table import close, outcome, raised

REAL = np.array([[-1.5, -0.3, 0.0], [0.4, 1.1, 2.5]])
POSITIVE = np.abs(REAL) + 0.2
VECTOR = np.random.default_rng(0).normal(size=(2, 3, 3))

# What makes a transform of PyTorch's or ours, and what goes into it.
TABLE = {
    "abs": (lambda T, t, D: T.AbsTransform(), REAL),
    "affine": (lambda T, t, D: T.AffineTransform(1.5, -2.0), REAL),
    "affine by tensors": (lambda T, t, D: T.AffineTransform(t([1.0, 2.0, 3.0]), t([[0.5], [-2.0]])), REAL),
    "affine of vectors": (lambda T, t, D: T.AffineTransform(0.5, t([1.0, 2.0, 3.0]), event_dim=1), REAL),
    "affine of no size": (lambda T, t, D: T.AffineTransform(0.5, 0.0), REAL[:, :0]),
    "exp": (lambda T, t, D: T.ExpTransform(), REAL),
    "log": (lambda T, t, D: T.ExpTransform().inv, POSITIVE),
    "power": (lambda T, t, D: T.PowerTransform(t([0.5, 2.0, -1.0])), POSITIVE),
    "sigmoid": (lambda T, t, D: T.SigmoidTransform(), REAL),
    "softplus": (lambda T, t, D: T.SoftplusTransform(), REAL),
    "tanh": (lambda T, t, D: T.TanhTransform(), REAL),
    "softmax": (lambda T, t, D: T.SoftmaxTransform(), REAL),
    "stick breaking": (lambda T, t, D: T.StickBreakingTransform(), REAL),
    "correlation": (lambda T, t, D: T.CorrCholeskyTransform(), VECTOR),
    "lower cholesky": (lambda T, t, D: T.LowerCholeskyTransform(), VECTOR),
    "positive definite": (lambda T, t, D: T.PositiveDefiniteTransform(), VECTOR),
    "reshape": (lambda T, t, D: T.ReshapeTransform((3, 3), (9,)), VECTOR),
    "distribution function": (
        lambda T, t, D: T.CumulativeDistributionTransform(D.Normal(t(0.5), t(2.0))),
        REAL,
    ),
    "identity": (lambda T, t, D: T.identity_transform, REAL),
    "composed": (
        lambda T, t, D: T.ComposeTransform(
            [T.AffineTransform(1.0, 2.0), T.ExpTransform(), T.PowerTransform(t(0.5))]
        ),
        REAL,
    ),
    "composed with events": (
        lambda T, t, D: T.ComposeTransform([T.AffineTransform(1.0, 2.0), T.StickBreakingTransform()]),
        REAL,
    ),
    "composed inverse": (
        lambda T, t, D: T.ComposeTransform([T.AffineTransform(1.0, 2.0), T.ExpTransform()]).inv,
        POSITIVE,
    ),
    "independent": (lambda T, t, D: T.IndependentTransform(T.ExpTransform(), 1), REAL),
    "stacked": (
        lambda T, t, D: T.StackTransform([T.ExpTransform(), T.AffineTransform(1.0, 3.0)], dim=0),
        REAL,
    ),
    "side by side": (
        lambda T, t, D: T.CatTransform(
            [T.ExpTransform(), T.AffineTransform(1.0, 3.0)], dim=1, lengths=[1, 2]
        ),
        REAL,
    ),
    "side by side from the right": (
        lambda T, t, D: T.CatTransform([T.ExpTransform(), T.TanhTransform()], dim=-1, lengths=[2, 1]),
        REAL,
    ),
    "side by side events": (
        lambda T, t, D: T.CatTransform(
            [T.IndependentTransform(T.ExpTransform(), 1), T.AffineTransform(0.0, 2.0, event_dim=1)],
            dim=-1,
            lengths=[1, 2],
        ),
        REAL,
    ),
}
every_transform = pytest.mark.parametrize("name", TABLE)


def both(name, torch):
    make, array = TABLE[name]
    ours = make(transforms, lambda v: rg.tensor(v, dtype=rg.float64), rg.distributions)
    D = torch.distributions
    theirs = make(D.transforms, lambda v: torch.tensor(v, dtype=torch.float64), D)
    return (ours, rg.tensor(array, requires_grad=True)), (theirs, torch.tensor(array, requires_grad=True))


@every_transform
def test_values_inverses_and_jacobians(name, torch):
    (ours, x), (theirs, expected) = both(name, torch)
    y, target = ours(x), theirs(expected)
    close(y, target, name)
    close(ours.inv(y), theirs.inv(target), name)
    found, wanted = (
        outcome(lambda t=t, a=a, b=b: t.log_abs_det_jacobian(a, b))
        for t, a, b in ((ours, x, y), (theirs, expected, target))
    )
    if isinstance(wanted, type):
        assert found is wanted
        return
    close(found, wanted, name)
    close(ours.inv.log_abs_det_jacobian(y, x), theirs.inv.log_abs_det_jacobian(target, expected), name)
    (found.sum() + (y * y).sum()).backward()
    (wanted.sum() + (target * target).sum()).backward()
    close(x.grad, expected.grad, name)


@every_transform
def test_what_a_transform_says_of_itself(name, torch):
    (ours, x), (theirs, _) = both(name, torch)
    for mine, its in ((ours, theirs), (ours.inv, theirs.inv)):
        assert repr(mine) == repr(its)
        assert (str(mine.domain), str(mine.codomain)) == (str(its.domain), str(its.codomain))
        assert mine.bijective == its.bijective
        for question in ("event_dim", "sign"):
            found, wanted = (outcome(lambda t=t, q=question: getattr(t, q)) for t in (mine, its))
            assert str(found) == str(wanted)
    shape = tuple(x.shape)
    assert tuple(ours.forward_shape(shape)) == tuple(theirs.forward_shape(shape))
    assert tuple(ours.inverse_shape(tuple(ours(x).shape))) == shape
    assert ours.domain.check(x).all()
    if name != "abs":  # whose codomain has no 0
        assert ours.codomain.check(ours(x)).all()
    with pytest.raises(TypeError, match="unhashable"):
        hash(ours)


@every_transform
def test_an_inverse_of_the_inverse_is_the_transform_itself(name, torch):
    (ours, x), _ = both(name, torch)
    assert ours.inv.inv is ours
    assert ours.inv is not ours
    held = ours.inv
    assert held is ours.inv
    del held
    gc.collect()
    close(ours.inv(ours(x)), x.abs() if name == "abs" else ours.inv(ours(x)), name)


@every_transform
def test_a_cache_gives_the_very_input_back(name, torch):
    (ours, x), _ = both(name, torch)
    kept = ours.with_cache()
    assert kept.with_cache(1) is kept
    assert ours.with_cache(0) is ours
    y = kept(x)
    close(y, ours(x), name)
    if name == "identity":
        return
    assert kept(x) is y
    assert kept.inv(y) is x
    assert ours.inv(ours(x)) is not x or name == "abs"


@every_transform
def test_copies(name, torch):
    (ours, x), _ = both(name, torch)
    held = ours.inv  # which is held weakly, and is no part of a copy
    for other in (copy.copy(ours), copy.deepcopy(ours), pickle.loads(pickle.dumps(ours))):
        close(other(x), ours(x), name)
        assert other.inv is not held or name == "log"


def test_equal_transforms(torch):
    for T, t in ((transforms, rg.tensor), (torch.distributions.transforms, torch.tensor)):
        assert T.ExpTransform() == T.ExpTransform()
        assert T.ExpTransform() != T.SigmoidTransform()
        assert T.AffineTransform(1.0, 2.0) == T.AffineTransform(t(1.0), 2)
        assert T.AffineTransform(1.0, 2.0) != T.AffineTransform(1.0, 3.0)
        assert T.AffineTransform(1.0, 2.0) != T.ExpTransform()
        assert T.PowerTransform(t(2.0)) == T.PowerTransform(t(2.0))
        assert T.PowerTransform(t(2.0)) != T.PowerTransform(t(3.0))
        assert T.ExpTransform().inv == T.ExpTransform().inv
        assert T.ExpTransform().inv != T.TanhTransform().inv
        assert T.ComposeTransform([T.ExpTransform()]) == T.ComposeTransform([T.ExpTransform()])
        assert T.ComposeTransform([T.ExpTransform()]) != T.ComposeTransform([])
        assert T.IndependentTransform(T.ExpTransform(), 1) != T.IndependentTransform(T.ExpTransform(), 1)


WRONG = {
    "cache size": lambda T, t: T.ExpTransform(cache_size=2),
    "shapes": lambda T, t: T.ReshapeTransform((2, 3), (5,)),
    "few dimensions": lambda T, t: T.IndependentTransform(T.ExpTransform(), 1)(t(1.0)),
    "few dimensions back": lambda T, t: T.IndependentTransform(T.ExpTransform(), 1).inv(t(1.0)),
    "no triangle": lambda T, t: T.CorrCholeskyTransform().forward_shape((4,)),
    "no square": lambda T, t: T.CorrCholeskyTransform().inverse_shape((4, 3)),
    "no vector": lambda T, t: T.SoftmaxTransform().forward_shape(()),
    "other shape": lambda T, t: T.ReshapeTransform((2, 3), (6,)).forward_shape((3, 2)),
    "too small a shape": lambda T, t: T.ReshapeTransform((2, 3), (6,)).inverse_shape(()),
    "no event_dim": lambda T, t: T.ReshapeTransform((2, 3), (6,)).event_dim,
    "no transform": lambda T, t: T.CatTransform([3]),
    "lengths": lambda T, t: T.CatTransform([T.ExpTransform()], lengths=[1, 2]),
    "count": lambda T, t: T.StackTransform([T.ExpTransform()])(t([1.0, 2.0])),
    "total length": lambda T, t: T.CatTransform([T.ExpTransform()])(t([1.0, 2.0])),
    "dimension": lambda T, t: T.StackTransform([T.ExpTransform()], dim=3)(t([1.0, 2.0])),
    "no formula": lambda T, t: T.Transform()(t(1.0)),
    "no jacobian": lambda T, t: T.AbsTransform().log_abs_det_jacobian(t(1.0), t(1.0)),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments(name, torch):
    expected = raised(WRONG[name], torch.distributions.transforms, torch.tensor)
    assert issubclass(raised(WRONG[name], transforms, rg.tensor), expected)


def test_a_transform_of_ones_own():
    class Cube(transforms.Transform):
        domain = codomain = constraints.real
        bijective, sign = True, 1

        def _call(self, x):
            return x**3

        def _inverse(self, y):
            return y.abs() ** (1 / 3) * y.sign()

        def log_abs_det_jacobian(self, x, y):
            return (3 * x**2).log()

    made = rg.distributions.TransformedDistribution(rg.distributions.Normal(0.0, 1.0), [Cube()])
    x = rg.tensor([-1.0, 0.5])
    expected = rg.distributions.Normal(0.0, 1.0).log_prob(x) - (3 * x**2).log()
    np.testing.assert_allclose(made.log_prob(x**3), expected, rtol=1e-5)
    np.testing.assert_allclose(made.cdf(x**3), rg.distributions.Normal(0.0, 1.0).cdf(x), rtol=1e-5)


# ---- from all of space into a constraint ----------------------------------------------------------------------------

REGIONS = {
    "real": (lambda C, t: C.real, ()),
    "positive": (lambda C, t: C.positive, ()),
    "nonnegative": (lambda C, t: C.nonnegative, ()),
    "greater than": (lambda C, t: C.greater_than(t([1.0, 2.0])), (2,)),
    "greater than or equal": (lambda C, t: C.greater_than_eq(-1.0), ()),
    "less than": (lambda C, t: C.less_than(2.0), ()),
    "unit interval": (lambda C, t: C.unit_interval, ()),
    "interval": (lambda C, t: C.interval(-1.0, 4.0), ()),
    "interval by tensors": (lambda C, t: C.interval(t(-1.0), t([2.0, 4.0])), (2,)),
    "half open interval": (lambda C, t: C.half_open_interval(1.0, 2.0), ()),
    "simplex": (lambda C, t: C.simplex, (3,)),
    "correlation": (lambda C, t: C.corr_cholesky, (3,)),
    "lower cholesky": (lambda C, t: C.lower_cholesky, (3, 3)),
    "positive definite": (lambda C, t: C.positive_definite, (3, 3)),
    "positive semidefinite": (lambda C, t: C.positive_semidefinite, (3, 3)),
    "real vector": (lambda C, t: C.real_vector, (3,)),
    "positive matrix": (lambda C, t: C.independent(C.positive, 2), (2, 2)),
    "side by side": (lambda C, t: C.cat([C.positive, C.unit_interval], dim=0, lengths=[1, 2]), (3,)),
    "stacked": (lambda C, t: C.stack([C.positive, C.interval(2.0, 3.0)], dim=0), (2,)),
}


@pytest.mark.parametrize("registry", ["biject_to", "transform_to"])
@pytest.mark.parametrize("name", REGIONS)
def test_a_transform_leads_into_its_constraint(name, registry, torch):
    make, shape = REGIONS[name]
    ours, theirs = (getattr(lib.distributions, registry) for lib in (rg, torch))
    region = make(constraints, rg.tensor)
    expected = outcome(lambda: theirs(make(torch.distributions.constraints, torch.tensor)))
    if isinstance(expected, type):
        with pytest.raises(expected, match=f"Cannot transform {type(region).__name__} constraints"):
            ours(region)
        return
    found = ours(region)
    assert repr(found) == repr(expected)
    x = np.random.default_rng(0).normal(size=shape).astype("float32")
    y = found(rg.tensor(x))
    close(y, expected(torch.tensor(x)), name, rtol=1e-5)
    assert region.check(y).all()
    assert found.bijective or registry == "transform_to"


def test_regions_of_ones_own():
    class Even(constraints.Constraint): ...

    registry = rg.distributions.constraint_registry.ConstraintRegistry()
    with pytest.raises(NotImplementedError, match="Cannot transform Even"):
        registry(Even())

    @registry.register(Even)
    def factory(constraint):
        return transforms.AffineTransform(0, 2)

    assert registry(Even()) == transforms.AffineTransform(0, 2)
    registry.register(Even(), lambda c: transforms.ExpTransform())
    assert registry(Even()) == transforms.ExpTransform()
    with pytest.raises(TypeError, match="Constraint subclass or instance"):
        registry.register(int, factory)
