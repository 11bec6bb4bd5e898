"""The numbers that rows start from, as NumPy arrays, for libraries that share no interface with PyTorch."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from rows.row import numbers

RATE = 1e-3


class Network(NamedTuple):
    """Weights, biases, a batch and its targets."""

    weights: list[np.ndarray]
    biases: list[np.ndarray]
    x: np.ndarray
    target: np.ndarray


def chain_start() -> np.ndarray:
    """What the chain of mul, add, tanh starts from."""
    return numbers(8, scale=0.2)


def trivial_start() -> np.ndarray:
    """What the trivial backward starts from."""
    return numbers(8)


def elementwise_start() -> list[np.ndarray]:
    """x, w and b of the elementwise formula."""
    return [numbers(2_000_000, seed=i) for i in range(3)]


def small_network() -> Network:
    """16-32-32-4, a batch of 8."""
    sizes = (16, 32, 32, 4)
    weights = [numbers(a, b, seed=i, scale=a**-0.5) for i, (a, b) in enumerate(itertools.pairwise(sizes))]
    biases = [np.zeros(b, np.float32) for b in sizes[1:]]
    return Network(weights, biases, numbers(8, 16, seed=5), numbers(8, 4, seed=6))


def large_network() -> Network:
    """Four layers of 1024, a batch of 256; weights as a linear layer has them, transposed."""
    weights = [numbers(1024, 1024, seed=i, scale=1024**-0.5).T.copy() for i in range(4)]
    biases = [np.zeros(1024, np.float32) for _ in range(4)]
    return Network(weights, biases, numbers(256, 1024, seed=8), numbers(256, 1024, seed=9))
