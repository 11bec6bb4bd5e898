"""Functional forms of optimisers: five steps with lists of state, beside PyTorch's."""

from __future__ import annotations

import importlib
import inspect

import numpy as np
import pytest

import retrograd as rg

SHAPES = [(3, 2), (4,), (2, 2, 3)]
ADAM = {
    "amsgrad": True,
    "beta1": 0.9,
    "beta2": 0.99,
    "lr": 0.1,
    "weight_decay": 0.02,
    "eps": 1e-8,
    "maximize": False,
}
MEANS = ["exp_avgs", "exp_avg_sqs"]
# By function: its lists of state, its options, and where lists begin that do not begin with zeros.
FORMS = {
    "adam": ([*MEANS, "max_exp_avg_sqs"], ADAM, {}),
    "adamw": ([*MEANS, "max_exp_avg_sqs"], ADAM, {}),
    "adadelta": (
        ["square_avgs", "acc_deltas"],
        {"lr": 1.0, "rho": 0.9, "eps": 1e-6, "weight_decay": 0.1, "maximize": True},
        {},
    ),
    "adagrad": (
        ["state_sums"],
        {"lr": 0.1, "weight_decay": 0.1, "lr_decay": 0.01, "eps": 1e-10, "maximize": False},
        {},
    ),
    "adamax": (
        ["exp_avgs", "exp_infs"],
        {"eps": 1e-8, "beta1": 0.9, "beta2": 0.99, "lr": 0.1, "weight_decay": 0.1},
        {},
    ),
    "asgd": (
        ["axs", "mus", "etas"],
        {"lambd": 1e-4, "lr": 0.1, "t0": 2, "alpha": 0.75, "weight_decay": 0.1},
        {"mus": 1.0, "etas": 0.1},
    ),
    "nadam": (
        [*MEANS, "mu_products"],
        {"beta1": 0.9, "beta2": 0.99, "lr": 0.1, "weight_decay": 0.1, "momentum_decay": 4e-3, "eps": 1e-8},
        {"mu_products": 1.0},
    ),
    "radam": (MEANS, {"beta1": 0.9, "beta2": 0.99, "lr": 0.1, "weight_decay": 0.1, "eps": 1e-8}, {}),
    "rmsprop": (
        ["square_avgs", "grad_avgs", "momentum_buffer_list"],
        {"lr": 0.1, "alpha": 0.9, "eps": 1e-8, "weight_decay": 0.1, "momentum": 0.9, "centered": True},
        {},
    ),
    "rprop": (
        ["prevs", "step_sizes"],
        {"step_size_min": 1e-6, "step_size_max": 50, "etaminus": 0.5, "etaplus": 1.2},
        {"step_sizes": 0.1},
    ),
}
SINGLE = {"mus", "etas", "mu_products"}  # one number for a parameter


def functional(lib, name):
    return getattr(importlib.import_module(f"{lib.__name__}.optim._functional"), name)


def moved(lib, name, **more):
    """The parameters and all state after five steps."""
    names, options, starts = FORMS[name]
    rng = np.random.default_rng(0)
    params = [lib.tensor(rng.standard_normal(shape)) for shape in SHAPES]
    lists = {
        which: [
            lib.full(() if which in SINGLE else p.shape, starts.get(which, 0.0), dtype=lib.float64)
            for p in params
        ]
        for which in names
    }
    counts = [lib.tensor(0.0) for _ in params]
    for _ in range(5):
        grads = [lib.tensor(rng.standard_normal(shape)) for shape in SHAPES]
        functional(lib, name)(params, grads, **lists, state_steps=counts, **options, **more)
    return [t.numpy() for t in (*params, *counts, *(t for values in lists.values() for t in values))]


@pytest.mark.parametrize("name", FORMS)
def test_five_steps(torch, name):
    for ours, theirs in zip(moved(rg, name), moved(torch, name), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-8)  # numbers of ASGD are float32


@pytest.mark.parametrize("name", [*FORMS, "sgd"])
def test_arguments_are_pytorchs(torch, name):
    ours, theirs = (inspect.signature(functional(lib, name)).parameters.values() for lib in (rg, torch))
    assert [(p.name, p.kind, p.default) for p in ours] == [(p.name, p.kind, p.default) for p in theirs]


@pytest.mark.parametrize("name", [*FORMS, "sgd"])
def test_a_function_is_beside_its_class(name):
    assert getattr(importlib.import_module(f"retrograd.optim.{name}"), name) is functional(rg, name)


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_sgd_fills_the_list_of_velocities(torch, momentum):
    options = {
        "weight_decay": 0.1, "momentum": momentum, "lr": 0.1, "dampening": 0.2, "nesterov": False, "maximize": False
    }  # fmt: skip

    def run(lib):
        params, velocities = [lib.ones(3), lib.ones(2)], [None, None]
        for k in range(3):
            functional(lib, "sgd")(params, [p * (k + 1) for p in params], velocities, **options)
        return [p.tolist() for p in params], [v if v is None else v.tolist() for v in velocities]

    ours, theirs = run(rg), run(torch)
    np.testing.assert_allclose(np.concatenate(ours[0]), np.concatenate(theirs[0]), rtol=1e-6)
    assert [v is None for v in ours[1]] == [v is None for v in theirs[1]] == [momentum == 0] * 2


def test_adafactor_has_one_kind_of_state_or_the_other(torch):
    options = {
        "d": 1.0,
        "lr": 0.1,
        "beta2_decay": -0.8,
        "weight_decay": 0.1,
        "eps1": 1e-8,
        "eps2": 1e-3,
        "maximize": False,
    }

    def run(lib, module):
        params, counts = [lib.arange(6.0).reshape(2, 3), lib.ones(3)], [lib.tensor(0.0), lib.tensor(0.0)]
        rows, columns, variances = [lib.zeros(2, 1), None], [lib.zeros(1, 3), None], [None, lib.zeros(3)]
        function = importlib.import_module(f"{lib.__name__}.optim.{module}").adafactor
        for _ in range(3):
            function(params, [p * 0.5 + 1 for p in params], rows, columns, variances, counts, **options)
        return [p.numpy() for p in params]

    for ours, theirs in zip(run(rg, "adafactor"), run(torch, "_adafactor"), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)


def test_scaled_gradients_and_infinite_ones():
    w, lists = rg.ones(2), [[rg.zeros(2)], [rg.zeros(2)], []]
    count = rg.tensor(0.0)
    options = {**ADAM, "amsgrad": False, "weight_decay": 0}
    adam = functional(rg, "adam")
    adam([w], [rg.ones(2)], *lists, [count], found_inf=rg.tensor(1.0), **options)
    assert count.item() == 0
    assert w.tolist() == [1.0, 1.0]
    adam([w], [rg.ones(2) * 8], *lists, [count], grad_scale=rg.tensor(4.0), **options)
    assert lists[0][0].tolist() == pytest.approx([0.2, 0.2])


def test_counts_must_be_tensors():
    with pytest.raises(RuntimeError, match="`state_steps` argument must contain a list of singleton tensors"):
        functional(rg, "adam")(
            [rg.ones(1)], [rg.ones(1)], [rg.zeros(1)], [rg.zeros(1)], [rg.zeros(1)], [1], **ADAM
        )
