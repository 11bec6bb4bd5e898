"""The programs for libraries that transform functions: HIPS autograd and JAX, eager and compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from peers import shapes


class Style(NamedTuple):
    """What differs between such libraries."""

    np: Any  # their NumPy
    value_and_grad: Callable[..., Any]  # of a function, with respect to its first argument, a list
    array: Callable[[np.ndarray], Any]
    wait: Callable[[Any], Any]  # until a result is there


def programs(style: Style) -> dict[str, Callable[[], Callable[[], Any]]]:
    """All programs in one style."""
    makers = {
        "chain": chain,
        "trivial": trivial,
        "rosenbrock": rosenbrock,
        "mlp": mlp,
        "elementwise": elementwise,
        "large_mlp": large_mlp,
    }
    return {name: (lambda make=make: make(style)) for name, make in makers.items()}  # type: ignore[misc]


def gradient_of(
    style: Style, function: Callable[[list[Any]], Any], start: list[np.ndarray]
) -> Callable[[], Any]:
    """A program that computes a gradient, and gives its last part."""
    transformed, arrays = style.value_and_grad(function), [style.array(a) for a in start]
    return lambda: style.wait(transformed(arrays)[1][-1])


def chain(style: Style) -> Callable[[], Any]:
    def function(arrays: list[Any]) -> Any:
        (x,) = arrays
        y = x
        for _ in range(100):
            y = style.np.tanh(y * x + 0.5)
        return style.np.sum(y)

    return gradient_of(style, function, [shapes.chain_start()])


def trivial(style: Style) -> Callable[[], Any]:
    return gradient_of(style, lambda arrays: style.np.sum(arrays[0] ** 3), [shapes.trivial_start()])


def elementwise(style: Style) -> Callable[[], Any]:
    def function(arrays: list[Any]) -> Any:
        x, b, w = arrays
        return style.np.sum(style.np.tanh(x * w + b) * w)

    x, w, b = shapes.elementwise_start()
    return gradient_of(style, function, [x, b, w])


def rosenbrock(style: Style) -> Callable[[], Any]:
    def function(point: list[Any]) -> Any:
        x, y = point
        return (1 - x) ** 2 + 100 * (y - x * x) ** 2

    transformed = style.value_and_grad(function)

    def program() -> Any:
        x, y = (style.array(np.float32(v)) for v in (-1.2, 1.0))
        for _ in range(10):
            _, (gx, gy) = transformed([x, y])
            x, y = x - shapes.RATE * gx, y - shapes.RATE * gy
        return style.wait(x)

    return program


def loss_of(
    style: Style, network: shapes.Network, activation: Callable[[Any], Any], last: bool
) -> Callable[..., Any]:
    """The loss of a network as a function of its parameters; `last` says whether its last layer is activated too."""
    layers, x, target = len(network.weights), style.array(network.x), style.array(network.target)

    def loss(parameters: list[Any]) -> Any:
        h = x
        for i in range(layers):
            h = h @ parameters[i] + parameters[layers + i]
            if last or i < layers - 1:
                h = activation(h)
        return style.np.mean((h - target) ** 2)

    return loss


def mlp(style: Style) -> Callable[[], Any]:
    network = shapes.small_network()
    transformed = style.value_and_grad(loss_of(style, network, style.np.tanh, False))
    parameters = [style.array(a) for a in (*network.weights, *network.biases)]

    def program() -> Any:
        nonlocal parameters
        loss, grads = transformed(parameters)
        parameters = [p - shapes.RATE * g for p, g in zip(parameters, grads, strict=True)]
        style.wait(parameters[-1])
        return loss

    return program


def large_mlp(style: Style) -> Callable[[], Any]:
    network = shapes.large_network()
    transformed = style.value_and_grad(loss_of(style, network, lambda h: style.np.maximum(h, 0), True))
    parameters = [style.array(a) for a in (*network.weights, *network.biases)]

    def program() -> Any:
        loss, grads = transformed(parameters)
        style.wait(grads[0])
        return loss

    return program
