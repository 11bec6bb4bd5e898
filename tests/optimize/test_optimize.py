from __future__ import annotations

import sys
import warnings

import numpy as np
import pytest

import retrograd as rg
from retrograd.optimize import Objective, Residuals, constraint, least_squares, minimize

scipy_optimize = pytest.importorskip("scipy.optimize")

START = {"x": -1.2, "y": rg.tensor([1.0, 1.5, 0.5])}


def rosenbrock(p):
    z = rg.cat([p["x"].reshape(1), p["y"]])
    return (100 * (z[1:] - z[:-1] ** 2) ** 2 + (1 - z[:-1]) ** 2).sum()


def test_a_vector_of_all_parameters():
    problem = Objective(rosenbrock, START)
    assert problem.start.dtype == np.float64
    np.testing.assert_array_equal(problem.start, [-1.2, 1.0, 1.5, 0.5])
    params = problem.params(np.arange(4.0))
    assert list(params) == ["x", "y"]
    assert params["x"].shape == ()
    assert params["y"].dtype == rg.float64
    np.testing.assert_array_equal(params["y"].array, [1.0, 2.0, 3.0])


def test_derivatives_are_those_scipy_knows():
    problem, x = Objective(rosenbrock, START), np.array([-1.2, 1.0, 1.5, 0.5])
    v = np.array([1.0, -1.0, 0.5, 2.0])
    assert problem.value(x) == pytest.approx(scipy_optimize.rosen(x))
    value, slope = problem.value_and_grad(x)
    assert isinstance(value, float)
    assert value == problem.value(x)
    for found, wanted in (
        (slope, scipy_optimize.rosen_der(x)),
        (problem.grad(x), scipy_optimize.rosen_der(x)),
        (problem.hess(x), scipy_optimize.rosen_hess(x)),
        (problem.hessp(x, v), scipy_optimize.rosen_hess_prod(x, v)),
        (problem.hessp(x, -v), -scipy_optimize.rosen_hess_prod(x, v)),
    ):
        assert type(found) is np.ndarray
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, wanted)


def test_one_point_is_computed_once():
    calls = []

    def counted(p):
        calls.append(1)
        return (p**2).sum()

    problem, x = Objective(counted, np.ones(3)), np.ones(3)
    problem.value_and_grad(x)
    problem.value(x)
    problem.grad(x)
    problem.value_and_grad(x.copy())
    assert len(calls) == 1
    for v in np.eye(3):
        problem.hessp(x, v)
    assert len(calls) == 2
    problem.value(x + 1)
    assert len(calls) == 3


def test_a_point_that_scipy_writes_into_is_another():
    problem, x = Objective(lambda p: (p**2).sum(), np.ones(2)), np.ones(2)
    assert problem.value(x) == 2.0
    x[0] = 3.0
    assert problem.value(x) == 10.0


METHODS = [
    "BFGS", "CG", "L-BFGS-B", "Newton-CG", "trust-ncg", "trust-krylov", "trust-exact", "trust-constr", "SLSQP", "TNC",
]  # fmt: skip


@pytest.mark.parametrize("method", [None, "Nelder-Mead", "Powell", *METHODS])
def test_every_method_finds_the_minimum(method):
    near = {"x": 0.5, "y": rg.tensor([0.8, 1.2, 0.7])}  # far away there is another minimum
    found = minimize(rosenbrock, near, method, options={} if method == "TNC" else {"maxiter": 5000})
    np.testing.assert_allclose(found.x, 1.0, atol=2e-3)
    np.testing.assert_allclose(found.params["y"].array, found.x[1:])


def test_bounds():
    found = minimize(rosenbrock, START, bounds=[(None, 0.5)] * 4)
    assert found.success
    assert found.x.max() <= 0.5


