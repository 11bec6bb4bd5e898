"""Random programs: a list of steps that grows a graph, the same on retrograd and on PyTorch."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

SIZE = 3


def written(a: Any, b: Any) -> Any:
    """A tensor that is written into twice after it was computed."""
    c = a.sin() + b
    c *= 0.5
    c += b
    return c


# Each step takes one or two tensors of the pool and adds its results to it. Values stay of order 1.
STEPS: dict[str, Any] = {
    "sin": lambda lib, a, b: [a.sin()],
    "tanh": lambda lib, a, b: [a.tanh()],
    "neg": lambda lib, a, b: [-a],
    "halve": lambda lib, a, b: [a * 0.5],
    "square": lambda lib, a, b: [(a * a).tanh()],
    "add": lambda lib, a, b: [(a + b) * 0.5],
    "sub": lambda lib, a, b: [a - b],
    "mul": lambda lib, a, b: [(a * b).sin()],
    "sum": lambda lib, a, b: [a.sum() * 0.3],
    "spread": lambda lib, a, b: [b.sum() + a],
    "detach": lambda lib, a, b: [a.detach()],
    "unbind": lambda lib, a, b: list((a + lib.zeros(SIZE, dtype=lib.float64)).unbind()),
    "split": lambda lib, a, b: [s.sum() for s in (a + lib.zeros(SIZE, dtype=lib.float64)).split(2)],
    "write": lambda lib, a, b: [written(a, b)],
    "diamond": lambda lib, a, b: [a.sin() * a.cos() + a.tanh()],
}


class Program(NamedTuple):
    leaves: int
    steps: list[tuple[str, int, int]]

    def grow(self, lib: Any, shift: float = 0.0) -> tuple[list[Any], list[Any]]:
        """The leaves, all moved by `shift`, and the whole pool, leaves first."""
        values = np.random.default_rng(7).uniform(-1.5, 1.5, (self.leaves, SIZE)) + shift
        leaves = [lib.tensor(row.tolist(), dtype=lib.float64) for row in values]
        for leaf in leaves:
            leaf.requires_grad_()
        pool = list(leaves)
        for kind, i, j in self.steps:
            pool += STEPS[kind](lib, pool[i % len(pool)], pool[j % len(pool)])
        return leaves, pool


places = st.integers(0, 999)


def programs_of(kinds: list[str]) -> st.SearchStrategy[Program]:
    steps = st.tuples(st.sampled_from(kinds), places, places)
    return st.builds(Program, st.integers(1, 3), st.lists(steps, min_size=1, max_size=20))


programs = programs_of(sorted(STEPS))
# Differences move what detach() holds still.
attached_programs = programs_of(sorted(STEPS.keys() - {"detach"}))


def tracked(pool: list[Any]) -> list[Any]:
    """The tensors that gradients can reach."""
    return [t for t in pool if t.requires_grad]


def picked(items: list[Any], numbers: list[int]) -> list[Any]:
    """Some of the items, without repetition."""
    return [items[i] for i in dict.fromkeys(n % len(items) for n in numbers)]


def weights_for(tensors: list[Any]) -> list[np.ndarray[Any, Any]]:
    """A gradient to start with for each root."""
    return [
        np.cos(np.arange(t.numel(), dtype=float) + k).reshape(tuple(t.shape)) for k, t in enumerate(tensors)
    ]
