"""MyGrad."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mygrad as mg
import numpy as np
from mygrad.nnet.activations import relu

from peers import shapes


def programs() -> dict[str, Callable[[], Callable[[], Any]]]:
    """The programs that MyGrad can run."""
    return {
        "chain": chain,
        "trivial": trivial,
        "rosenbrock": rosenbrock,
        "mlp": mlp,
        "elementwise": elementwise,
        "large_mlp": large_mlp,
    }


def chain() -> Callable[[], Any]:
    x = mg.tensor(shapes.chain_start())

    def program() -> Any:
        y = x
        for _ in range(100):
            y = mg.tanh(y * x + 0.5)
        y.sum().backward()
        return x.grad

    return program


def trivial() -> Callable[[], Any]:
    x = mg.tensor(shapes.trivial_start())

    def program() -> Any:
        (x * x * x).sum().backward()
        return x.grad

    return program


def elementwise() -> Callable[[], Any]:
    x, w, b = (mg.tensor(a) for a in shapes.elementwise_start())

    def program() -> Any:
        (mg.tanh(x * w + b) * w).sum().backward()
        return w.grad

    return program


def rosenbrock() -> Callable[[], Any]:
    def program() -> Any:
        x, y = (mg.tensor(np.float32(v)) for v in (-1.2, 1.0))
        for _ in range(10):
            ((1 - x) ** 2 + 100 * (y - x * x) ** 2).backward()
            x.data -= shapes.RATE * x.grad
            y.data -= shapes.RATE * y.grad
        return x.data

    return program


def mlp() -> Callable[[], Any]:
    network = shapes.small_network()
    weights, biases = ([mg.tensor(a) for a in arrays] for arrays in (network.weights, network.biases))

    def program() -> Any:
        h = network.x
        for w, b in zip(weights[:-1], biases[:-1], strict=True):
            h = mg.tanh(mg.matmul(h, w) + b)
        loss = ((mg.matmul(h, weights[-1]) + biases[-1] - network.target) ** 2).mean()
        loss.backward()
        for p in (*weights, *biases):
            p.data -= shapes.RATE * p.grad
        return loss.data

    return program


def large_mlp() -> Callable[[], Any]:
    network = shapes.large_network()
    weights, biases = ([mg.tensor(a) for a in arrays] for arrays in (network.weights, network.biases))

    def program() -> Any:
        h = network.x
        for w, b in zip(weights, biases, strict=True):
            h = relu(mg.matmul(h, w) + b)
        loss = ((h - network.target) ** 2).mean()
        loss.backward()
        return loss.data

    return program
