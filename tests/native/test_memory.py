"""The caching allocator: counts, reuse, bounds, alignment, and that arrays on it behave like any others."""

from __future__ import annotations

import gc
import itertools
import os
import pickle
import shutil
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd.backends import memory
from retrograd.backends.pack import PACK

needs_pack = pytest.mark.skipif(PACK is None, reason="the native pack is not built")
# Environments without the cache are their own subject: what it keeps cannot be tested there.
needs_cache = pytest.mark.skipif(
    PACK is None or os.environ.get("RETROGRAD_NO_CACHE", "0") not in {"", "0"}, reason="there is no cache"
)
ONE = np.ones(300_000)


@pytest.fixture(autouse=True)
def put_back() -> Iterator[None]:
    gc.collect()
    yield
    memory.set_memory_limit(None)
    memory.empty_cache()


def made(n: int) -> Any:
    return PACK.zeros((n,), np.dtype("float64"))


def reserved() -> int:
    return memory.memory_stats()["reserved_bytes.current"]


def test_the_public_names() -> None:
    assert rg.memory.memory_stats() == memory.memory_stats()
    assert set(memory.memory_stats()) == set(memory._NOTHING)
    assert rg.memory.memory_reserved() >= rg.memory.memory_allocated() >= 0
    assert rg.memory.max_memory_allocated() >= rg.memory.memory_allocated()
    rg.memory.reset_peak_memory_stats()
    rg.memory.empty_cache()
    assert "in use at most" in rg.memory.memory_summary()
    with pytest.raises(ValueError, match="cannot be negative"):
        rg.memory.set_memory_limit(-1)
    assert all(hasattr(rg.memory, name) for name in rg.memory.__all__)


@needs_pack
def test_what_is_in_use_is_counted() -> None:
    before = memory.memory_stats()
    memory.reset_peak_memory_stats()
    arrays = [PACK.add(ONE, 1.0) for _ in range(3)]
    now = memory.memory_stats()
    assert now["allocation.current"] - before["allocation.current"] == 3
    assert now["allocation.allocated"] - before["allocation.allocated"] == 3
    used = now["allocated_bytes.current"] - before["allocated_bytes.current"]
    assert 3 * ONE.nbytes <= used <= 3 * ONE.nbytes * 9 / 8 + 3 * 64
    del arrays
    after = memory.memory_stats()
    assert after["allocated_bytes.current"] == before["allocated_bytes.current"]
    assert after["allocation.current"] == before["allocation.current"]
    assert after["allocated_bytes.peak"] >= now["allocated_bytes.current"]
    memory.reset_peak_memory_stats()
    assert memory.max_memory_allocated() == memory.memory_allocated()


@needs_pack
def test_nothing_leaks() -> None:
    small, large = np.ones(8, "float32"), np.ones((300, 200))

    def use() -> None:
        PACK.add(small, small)
        PACK.exp(small)
        PACK.where(small > 0, small, 0.0)
        PACK.sum(large, axis=0)
        PACK.multiply(large, large[0])
        PACK.tanh(large.T)
        PACK.dense_copy(large.T)
        PACK.add_into(large, 0.0 * large)
        for wrong in ((small, large), (small, "x")):
            with pytest.raises((ValueError, TypeError)):
                PACK.add(*wrong)

    use()
    watched = (small, large, None, np.dtype("float32"))
    before, references = memory.memory_stats(), [sys.getrefcount(v) for v in watched]
    for _ in range(200):
        use()
    after = memory.memory_stats()
    assert after["allocated_bytes.current"] == before["allocated_bytes.current"]
    assert after["allocation.current"] == before["allocation.current"]
    for value, count in zip(watched, references, strict=True):
        assert abs(sys.getrefcount(value) - count) < 50


@needs_pack
def test_tracemalloc_sees_arrays() -> None:
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        array = PACK.add(ONE, 1.0)
        assert ONE.nbytes <= tracemalloc.get_traced_memory()[0] - before < ONE.nbytes + 10_000
        del array
        assert tracemalloc.get_traced_memory()[0] - before < 10_000
    finally:
        tracemalloc.stop()


@needs_cache
def test_blocks_are_used_again() -> None:
    first = PACK.add(ONE, 1.0)
    address = first.ctypes.data
    del first
    calls = memory.memory_stats()["num_system_allocations"]
    for _ in range(50):
        again = PACK.multiply(ONE, 2.0)
        assert again.ctypes.data == address
        del again
    assert memory.memory_stats()["num_system_allocations"] == calls


@needs_cache
def test_small_blocks_are_used_again() -> None:
    x = np.ones(8, "float32")
    calls = None
    for turn in range(2):
        arrays = [PACK.add(x, x) for _ in range(5000)]
        assert len({a.ctypes.data for a in arrays}) == 5000
        del arrays
        if turn == 0:
            calls = memory.memory_stats()["num_system_allocations"]
    assert memory.memory_stats()["num_system_allocations"] == calls


