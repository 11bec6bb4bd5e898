"""A neural differential equation: a network learns the law of a spiral from points on it.

Its gradients come from the adjoint equation, which is solved backwards in time together with the path itself: nothing
of the way forward is kept, however many steps it took.
"""

import sys
from contextlib import suppress
from typing import Any

import retrograd as rg
from retrograd import nn
from retrograd.utils.progress import progress
from retrograd.utils.run_log import RunLog, pyplot

LAW = rg.tensor([[-0.1, 2.0], [-2.0, -0.1]])
State = list[rg.Tensor]


def step(f: Any, state: State, h: float) -> State:
    """One step of the classical method of Runge and Kutta."""

    def moved(slope: State, by: float) -> State:
        return [s + by * k for s, k in zip(state, slope, strict=True)]

    k1 = f(state)
    k2 = f(moved(k1, h / 2))
    k3 = f(moved(k2, h / 2))
    k4 = f(moved(k3, h))
    slopes = zip(k1, k2, k3, k4, strict=True)
    return moved([(a + 2 * b + 2 * c + d) / 6 for a, b, c, d in slopes], h)


class Path(rg.autograd.Function):
    """The states at equal times, from a start on; `law` says where a state moves."""

    @staticmethod
    def forward(
        ctx: Any, law: nn.Module, start: rg.Tensor, count: int, h: float, *params: rg.Tensor
    ) -> rg.Tensor:
        path = [start]
        for _ in range(count - 1):
            path += step(lambda y: [law(y[0])], path[-1:], h)
        ctx.law, ctx.h, ctx.params = law, h, params
        ctx.save_for_backward(path[-1])
        return rg.stack(path)

    @staticmethod
    def backward(ctx: Any, grad: rg.Tensor) -> tuple[Any, ...]:
        law, params = ctx.law, ctx.params

        def slopes(state: State) -> State:
            """Of the path, of its adjoint, and of the gradients of the parameters."""
            with rg.enable_grad():
                y = state[0].detach().requires_grad_()
                pulls = rg.autograd.grad(law(y), (y, *params), state[1])
            with rg.no_grad():
                return [law(y), -pulls[0], *[-p for p in pulls[1:]]]

        (end,) = ctx.saved_tensors
        state = [end, grad[-1], *[rg.zeros_like(p) for p in params]]
        for i in range(len(grad) - 2, -1, -1):
            state = step(slopes, state, -ctx.h)
            state[1] = state[1] + grad[i]
        return None, state[1], None, None, *state[2:]


def main(quick: bool) -> int:
    """Train on short pieces of the spiral, and draw the whole."""
    rg.manual_seed(0)
    steps, h, length = (60, 0.05, 8) if quick else (1500, 0.05, 12)
    with rg.no_grad():
        spiral = [rg.tensor([[2.0, 0.0]])]
        for _ in range(400):
            spiral += step(lambda y: [y[0] @ LAW.T], spiral[-1:], h)
        truth = rg.cat(spiral)
    law = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))
    params = tuple(law.parameters())
    optimizer = rg.optim.Adam(params, lr=0.02)
    losses = []
    with RunLog("build/examples/neural_ode.csv") as log, progress(steps, "training") as bar:
        for number in range(steps):
            starts = rg.randint(0, len(truth) - length, (20,))
            wanted = rg.stack([truth[starts + i] for i in range(length)])
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(Path.apply(law, wanted[0], length, h, *params), wanted)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            log.write(step=number, loss=loss)
            bar.advance(f"loss {loss.item():.5f}")
    first, last = losses[0], sum(losses[-5:]) / 5
    print(f"loss before {first:.4f}, after {last:.5f}")
    with suppress(ModuleNotFoundError), rg.no_grad():  # there is no picture without matplotlib
        plt = pyplot()
        figure, axes = plt.subplots(figsize=(4, 4))
        found = Path.apply(law, truth[:1], len(truth), h, *params)[:, 0]
        axes.plot(*truth.T.numpy(), label="the spiral")
        axes.plot(*found.T.numpy(), label="by the learned law")
        axes.legend()
        figure.savefig("build/examples/neural_ode.png")
        print("picture: build/examples/neural_ode.png")
    return 0 if last < 0.3 * first else 1


if __name__ == "__main__":
    sys.exit(main("--quick" in sys.argv))
