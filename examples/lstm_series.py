"""An LSTM learns a time series, two oscillations and noise, and goes on with it by itself."""

import sys
from contextlib import suppress

import numpy as np

import retrograd as rg
from retrograd import nn
from retrograd.utils.progress import progress
from retrograd.utils.run_log import RunLog, pyplot

LENGTH, BATCH, AHEAD = 40, 16, 80


def series(count: int) -> rg.Tensor:
    """A slow and a fast oscillation, with a little noise."""
    t = np.arange(count)
    clean = 0.7 * np.sin(2 * np.pi * t / 25) + 0.3 * np.sin(2 * np.pi * t / 7)
    return rg.tensor(clean + np.random.default_rng(0).normal(scale=0.03, size=count), dtype=rg.float32)


class Forecast(nn.Module):
    """The next value, from what the LSTM remembers of those before."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(1, 32, batch_first=True)
        self.head = nn.Linear(32, 1)

    def forward(
        self, x: rg.Tensor, state: tuple[rg.Tensor, rg.Tensor] | None = None
    ) -> tuple[rg.Tensor, object]:
        hidden, state = self.lstm(x, state)
        return self.head(hidden), state


def loss_of(model: Forecast, data: rg.Tensor) -> rg.Tensor:
    """The mean squared error of the next values, in pieces of the series."""
    starts = rg.randint(0, len(data) - LENGTH, (BATCH,)).tolist()
    pieces = rg.stack([data[s : s + LENGTH + 1] for s in starts]).unsqueeze(-1)
    return nn.functional.mse_loss(model(pieces[:, :-1])[0], pieces[:, 1:])


@rg.no_grad()
def continued(model: Forecast, seen: rg.Tensor, count: int) -> list[float]:
    """What comes after the series, if each forecast is taken for true."""
    x, state = model(seen.reshape(1, -1, 1))
    last, found = x[:, -1:], []
    for _ in range(count):
        found.append(last.item())
        last, state = model(last, state)
    return found


def main(quick: bool) -> int:
    """Train, and draw how the series goes on."""
    rg.manual_seed(0)
    steps = 40 if quick else 600
    data = series(600)
    model = Forecast()
    optimizer = rg.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    with RunLog("build/examples/lstm_series.csv") as log, progress(steps, "training") as bar:
        for step in range(steps):
            optimizer.zero_grad()
            loss = loss_of(model, data[:-AHEAD])
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.item())
            log.write(step=step, loss=loss)
            bar.advance(f"loss {loss.item():.4f}")
    first, last = losses[0], sum(losses[-5:]) / 5
    print(f"loss before {first:.4f}, after {last:.4f}")
    with suppress(ModuleNotFoundError):  # there is no picture without matplotlib
        plt = pyplot()
        figure, axes = plt.subplots(figsize=(8, 3))
        axes.plot(range(150), data[-150:].tolist(), label="what happened")
        axes.plot(range(150 - AHEAD, 150), continued(model, data[:-AHEAD], AHEAD), label="what was foreseen")
        axes.legend()
        figure.savefig("build/examples/lstm_series.png")
        print("picture: build/examples/lstm_series.png")
    return 0 if last < 0.5 * first else 1


if __name__ == "__main__":
    sys.exit(main("--quick" in sys.argv))
