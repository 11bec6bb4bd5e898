"""Layers of recurrent networks: kernels against formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd.backends.pack import PACK
from retrograd.ops.nn.recurrent import recurrence
from retrograd.ops.nn.recurrent_layer import GruLayer, LstmLayer, RnnReluLayer, RnnTanhLayer
from tests.native.networks import FLOATS, check, check_threads, moderate, needs_pack, normal

pytestmark = needs_pack

KINDS = (RnnTanhLayer, RnnReluLayer, LstmLayer, GruLayer)
# Rows of each time, features, width of the state.
SHAPES = [
    ((1,), 1, 1),
    ((2, 2, 2), 3, 4),
    ((3, 3, 1, 1), 5, 17),
    ((4, 2, 0), 3, 5),
    ((9,) * 3, 33, 70),
    ((20, 17, 2), 70, 129),
]


def operands(
    kind: Any, sizes: tuple[int, ...], features: int, width: int, dtype: str, out: int = 0
) -> list[Any]:
    """The inputs of a layer, projected to `out` features unless that is 0."""
    rows, hidden = kind.count * width, out or width
    shapes: list[Any] = [(sum(sizes), features), (sizes[0], hidden)]
    shapes += [
        (sizes[0], width) if kind is LstmLayer else None,
        (rows, features),
        (rows, hidden),
        (rows,),
        (rows,),
    ]
    shapes += [(out, width) if out else None]
    scale = np.asarray(1 / np.sqrt(width), dtype)
    return [None if s is None else normal(s, dtype, i) * scale for i, s in enumerate(shapes)]


def layer(kind: Any, sizes: tuple[int, ...], reverse: bool = False) -> Any:
    """All results of a layer as one tensor."""

    def run(data: Any, h: Any, c: Any, *weights: Any) -> Any:
        states = (h,) if c is None else (h, c)
        found = recurrence("layer", kind(sizes, reverse), data, states, weights)
        return rg.cat([r.reshape(-1) for r in found])

    return run


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("sizes", "features", "width"), SHAPES)
@pytest.mark.parametrize("kind", KINDS)
def test_layers(kind: Any, sizes: Any, features: int, width: int, reverse: bool, dtype: str) -> None:
    xs = operands(kind, sizes, features, width, dtype)
    check(layer(kind, sizes, reverse), xs, "g" * 8, 2e-4 if dtype == "float32" else None)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("reverse", [False, True])
def test_projections(reverse: bool, dtype: str) -> None:
    xs = operands(LstmLayer, (3, 2, 2), 5, 9, dtype, out=4)
    check(layer(LstmLayer, (3, 2, 2), reverse), xs, "g" * 8, 2e-4 if dtype == "float32" else None)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("missing", [(5,), (6,), (5, 6)])
def test_biases_that_are_not_there(kind: Any, missing: tuple[int, ...]) -> None:
    xs = operands(kind, (2, 2), 3, 4, "float64")
    for i in missing:
        xs[i] = None
    check(layer(kind, (2, 2)), xs, "g" * 8)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "wanted", ["g-------", "-g------", "--g-----", "---g----", "----g---", "-----g--", "------g-"]
)
def test_gradients_that_nobody_wants(kind: Any, wanted: str) -> None:
    xs = operands(kind, (2, 1), 3, 4, "float64")
    if xs[wanted.index("g")] is not None:
        check(layer(kind, (2, 1)), xs, wanted)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("which", [0, 1])
def test_infinite_numbers_and_nan(kind: Any, which: int) -> None:
    xs = operands(kind, (4, 4), 3, 4, "float64")
    xs[which] = moderate(xs[which].shape, "float64")
    check(layer(kind, (4, 4)), xs, "g" * 8)


@pytest.mark.parametrize("kind", KINDS)
def test_layouts(kind: Any) -> None:
    xs = operands(kind, (3, 3), 4, 5, "float32")
    for i in (0, 1, 3, 4):
        turned = [np.asfortranarray(x) if j == i else x for j, x in enumerate(xs)]
        check(layer(kind, (3, 3)), turned, "g" * 8, 2e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_the_number_of_threads_changes_nothing(kind: Any) -> None:
    sizes = (64, 64, 40)
    check_threads(layer(kind, sizes), operands(kind, sizes, 130, 140, "float32"), "g" * 8)


def test_what_it_does_not_serve() -> None:
    xs = operands(LstmLayer, (2, 1), 3, 4, "float32")
    assert PACK.recurrence(2, (2, 1), False, xs) is not None
    for sizes in ((1, 2), (2, 2), (3,), (2,), (), (2, -1), (2, 1.0)):
        assert PACK.recurrence(2, sizes, False, xs) is None
    assert PACK.recurrence(0, (2, 1), False, xs) is None  # has no cell
    assert PACK.recurrence(4, (2, 1), False, xs) is None
    for i, x in enumerate(xs[:7]):
        for other in (x.astype("float64"), x[..., :-1], None):
            if other is not None or i not in (5, 6):
                assert PACK.recurrence(2, (2, 1), False, [*xs[:i], other, *xs[i + 1 :]]) is None
