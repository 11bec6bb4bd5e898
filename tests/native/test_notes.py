"""What the pack keeps of arrays for a recording is what the plain way keeps."""

from __future__ import annotations

import gc
import time
from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd.backends.pack import PACK
from retrograd.inspect.values import Sample, figures, keep

pytestmark = pytest.mark.skipif(PACK is None, reason="the native pack is not built")

RNG = np.random.default_rng(0)
SMALL = [
    np.array(3.0), np.zeros((0, 3)), RNG.normal(size=(3, 4)), RNG.normal(size=(3, 4)).T, RNG.normal(size=200)[::3],
    np.broadcast_to(np.float32(2), (5, 5)), np.arange(12).reshape(3, 4), np.array([True, False]),
    np.array([1 + 2j, 3j]), RNG.normal(size=256).astype("float32"), np.array([np.nan, np.inf, 1.0]),
]  # fmt: skip


def notes() -> Any:
    return PACK.notes_new(100, time.perf_counter_ns())


def noted(array: Any, is_view: bool = False) -> dict[str, Any]:
    """The figures of an array by way of the pack."""
    held = notes()
    assert PACK.notes_value(held, array, is_view) == 0
    ((elements, shape, size, square, *_),) = PACK.notes_values(held)
    return figures(Sample(elements, shape, size, square))


@pytest.mark.parametrize("array", SMALL, ids=lambda a: f"{a.dtype}{list(a.shape)}")
def test_small_arrays_are_kept_whole(array: Any) -> None:
    assert noted(array) == figures(keep(array))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("make", [lambda a: a, lambda a: a.T, lambda a: a[:, ::2], lambda a: a[::-1]])
def test_norms_are_of_all_elements(dtype: str, make: Any) -> None:
    array = make(RNG.normal(size=(100, 120)).astype(dtype))
    told = noted(array)
    assert told["norm"] == pytest.approx(float(np.linalg.norm(array.astype("float64"))), rel=1e-5)
    assert told["sampled"] == 256
    assert told["shape"] == list(array.shape)


@pytest.mark.parametrize(("bad", "what"), [(np.nan, "nan"), (np.inf, "inf"), (-np.inf, "inf")])
def test_one_element_that_is_not_finite_is_seen(bad: float, what: str) -> None:
    array = np.ones(10_000, "float32")
    array[777] = bad
    told = noted(array)
    assert told[what] == 1
    assert told["norm"] == what


def test_squares_may_be_too_large_for_a_float32() -> None:
    told = noted(np.full(1000, 1e30, "float32"))
    assert told["norm"] == pytest.approx(1e30 * 1000**0.5, rel=1e-5)
    assert not told["inf"]


def test_squares_may_be_too_large_for_a_float64() -> None:
    told = noted(np.full(1000, 1e200))
    assert not told["inf"]
    assert noted(np.broadcast_to(np.float64(1e150), (10**6, 10**6)))["inf"] == 0


LAYOUTS = {
    "dense": lambda a: a,
    "turned": lambda a: a.transpose(2, 0, 1),
    "backwards": lambda a: a[::-1, :, ::-1],
    "with gaps": lambda a: a[:, ::2],
    "with gaps between elements": lambda a: a[..., ::3],
    "repeated": lambda a: np.broadcast_to(a[:, None], (30, 7, 40, 50)),
    "a part": lambda a: a[3:, 2:30, 4:41],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_one_bad_element_is_seen_wherever_it_lies(layout: str, dtype: str) -> None:
    whole = RNG.normal(size=(30, 40, 50)).astype(dtype)
    told = noted(LAYOUTS[layout](whole))
    expected = np.linalg.norm(LAYOUTS[layout](whole).ravel())
    assert told["norm"] == pytest.approx(float(expected), rel=1e-5)
    whole[7, 8, 9] = np.nan  # every layout shows it, and no sample has it
    assert noted(LAYOUTS[layout](whole))["nan"] == 1


def test_a_view_is_looked_at_unless_its_memory_is_known_to_be_finite() -> None:
    held = notes()
    array = np.ones((1000, 1000), "float32")
    PACK.notes_value(held, array, False)
    PACK.notes_value(held, array[1:], True)
    array[100, 7] = np.nan
    PACK.notes_value(held, array[2:], False)  # not by an operation on views
    PACK.notes_value(held, array[3:], True)
    squares = [square for _, _, _, square, *_ in PACK.notes_values(held)]
    assert squares[0] == pytest.approx(1e6)
    assert squares[1] is None
    assert np.isnan(squares[2:]).all()


def test_blocks_know_when_they_are_freed() -> None:
    held = notes()
    x = rg.ones(1000)
    y = x + 1
    assert PACK.notes_value(held, y.array, False) == 0
    assert PACK.notes_block(held, y.array[3:].reshape(-1)) == 0
    ((size, born, died),), left_out = PACK.notes_blocks(held)
    assert (size, died, left_out) == (4000, -1, 0)
    del y
    ((_, _, died),), _ = PACK.notes_blocks(held)
    assert born < died <= time.perf_counter_ns()


def test_blocks_of_another_allocator_know_it_too() -> None:
    held = notes()
    x = np.ones(1000, "float32")
    assert PACK.notes_block(held, x[3:]) == 0
    assert PACK.notes_block(held, x) == 0
    assert PACK.notes_block(held, np.frombuffer(b"12345678")) is None  # not an array's
    del x
    ((size, born, died),), _ = PACK.notes_blocks(held)
    assert size == 4000
    assert born < died <= time.perf_counter_ns()


def test_arrays_may_outlive_the_notes_that_watch_them() -> None:
    x = np.ones(1000)
    assert PACK.notes_block(notes(), x) == 0
    del x  # nobody is told


def test_rows_are_tuples_that_the_collector_does_not_walk() -> None:
    rows: list[Any] = []
    PACK.notes_row(rows, 1, [2])
    PACK.notes_row(rows)
    assert rows == [(1, [2]), ()]
    assert not gc.is_tracked(rows[0])
    with pytest.raises(TypeError, match="needs a list"):
        PACK.notes_row(())


def test_a_limit_of_blocks_is_kept() -> None:
    held = PACK.notes_new(1, 0)
    arrays = [(rg.ones(10) + i).array for i in range(3)]
    assert [PACK.notes_block(held, array) for array in arrays] == [0, -1, -1]
    assert PACK.notes_blocks(held)[1] == 2


def test_closed_notes_hear_of_nothing_new() -> None:
    held = notes()
    known, new = (rg.ones(10) + 1).array, (rg.ones(10) + 2).array
    assert PACK.notes_block(held, known) == 0
    PACK.notes_close(held)
    assert PACK.notes_block(held, known) == 0
    assert PACK.notes_block(held, new) == -1


def test_other_arrays_are_left_to_the_plain_way() -> None:
    held = notes()
    assert PACK.notes_value(held, np.ones(300, "complex64"), False) is None
    assert PACK.notes_value(held, np.ones(3, "float16"), False) is None
    assert PACK.notes_value(held, np.array(["a"]), False) is None
    assert PACK.notes_value(held, 3, False) is None
    with pytest.raises(ValueError, match="PyCapsule"):
        PACK.notes_values(3)
