"""What all distributions share: checks, errors, distributions of distributions, and classes of one's own."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest

import retrograd as rg
from retrograd import distributions as D

from .table import ROWS
from .test_table import close, raised

WRONG = {
    "a negative scale": lambda D, t: D.Normal(0.0, -1.0),
    "nan": lambda D, t: D.Normal(float("nan"), 1.0),
    "a string": lambda D, t: D.Normal("a", 1.0),
    "neither": lambda D, t: D.Bernoulli(),
    "both": lambda D, t: D.Bernoulli(0.1, 0.2),
    "a probability above 1": lambda D, t: D.Bernoulli(1.5),
    "negative probabilities": lambda D, t: D.Categorical(t([0.5, -0.5])),
    "no dimension": lambda D, t: D.Categorical(t(0.5)),
    "no dimension of a Dirichlet": lambda D, t: D.Dirichlet(t(0.5)),
    "bounds": lambda D, t: D.Uniform(1.0, 0.0),
    "no chance": lambda D, t: D.Geometric(0.0),
    "several counts": lambda D, t: D.Multinomial(t(3), t([0.5, 0.5])),
    "several counts listed": lambda D, t: D.Binomial(t([3.0, 2.0]), t(0.5)).enumerate_support(),
    "no matrix": lambda D, t: D.MultivariateNormal(t([0.0, 0.0])),
    "two matrices": lambda D, t: D.MultivariateNormal(t([0.0]), t([[1.0]]), t([[1.0]])),
    "a scalar mean": lambda D, t: D.MultivariateNormal(t(0.0), t([[1.0]])),
    "a vector for a matrix": lambda D, t: D.MultivariateNormal(t([0.0]), t([1.0])),
    "not definite": lambda D, t: D.MultivariateNormal(t([0.0, 0.0]), t([[1.0, 2.0], [2.0, 1.0]])),
    "a factor of another size": lambda D, t: D.LowRankMultivariateNormal(
        t([0.0, 0.0]), t([[1.0]]), t([1.0, 1.0])
    ),
    "a diagonal of another size": lambda D, t: D.LowRankMultivariateNormal(
        t([0.0]), t([[1.0]]), t([1.0, 1.0])
    ),
    "few degrees of freedom": lambda D, t: D.Wishart(t(0.5), t([[1.0, 0.0], [0.0, 1.0]])),
    "one row": lambda D, t: D.LKJCholesky(1),
    "dimensions that are not there": lambda D, t: D.Independent(D.Normal(0.0, 1.0), 1),
    "a mixture of what": lambda D, t: D.MixtureSameFamily(D.Normal(0.0, 1.0), D.Normal(t([0.0]), 1.0)),
    "components of what": lambda D, t: D.MixtureSameFamily(D.Categorical(t([1.0])), 3),
    "other components": lambda D, t: D.MixtureSameFamily(
        D.Categorical(t([0.1, 0.9])), D.Normal(t([0.0, 1.0, 2.0]), 1.0)
    ),
    "other batches": lambda D, t: D.MixtureSameFamily(
        D.Categorical(t([[0.1, 0.9]] * 3)), D.Normal(t([[0.0, 1.0]] * 2), 1.0)
    ),
    "no transform": lambda D, t: D.TransformedDistribution(D.Normal(0.0, 1.0), 3),
    "no transforms": lambda D, t: D.TransformedDistribution(D.Normal(0.0, 1.0), [3]),
    "events too small": lambda D, t: D.TransformedDistribution(
        D.Normal(0.0, 1.0), D.StickBreakingTransform()
    ),
    "a value outside": lambda D, t: D.Exponential(1.0).log_prob(t(-1.0)),
    "nan for a value": lambda D, t: D.Normal(0.0, 1.0).log_prob(t(float("nan"))),
    "a number for a value": lambda D, t: D.Normal(0.0, 1.0).log_prob(1.0),
    "a kind that is not there": lambda D, t: D.Categorical(t([0.3, 0.7])).log_prob(t(2)),
    "a value of another batch": lambda D, t: D.Normal(t([0.0, 0.0, 0.0]), 1.0).log_prob(t([0.0, 0.0])),
    "a value of another event": lambda D, t: D.Dirichlet(t([1.0, 1.0])).log_prob(t([0.2, 0.3, 0.5])),
    "no support to list": lambda D, t: D.Normal(0.0, 1.0).enumerate_support(),
    "no product to list": lambda D, t: D.Independent(D.Bernoulli(t([0.3, 0.7])), 1).enumerate_support(),
    "no quantile": lambda D, t: D.Gamma(1.0, 1.0).icdf(t(0.5)),
    "no entropy": lambda D, t: D.Poisson(1.0).entropy(),
    "no mode": lambda D, t: D.Multinomial(3, t([0.5, 0.5])).mode,
    "a smaller batch": lambda D, t: D.Normal(t([0.0, 0.0, 0.0]), 1.0).expand((2,)),
    "neither yes nor no": lambda D, t: D.Distribution.set_default_validate_args(3),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments(name, torch):
    expected = raised(WRONG[name], torch.distributions, torch.tensor)
    assert issubclass(raised(WRONG[name], D, rg.tensor), expected)


def test_an_error_says_what_is_wrong():
    with pytest.raises(
        ValueError, match=r"parameter scale \(Tensor of shape \(\)\) of distribution Normal\(loc: 0.0, "
    ):
        D.Normal(0.0, -1.0)
    with pytest.raises(
        ValueError, match=r"within the support \(GreaterThanEq\(lower_bound=0.0\)\) of the distribution"
    ):
        D.Exponential(1.0).log_prob(rg.tensor(-1.0))


def test_checks_can_be_left_out():
    made = D.Normal(0.0, -1.0, validate_args=False)
    assert made.log_prob(rg.tensor(0.0)).isnan()
    assert made.expand((2,))._validate_args is False
    try:
        D.Distribution.set_default_validate_args(False)
        D.Uniform(1.0, 0.0)
    finally:
        D.Distribution.set_default_validate_args(True)


# ---- distributions of distributions ---------------------------------------------------------------------------------

MADE = {
    "independent": lambda D, t: D.Independent(D.Normal(t([[0.0, 1.0], [2.0, 3.0]]), t(2.0)), 1),
    "independent in no dimension": lambda D, t: D.Independent(D.Bernoulli(t([0.3, 0.6])), 0),
    "mixture": lambda D, t: D.MixtureSameFamily(
        D.Categorical(t([0.3, 0.7])), D.Normal(t([-1.0, 2.0]), t([0.5, 1.0]))
    ),
    "mixtures": lambda D, t: D.MixtureSameFamily(
        D.Categorical(t([[0.3, 0.7], [0.5, 0.5]])), D.Normal(t([[-1.0, 2.0]] * 2), t([0.5, 1.0]))
    ),
    "mixture of vectors": lambda D, t: D.MixtureSameFamily(
        D.Categorical(t([0.3, 0.7])),
        D.Independent(D.Normal(t([[-1.0, 2.0, 0.0], [1.0, 0.0, 3.0]]), t(1.5)), 1),
    ),
    "transformed": lambda D, t: D.TransformedDistribution(
        D.Normal(t([0.0, 1.0]), t(2.0)), [D.AffineTransform(t([1.0, 2.0]), t(-3.0)), D.SigmoidTransform()]
    ),
    "transformed with a larger batch": lambda D, t: D.TransformedDistribution(
        D.Normal(t(0.0), t(2.0)), [D.AffineTransform(t([[1.0, 2.0]]), t([[3.0], [1.0]]))]
    ),
    "transformed vectors": lambda D, t: D.TransformedDistribution(
        D.Normal(t([0.0, 1.0, 2.0]), t(2.0)), D.StickBreakingTransform()
    ),
    "transformed in no way": lambda D, t: D.TransformedDistribution(D.Gamma(t([2.0]), t(2.0)), []),
    "reshaped": lambda D, t: D.TransformedDistribution(
        D.Normal(t([0.0, 1.0]), t(2.0)), D.ReshapeTransform((2,), (1, 2))
    ),
}


@pytest.mark.parametrize("name", MADE)
def test_distributions_of_distributions(name, torch):
    ours = MADE[name](D, lambda v: rg.tensor(v, dtype=rg.float64))
    theirs = MADE[name](torch.distributions, lambda v: torch.tensor(v, dtype=torch.float64))
    for mine, its in (
        (ours, theirs),
        *[(ours.expand(s), theirs.expand(s)) for s in ((3, *ours.batch_shape),)],
    ):
        assert repr(mine) == repr(its)
        assert (tuple(mine.batch_shape), tuple(mine.event_shape)) == (
            tuple(its.batch_shape),
            tuple(its.event_shape),
        )
        assert str(mine.support) == str(its.support)
        assert mine.has_rsample == its.has_rsample
        rg.manual_seed(0)
        sample = mine.sample((4,))
        assert sample.shape == (4, *its._extended_shape())
        value = torch.tensor(sample.numpy())
        close(mine.log_prob(sample), its.log_prob(value), name)
        for ask in ("mean", "variance", "mode", "entropy", "cdf"):
            answers = []
            for d, v in ((mine, sample), (its, value)):
                try:
                    found = getattr(d, ask)
                    answers.append(found(v) if ask == "cdf" else found() if callable(found) else found)
                except NotImplementedError:
                    answers.append(None)
            assert (answers[0] is None) == (answers[1] is None), ask
            if answers[0] is not None:
                close(*answers, name)


def test_samples_of_a_mixture():
    made = D.MixtureSameFamily(
        D.Categorical(rg.tensor([0.25, 0.75])), D.Normal(rg.tensor([-10.0, 10.0]), 0.1)
    )
    rg.manual_seed(0)
    sample = made.sample((4000,))
    assert (sample < 0).float().mean().item() == pytest.approx(0.25, abs=0.03)
    assert (sample.abs() - 10).abs().max() < 0.6


def test_a_transformed_sample_keeps_its_gradient():
    loc = rg.tensor(0.5, requires_grad=True)
    D.TransformedDistribution(D.Normal(loc, 1.0), [D.AffineTransform(1.0, 3.0)]).rsample(
        (5,)
    ).sum().backward()
    assert loc.grad.item() == 15.0


# ---- classes of one's own -------------------------------------------------------------------------------------------


class Coin(D.Bernoulli):
    def __init__(self):
        super().__init__(0.5)


class Dice(D.Distribution):
    arg_constraints = {}
    support = D.constraints.integer_interval(1, 6)

    def sample(self, sample_shape=()):
        return rg.randint(1, 7, self._extended_shape(sample_shape))

    def log_prob(self, value):
        self._validate_sample(value)
        return rg.full(value.shape, 1 / 6).log()


class Loaded(Dice):
    def __init__(self):
        super().__init__()


class Scaled(D.Normal):
    def __init__(self, scale, validate_args=None):
        super().__init__(0.0, scale, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Scaled, _instance)
        return super().expand(batch_shape, _instance=new)


def test_a_class_with_its_own_init_needs_its_own_expand():
    with pytest.raises(
        NotImplementedError, match="Subclass Coin of Bernoulli that defines a custom __init__ method"
    ):
        Coin().expand((2,))
    with pytest.raises(NotImplementedError, match="must also define a custom .expand"):
        Loaded().expand((2,))


def test_classes_of_ones_own():
    assert repr(Dice()) == "Dice()"
    assert Dice().sample((5,)).shape == (5,)
    with pytest.raises(ValueError, match="support"):
        Dice().log_prob(rg.tensor([7]))
    with pytest.raises(NotImplementedError, match="does not implement mean"):
        Dice().mean  # noqa: B018
    for ask in ("cdf", "icdf"):
        with pytest.raises(NotImplementedError):
            getattr(Dice(), ask)(rg.tensor(1.0))


def test_an_expand_of_ones_own_may_use_ours():
    made = Scaled(rg.tensor([1.0, 2.0])).expand((3, 2))
    assert isinstance(made, Scaled)
    assert made.scale.shape == made.sample().shape == (3, 2)


def test_a_class_that_says_too_little_is_warned_of():
    class Raw(D.Distribution):
        pass

    with pytest.warns(UserWarning, match="does not define `arg_constraints`"):
        Raw()
    raw = Raw(validate_args=False)
    for name in ("support", "arg_constraints", "mean", "mode", "variance", "stddev"):
        with pytest.raises(NotImplementedError):
            getattr(raw, name)
    for method in ("sample", "rsample", "entropy", "perplexity", "enumerate_support"):
        with pytest.raises(NotImplementedError):
            getattr(raw, method)()
    with pytest.warns(UserWarning, match="does not define `support`"):
        raw._validate_sample(rg.tensor(1.0))


def test_sample_n_is_deprecated():
    with pytest.warns(FutureWarning, match="sample_n"):
        assert D.Normal(rg.zeros(2), 1.0).sample_n(3).shape == (3, 2)


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_copies_and_pickles(row):
    made, _ = row.make(rg, row.arrays((2,)))
    sample = made.sample()
    for other in (copy.copy(made), pickle.loads(pickle.dumps(made))):
        np.testing.assert_array_equal(other.log_prob(sample).detach(), made.log_prob(sample).detach())


def test_numbers_become_tensors_of_the_default_dtype():
    assert D.Normal(0, 1).loc.dtype == rg.float32
    rg.set_default_dtype(rg.float64)
    assert D.Normal(0, 1).loc.dtype == rg.float64
    assert D.Normal(0, rg.tensor(1.0, dtype=rg.float32)).loc.dtype == rg.float32


def test_a_policy_gradient():
    """The idiom of reinforcement learning: the gradient of log_prob times a reward."""
    logits = rg.zeros(3, requires_grad=True)
    optimizer = rg.optim.SGD([logits], lr=0.1)
    rg.manual_seed(0)
    for _ in range(200):
        policy = D.Categorical(logits=logits)
        action = policy.sample((16,))
        reward = (action == 2).float()
        optimizer.zero_grad()
        (-policy.log_prob(action) * (reward - reward.mean())).mean().backward()
        optimizer.step()
    assert D.Categorical(logits=logits).probs[2] > 0.8


def test_a_lazy_property_is_recorded_inside_no_grad():
    probs = rg.tensor(0.3, requires_grad=True)
    made = D.Bernoulli(probs)
    with rg.no_grad():
        logits = made.logits
    assert logits.requires_grad
    assert made.logits is logits


def test_low_degrees_of_freedom_are_warned_of():
    with pytest.warns(UserWarning, match="Low df values"):
        D.Wishart(rg.tensor(1.5), rg.eye(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        D.Wishart(rg.tensor(4.0), rg.eye(2)).sample((100,))
