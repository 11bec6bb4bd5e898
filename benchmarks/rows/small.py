"""Small programs that people run by the million: optimisation of a few numbers, narrow networks, custom functions."""

from __future__ import annotations

import itertools
from typing import Any

from rows.row import Program, Row, Section, forget, numbers, parameter


def trivial(lib: Any) -> Program:
    """The smallest backward that does something."""
    x = parameter(lib, 8)

    def program() -> Any:
        x.grad = None
        (x * x * x).sum().backward()
        return x.grad

    return program


def rosenbrock(lib: Any) -> Program:
    """Ten steps of gradient descent on Rosenbrock's function of two numbers."""

    def program() -> Any:
        x = lib.tensor(-1.2, requires_grad=True)
        y = lib.tensor(1.0, requires_grad=True)
        for _ in range(10):
            loss = (1 - x) ** 2 + 100 * (y - x * x) ** 2
            loss.backward()
            with lib.no_grad():
                x -= 1e-3 * x.grad
                y -= 1e-3 * y.grad
            x.grad = y.grad = None
        return x.detach()

    return program


def rnn(lib: Any) -> Program:
    """A recurrent network of 16 units over 100 steps, forward and backward."""
    inputs = list(lib.tensor(numbers(100, 1, 16, seed=1)))
    wx, wh, b = (
        parameter(lib, 16, 16, seed=2),
        parameter(lib, 16, 16, seed=3),
        parameter(lib, 16, seed=4, scale=0.1),
    )

    def program() -> Any:
        forget((wx, wh, b))
        h = lib.zeros(1, 16)
        for x in inputs:
            h = lib.tanh(x @ wx + h @ wh + b)
        (h * h).mean().backward()
        return wh.grad

    return program


def mlp(lib: Any) -> Program:
    """A 16-32-32-4 network on a batch of 8: forward, loss, backward, step."""
    sizes = (16, 32, 32, 4)
    weights = [parameter(lib, a, b, seed=i) for i, (a, b) in enumerate(itertools.pairwise(sizes))]
    biases = [lib.zeros(b).requires_grad_() for b in sizes[1:]]
    x, target = lib.tensor(numbers(8, 16, seed=5)), lib.tensor(numbers(8, 4, seed=6))
    optimizer = lib.optim.SGD([*weights, *biases], lr=1e-3)

    def program() -> Any:
        optimizer.zero_grad()
        h = x
        for w, b in zip(weights[:-1], biases[:-1], strict=True):
            h = lib.tanh(h @ w + b)
        loss = ((h @ weights[-1] + biases[-1] - target) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return program


def custom_function(lib: Any) -> Program:
    """A chain of a Function that a user has written."""

    class Square(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (x,) = ctx.saved_tensors
            return 2 * x * grad

    x = lib.ones(8).requires_grad_()

    def program() -> Any:
        x.grad = None
        y = x
        for _ in range(100):
            y = Square.apply(y)
        y.sum().backward()
        return x.grad

    return program


def double_backward(lib: Any) -> Program:
    """The gradient of a gradient's norm."""
    x = parameter(lib, 8)

    def program() -> Any:
        (g,) = lib.autograd.grad((lib.tanh(x) * x * x).sum(), x, create_graph=True)
        (h,) = lib.autograd.grad((g * g).sum(), x)
        return h

    return program


def fan_out(lib: Any) -> Program:
    """One tensor used 300 times: gradients that meet are summed."""
    x = parameter(lib, 8)

    def program() -> Any:
        x.grad = None
        total = x * 0.0
        for _ in range(300):
            total = total + x * 2.0
        total.sum().backward()
        return x.grad

    return program


def fan_in(lib: Any) -> Program:
    """A hundred leaves that meet in one operation."""
    leaves = [parameter(lib, 8, seed=i) for i in range(100)]

    def program() -> Any:
        forget(leaves)
        (lib.stack([x * x for x in leaves]).sum(0) ** 2).sum().backward()
        return leaves[-1].grad

    return program


SECTIONS = (
    Section(
        "Small programs",
        (
            Row("trivial backward: (x * x * x).sum()", trivial, 1, 4, 10, "trivial"),
            Row("Rosenbrock, a step of descent", rosenbrock, 10, 4, 10, "rosenbrock"),
            Row("RNN of 16 units, 100 steps", rnn, 1, 4, 10),
            Row("MLP 16-32-32-4, batch 8, SGD step", mlp, 1, 4, 10, "mlp"),
            Row("chain of 100 custom Functions, each", custom_function, 100, 3, 6),
            Row("double backward", double_backward, 1, 3, 6),
            Row("fan-out: one tensor used 300 times, each use", fan_out, 300, 3, 6),
            Row("fan-in: 100 leaves meet, each leaf", fan_in, 100, 3, 6),
        ),
    ),
)
