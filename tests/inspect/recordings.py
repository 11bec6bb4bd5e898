"""Six real recordings, which the tests in a browser open; `python -m tests.inspect.recordings FOLDER` for people."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

import retrograd as rg
from retrograd import nn
from retrograd.datasets import load_digits
from retrograd.inspect import Recording
from retrograd.utils.checkpoint import checkpoint


def line_fit() -> Recording:
    """The line fit of the guide, on noisy points."""
    random = np.random.default_rng(0)
    xs = random.uniform(-1, 1, size=100)
    ys = 3 * xs - 2 + 0.1 * random.normal(size=100)
    x, y = rg.from_numpy(xs), rg.from_numpy(ys)
    slope = rg.tensor(0.0, dtype=rg.float64, requires_grad=True)
    offset = rg.tensor(0.0, dtype=rg.float64, requires_grad=True)
    with rg.inspect.record(title="A line fit") as recording:
        loss = ((slope * x + offset - y) ** 2).mean()
        loss.backward()
    return recording


def digits() -> Recording:
    """A network that reads handwritten digits, and a step of its optimiser."""
    data = load_digits()
    images = rg.from_numpy(data.images[:32].astype(np.float32).reshape(32, -1) / 16)
    labels = rg.from_numpy(data.labels[:32].astype(np.int64))
    net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 32), nn.Tanh(), nn.Linear(32, 10))
    optimizer = rg.optim.Adam(net.parameters(), lr=1e-3)
    with rg.inspect.record(title="Digits") as recording:
        scores = net(images)
        loss = nn.functional.cross_entropy(scores, labels)
        loss.backward()
        optimizer.step()
    return recording


def transformer() -> Recording:
    """Two layers of a transformer's encoder between an embedding and a linear layer."""
    embedding = nn.Embedding(50, 32)
    layer = nn.TransformerEncoderLayer(32, 4, dim_feedforward=64, dropout=0.0, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 2)
    head = nn.Linear(32, 50)
    tokens = rg.randint(0, 50, (4, 12))
    with rg.inspect.record(title="A small transformer") as recording:
        hidden = encoder(embedding(tokens))
        scores = head(hidden)
        loss = nn.functional.cross_entropy(scores.reshape(-1, 50), tokens.reshape(-1))
        loss.backward()
    return recording


def rnn() -> Recording:
    """A recurrent cell, unrolled over a hundred steps."""
    cell = nn.RNNCell(8, 16)
    out = nn.Linear(16, 1)
    series = rg.randn(100, 4, 8)
    target = rg.randn(4, 1)
    with rg.inspect.record(title="An RNN of 100 steps") as recording:
        h = rg.zeros(4, 16)
        for x in series:
            h = cell(x, h)
        loss = ((out(h) - target) ** 2).mean()
        loss.backward()
    return recording


def nan_hunt() -> Recording:
    """A distance of zero: the square root has no slope there."""
    points = rg.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 0.0]], requires_grad=True)
    scale = rg.tensor(1.0, requires_grad=True)
    unused = rg.ones(3, requires_grad=True)
    with rg.inspect.record({"unused": unused}, title="A NaN hunt") as recording:
        squares = (points - points[0]) ** 2
        distances = squares.sum(1).sqrt()
        energy = (rg.exp(-distances) * scale).sum()
        energy.backward()
    return recording


def checkpointed() -> Recording:
    """Blocks that are computed again in the backward."""
    blocks = nn.ModuleList(nn.Sequential(nn.Linear(64, 64), nn.GELU()) for _ in range(4))
    x = rg.randn(32, 64)
    with rg.inspect.record(title="A checkpointed net") as recording:
        h = x
        for block in blocks:
            h = checkpoint(block, h, use_reentrant=False)
        loss = (h**2).mean()
        loss.backward()
    return recording


SIX: dict[str, Callable[[], Recording]] = {
    "line": line_fit,
    "digits": digits,
    "transformer": transformer,
    "rnn": rnn,
    "nan": nan_hunt,
    "checkpoint": checkpointed,
}


def write(folder: Path) -> None:
    """Writes the six pages."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in SIX.items():
        make()  # so that no time is that of loading modules
        rg.manual_seed(0)
        make().html(folder / f"{name}.html")


if __name__ == "__main__":
    write(Path(sys.argv[1] if len(sys.argv) > 1 else "build/pages"))
