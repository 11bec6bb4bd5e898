"""A physics-informed network: it solves the heat equation by being wrong about it less and less.

The network is a temperature u(x, t). Its loss is how far u_t is from u_xx at random points, and how far u is from
what is given at the start and at both ends. The exact solution is known, and only used to judge it.
"""

import math
import sys
from contextlib import suppress

import retrograd as rg
from retrograd import nn
from retrograd.utils.progress import progress
from retrograd.utils.run_log import RunLog, pyplot

SPREAD = 0.1


def exact(x: rg.Tensor, t: rg.Tensor) -> rg.Tensor:
    """A sine wave that fades."""
    return rg.exp(-SPREAD * math.pi**2 * t) * rg.sin(math.pi * x)


def residual(u: nn.Module, count: int) -> rg.Tensor:
    """How far u_t is from SPREAD * u_xx at random points: gradients of the network by its inputs, twice."""
    x, t = rg.rand(count, 1, requires_grad=True), rg.rand(count, 1, requires_grad=True)
    value = u(rg.cat([x, t], 1))
    u_x, u_t = rg.autograd.grad(value.sum(), (x, t), create_graph=True)
    (u_xx,) = rg.autograd.grad(u_x.sum(), x, create_graph=True)
    return ((u_t - SPREAD * u_xx) ** 2).mean()


def edges(u: nn.Module, count: int) -> rg.Tensor:
    """How far u is from a sine wave at the start, and from 0 at both ends."""
    x, t = rg.rand(count, 1), rg.rand(count, 1)
    start = u(rg.cat([x, rg.zeros_like(x)], 1)) - rg.sin(math.pi * x)
    ends = [u(rg.cat([rg.full_like(t, end), t], 1)) for end in (0.0, 1.0)]
    return (start**2).mean() + (ends[0] ** 2).mean() + (ends[1] ** 2).mean()


def main(quick: bool) -> int:
    """Train, and compare with the exact solution."""
    rg.manual_seed(0)
    steps = 400 if quick else 3000
    u = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = rg.optim.Adam(u.parameters(), lr=5e-3)
    schedule = rg.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    losses = []
    with RunLog("build/examples/heat_equation.csv") as log, progress(steps, "training") as bar:
        for step in range(steps):
            optimizer.zero_grad()
            loss = residual(u, 100) + edges(u, 50)
            loss.backward()
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
            log.write(step=step, loss=loss)
            bar.advance(f"loss {loss.item():.5f}")
    axis = rg.linspace(0, 1, 40)
    x, t = rg.meshgrid(axis, axis, indexing="ij")
    with rg.no_grad():
        found = u(rg.stack([x.flatten(), t.flatten()], 1)).reshape(40, 40)
    error = (found - exact(x, t)).abs().max().item()
    print(f"loss before {losses[0]:.4f}, after {losses[-1]:.5f}; largest error {error:.3f}")
    with suppress(ModuleNotFoundError):  # there is no picture without matplotlib
        plt = pyplot()
        figure, axes = plt.subplots(1, 2, figsize=(9, 3.5))
        for place, (title, values) in zip(
            axes, {"found": found, "error": found - exact(x, t)}.items(), strict=True
        ):
            shown = place.imshow(values.numpy(), origin="lower", extent=(0, 1, 0, 1), aspect="auto")
            place.set(title=title, xlabel="time", ylabel="place")
            figure.colorbar(shown, ax=place)
        figure.savefig("build/examples/heat_equation.png")
        print("picture: build/examples/heat_equation.png")
    return 0 if losses[-1] < 0.1 * losses[0] and error < 0.3 else 1


if __name__ == "__main__":
    sys.exit(main("--quick" in sys.argv))
