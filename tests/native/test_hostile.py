"""The boundary between Python and the pack: whatever it is given, it answers, declines or raises."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd.backends import memory
from retrograd.backends.pack import PACK

from .hostile import calls, values

pytestmark = pytest.mark.skipif(PACK is None, reason="the native pack is not built")

PARTS = 8
calls.Loaded.pack = PACK
ROOT = Path(__file__).parents[2]


def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A program of this folder in a process of its own, on the pack that this one has."""
    return subprocess.run(
        [sys.executable, "-X", "faulthandler", "-m", f"tests.native.hostile.{program}", PACK.__file__, *arguments],
        capture_output=True, text=True, timeout=500, check=False, cwd=ROOT,
    )  # fmt: skip


def names() -> list[str]:
    done = run("program")
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_every_function_has_a_good_call_to_begin_with() -> None:
    found = names()
    assert set(found) >= set(calls.calls())
    assert set(found) - set(calls.calls()) == set(PACK.fused_kernels())


@pytest.mark.parametrize("part", range(PARTS))
def test_no_argument_crashes_a_function(part: int) -> None:
    wanted, crashes = names()[part::PARTS], []
    while wanted:
        done = run("program", *wanted)
        if done.returncode == 0:
            break
        name = done.stdout.split()[-1]
        crashes.append(f"{name} ended with {done.returncode}: {done.stderr[-2000:]}")
        wanted = wanted[wanted.index(name) + 1 :]
    assert not crashes, "\n".join(crashes)


def test_nothing_that_changes_meanwhile_crashes_a_kernel() -> None:
    done = run("racing")
    assert done.returncode == 0, (
        f"{done.stdout.split()[-1:]} ended with {done.returncode}: {done.stderr[-2000:]}"
    )


@pytest.mark.skipif(sys.platform == "win32", reason="pages are protected in another way")
def test_no_function_reads_past_an_array_or_an_empty_one() -> None:
    done = run("edges")
    assert done.returncode == 0, (
        f"{done.stdout.split()[-1:]} ended with {done.returncode}: {done.stderr[-2000:]}"
    )
    assert done.stdout.split() == names()


def test_an_edge_of_memory_is_one() -> None:
    program = (
        "import ctypes, numpy as np; from tests.native.hostile import edges\n"
        "a = edges.before_edge(np.ones(3)); ctypes.string_at(a.ctypes.data, a.nbytes); print('read')\n"
        "ctypes.string_at(a.ctypes.data, a.nbytes + 1); print('and more')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.stdout == "read\n"
    assert done.returncode != 0


@pytest.mark.parametrize(
    "name", ["put_along", "add_along", "add_rows", "take_along", "take", "sum_rows", "nll"]
)
@pytest.mark.parametrize("wrong", [100, -100, 2**62, -(2**63)])
def test_an_index_outside_is_refused_before_anything_is_written(name: str, wrong: int) -> None:
    arguments = calls.calls()[name]()
    (index,) = (array for array in values.arrays_in(arguments) if array.dtype == np.int64)
    index.flat[-1] = wrong
    before = arguments[0].copy()
    if name == "take":
        with pytest.raises(IndexError):
            PACK.take(*arguments)
    else:
        assert getattr(PACK, name)(*arguments) is None
    assert np.array_equal(arguments[0], before)
    assert all(map(calls.is_guarded, values.arrays_in(arguments)))


# -- sizes -------------------------------------------------------------------------------------------------------------


def virtual(dtype: str, *shape: int) -> Any:
    return np.broadcast_to(np.ones((), dtype), shape)


@pytest.mark.parametrize(
    "call",
    [
        lambda: PACK.where(virtual("bool", 2**32 - 1, 2**30), np.ones(()), 0.0),
        lambda: PACK.logical_not(virtual("bool", 2**32 - 1, 2**30)),
        lambda: PACK.exp(virtual("float32", 2**32 - 1, 2**28)),
        lambda: PACK.ones_of(virtual("float64", 2**60 - 1)),
        lambda: PACK.zeros_like(virtual("float64", 2**60 - 1)),
        lambda: PACK.dense_copy(virtual("float64", 2**30, 2**28)),
        lambda: PACK.softmax(virtual("float64", 2**30, 2**28), 0),
        lambda: PACK.sum_rows(np.ones((2, 2)), np.array([0, 1]), 2**61, -1, False),
        lambda: PACK.nll_backward(np.ones(()), np.zeros((2**20,), "int64"), None, 1, -1, (2**20, 2**45)),
        lambda: PACK.add(virtual("float32", 2**32 - 1, 1), virtual("float32", 1, 2**28)),
        lambda: rg.zeros((), dtype=rg.bool).expand(2**32 - 1, 2**30).logical_not(),
    ],
)
def test_more_than_memory_holds_is_a_memory_error(call: Any) -> None:
    with pytest.raises(MemoryError):
        call()
    assert memory.memory_reserved() < 2**40


@pytest.mark.parametrize("shape", [(2**33, 2**33), (2**31, 2**31, 4)])
def test_shapes_that_no_array_has_are_numpys_to_refuse(shape: tuple[int, ...]) -> None:
    """Broadcasting makes a shape whose size is no number; a product of lengths must not wrap around."""
    sides = [
        virtual("float32", *[n if i == axis else 1 for i, n in enumerate(shape)])
        for axis in range(len(shape))
    ]
    with pytest.raises((ValueError, MemoryError)):
        PACK.add(sides[0], sides[-1]) if len(sides) == 2 else PACK.where(sides[0] > 0, sides[1], sides[2])
    with pytest.raises((ValueError, MemoryError)):
        PACK.matmul(sides[0][..., None], sides[1][..., None, :])


def test_an_array_is_given_back_whatever_became_of_its_dtype() -> None:
    """NumPy says how large the memory of an array was by its dtype and shape, which anybody may have changed."""
    before = memory.memory_stats()["allocation.current"]
    for shape in ((1000, 1000), (3, 4), (0, 1000)):
        array = PACK.zeros(shape, np.dtype("float64"))
        array.dtype = "V0"
        del array
        array = PACK.zeros((3, 1000), np.dtype("float64"))
        array.resize((0, 1000), refcheck=False)
        del array
    assert memory.memory_stats()["allocation.current"] == before
    good = [PACK.ones((n,), np.dtype("float64")) for n in (1, 10, 100, 1000, 10_000) for _ in range(50)]
    assert all(array.sum() == array.size for array in good)


# -- the collector -----------------------------------------------------------------------------------------------------


def test_only_objects_of_classes_leave_the_collector() -> None:
    for thing in (5, None, "x", (i for i in range(3)), lambda: 0, [1], {1: 2}, int, len, iter([])):
        was = gc.is_tracked(thing)
        PACK.untrack(thing)
        assert gc.is_tracked(thing) == was
        PACK.track(thing)
    mine = calls.Thing()
    PACK.untrack(mine)
    assert not gc.is_tracked(mine)
    PACK.track(mine)
    assert gc.is_tracked(mine)
