"""Archives of failed nodes that nobody has written in good faith: each is refused, and nothing of it runs."""

from __future__ import annotations

import copy
import io
import json
import random
import sys
import zipfile
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd.cli.main import main
from retrograd.inspect.replay import NodeReplay, NotReplayable

ODD = [
    None, True, 0, -1, 2**70, 1e300, "", "x", "O", [], {}, [[]], {"array": "a0"}, {"array": "no"}, {"slice": [1]},
    {"tuple": [{"missing": "f"}]}, {"dtype": "V8"}, {"dict": {"x": 1}}, {"complex": ["a"]}, {"a": 1, "b": 2},
]  # fmt: skip
RAISED = (RuntimeError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError, KeyError)
ODD_ARRAYS = [np.ones(3), np.ones((2, 2)), np.zeros(0), np.array("x"), np.zeros(2, "V8"), np.zeros(3, ">f4"),
              np.zeros(3, "M8[s]"), np.zeros(2, [("a", "f4"), ("b", "i8")]), np.ones(3, "complex64")]  # fmt: skip


@pytest.fixture
def archive(tmp_path) -> Any:
    x = rg.tensor([0.0, 1.0, 4.0], requires_grad=True)
    with rg.inspect.on_failure(tmp_path / "crash.html") as watch:
        rg.addcdiv(x, x, x).sum().backward()
    return watch.archive


def rewritten(archive, told: Any, **arrays: Any) -> Any:
    """The archive with another description of its node."""
    with np.load(archive) as found:
        kept = {name: found[name] for name in found.files if name != "node"}
    np.savez(
        archive, node=np.array(told if isinstance(told, str) else json.dumps(told)), **{**kept, **arrays}
    )
    return archive


def told(archive) -> Any:
    with np.load(archive) as found:
        return json.loads(str(found["node"]))


def places(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The ways to all values in a nested description."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [way, *[place for key, inner in items for place in places(inner, (*way, key))]]


def exchanged(value: Any, way: tuple[Any, ...], other: Any) -> Any:
    value = copy.deepcopy(value)
    inner = value
    for key in way[:-1]:
        inner = inner[key]
    inner[way[-1]] = other
    return value


def test_whatever_stands_in_an_archive_is_refused_or_run(archive):
    good, rng = told(archive), random.Random(0)
    ways = places(good)[1:]
    for _ in range(400):
        bad = good
        for _ in range(rng.choice([1, 1, 2, 3])):
            way = rng.choice(ways)
            try:
                bad = exchanged(bad, way, rng.choice(ODD))
            except (KeyError, IndexError, TypeError):
                continue  # it has lost that place
        arrays = {"a0": rng.choice(ODD_ARRAYS)} if rng.random() < 0.3 else {}
        try:
            found = NodeReplay(rewritten(archive, bad, **arrays))
        except NotReplayable:
            continue
        with suppress(*RAISED):  # the formula's own: `retrograd replay` shows it
            found.run()


def test_damaged_bytes_are_refused(archive):
    data, rng = archive.read_bytes(), random.Random(1)
    for _ in range(300):
        bad = bytearray(data)
        for _ in range(rng.randrange(1, 8)):
            bad[rng.randrange(len(bad))] = rng.randrange(256)
        archive.write_bytes(bad[: rng.choice([len(bad), rng.randrange(len(bad))])])
        with suppress(NotReplayable):
            NodeReplay(archive)


def test_no_module_is_imported_because_a_file_says_so(archive, tmp_path, monkeypatch, capsys):
    (tmp_path / "unwanted.py").write_text("raise SystemExit('it ran')")
    monkeypatch.syspath_prepend(tmp_path)
    bad = told(archive) | {"module": "unwanted", "function": "f"}
    with pytest.raises(NotReplayable, match="a file does not decide what is imported"):
        NodeReplay(rewritten(archive, bad))
    assert "unwanted" not in sys.modules
    with pytest.raises(NotReplayable, match="has no retrograd.ops.unwanted"):
        NodeReplay(rewritten(archive, bad | {"module": "retrograd.ops.unwanted"}))
    assert main(["replay", str(archive)]) == 2
    assert "retrograd replay: this version" in capsys.readouterr().err


def test_nothing_is_unpickled(archive):
    class Evil:
        def __reduce__(self) -> Any:
            return (sys.exit, ("it ran",))

    np.savez(archive, node=np.array(json.dumps(told(archive))), a0=np.array([Evil()], dtype=object))
    with pytest.raises(NotReplayable, match="no archive of a failed node"):
        NodeReplay(archive)


def test_nothing_is_unpacked_that_is_larger_than_its_file(archive):
    buffer = io.BytesIO()
    np.save(buffer, np.zeros(10_000_000))
    with zipfile.ZipFile(archive, "a", zipfile.ZIP_DEFLATED) as members:
        members.writestr("a9.npy", buffer.getvalue())
    with pytest.raises(NotReplayable) as caught:
        NodeReplay(archive)
    assert "larger than the file" in str(caught.value.__cause__)


def test_a_terminal_obeys_no_name_in_a_file(archive, capsys):
    rewritten(archive, told(archive) | {"name": "a\x1b[2Jb", "reason": "\x07", "line": "x = 1\n  y"})
    assert main(["replay", str(archive)]) in (0, 1)
    printed = capsys.readouterr().out
    assert "a?[2Jb: ?" in printed
    assert "\x1b" not in printed
