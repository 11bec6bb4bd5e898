"""Every distribution beside PyTorch's: densities, moments, supports, shapes, texts, and gradients."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd as rg

from .table import BATCHES, ROWS

every_row = pytest.mark.parametrize("row", ROWS, ids=str)
every_batch = pytest.mark.parametrize("batch", BATCHES, ids=str)
MOMENTS = ("mean", "variance", "stddev", "mode")
# PyTorch approximates I0 by polynomials of single precision, and computes log(n!) in single precision; its
# Kumaraswamy.mode is NaN everywhere.
LOOSE = {"VonMises": 2e-6, "Multinomial": 1e-7, "GeneralizedPareto": 2e-5}
NOT_COMPARED = {("Kumaraswamy", "mode")}


def numbers(x):
    return np.asarray(x.detach().numpy() if hasattr(x, "detach") else x)


def close(ours, theirs, name, rtol=1e-9):
    ours, theirs = numbers(ours), numbers(theirs)
    assert ours.shape == theirs.shape
    assert str(ours.dtype) == str(theirs.dtype)
    np.testing.assert_allclose(ours, theirs, rtol=LOOSE.get(name, rtol), atol=LOOSE.get(name, 1e-9))


def outcome(call):
    """What a call gives, or the type of what it raises."""
    try:
        return call()
    except (NotImplementedError, ValueError) as error:
        return type(error)


def raised(call, *args):
    """The type of what a call raises."""
    try:
        call(*args)
    except Exception as error:
        return type(error)
    raise AssertionError("nothing was raised")


def both(row, torch, batch):
    arrays = row.arrays(batch)
    return row.make(rg, arrays), row.make(torch, arrays)


def same_outcome(ours, theirs, name):
    if isinstance(theirs, type):
        assert ours is theirs
    else:
        close(ours, theirs, name)


@every_batch
@every_row
def test_what_a_distribution_says_of_itself(row, batch, torch):
    (ours, _), (theirs, _) = both(row, torch, batch)
    assert repr(ours) == repr(theirs)
    assert (tuple(ours.batch_shape), tuple(ours.event_shape)) == (
        tuple(theirs.batch_shape),
        tuple(theirs.event_shape),
    )
    assert (ours.has_rsample, ours.has_enumerate_support) == (
        theirs.has_rsample,
        theirs.has_enumerate_support,
    )
    assert str(ours.support) == str(theirs.support)
    assert (ours.support.is_discrete, ours.support.event_dim) == (
        theirs.support.is_discrete,
        theirs.support.event_dim,
    )
    assert {n: str(c) for n, c in ours.arg_constraints.items()} == {
        n: str(c) for n, c in theirs.arg_constraints.items()
    }
    for name in ours.arg_constraints:
        close(getattr(ours, name), getattr(theirs, name), row.name)


@every_batch
@every_row
def test_moments_and_entropy(row, batch, torch):
    (ours, _), (theirs, _) = both(row, torch, batch)
    for name in MOMENTS:
        if (row.name, name) not in NOT_COMPARED:
            same_outcome(
                outcome(lambda: getattr(ours, name)), outcome(lambda: getattr(theirs, name)), row.name
            )
    for name in ("entropy", "perplexity", "enumerate_support"):
        same_outcome(outcome(getattr(ours, name)), outcome(getattr(theirs, name)), row.name)
    found = [outcome(lambda d=d: d.enumerate_support(expand=False)) for d in (ours, theirs)]
    same_outcome(*found, row.name)


@every_batch
@every_row
def test_densities_and_their_gradients(row, batch, torch):
    (ours, leaves), (theirs, oracle) = both(row, torch, batch)
    rg.manual_seed(0)
    inputs = ours.sample((3,)).requires_grad_(not ours.support.is_discrete)
    value = torch.tensor(numbers(inputs), requires_grad=inputs.requires_grad)
    found, expected = ours.log_prob(inputs), theirs.log_prob(value)
    close(found, expected, row.name)
    found.sum().backward()
    expected.sum().backward()
    for mine, its in zip([*leaves, inputs], [*oracle, value], strict=True):
        assert (mine.grad is None) == (its.grad is None)
        if its.grad is not None:
            close(mine.grad, its.grad, row.name, rtol=1e-7)


@every_row
def test_distribution_functions_and_their_inverses(row, torch):
    (ours, _), (theirs, _) = both(row, torch, (4,))
    rg.manual_seed(0)
    value = ours.sample((3,))
    same_outcome(
        outcome(lambda: ours.cdf(value)), outcome(lambda: theirs.cdf(torch.tensor(value.numpy()))), row.name
    )
    p = np.linspace(0.05, 0.95, 4).astype(row.dtype)
    same_outcome(
        outcome(lambda: ours.icdf(rg.tensor(p))), outcome(lambda: theirs.icdf(torch.tensor(p))), row.name
    )


@every_row
def test_expanded(row, torch):
    (ours, _), (theirs, _) = both(row, torch, (4,))
    for shape in ((2, 4), (3, 2, 4)):
        mine, its = ours.expand(shape), theirs.expand(shape)
        assert type(mine) is type(ours)
        assert tuple(mine.batch_shape) == shape
        assert mine.event_shape == ours.event_shape
        assert repr(mine) == repr(its)
        rg.manual_seed(0)
        value = mine.sample((5,))
        assert value.shape == (5, *its._extended_shape())
        close(mine.log_prob(value), its.log_prob(torch.tensor(value.numpy())), row.name)
        for name in MOMENTS:
            if (row.name, name) not in NOT_COMPARED:
                same_outcome(
                    outcome(lambda: getattr(mine, name)), outcome(lambda: getattr(its, name)), row.name
                )
        assert mine.expand(shape).batch_shape == shape
    with pytest.raises(RuntimeError):
        ours.expand((3,))


@every_row
def test_entropies_have_gradients(row, torch):
    (ours, leaves), (theirs, oracle) = both(row, torch, (4,))
    expected = outcome(theirs.entropy)
    if isinstance(expected, type) or not expected.requires_grad:
        return
    expected.sum().backward()
    ours.entropy().sum().backward()
    for mine, its in zip(leaves, oracle, strict=True):
        close(
            rg.zeros_like(mine) if mine.grad is None else mine.grad,
            torch.zeros_like(its) if its.grad is None else its.grad,
            row.name,
            rtol=1e-7,
        )


@every_row
def test_single_precision_is_kept(row, torch):
    arrays = {n: a.astype(np.float32) for n, a in row.arrays((4,)).items()}
    given = {n: rg.tensor(a) for n, a in arrays.items()} | row.fixed
    if "temperature" in given:
        given["temperature"] = rg.tensor(0.7)
    made = getattr(rg.distributions, row.name)(**given)
    sample = made.sample((2,))
    assert sample.dtype == (rg.int64 if row.name == "Categorical" else rg.float32)
    assert made.log_prob(sample).dtype == rg.float32


def test_every_distribution_has_a_row(torch):
    names = {n for n in torch.distributions.__all__ if isinstance(getattr(torch.distributions, n), type)}
    kinds = {
        n for n in names if issubclass(getattr(torch.distributions, n), torch.distributions.Distribution)
    }
    elsewhere = {
        "Distribution",
        "ExponentialFamily",
        "Independent",
        "MixtureSameFamily",
        "TransformedDistribution",
    }
    assert kinds - elsewhere == {row.name for row in ROWS}
