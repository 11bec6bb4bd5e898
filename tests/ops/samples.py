"""Where the op table's numbers come from: domains, layouts, and samples of shapes.

Every array is made from its sample alone, so a failure can be repeated by running the same test. Domains keep away
from kinks, poles and branch cuts, by much more than the step of a central difference.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Domain = Callable[[np.random.Generator, int], Array]


# -- domains: `count` real numbers each ------------------------------------------------------------


def nonzero(rng: np.random.Generator, count: int) -> Array:
    """Both signs, at least 0.3 from 0."""
    return rng.uniform(0.3, 2.0, count) * rng.choice([-1.0, 1.0], count)


def positive(rng: np.random.Generator, count: int) -> Array:
    return rng.uniform(0.4, 2.5, count)


def inside_unit(rng: np.random.Generator, count: int) -> Array:
    """Within (-1, 1), not near its ends nor 0."""
    return rng.uniform(0.15, 0.8, count) * rng.choice([-1.0, 1.0], count)


def above_one(rng: np.random.Generator, count: int) -> Array:
    return rng.uniform(1.3, 3.0, count)


def between_integers(rng: np.random.Generator, count: int) -> Array:
    """Away from integers and from halves, where rounding jumps."""
    return rng.integers(-3, 3, count) + rng.choice([0.25, 0.3, 0.7, 0.8], count)


def distinct(rng: np.random.Generator, count: int) -> Array:
    """No two within 0.2 of each other, none near 0: extrema and orderings are stable."""
    spread = 0.25 * (rng.permutation(count) - count // 2) + 0.1
    return spread + rng.uniform(-0.02, 0.02, count)


# -- layouts ---------------------------------------------------------------------------------------


def laid_out(values: Array, layout: str) -> Array:
    """The same values in memory that is not simply row after row."""
    if layout == "transposed":
        return np.ascontiguousarray(values.T).T
    if layout == "strided":
        wide = np.full(values.shape[:-1] + (2 * values.shape[-1],), np.nan, values.dtype)
        wide[..., ::2] = values
        return wide[..., ::2]
    if layout == "reversed":
        return np.ascontiguousarray(values[::-1])[::-1]
    assert layout == "plain", layout
    return values


# -- samples ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sample:
    """One call: the shapes of the differentiable inputs, and what else is passed.

    Arrays among `args` and `kwargs` (indices, masks) are passed as tensors to the op, as arrays to NumPy.
    """

    shapes: tuple[tuple[int, ...], ...]
    layout: str = "plain"
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        shapes = " ".join(str(s) for s in self.shapes)
        options = [repr(a) for a in self.args] + [f"{k}={v!r}" for k, v in self.kwargs.items()]
        return " ".join([shapes, *([self.layout] if self.layout != "plain" else []), *options])

    def arrays(self, domains: tuple[Domain, ...], dtype: str) -> list[Array]:
        """The inputs: the same numbers in every dtype, with an imaginary part where it is complex."""
        rng = np.random.default_rng(zlib.crc32(repr(self.shapes).encode()))
        made = []
        for i, shape in enumerate(self.shapes):
            count = int(np.prod(shape))
            values = domains[i % len(domains)](rng, count)
            if np.dtype(dtype).kind == "c":
                values = values + 1j * rng.uniform(0.3, 1.2, count) * rng.choice([-1.0, 1.0], count)
            made.append(laid_out(values.astype(dtype).reshape(shape), self.layout))
        return made


def call_with(
    *shapes: tuple[int, ...], args: tuple[Any, ...] = (), layout: str = "plain", **kwargs: Any
) -> Sample:
    """A sample of these shapes, called with `args` and `kwargs`."""
    return Sample(shapes, layout, args, kwargs)


def each(samples: tuple[Sample, ...], *options: dict[str, Any]) -> tuple[Sample, ...]:
    """Every sample with every set of keyword arguments."""
    return tuple(Sample(s.shapes, s.layout, s.args, {**s.kwargs, **o}) for o in options for s in samples)


def along(*dims: Any, shape: tuple[int, ...] = (2, 3), name: str = "dim", **kwargs: Any) -> Iterator[Sample]:
    """One sample per dimension."""
    for dim in dims:
        yield Sample((shape,), "plain", (), {name: dim, **kwargs})


ONE = (
    call_with((3,)),
    call_with((2, 3)),
    call_with(()),
    call_with((0,)),
    call_with((2, 0, 3)),
    call_with((2, 3), layout="transposed"),
    call_with((2, 3), layout="strided"),
    call_with((4,), layout="reversed"),
)
TWO = (
    call_with((2, 3), (2, 3)),
    call_with((2, 3), (3,)),
    call_with((2, 1), (1, 3)),
    call_with((), (3,)),
    call_with((3,), ()),
    call_with((), ()),
    call_with((0,), (1,)),
    call_with((2, 0), (2, 1)),
    call_with((2, 3), (2, 3), layout="transposed"),
    call_with((3,), (2, 3), layout="strided"),
)
