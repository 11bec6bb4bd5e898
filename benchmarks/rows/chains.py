"""Chains of small operations: what recording and running one node costs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rows.row import Make, Program, Row, Section, parameter

Link = Callable[[Any, Any, Any], Any]  # (library, y, x) -> the next y


def chain(link: Link, length: int, backward: bool, *shape: int) -> Make:
    """`y = link(y)`, over and over, and then backward if wanted."""

    def make(lib: Any) -> Program:
        x = parameter(lib, *shape, scale=0.2)

        def program() -> Any:
            x.grad = None
            y = x
            for _ in range(length):
                y = link(lib, y, x)
            if not backward:
                return y
            y.sum().backward()
            return x.grad

        return program

    return make


def mul(lib: Any, y: Any, x: Any) -> Any:
    """A product of two tensors."""
    return y * x


def add_scalar(lib: Any, y: Any, x: Any) -> Any:
    """Nothing to save and nothing to compute in backward: the graph alone."""
    return y + 0.5


def tanh(lib: Any, y: Any, x: Any) -> Any:
    """A function whose backward needs its result."""
    return lib.tanh(y)


def matmul(lib: Any, y: Any, x: Any) -> Any:
    """A small matrix product."""
    return y @ x


def mixed(lib: Any, y: Any, x: Any) -> Any:
    """Three operations, as in a small recurrent network."""
    return lib.tanh(y * x + 0.5)


def _pair(
    name: str, link: Link, length: int, operations: int, *shape: int, peer: str = ""
) -> tuple[Row, Row]:
    """The chain forward, and forward and backward."""
    return (
        Row(f"{name}, forward", chain(link, length, False, *shape), operations),
        Row(f"{name}, forward + backward", chain(link, length, True, *shape), operations, 5, 10, peer),
    )


SECTIONS = (
    Section(
        "Chains of small operations (time per operation)",
        (
            *_pair("mul, 8 floats", mul, 300, 300, 8),
            *_pair("add scalar, 8 floats", add_scalar, 300, 300, 8),
            *_pair("tanh, 8 floats", tanh, 300, 300, 8),
            *_pair("matmul 32×32", matmul, 100, 100, 32, 32),
            *_pair("mul, add, tanh, 8 floats", mixed, 100, 300, 8, peer="chain"),
            *_pair("mul, add, tanh, 1 float", mixed, 100, 300, 1),
        ),
    ),
    Section(
        "Deep graphs (time per node)",
        (
            Row("chain of 1,000 nodes", chain(add_scalar, 1_000, True, 8), 1_000, 5, 10),
            Row("chain of 100,000 nodes", chain(add_scalar, 100_000, True, 8), 100_000, 5, 10),
        ),
    ),
)
