"""Whole programs whose users have asked for speed on small arrays."""

from __future__ import annotations

import itertools
from typing import Any

from rows.row import Program, Row, Section, numbers, parameter

TEXT = "the quick brown fox jumps over the lazy dog"


def character_model(lib: Any) -> Program:
    """An LSTM of 64 units reads a sentence, character by character, and learns to guess the next one."""
    letters = sorted(set(TEXT))
    codes = [letters.index(c) for c in TEXT]
    table = parameter(lib, len(letters), 32, seed=1, scale=0.5)
    wx, wh = parameter(lib, 32, 256, seed=2), parameter(lib, 64, 256, seed=3)
    b, out = lib.zeros(256).requires_grad_(), parameter(lib, 64, len(letters), seed=4)
    optimizer = lib.optim.SGD([table, wx, wh, b, out], lr=1e-3)
    labels = [lib.tensor([code]) for code in codes]

    def program() -> Any:
        optimizer.zero_grad()
        h = c = lib.zeros(1, 64)
        loss = 0.0
        for here, following in itertools.pairwise(labels):
            gates = table[here] @ wx + h @ wh + b
            i, f, o, g = gates.chunk(4, 1)
            c = lib.sigmoid(f) * c + lib.sigmoid(i) * lib.tanh(g)
            h = lib.sigmoid(o) * lib.tanh(c)
            loss = loss + lib.nn.functional.cross_entropy(h @ out, following)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return program


def heat_equation(lib: Any) -> Program:
    """Heat in a rod of 300 cells, 50 steps of Runge-Kutta; the gradient with respect to how each cell conducts."""
    start = lib.exp(-(lib.linspace(-3, 3, 300) ** 2))
    conducts = lib.full((298,), 0.2).requires_grad_()
    edge = lib.zeros(1)

    def slope(u: Any) -> Any:
        return lib.cat([edge, conducts * (u[2:] - 2 * u[1:-1] + u[:-2]), edge])

    def program() -> Any:
        conducts.grad = None
        u = start
        for _ in range(50):
            k1 = slope(u)
            k2 = slope(u + 0.5 * k1)
            k3 = slope(u + 0.5 * k2)
            k4 = slope(u + k3)
            u = u + (k1 + 2 * k2 + 2 * k3 + k4) / 6
        (u * u).sum().backward()
        return conducts.grad

    return program


def q_values(lib: Any, weights: Any, biases: Any, x: Any) -> Any:
    """A network with relu between its layers."""
    for w, b in zip(weights[:-1], biases[:-1], strict=True):
        x = lib.relu(x @ w + b)
    return x @ weights[-1] + biases[-1]


def dqn(lib: Any) -> Program:
    """Deep Q-learning on a 4-24-24-2 network: choose an action, then one Adam step on a batch of 32."""
    sizes = (4, 24, 24, 2)
    weights = [parameter(lib, a, b, seed=i) for i, (a, b) in enumerate(itertools.pairwise(sizes))]
    biases = [lib.zeros(b).requires_grad_() for b in sizes[1:]]
    optimizer = lib.optim.Adam([*weights, *biases], lr=1e-3)
    state, now, then = (lib.tensor(numbers(n, 4, seed=7 + n)) for n in (1, 32, 33))
    then, reward = then[:32], lib.tensor(numbers(32, seed=9))
    action = lib.tensor([[i % 2] for i in range(32)])

    def program() -> Any:
        with lib.no_grad():
            q_values(lib, weights, biases, state).argmax(1).item()
            target = reward + 0.99 * q_values(lib, weights, biases, then).max(1).values
        optimizer.zero_grad()
        chosen = q_values(lib, weights, biases, now).gather(1, action).squeeze(1)
        loss = lib.nn.functional.smooth_l1_loss(chosen, target)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return program


SECTIONS = (
    Section(
        "Whole programs on small arrays",
        (
            Row("character model: LSTM of 64 units, one sentence, SGD step", character_model, 1, 4, 10),
            Row("heat equation: 300 cells, 50 Runge-Kutta steps, gradient", heat_equation, 1, 4, 10),
            Row("DQN 4-24-24-2, batch 32, Adam step", dqn, 1, 4, 10),
        ),
    ),
)
