"""Fit a law of chemistry with SciPy's optimisers: exact gradients, Hessians and constraints from plain formulas.

The measurements are those of an enzyme, treated with puromycin: how fast it works at several concentrations of what it
works on (M. A. Treloar, "Effects of Puromycin on Galactosyltransferase", University of Toronto, 1974). The law is that
of Michaelis and Menten, with two constants: the highest rate, and the concentration at which half of it is reached.
"""

import numpy as np

import retrograd as rg
from retrograd import optimize

CONCENTRATION = rg.tensor(
    [0.02, 0.02, 0.06, 0.06, 0.11, 0.11, 0.22, 0.22, 0.56, 0.56, 1.1, 1.1], dtype=rg.float64
)
RATE = rg.tensor([76.0, 47, 97, 107, 123, 139, 159, 152, 191, 201, 207, 200], dtype=rg.float64)
KNOWN = {"highest": 212.7, "half": 0.06412}  # as the literature has them
GUESS = {"highest": 100.0, "half": 0.5}


def law(p: dict[str, rg.Tensor]) -> rg.Tensor:
    """The rate that the law predicts at each concentration."""
    predicted: rg.Tensor = p["highest"] * CONCENTRATION / (p["half"] + CONCENTRATION)
    return predicted


def error(p: dict[str, rg.Tensor]) -> rg.Tensor:
    """Half the sum of squared residuals."""
    total: rg.Tensor = ((law(p) - RATE) ** 2).sum() / 2
    return total


def fitted() -> dict[str, float]:
    """By least squares, from the Jacobian."""
    found = optimize.least_squares(lambda p: law(p) - RATE, GUESS)
    return {name: value.item() for name, value in found.params.items()}


def uncertain(at: dict[str, float]) -> dict[str, float]:
    """How exact the constants are: from the Hessian of the error at the minimum."""
    problem = optimize.Objective(error, at)
    variance = 2 * problem.value(problem.start) / (len(RATE) - len(at))
    covariance = variance * np.linalg.inv(problem.hess(problem.start))
    return dict(zip(at, np.sqrt(np.diag(covariance)), strict=True))


def fitted_by_newton() -> dict[str, float]:
    """The same minimum by a Newton method, which needs products with the Hessian only; constants stay positive."""
    logarithms = {name: float(np.log(value)) for name, value in GUESS.items()}
    found = optimize.minimize(
        lambda p: error({name: v.exp() for name, v in p.items()}), logarithms, "trust-ncg"
    )
    return {name: value.exp().item() for name, value in found.params.items()}


def fitted_through_a_point() -> dict[str, float]:
    """The best law among those that give exactly 150 at a concentration of 0.2."""
    through = optimize.constraint(lambda p: p["highest"] * 0.2 / (p["half"] + 0.2), 150.0, 150.0)
    found = optimize.minimize(error, fitted(), constraints=through)
    return {name: value.item() for name, value in found.params.items()}


if __name__ == "__main__":
    best = fitted()
    errors = uncertain(best)
    for name, value in best.items():
        print(f"{name:8} {value:9.4f} ± {errors[name]:.4f}   (known {KNOWN[name]})")
    again = fitted_by_newton()
    print("by Newton's method:", ", ".join(f"{name} {value:.4f}" for name, value in again.items()))
    bound = fitted_through_a_point()
    print("through a point:   ", ", ".join(f"{name} {value:.4f}" for name, value in bound.items()))