@needs_cache
def test_an_emptied_cache_holds_nothing() -> None:
    arrays = [made(200_000) for _ in range(5)] + [made(10) for _ in range(5000)]
    del arrays
    assert reserved() > memory.memory_allocated()
    memory.empty_cache()
    kept = made(200_000)
    assert reserved() <= memory.memory_allocated() + 40 * 2**16
    del kept


@needs_cache
def test_the_cache_is_bounded() -> None:
    memory.set_memory_limit(3_000_000)
    arrays = [made(100_000) for _ in range(20)]
    del arrays
    assert reserved() - memory.memory_allocated() <= 3_000_000 + 40 * 2**16
    memory.set_memory_limit(0)
    assert reserved() - memory.memory_allocated() <= 40 * 2**16
    array = made(100_000)
    held = reserved()
    del array
    assert reserved() <= held - 800_000


@needs_cache
def test_what_is_kept_follows_what_was_needed() -> None:
    """Sizes that are never asked for again give way to others: reserved memory does not grow with their number."""
    memory.empty_cache()
    for n in range(1, 60):
        array = made(100_000 * n)
        del array
    assert reserved() <= 60 * 800_000 * 9 / 8 + 64 * 2**20 + 40 * 2**16


@needs_pack
@pytest.mark.parametrize("n", [0, 1, 7, 8, 16, 127, 128, 129, 1000, 1023, 1024, 5000, 70_000, 600_000])
def test_blocks_hold_what_they_are_asked_for(n: int) -> None:
    arrays = [made(n) for _ in range(4)]
    for i, array in enumerate(arrays):
        assert array.ctypes.data % 64 == 0
        array[...] = i
    for i, array in enumerate(arrays):
        assert np.all(array == i)
    ends = sorted((a.ctypes.data, a.ctypes.data + a.nbytes) for a in arrays)
    assert all(one[1] <= other[0] for one, other in itertools.pairwise(ends))


