"""`retrograd demo`: a small network learns to read handwritten digits by `loss.backward()`."""

from __future__ import annotations

import argparse
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

import retrograd as rg
from retrograd.cli.numbers import at_least_one
from retrograd.datasets import Digits, load_digits, split_digits
from retrograd.inspect import Recording, graph_text, record
from retrograd.utils.progress import progress

SIZES = (64, 64, 32, 10)
BATCH = 32
RATE = 0.1
MOMENTUM = 0.9
PAGE = "retrograd-demo.html"

_DESCRIPTION = """\
Trains a network of three layers on handwritten digits by loss.backward(), prints the graph that it walks, and writes
retrograd-demo.html, a page that shows the last step.
"""


def add(commands: Any) -> None:
    """Adds the command to the parser."""
    found = commands.add_parser(
        "demo",
        help="train a small network on handwritten digits, and write a page that shows its last step",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    found.add_argument(
        "--epochs",
        type=at_least_one,
        default=20,
        help="times to go through the training digits (%(default)s)",
    )
    found.add_argument(
        "--seed",
        type=int,
        default=0,
        help="where the random numbers start; one seed, one result (%(default)s)",
    )
    found.set_defaults(call=_call)


def _call(arguments: argparse.Namespace) -> int:
    run(epochs=arguments.epochs, seed=arguments.seed)
    return 0


class Result(NamedTuple):
    """What a training run came to."""

    accuracy: float
    """The share of the held-out digits that were read correctly."""
    seconds_per_step: float
    graph: str
    """The backward graph of a loss, as text."""
    recording: Recording
    """The last step."""


class Network:
    """Three layers, 64 → 64 → 32 → 10: relu after the first, tanh after the second."""

    def __init__(self) -> None:
        self.parameters: dict[str, rg.Tensor] = {}
        for layer, (n_in, n_out) in enumerate(pairwise(SIZES), start=1):
            scale = (2 / n_in) ** 0.5
            self.parameters[f"w{layer}"] = (rg.randn(n_in, n_out) * scale).requires_grad_()
            self.parameters[f"b{layer}"] = rg.zeros(n_out).requires_grad_()

    def __call__(self, images: rg.Tensor) -> rg.Tensor:
        """A score for each of the ten digits."""
        p = self.parameters
        hidden = rg.relu(images @ p["w1"] + p["b1"])
        hidden = rg.tanh(hidden @ p["w2"] + p["b2"])
        scores: rg.Tensor = hidden @ p["w3"] + p["b3"]
        return scores

    def loss(self, images: rg.Tensor, labels: rg.Tensor) -> rg.Tensor:
        """Cross-entropy: how surprised the network is by the right answers."""
        surprise: rg.Tensor = rg.nn.functional.cross_entropy(self(images), labels)
        return surprise


class MomentumDescent:
    """Gradient descent with momentum, written out by hand."""

    def __init__(self, network: Network) -> None:
        self.parameters: list[rg.Tensor] = list(network.parameters.values())
        self.velocities: list[rg.Tensor] = [rg.zeros(*parameter.shape) for parameter in self.parameters]

    def step(self, rate: float) -> None:
        """Move every parameter against its gradient, and forget the gradient."""
        with rg.no_grad():
            for parameter, velocity in zip(self.parameters, self.velocities, strict=True):
                gradient = parameter.grad
                assert gradient is not None
                velocity *= MOMENTUM
                velocity += gradient
                parameter -= rate * velocity
                gradient.zero_()


def run(epochs: int = 20, seed: int = 0) -> Result:
    """Train, and print what came of it."""
    train, held_out = split_digits(load_digits())
    shape = " → ".join(map(str, SIZES))
    print(f"A network {shape} learns to read handwritten digits:")
    print(f"{len(train.labels):,} to learn from, {len(held_out.labels)} held out to judge it by.\n")
    result = fit(train, held_out, epochs, seed)
    print(f"\nheld-out accuracy {result.accuracy:.1%}")
    print(f"{1e3 * result.seconds_per_step:.2f} ms a step (forward, backward, update) on {BATCH} digits")
    print(f"\nThe graph that loss.backward() walks, from the loss down to the parameters:\n\n{result.graph}")
    page = Path(PAGE).resolve()
    result.recording.html(page)
    print(f"\nA page that shows the last step, to open in a browser: {page}")
    return result


def fit(train: Digits, held_out: Digits, epochs: int, seed: int) -> Result:
    """Train on one part of the digits and judge by the other."""
    rg.manual_seed(seed)
    network = Network()
    descent = MomentumDescent(network)
    images, labels = _as_tensors(train)
    batches = len(train.labels) // BATCH
    bar = progress(epochs * batches, "training")
    start = perf_counter()
    for epoch in range(epochs):
        order = rg.randperm(len(train.labels))
        for batch in range(batches):
            rows = order[batch * BATCH : (batch + 1) * BATCH]
            loss = network.loss(images[rows], labels[rows])
            loss.backward()
            descent.step(RATE * (1 - bar.done / bar.total))
            bar.advance(f"epoch {epoch + 1}/{epochs}  loss {loss.item():.4f}")
    seconds = perf_counter() - start
    with record(network.parameters, title="The last step of the demo") as recording:
        loss = network.loss(images[rows], labels[rows])
        loss.backward()
    names = {**network.parameters, "loss": loss}
    return Result(accuracy(network, held_out), seconds / bar.total, graph_text(loss, names), recording)


def accuracy(network: Network, digits: Digits) -> float:
    """The share of `digits` that the network reads correctly."""
    images, labels = _as_tensors(digits)
    with rg.no_grad():
        read = network(images).argmax(1)
    return float(np.mean(read.numpy() == labels.numpy()))


def _as_tensors(digits: Digits) -> tuple[rg.Tensor, rg.Tensor]:
    """Pixels from 0 to 1, and labels as the indices that the loss asks for."""
    images = rg.from_numpy(digits.images.astype(np.float32) / 16)
    return images, rg.from_numpy(digits.labels.astype(np.int64))
