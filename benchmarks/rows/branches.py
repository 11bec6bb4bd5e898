"""Wide graphs: branches that do not depend on each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rows.row import Make, Program, Row, Section, forget, parameter

BRANCHES, SIZE = 8, 384
Branch = Callable[[Any, Any, Any], Any]


def products(lib: Any, x: Any, w: Any) -> Any:
    """A branch of matrix products, which are spread over all threads by themselves."""
    return lib.tanh(lib.tanh(x @ w) @ w)


def curves(lib: Any, x: Any, w: Any) -> Any:
    """A branch of elementwise functions."""
    return lib.tanh(lib.sin(lib.exp(w) * x) * w)


def sums(lib: Any, x: Any, w: Any) -> Any:
    """A branch of running sums, which one thread computes."""
    return lib.cumsum(lib.cumsum((w * x).reshape(-1), 0), 0)


def wide(branch: Branch) -> Make:
    """Eight branches that meet in a sum."""

    def make(lib: Any) -> Program:
        x = parameter(lib, SIZE, SIZE, seed=20)
        weights = [parameter(lib, SIZE, SIZE, seed=i) for i in range(BRANCHES)]

        def program() -> Any:
            forget((x, *weights))
            total = sum(branch(lib, x, w).sum() for w in weights)
            total.backward()
            return weights[-1].grad

        return program

    return make


SECTIONS = (
    Section(
        "Wide graphs, forward + backward",
        (
            Row("8 branches of 384×384 matmul + tanh", wide(products), 1, 0.9, 1.2, "", True),
            Row("8 branches of 384×384 exp, sin, tanh and products", wide(curves), 1, 0.9, 1.2, "", True),
        ),
    ),
)