@pytest.mark.parametrize("method", [None, "SLSQP", "trust-constr", "COBYLA"])
def test_constraints(method):
    on_sphere = constraint(lambda p: (p["v"] ** 2).sum(), 1.0, 1.0)
    positive = constraint(lambda p: p["v"], lower=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = minimize(
            lambda p: -(p["v"] * rg.tensor([3.0, 4.0, -1.0], dtype=rg.float64)).sum(),
            {"v": rg.tensor([0.5, 0.5, 0.5])}, method, constraints=[on_sphere, positive],
        )  # fmt: skip
    np.testing.assert_allclose(found.x, [0.6, 0.8, 0.0], atol=2e-3)


def test_an_upper_limit_and_scipys_own_constraints():
    below = constraint(lambda p: p.sum(), upper=1.0)
    plain = {"type": "ineq", "fun": lambda x: x[0] - 0.2}
    found = minimize(lambda p: -(p + p.prod()).sum(), np.full(2, 0.1), "SLSQP", constraints=[below, plain])
    np.testing.assert_allclose(found.x, [0.5, 0.5], atol=1e-6)


def test_derivatives_of_constraints():
    problem = Objective(lambda p: p.sum(), np.ones(3))
    (made,) = constraint(lambda p: rg.stack([p.prod(), (p**3).sum()]), 0.0, 1.0).bound(
        problem, old_form=False
    )
    x = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(made.fun(x), [6.0, 36.0])
    np.testing.assert_allclose(made.jac(x), [[6.0, 3.0, 2.0], [3.0, 12.0, 27.0]])
    np.testing.assert_allclose(made.hess(x, [1.0, 0.5]), [[3, 3, 2], [3, 6, 1], [2, 1, 9]])


T = rg.linspace(0, 4, 20, dtype=rg.float64)
Y = 2.5 * (-1.3 * T).exp() + 0.5


def decay(p):
    return p["a"] * (-p["k"] * T).exp() + p["c"] - Y


@pytest.mark.parametrize("mode", [None, "forward", "reverse"])
def test_least_squares(mode):
    found = least_squares(decay, {"a": 1.0, "k": 0.5, "c": 0.0}, mode=mode)
    np.testing.assert_allclose(found.x, [2.5, 1.3, 0.5], atol=1e-6)
    assert found.params["k"].item() == pytest.approx(1.3)


def test_least_squares_with_bounds_and_a_robust_loss():
    found = least_squares(decay, {"a": 1.0, "k": 0.5, "c": 0.1}, bounds=(0, 2), loss="soft_l1")
    assert found.x.max() <= 2


def test_the_jacobian_is_what_differences_say():
    problem = Residuals(decay, {"a": 1.0, "k": 0.5, "c": 0.0})
    x = problem.start + 0.1
    numeric = scipy_optimize.approx_fprime(x, problem.value)
    np.testing.assert_allclose(problem.jac(x), numeric, atol=1e-6)


def test_a_root():
    problem = Residuals(lambda p: rg.stack([p[0] + p[1] - 3, p[0] * p[1] - 2]), [0.0, 5.0])
    found = scipy_optimize.root(problem.value, problem.start, jac=problem.jac)
    np.testing.assert_allclose(sorted(found.x), [1.0, 2.0])


def test_what_does_not_fit():
    with pytest.raises(
        TypeError, match="must return a tensor with a single number, not a tensor of shape \\[2\\]"
    ):
        minimize(lambda p: p, np.ones(2))
    with pytest.raises(TypeError, match="must return a tensor with a single number, not float"):
        minimize(lambda p: 1.0, np.ones(2))
    with pytest.raises(TypeError, match="must return a tensor, not float"):
        least_squares(lambda p: 1.0, np.ones(2))
    with pytest.raises(TypeError, match="parameter 1 must be a real tensor, array or number"):
        Objective(lambda p: p, [1.0, rg.tensor([1j])])
    with pytest.raises(ValueError, match="mode must be"):
        Residuals(lambda p: p, [1.0], mode="backward")


def test_without_scipy(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    for call in (
        lambda: minimize(lambda p: p.sum(), np.ones(2)),
        lambda: minimize(
            lambda p: p.sum(), np.ones(2), "trust-constr", constraints=constraint(lambda p: p, 0, 1)
        ),
        lambda: least_squares(lambda p: p, np.ones(2)),
    ):
        with pytest.raises(ImportError, match=r"pip install 'retrograd\[scipy\]'"):
            call()
    assert Objective(lambda p: p.sum(), np.ones(2)).value(np.ones(2)) == 2.0
