"""Learning to learn: a network from which one step of gradient descent fits a new sine wave, from five points on it.

The loss is what is left after that step, so its gradient goes through the step: a gradient of a gradient.
"""

import math
import sys
from contextlib import suppress
from itertools import pairwise

import retrograd as rg
from retrograd.utils.progress import progress
from retrograd.utils.run_log import RunLog, plot_log

SIZES, TASKS, POINTS, RATE = (1, 40, 40, 1), 16, 10, 0.02
Layers = list[rg.Tensor]


def start() -> Layers:
    """Weights and biases of three layers, each with a first dimension for the tasks."""
    layers: Layers = []
    for n_in, n_out in pairwise(SIZES):
        layers += [rg.randn(1, n_in, n_out) * math.sqrt(1 / n_in), rg.zeros(1, 1, n_out)]
    return [layer.requires_grad_() for layer in layers]


def predict(layers: Layers, x: rg.Tensor) -> rg.Tensor:
    """What the networks of all tasks say at their points."""
    for i in range(0, len(layers), 2):
        x = x @ layers[i] + layers[i + 1]
        x = x.relu() if i + 2 < len(layers) else x
    return x


def tasks(count: int) -> tuple[rg.Tensor, rg.Tensor]:
    """Points on sine waves of different height and phase."""
    height, phase = rg.rand(count, 1, 1) * 2.9 + 0.1, rg.rand(count, 1, 1) * math.pi
    x = rg.rand(count, 2 * POINTS, 1) * 10 - 5
    return x, height * rg.sin(x + phase)


def loss_after(layers: Layers, x: rg.Tensor, y: rg.Tensor) -> rg.Tensor:
    """One step on half of the points of each task, and the error that it leaves on the others."""
    own = [layer.expand(len(x), -1, -1) for layer in layers]
    error = ((predict(own, x[:, :POINTS]) - y[:, :POINTS]) ** 2).mean((1, 2)).sum()
    slopes = rg.autograd.grad(error, own, create_graph=True)
    moved = [layer - RATE * slope for layer, slope in zip(own, slopes, strict=True)]
    return ((predict(moved, x[:, POINTS:]) - y[:, POINTS:]) ** 2).mean()


def main(quick: bool) -> int:
    """Train on ever new waves, and judge by waves that were kept apart."""
    rg.manual_seed(0)
    steps = 300 if quick else 5000
    layers, kept = start(), tasks(200)
    optimizer = rg.optim.Adam(layers, lr=3e-3)
    before = loss_after(layers, *kept).item()
    with RunLog("build/examples/meta_learning.csv") as log, progress(steps, "training") as bar:
        for step in range(steps):
            optimizer.zero_grad()
            loss = loss_after(layers, *tasks(TASKS))
            loss.backward()
            optimizer.step()
            log.write(step=step, loss=loss)
            bar.advance(f"loss {loss.item():.3f}")
    last, flat = loss_after(layers, *kept).item(), (kept[1] ** 2).mean().item()
    print(
        f"loss on new waves, one step on: before {before:.3f}, after {last:.3f} ({flat:.3f} of a flat line)"
    )
    with suppress(ModuleNotFoundError):  # there is no picture without matplotlib
        print("picture:", plot_log("build/examples/meta_learning.csv", logarithmic=True))
    return 0 if last < 0.5 * before and last < 0.8 * flat else 1


if __name__ == "__main__":
    sys.exit(main("--quick" in sys.argv))
