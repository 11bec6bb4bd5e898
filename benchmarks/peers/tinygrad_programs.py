"""tinygrad: operations are collected, and run as kernels when a result is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tinygrad import Tensor

from peers import shapes


def programs() -> dict[str, Callable[[], Callable[[], Any]]]:
    """The programs that tinygrad can run."""
    return {"trivial": trivial, "mlp": mlp, "elementwise": elementwise, "large_mlp": large_mlp}


def trivial() -> Callable[[], Any]:
    x = Tensor(shapes.trivial_start())

    def program() -> Any:
        (grad,) = (x * x * x).sum().gradient(x)
        return grad.numpy()

    return program


def elementwise() -> Callable[[], Any]:
    x, w, b = (Tensor(a) for a in shapes.elementwise_start())

    def program() -> Any:
        grads = ((x * w + b).tanh() * w).sum().gradient(x, b, w)
        Tensor.realize(*grads)
        return grads[-1].numpy()

    return program


def mlp() -> Callable[[], Any]:
    network = shapes.small_network()
    weights, biases = ([Tensor(a) for a in arrays] for arrays in (network.weights, network.biases))
    x, target = Tensor(network.x), Tensor(network.target)
    parameters = [*weights, *biases]

    def program() -> Any:
        h = x
        for w, b in zip(weights[:-1], biases[:-1], strict=True):
            h = (h @ w + b).tanh()
        loss = ((h @ weights[-1] + biases[-1] - target) ** 2).mean()
        for p, grad in zip(parameters, loss.gradient(*parameters), strict=True):
            p.assign(p - shapes.RATE * grad)
        Tensor.realize(loss, *parameters)
        return loss.numpy()

    return program


def large_mlp() -> Callable[[], Any]:
    network = shapes.large_network()
    weights, biases = ([Tensor(a) for a in arrays] for arrays in (network.weights, network.biases))
    x, target = Tensor(network.x), Tensor(network.target)

    def program() -> Any:
        h = x
        for w, b in zip(weights, biases, strict=True):
            h = (h @ w + b).relu()
        loss = ((h - target) ** 2).mean()
        Tensor.realize(loss, *loss.gradient(*weights, *biases))
        return loss.numpy()

    return program
