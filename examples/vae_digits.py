"""A variational autoencoder learns handwritten digits (`retrograd.datasets`, CC BY 4.0), and draws new ones."""

import sys
from contextlib import suppress

import numpy as np

import retrograd as rg
from retrograd import nn
from retrograd.datasets import load_digits
from retrograd.distributions import ContinuousBernoulli, Independent, Normal, kl_divergence
from retrograd.utils.progress import progress
from retrograd.utils.run_log import RunLog, pyplot

CODE, HIDDEN, BATCH = 8, 64, 64


class VAE(nn.Module):
    """A picture becomes a distribution of codes, and a code a distribution of pictures."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, 2 * CODE))
        self.decoder = nn.Sequential(nn.Linear(CODE, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, 64))

    def codes(self, x: rg.Tensor) -> Independent:
        """Which codes a picture may have."""
        mean, raw = self.encoder(x).chunk(2, -1)
        return Independent(Normal(mean, nn.functional.softplus(raw) + 1e-3), 1)

    def pictures(self, code: rg.Tensor) -> Independent:
        """Which pictures a code may stand for."""
        return Independent(ContinuousBernoulli(logits=self.decoder(code)), 1)

    def loss(self, x: rg.Tensor) -> rg.Tensor:
        """The negative evidence bound: how badly pictures are drawn again, and how far codes are from plain noise."""
        codes = self.codes(x)
        noise = Independent(Normal(rg.zeros(CODE), 1.0), 1)
        drawn = self.pictures(codes.rsample())
        return (kl_divergence(codes, noise.expand(codes.batch_shape)) - drawn.log_prob(x)).mean()


def main(quick: bool) -> int:
    """Train, and draw digits that nobody wrote."""
    rg.manual_seed(0)
    steps = 120 if quick else 4000
    images = rg.tensor(load_digits().images.reshape(-1, 64) / 16, dtype=rg.float32).clamp(0.001, 0.999)
    model = VAE()
    optimizer = rg.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    with RunLog("build/examples/vae_digits.csv") as log, progress(steps, "training") as bar:
        for step in range(steps):
            optimizer.zero_grad()
            loss = model.loss(images[rg.randint(0, len(images), (BATCH,))])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            log.write(step=step, loss=loss)
            bar.advance(f"loss {loss.item():.2f}")
    first, last = losses[0], sum(losses[-10:]) / 10
    print(f"loss before {first:.2f}, after {last:.2f} (nats a picture)")
    with suppress(ModuleNotFoundError), rg.no_grad():  # there is no picture without matplotlib
        drawn = model.pictures(rg.randn(40, CODE)).mean.reshape(40, 8, 8).numpy()
        sheet = np.concatenate(
            [np.concatenate(list(row), axis=1) for row in drawn.reshape(4, 10, 8, 8)], axis=0
        )
        pyplot().imsave("build/examples/vae_digits.png", sheet, cmap="gray_r")
        print("picture: build/examples/vae_digits.png")
    return 0 if last < first - 10 else 1


if __name__ == "__main__":
    sys.exit(main("--quick" in sys.argv))
