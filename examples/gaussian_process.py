"""A Gaussian process: how smooth, how large and how noisy measurements are is found by L-BFGS, and so is the curve."""

import sys
from contextlib import suppress

import numpy as np

import retrograd as rg
from retrograd import nn
from retrograd.distributions import MultivariateNormal
from retrograd.utils.progress import progress
from retrograd.utils.run_log import RunLog, pyplot


def measurements() -> tuple[rg.Tensor, rg.Tensor]:
    """A curve at a few places, with noise."""
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(-4, 4, 30))
    return rg.tensor(x), rg.tensor(np.sin(1.5 * x) + 0.2 * x + rng.normal(scale=0.15, size=30))


class Process(nn.Module):
    """Normal numbers at all places at once; those at near places are alike."""

    def __init__(self) -> None:
        super().__init__()
        self.log_length = nn.Parameter(rg.tensor(1.0, dtype=rg.float64))
        self.log_size = nn.Parameter(rg.tensor(0.0, dtype=rg.float64))
        self.log_noise = nn.Parameter(rg.tensor(0.0, dtype=rg.float64))

    def kernel(self, a: rg.Tensor, b: rg.Tensor) -> rg.Tensor:
        """The covariance of the curve at two places."""
        away = (a.unsqueeze(-1) - b.unsqueeze(-2)) / self.log_length.exp()
        return (2 * self.log_size).exp() * (-0.5 * away**2).exp()

    def noisy(self, x: rg.Tensor) -> rg.Tensor:
        """The covariance of measurements."""
        return self.kernel(x, x) + (2 * self.log_noise).exp() * rg.eye(len(x), dtype=x.dtype)

    def loss(self, x: rg.Tensor, y: rg.Tensor) -> rg.Tensor:
        """How unlikely the measurements are."""
        return -MultivariateNormal(rg.zeros_like(y), self.noisy(x), validate_args=False).log_prob(y)

    @rg.no_grad()
    def between(self, x: rg.Tensor, y: rg.Tensor, at: rg.Tensor) -> tuple[rg.Tensor, rg.Tensor]:
        """The curve between the measurements, and how sure it is."""
        root, cross = rg.linalg.cholesky(self.noisy(x)), self.kernel(x, at)
        mean = cross.T @ rg.cholesky_solve(y.unsqueeze(-1), root)
        known = rg.linalg.solve_triangular(root, cross, upper=False)
        return mean.squeeze(-1), ((2 * self.log_size).exp() - (known**2).sum(0)).sqrt()


def main(quick: bool) -> int:
    """Fit, and draw."""
    steps = 8 if quick else 40
    x, y = measurements()
    process = Process()
    before = process.loss(x, y).item()
    optimizer = rg.optim.LBFGS(process.parameters(), max_iter=4, line_search_fn="strong_wolfe")

    def closure() -> rg.Tensor:
        optimizer.zero_grad()
        loss = process.loss(x, y)
        loss.backward()
        return loss

    with RunLog("build/examples/gaussian_process.csv") as log, progress(steps, "fitting") as bar:
        for step in range(steps):
            loss = optimizer.step(closure)
            log.write(step=step, loss=loss)
            bar.advance(f"loss {loss.item():.3f}")
    last, noise = process.loss(x, y).item(), process.log_noise.exp().item()
    print(f"loss before {before:.2f}, after {last:.2f}; noise {noise:.3f} (truth 0.15)")
    with suppress(ModuleNotFoundError):  # there is no picture without matplotlib
        plt = pyplot()
        figure, axes = plt.subplots(figsize=(7, 3.5))
        at = rg.linspace(-5, 5, 200, dtype=rg.float64)
        mean, deviation = (v.numpy() for v in process.between(x, y, at))
        axes.plot(at.numpy(), mean)
        axes.fill_between(at.numpy(), mean - 2 * deviation, mean + 2 * deviation, alpha=0.2)
        axes.plot(x.numpy(), y.numpy(), "k.")
        figure.savefig("build/examples/gaussian_process.png")
        print("picture: build/examples/gaussian_process.png")
    return 0 if last < before - 10 and abs(noise - 0.15) < 0.06 else 1


if __name__ == "__main__":
    sys.exit(main("--quick" in sys.argv))
