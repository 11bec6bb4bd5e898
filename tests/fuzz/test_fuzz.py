"""A little of each part of the fuzzing; `make fuzz` does more of it. See docs/inside/reliability.md."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest

from . import __main__ as fuzz
from .shrink import shrink

COUNTS = {
    "programs": 100, "signatures": 300, "samples": 300, "arrays": 0, "interrupts": 100,
    "loads": 3, "files": 100, "threads": 20, "forks": 20, "ends": 20,
}  # fmt: skip
SEED = 1


def explored(part):
    """What a part finds, in a process in which PyTorch has not run yet: afterwards it refuses to fork."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_explored, part).result()


def _explored(part):
    return [(fuzz.kind_of(f), str(f)) for f in fuzz.PARTS[part].explore(COUNTS[part], SEED)]


@pytest.mark.usefixtures("torch")
@pytest.mark.parametrize("part", ["programs", "signatures", "samples"])
def test_pytorch_agrees(part):
    # So few cannot show a share: each kind may be found a few times, if it may be found at all.
    known = {kind for kind, share in fuzz.PARTS[part].allowed.items() if share}
    found = [text for kind, text in explored(part) if kind not in known]
    assert not found, "\n".join(found)


# An interrupt may come in a callback of others, such as hypothesis's at a collection.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("part", ["arrays", "interrupts", "loads", "files", "threads", "forks", "ends"])
def test_nothing_breaks_it(part):
    said: list[str] = []
    assert fuzz.run(part, COUNTS[part], SEED, said.append), "\n".join(said)


def test_every_part_has_a_short_form():
    assert COUNTS.keys() == fuzz.PARTS.keys()


def test_a_program_shrinks_to_what_shows_the_difference():
    program = ["a = 1", "with x:\n    b = 2\n    c = 3", "d = 4", "e = 5"]
    assert shrink(program, lambda p: "c = 3" in "\n".join(p)) == ["c = 3"]
    assert shrink(program, lambda p: {"a = 1", "e = 5"} <= set(p)) == ["a = 1", "e = 5"]
