"""Small models as ordinary code, with their parameters, the loss of one sample, and a batch to try them on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import retrograd as rg
from retrograd.nn import functional as F


class Model(NamedTuple):
    params: dict[str, Any]
    loss: Callable[..., Any]  # of one sample
    batch: tuple[Any, ...]


def _params(rng: np.random.Generator, dtype: str, **shapes: tuple[int, ...]) -> dict[str, Any]:
    return {
        name: rg.tensor((rng.standard_normal(s) / np.sqrt(s[-1])).astype(dtype), requires_grad=True)
        for name, s in shapes.items()
    }


def _data(rng: np.random.Generator, dtype: str, *shape: int) -> Any:
    return rg.tensor(rng.standard_normal(shape).astype(dtype))


def perceptron(count: int, dtype: str = "float64") -> Model:
    rng = np.random.default_rng(0)
    p = _params(rng, dtype, w1=(64, 32), b1=(64,), w2=(64, 64), b2=(64,), w3=(10, 64), b3=(10,))

    def loss(x: Any, y: Any) -> Any:
        h = F.relu(F.linear(x, p["w1"], p["b1"]))
        h = F.relu(F.linear(h, p["w2"], p["b2"]))
        return F.cross_entropy(F.linear(h, p["w3"], p["b3"]), y)

    return Model(p, loss, (_data(rng, dtype, count, 32), rg.tensor(rng.integers(0, 10, count))))


def convnet(count: int, dtype: str = "float64") -> Model:
    rng = np.random.default_rng(1)
    p = _params(rng, dtype, c1=(8, 1, 3, 3), d1=(8,), c2=(16, 8, 3, 3), d2=(16,), w=(10, 256), b=(10,))

    def loss(x: Any, y: Any) -> Any:
        h = F.max_pool2d(F.relu(F.conv2d(x[None], p["c1"], p["d1"], padding=1)), 2)
        h = F.max_pool2d(F.relu(F.conv2d(h, p["c2"], p["d2"], padding=1)), 2)
        return F.cross_entropy(F.linear(h.reshape(-1), p["w"], p["b"]), y)

    return Model(p, loss, (_data(rng, dtype, count, 1, 16, 16), rg.tensor(rng.integers(0, 10, count))))


def attention(count: int, dtype: str = "float64") -> Model:
    rng = np.random.default_rng(2)
    shapes = dict.fromkeys(("q", "k", "v", "o"), (32, 32))
    p = _params(rng, dtype, **shapes, g=(32,), h=(32,), f1=(64, 32), f2=(32, 64), w=(10, 32))

    def loss(x: Any, y: Any) -> Any:
        h = F.layer_norm(x, (32,), p["g"], p["h"])
        q, k, v = (F.linear(h, p[n]).reshape(-1, 4, 8).transpose(0, 1) for n in ("q", "k", "v"))
        mixed = F.scaled_dot_product_attention(q, k, v).transpose(0, 1).reshape(-1, 32)
        x = x + F.linear(mixed, p["o"])
        x = x + F.linear(F.gelu(F.linear(x, p["f1"])), p["f2"])
        return F.cross_entropy(F.linear(x.mean(0), p["w"]), y)

    return Model(p, loss, (_data(rng, dtype, count, 10, 32), rg.tensor(rng.integers(0, 10, count))))


def recurrent(count: int, dtype: str = "float64") -> Model:
    rng = np.random.default_rng(3)
    p = _params(rng, dtype, table=(20, 16), wx=(32, 16), wh=(32, 32), b=(32,), w=(5, 32))

    def loss(words: Any, y: Any) -> Any:
        e = F.embedding(words, p["table"])
        h = rg.zeros(32, dtype=p["b"].dtype)
        for i in range(8):
            h = rg.tanh(F.linear(e[i], p["wx"]) + F.linear(h, p["wh"]) + p["b"])
        return F.cross_entropy(F.linear(h, p["w"]), y)

    return Model(p, loss, (rg.tensor(rng.integers(0, 20, (count, 8))), rg.tensor(rng.integers(0, 5, count))))


def normalised(count: int, dtype: str = "float64") -> Model:
    rng = np.random.default_rng(4)
    p = _params(rng, dtype, c=(8, 3, 3, 3), g=(8,), b=(8,), w=(1, 8))

    def loss(x: Any, y: Any) -> Any:
        h = F.group_norm(F.conv2d(x[None], p["c"], stride=2), 2, p["g"], p["b"])
        return (F.linear(F.silu(h).mean((2, 3))[0], p["w"])[0] - y) ** 2

    return Model(p, loss, (_data(rng, dtype, count, 3, 12, 12), _data(rng, dtype, count)))


def autoencoder(count: int, dtype: str = "float64") -> Model:
    rng = np.random.default_rng(5)
    p = _params(rng, dtype, a=(16, 64), b=(64, 16))

    def loss(x: Any) -> Any:
        return F.smooth_l1_loss(F.linear(F.elu(F.linear(x, p["a"])), p["b"]), x)

    return Model(p, loss, (_data(rng, dtype, count, 64),))


MODELS = {f.__name__: f for f in (perceptron, convnet, attention, recurrent, normalised, autoencoder)}


def looped(model: Model) -> dict[str, Any]:
    """The gradients of each sample's loss, one sample after the other."""
    names, leaves = list(model.params), list(model.params.values())
    rows = []
    for i in range(len(model.batch[0])):
        rows.append(rg.autograd.grad(model.loss(*[b[i] for b in model.batch]), leaves))
    return {name: rg.stack(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}
