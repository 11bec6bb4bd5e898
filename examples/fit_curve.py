"""Fit a damped oscillation to noisy measurements: arrays come from NumPy, gradients from your own formula."""

import numpy as np

import retrograd as rg

TRUTH = {"amplitude": 2.0, "damping": 0.4, "frequency": 3.0}
GUESS = {"amplitude": 1.0, "damping": 0.1, "frequency": 2.6}


def measurements() -> tuple[rg.Tensor, rg.Tensor]:
    """Times, and what was measured at them."""
    times = np.linspace(0, 5, 200)
    clean = TRUTH["amplitude"] * np.exp(-TRUTH["damping"] * times) * np.cos(TRUTH["frequency"] * times)
    noise = np.random.default_rng(0).normal(scale=0.05, size=times.shape)
    return rg.from_numpy(times), rg.from_numpy(clean + noise)


def fit(steps: int = 400, rate: float = 0.02) -> dict[str, float]:
    """Gradient descent with momentum on the mean squared error."""
    times, measured = measurements()
    parameters = {
        name: rg.tensor(value, dtype=rg.float64, requires_grad=True) for name, value in GUESS.items()
    }
    velocities = {name: rg.zeros((), dtype=rg.float64) for name in GUESS}
    for _ in range(steps):
        wave = rg.exp(-parameters["damping"] * times) * rg.cos(parameters["frequency"] * times)
        error = ((parameters["amplitude"] * wave - measured) ** 2).mean()
        error.backward()
        with rg.no_grad():
            for name, parameter in parameters.items():
                assert parameter.grad is not None
                velocities[name] = 0.9 * velocities[name] + parameter.grad
                parameter -= rate * velocities[name]
                parameter.grad = None
    return {name: parameter.item() for name, parameter in parameters.items()}


if __name__ == "__main__":
    for name, value in fit().items():
        print(f"{name:10} {value:.3f}   (truth {TRUTH[name]})")
