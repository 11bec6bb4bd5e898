"""Many steps of each optimiser, with every combination of options, give PyTorch's numbers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import retrograd as rg

STEPS = 30
SHAPES = ((3, 4), (5,), ())


def chosen(options, values):
    """Every combination of the values, as keyword arguments."""
    return [dict(zip(options, combination, strict=True)) for combination in itertools.product(*values)]


SGD = [
    options
    for options in chosen(
        ("momentum", "dampening", "weight_decay", "nesterov", "maximize"),
        ((0, 0.9), (0, 0.3), (0, 0.05), (False, True), (False, True)),
    )
    if not options["nesterov"] or (options["momentum"] and not options["dampening"])
]
ADAM = chosen(
    ("betas", "eps", "weight_decay", "amsgrad", "maximize"),
    (((0.9, 0.999), (0.5, 0.8)), (1e-8, 1e-3), (0, 0.05), (False, True), (False, True)),
)
CASES = [
    *(("SGD", {"lr": 0.05, **options}) for options in SGD),
    *((name, {"lr": 0.02, **options}) for name in ("Adam", "AdamW") for options in ADAM),
    ("Adam", {"lr": 0.02, "weight_decay": 0.05, "decoupled_weight_decay": True}),
    ("Adam", {"foreach": True}),
    ("AdamW", {"fused": True}),
    ("SGD", {"fused": True, "momentum": 0.5}),
    ("SGD", {"foreach": True, "momentum": 0.5, "nesterov": True}),
]
TOLERANCE = {"float32": 3e-6, "float64": 1e-13, "float16": 4e-3}


def run(lib, name, options, dtype, values, steps=STEPS):
    """The parameters and the state after some steps.

    Gradients depend on the parameters and stay away from 0, where Adam turns rounding errors into steps.
    """
    params = [lib.tensor(v, dtype=getattr(lib, dtype)).requires_grad_() for v in values]
    slopes = [lib.sign(p.detach()) * -0.5 for p in params]
    optimizer = getattr(lib.optim, name)(params, **options)
    for k in range(steps):
        optimizer.zero_grad()
        sum(((p * c).exp() * (1.0 + 0.1 * k)).sum() for p, c in zip(params, slopes, strict=True)).backward()
        optimizer.step()
    kept = [optimizer.state[p] for p in params]
    return [p.tolist() for p in params], [{key: s[key].tolist() for key in sorted(s)} for s in kept]


def values(seed=0, shapes=SHAPES):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape).tolist() for shape in shapes]


def same(ours, theirs, tolerance):
    for a, b in zip(ours[0], theirs[0], strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
    for a, b in zip(ours[1], theirs[1], strict=True):
        assert list(a) == list(b)
        for key in a:
            np.testing.assert_allclose(a[key], b[key], rtol=10 * tolerance, atol=tolerance, err_msg=key)


@pytest.mark.parametrize(("name", "options"), CASES, ids=lambda value: str(value))
def test_many_steps(torch, name, options):
    for dtype in ("float32", "float64"):
        ours = run(rg, name, options, dtype, values())
        same(ours, run(torch, name, options, dtype, values()), TOLERANCE[dtype])


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW"])
def test_half_precision(torch, name):
    options = {"lr": 0.05, "eps": 1e-3} if name != "SGD" else {"lr": 0.05, "momentum": 0.9}
    ours = run(rg, name, options, "float16", values(1), 5)
    same(ours, run(torch, name, options, "float16", values(1), 5), TOLERANCE["float16"])


def complex_run(lib, name, options):
    z = lib.tensor([1 + 2j, -0.5 + 0.1j, 3 - 1j], dtype=lib.complex128).requires_grad_()
    optimizer = getattr(lib.optim, name)([z], **options)
    for _ in range(10):
        optimizer.zero_grad()
        ((z * z.conj()).real.sum() + (z * z).real.sum() * 0.3).backward()
        optimizer.step()
    return z.tolist()


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("SGD", {"lr": 0.05, "momentum": 0.9, "weight_decay": 0.1, "nesterov": True}),
        ("Adam", {"lr": 0.05, "weight_decay": 0.1, "amsgrad": True}),
        ("AdamW", {"lr": 0.05, "maximize": True}),
    ],
)
def test_complex_parameters(torch, name, options):
    np.testing.assert_allclose(complex_run(rg, name, options), complex_run(torch, name, options), rtol=1e-10)


def strided_run(lib, name):
    whole = lib.linspace(-1, 1, 24).reshape(4, 6)
    param = whole.t()[::2].detach().requires_grad_()
    optimizer = getattr(lib.optim, name)([param], lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        (param**3).sum().backward()
        optimizer.step()
    return whole.tolist()


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW"])
def test_parameters_that_are_not_dense_are_written_where_they_lie(torch, name):
    np.testing.assert_allclose(strided_run(rg, name), strided_run(torch, name), rtol=1e-5)


def test_no_step_changes_a_gradient():
    for make in (
        lambda p: rg.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.1, maximize=True),
        lambda p: rg.optim.Adam(p, weight_decay=0.1, maximize=True, amsgrad=True),
        lambda p: rg.optim.AdamW(p, maximize=True),
    ):
        p = rg.ones(4, requires_grad=True)
        p.grad = rg.full((4,), 3.0)
        optimizer = make([p])
        optimizer.step()
        optimizer.step()
        assert p.grad.tolist() == [3.0] * 4


def test_a_velocity_is_not_the_gradient_itself():
    p = rg.ones(2, requires_grad=True)
    p.grad = rg.ones(2)
    optimizer = rg.optim.SGD([p], lr=0.1, momentum=0.9)
    optimizer.step()
    p.grad.zero_()
    assert optimizer.state[p]["momentum_buffer"].tolist() == [1.0, 1.0]


def test_infinite_gradients_make_no_noise():
    p = rg.ones(3, requires_grad=True)
    p.grad = rg.tensor([float("inf"), float("nan"), 1.0])
    rg.optim.Adam([p]).step()
    assert p.isfinite().tolist() == [False, False, True]
