"""`scipy.optimize` on functions of tensors: minimize, least_squares, constraints."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from retrograd.optimize.objective import Function, Objective, Residuals

# What each method of `minimize` can use; the others take the value alone.
GRADIENT = {"cg", "bfgs", "l-bfgs-b", "tnc", "slsqp"}
PRODUCT = {"newton-cg", "trust-ncg", "trust-krylov", "trust-constr"}
HESSIAN = {"dogleg", "trust-exact"}
OLD_FORM = {"slsqp", "cobyla"}  # these take constraints as dicts


def _scipy() -> Any:
    try:
        return importlib.import_module("scipy.optimize")
    except ImportError:
        raise ImportError(
            "retrograd.optimize.minimize() and least_squares() call SciPy, which is not installed: "
            "pip install 'retrograd[scipy]'. "
            "Objective and Residuals work without it, with any optimiser that takes functions of a float64 vector."
        ) from None


def minimize(
    function: Function, params: Any, method: str | None = None, *, constraints: Any = (), **options: Any
) -> Any:
    """`scipy.optimize.minimize` with derivatives: what `method` can use of gradient and Hessian, it gets.

    Args:
        function: called as `function(params)` with float64 tensors in the form of `params`; returns a single number.
        params: where to start: tensors, arrays or numbers, alone or in nested lists, tuples and dicts.
        method: SciPy's name of the method; BFGS, L-BFGS-B or SLSQP by default, as bounds and constraints want it.
        constraints: what `constraint` returns, one or a list; or anything that SciPy takes.
        options: further arguments of `scipy.optimize.minimize`: `bounds`, `tol`, `callback`, `options` …

    Returns
    -------
        SciPy's result; `result.params` holds the parameters found, as float64 tensors in the form of `params`.

    >>> import retrograd as rg
    >>> def rosenbrock(p):
    ...     return (1 - p["x"]) ** 2 + 100 * (p["y"] - p["x"] ** 2) ** 2
    >>> found = rg.optimize.minimize(rosenbrock, {"x": -1.0, "y": 2.0}, "trust-ncg")
    >>> round(found.params["y"].item(), 4)
    1.0
    """
    problem = Objective(function, params)
    name = method.lower() if isinstance(method, str) else None
    listed = _listed(constraints)
    if name is None and not callable(method):
        name = "slsqp" if listed else "l-bfgs-b" if options.get("bounds") is not None else "bfgs"
    bound: list[Any] = []
    for c in listed:
        bound.extend(c.bound(problem, name in OLD_FORM) if isinstance(c, Constraint) else [c])
    given: dict[str, Any] = {"jac": True} if name in GRADIENT | PRODUCT | HESSIAN else {}
    if name in PRODUCT:
        given["hessp"] = problem.hessp
    if name in HESSIAN:
        given["hess"] = problem.hess
    if bound:
        given["constraints"] = bound
    target = problem.value_and_grad if "jac" in given else problem.value
    result = _scipy().minimize(target, problem.start, method=name or method, **{**given, **options})
    result.params = problem.params(result.x)
    return result


def least_squares(function: Function, params: Any, *, mode: str | None = None, **options: Any) -> Any:
    """`scipy.optimize.least_squares` with the exact Jacobian.

    Args:
        function: called as `function(params)`; returns a tensor of residuals.
        params: where to start: tensors, arrays or numbers, alone or in nested lists, tuples and dicts.
        mode: how the Jacobian is computed: see `Residuals`.
        options: further arguments of `scipy.optimize.least_squares`: `bounds`, `loss`, `method` …

    Returns
    -------
        SciPy's result; `result.params` holds the parameters found.

    >>> import retrograd as rg
    >>> t = rg.tensor([0.0, 1.0, 2.0], dtype=rg.float64)
    >>> y = 3 * (-0.5 * t).exp()
    >>> found = rg.optimize.least_squares(lambda p: p["a"] * (-p["k"] * t).exp() - y, {"a": 1.0, "k": 1.0})
    >>> round(found.params["k"].item(), 6)
    0.5
    """
    problem = Residuals(function, params, mode)
    options.setdefault("jac", problem.jac)
    result = _scipy().least_squares(problem.value, problem.start, **options)
    result.params = problem.params(result.x)
    return result


class Constraint:
    """A constraint of `minimize`, not yet of any parameters."""

    def __init__(self, function: Function, lower: Any, upper: Any) -> None:
        self.function = function
        self.lower = lower
        self.upper = upper

    def bound(self, problem: Objective, old_form: bool) -> list[Any]:
        """SciPy's constraints on the vector of a problem; older methods take them as dicts."""
        inner = Residuals(self.function, problem.params(problem.start))
        if not old_form:
            return [
                _scipy().NonlinearConstraint(
                    inner.value, self.lower, self.upper, jac=inner.jac, hess=inner.hess
                )
            ]
        size = inner.value(problem.start).size
        lower, upper = (np.broadcast_to(np.asarray(b, np.float64), size) for b in (self.lower, self.upper))
        equal = lower == upper
        sides = ((equal, lower, 1, "eq"), (~equal & np.isfinite(lower), lower, 1, "ineq"),
                 (~equal & np.isfinite(upper), upper, -1, "ineq"))  # fmt: skip
        return [_Side(inner, rows, at, sign).as_dict(kind) for rows, at, sign, kind in sides if rows.any()]


class _Side:
    """Some rows of a constraint, from one side: `sign * (function - limit)`, which is to be 0, or at least 0."""

    def __init__(self, inner: Residuals, rows: Any, limit: Any, sign: int) -> None:
        self.inner = inner
        self.rows = rows
        self.limit = limit[rows]
        self.sign = sign

    def value(self, x: Any) -> Any:
        return self.sign * (self.inner.value(x)[self.rows] - self.limit)

    def jac(self, x: Any) -> Any:
        return self.sign * self.inner.jac(x)[self.rows]

    def as_dict(self, kind: str) -> dict[str, Any]:
        """The form that SLSQP and COBYLA take."""
        return {"type": kind, "fun": self.value, "jac": self.jac}


def constraint(function: Function, lower: Any = -np.inf, upper: Any = np.inf) -> Constraint:
    """A constraint for `minimize`, with its derivatives: `lower <= function(params) <= upper`, or equality.

    >>> import retrograd as rg
    >>> on_circle = rg.optimize.constraint(lambda p: (p ** 2).sum(), 1.0, 1.0)
    >>> found = rg.optimize.minimize(lambda p: p.sum(), rg.tensor([0.5, -0.5]), constraints=on_circle)
    >>> [round(v, 4) for v in found.params.tolist()]
    [-0.7071, -0.7071]
    """
    return Constraint(function, lower, upper)


def _listed(constraints: Any) -> list[Any]:
    return list(constraints) if isinstance(constraints, (list, tuple)) else [constraints]
