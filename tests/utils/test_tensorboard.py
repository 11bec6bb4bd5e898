"""`SummaryWriter`: its files, read back here record by record, and by TensorBoard where that is installed."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import retrograd as rg
from retrograd.utils.tensorboard import SummaryWriter
from retrograd.utils.tensorboard.event_file import checksum, varint


def events(folder: Path) -> Iterator[bytes]:
    """The data of all records, with every checksum looked at."""
    for path in sorted(folder.glob("events.out.tfevents.*")):
        data = path.read_bytes()
        while data:
            (count,) = struct.unpack("<Q", data[:8])
            assert data[8:12] == checksum(data[:8])
            yield data[12 : 12 + count]
            assert data[12 + count : 16 + count] == checksum(data[12 : 12 + count])
            data = data[16 + count :]


def fields(message: bytes) -> dict[int, list[Any]]:
    """A message taken apart: the values of each field by its number."""
    found: dict[int, list[Any]] = {}
    while message:
        head, message = _number(message)
        kind = head & 7
        value: Any
        if kind == 0:
            value, message = _number(message)
        elif kind == 2:
            count, message = _number(message)
            value, message = message[:count], message[count:]
        else:
            width, code = (8, "<d") if kind == 1 else (4, "<f")
            value, message = struct.unpack(code, message[:width])[0], message[width:]
        found.setdefault(head >> 3, []).append(value)
    return found


def _number(data: bytes) -> tuple[int, bytes]:
    end = next(i for i, byte in enumerate(data) if byte < 128) + 1
    return sum((byte & 127) << 7 * i for i, byte in enumerate(data[:end])), data[end:]


def values(folder: Path) -> list[tuple[int | None, dict[int, list[Any]]]]:
    """The step and the value of each event."""
    found = [fields(event) for event in events(folder)]
    assert found[0][3] == [b"brain.Event:2"]
    return [
        (event.get(2, [None])[0], fields(value))
        for event in found[1:]
        for value in fields(event[5][0]).get(1, [])
    ]


def test_whole_numbers_and_checksums():
    assert [_number(varint(n)) for n in (0, 127, 128, 2**40)] == [(n, b"") for n in (0, 127, 128, 2**40)]
    crc = struct.unpack("<I", checksum(b"123456789"))[0] - 0xA282EAD8 & 0xFFFFFFFF
    assert (crc >> 17 | crc << 15) & 0xFFFFFFFF == 0xE3069283  # the check value of CRC-32C


def test_numbers(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        for step in range(3):
            writer.add_scalar("loss", rg.tensor([0.5 * step]), step)
        writer.add_scalar("other", 7)
        writer.add_scalars("two/curves", {"a": 1, "b b": 2.0}, 5)
        with pytest.raises(AssertionError, match="scalar should be 0D"):
            writer.add_scalar("x", rg.ones(2))
    assert [(step, v[1][0], v[2][0]) for step, v in values(tmp_path)] == [
        (0, b"loss", 0.0), (1, b"loss", 0.5), (2, b"loss", 1.0), (None, b"other", 7.0),
    ]  # fmt: skip
    assert [(s, v[1][0], v[2][0]) for s, v in values(tmp_path / "two_curves_b_b")] == [
        (5, b"two/curves", 2.0)
    ]


def test_texts_and_histograms(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_text("notes", "# begun", 1)
        writer.add_histogram("weights", rg.tensor([-1.0, 0.5, 0.5, 2.0]), 2)
        writer.add_histogram("few", rg.arange(100.0), bins="auto", max_bins=3)
        with pytest.raises(ValueError, match="no element"):
            writer.add_histogram("none", rg.zeros(0))
    (_, text), (_, spread), (_, few) = values(tmp_path)
    assert (text[1], fields(text[8][0])[8]) == ([b"notes/text_summary"], [b"# begun"])
    facts = fields(spread[5][0])
    assert [facts[i][0] for i in range(1, 6)] == [-1.0, 2.0, 4.0, 2.0, 5.5]
    limits, counts = (struct.unpack(f"<{len(facts[i][0]) // 8}d", facts[i][0]) for i in (6, 7))
    assert len(limits) == len(counts)
    assert sum(counts) == 4
    assert list(limits) == sorted(limits)
    assert len(fields(few[5][0])[6][0]) // 8 == 4


def test_images(tmp_path):
    red = rg.zeros(3, 2, 4)
    red[0] = 1.0
    with SummaryWriter(tmp_path) as writer:
        writer.add_image("red", red)
        writer.add_image("gray", rg.full((2, 4), 100, dtype=rg.uint8), dataformats="HW")
        writer.add_images("many", rg.ones(10, 1, 2, 4))
        with pytest.raises(AssertionError, match="input format are different"):
            writer.add_image("x", red, dataformats="HW")
    found = [fields(v[4][0]) for _, v in values(tmp_path)]
    assert [(v[1][0], v[2][0], v[3][0]) for v in found] == [(2, 4, 3), (2, 4, 3), (4, 32, 3)]
    assert pixels(found[0][4][0]) == (b"\0" + b"\xff\0\0" * 4) * 2
    assert pixels(found[1][4][0]) == (b"\0" + b"d" * 12) * 2


def pixels(file: bytes) -> bytes:
    """The rows of a PNG file."""
    at = file.index(b"IDAT")
    (count,) = struct.unpack(">I", file[at - 4 : at])
    assert struct.unpack(">I", file[at + 4 + count : at + 8 + count])[0] == zlib.crc32(
        file[at : at + 4 + count]
    )
    return zlib.decompress(file[at + 4 : at + 4 + count])


def test_settings_of_a_run(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_hparams({"lr": 0.5, "name": "a", "big": True}, {"accuracy": 0.25}, run_name="one")
        with pytest.raises(TypeError, match="should be dictionary"):
            writer.add_hparams([], {})
        with pytest.raises(ValueError, match="value should be one of int"):
            writer.add_hparams({"x": [1]}, {})
    *settings, (_, metric) = values(tmp_path / "one")
    assert [v[1][0].decode().rpartition("/")[2] for _, v in settings] == [
        "experiment", "session_start_info", "session_end_info",
    ]  # fmt: skip
    content = fields(fields(fields(settings[1][1][9][0])[1][0])[2][0])
    chosen = {fields(e)[1][0]: fields(fields(e)[2][0]) for e in fields(content[3][0])[1]}
    assert chosen == {b"lr": {2: [0.5]}, b"name": {3: [b"a"]}, b"big": {4: [1]}}
    assert (metric[1][0], metric[2][0]) == (b"accuracy", 0.25)


def test_what_it_does_not_log(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        with pytest.warns(UserWarning, match="add_graph writes nothing"):
            writer.add_graph(rg.nn.Linear(1, 1))
        with pytest.raises(AttributeError, match="SummaryWriter.add_embedding is not in retrograd"):
            writer.add_embedding(rg.ones(2, 2))
        assert not hasattr(writer, "add_pr_curve")


def test_tensorboard_reads_it(tmp_path):
    loaders = pytest.importorskip(
        "tensorboard.backend.event_processing.event_file_loader", reason="TensorBoard is not installed"
    )
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("loss", 0.5, 3)
    (path,) = tmp_path.iterdir()
    found = [event for event in loaders.LegacyEventFileLoader(str(path)).Load() if event.summary.value]
    assert [(e.step, e.summary.value[0].tag, e.summary.value[0].simple_value) for e in found] == [
        (3, "loss", 0.5)
    ]


def test_the_folder_is_named_after_the_time(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with SummaryWriter(comment="_try", filename_suffix=".x") as writer:
        assert str(writer.get_logdir()).startswith("runs")
        writer.flush()
    (folder,) = (tmp_path / "runs").iterdir()
    assert folder.name.endswith("_try")
    assert [path.suffix for path in folder.iterdir()] == [".x"]