@needs_pack
def test_arrays_behave_like_others() -> None:
    for n in (5, 100, 1000, 100_000):
        array = PACK.add(np.arange(float(n)), 1.0)
        assert array.flags.owndata
        assert array.flags.writeable
        assert array.base is None
        array.resize(n // 2, refcheck=False)
        assert np.array_equal(array, np.arange(1.0, n // 2 + 1))
        array.resize(3 * n, refcheck=False)
        assert np.array_equal(array[: n // 2], np.arange(1.0, n // 2 + 1))
        assert not array[n // 2 :].any()
        view = array.view("int64")
        array.shape = (3, n)
        assert pickle.loads(pickle.dumps(array)).tolist() == array.tolist()
        array.__setstate__((1, (2,), np.dtype("float32"), False, b"\0" * 8))
        assert array.tolist() == [0, 0]
        del view


@needs_pack
def test_threads_may_share_the_allocator() -> None:
    before = memory.memory_stats()["allocation.current"]
    wrong: list[int] = []

    def work(number: int) -> None:
        kept = []
        for i in range(300):
            array = made((i * 37 + number) % 5000 + 1)
            array[...] = number
            kept.append(array)
            if len(kept) > 20:
                old = kept.pop(i % 20)
                if not np.all(old == number):
                    wrong.append(number)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert memory.memory_stats()["allocation.current"] == before


FORKED = """
import os, sys
import numpy as np
from retrograd.backends import memory
from retrograd.backends.pack import PACK
kept = [PACK.ones((n,), np.dtype("float64")) for n in (10, 1000, 100_000)]
del kept[1]
child = os.fork()
for _ in range(20):
    arrays = [PACK.add(kept[1], 1.0), PACK.exp(kept[0]), PACK.zeros((3000,), np.dtype("float32"))]
    del arrays
memory.empty_cache()
good = all(np.all(k == 1) for k in kept) and PACK.sum(kept[1]) == 100_000
if child == 0:
    os._exit(0 if good else 1)
_, status = os.waitpid(child, 0)
sys.exit(0 if good and status == 0 else 1)
"""


SAME_PACK = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("retrograd._native", {!r})
sys.modules[spec.name] = pack = importlib.util.module_from_spec(spec)
spec.loader.exec_module(pack)
"""


def run(program: str, first: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """A program in a process of its own, with the pack that this one has; `first` runs before the pack is there."""
    return subprocess.run(
        [sys.executable, "-c", first + SAME_PACK.format(PACK.__file__) + program],
        capture_output=True, text=True, timeout=120, check=False,
        env={**os.environ, **environment, "RETROGRAD_NO_NATIVE": "", "PYTHONWARNINGS": "ignore"},
    )  # fmt: skip


@needs_pack
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
def test_a_forked_child_goes_on() -> None:
    done = run(FORKED)
    assert done.returncode == 0, done.stderr


UNCACHED = """
import numpy as np
from retrograd.backends import memory
from retrograd.backends.pack import PACK
for n in (0, 1, 10, 200, 5000, 100_000):
    arrays = [PACK.ones((n,), np.dtype("float64")) for _ in range(5)]
    assert all(a.sum() == n and a.ctypes.data % 64 == 0 for a in arrays)
    arrays[0].resize(7, refcheck=False)
    del arrays
assert memory.memory_allocated() == memory.memory_reserved() == 0, memory.memory_stats()
many = [object() for _ in range(1_000_000)]
del many
assert memory.memory_stats()["kept_arena_bytes.current"] == 0
"""


@needs_pack
def test_the_cache_can_be_switched_off() -> None:
    done = run(UNCACHED, RETROGRAD_NO_CACHE="1")
    assert done.returncode == 0, done.stderr


# -- what Python gives back --------------------------------------------------------------------------------------------


# Python's arenas are a megabyte each from 3.10 on; a million objects of 16 bytes fill some.
ARENAS = """
from retrograd.backends import memory
def kept():
    return memory.memory_stats()["kept_arena_bytes.current"]
def use():
    many = [object() for _ in range(1_000_000)]
def deep(n):
    return n and deep(n - 1)
use()
assert kept() == 0, "nobody has asked for it yet"
memory.keep_arenas(True)
deep(900)  # Python's stack grows and shrinks in pieces of another size
use()
held = kept()
assert held >= 10 << 20, held
many = [object() for _ in range(1_000_000)]
assert kept() < held, "the next objects live in what was kept"
del many
memory.empty_cache()
assert kept() == 0
memory.set_memory_limit(4 << 20)
use()
assert 0 < kept() <= 4 << 20
memory.set_memory_limit(0)
assert kept() == 0
use()
assert kept() == 0
memory.set_memory_limit(None)
more = [object() for _ in range(12_000_000)]
del more
assert 64 << 20 < kept() <= 128 << 20
memory.keep_arenas(False)
assert kept() == 0
use()
assert kept() == 0
"""


@needs_pack
def test_memory_of_small_objects_is_kept_for_the_next_ones() -> None:
    done = run(ARENAS, RETROGRAD_NO_CACHE="0", RETROGRAD_KEEP_ARENAS="0", PYTHONMALLOC="pymalloc")
    assert done.returncode == 0, done.stderr


# What stands at Python's arenas: three pointers of a structure.
WATCHED = """
import ctypes
def now():
    found = (ctypes.c_void_p * 3)()
    ctypes.pythonapi.PyObject_GetArenaAllocator(ctypes.byref(found))
    return list(found)
before = now()
"""
SWITCHED = """
import retrograd as rg
assert now() == before, "importing changes nothing"
def objects():
    return [object() for _ in range(300_000)]
early = objects()
kept = 0
for turn in range(3):
    rg.memory.keep_arenas(True)
    assert now() != before
    rg.memory.keep_arenas(True)
    late = objects()
    del early  # arenas of the allocator that was found, taken by ours
    kept += rg.memory.memory_stats()["kept_arena_bytes.current"]  # in later turns others may live in each of them
    early = objects()
    rg.memory.keep_arenas(False)
    rg.memory.keep_arenas(False)
    assert now() == before, "what was found is in its place again"
    assert rg.memory.memory_stats()["kept_arena_bytes.current"] == 0
    del late  # arenas that ours has handed out, taken by the allocator that was found
assert kept > 0
"""
# Another extension puts itself in front of ours: a copy of the pack can play its part.
IN_FRONT = """
ours = pack
spec = importlib.util.spec_from_file_location("retrograd._native", {!r})
theirs = importlib.util.module_from_spec(spec)
spec.loader.exec_module(theirs)
def use():
    many = [object() for _ in range(300_000)]
ours.keep_arenas(True)
theirs.keep_arenas(True)
in_front = now()
use()
ours.keep_arenas(False)
assert now() == in_front, "they stay where they are"
use()
assert ours.memory_stats()["kept_arena_bytes.current"] == 0
assert theirs.memory_stats()["kept_arena_bytes.current"] > 0
ours.keep_arenas(True)
theirs.keep_arenas(False)
use()
assert ours.memory_stats()["kept_arena_bytes.current"] > 0
ours.keep_arenas(False)
assert now() == before
use()
"""


@needs_pack
def test_importing_leaves_pythons_arenas_alone() -> None:
    done = run(SWITCHED, WATCHED, RETROGRAD_KEEP_ARENAS="", PYTHONMALLOC="pymalloc")
    assert done.returncode == 0, done.stderr


@needs_pack
def test_the_environment_may_ask_for_arenas() -> None:
    program = (
        "import retrograd as rg\nassert now() != before\nrg.memory.keep_arenas(False)\nassert now() == before"
    )
    done = run(program, WATCHED, RETROGRAD_KEEP_ARENAS="1")
    assert done.returncode == 0, done.stderr


@needs_pack
def test_another_allocator_of_arenas_is_not_taken_away(tmp_path: Path) -> None:
    other = shutil.copy(PACK.__file__, tmp_path)
    done = run(IN_FRONT.format(str(other)), WATCHED, RETROGRAD_KEEP_ARENAS="", PYTHONMALLOC="pymalloc")
    assert done.returncode == 0, done.stderr
