"""The progress bar: plain, on a terminal and off it; by rich where it is installed; and around a loop."""

from __future__ import annotations

import io
import sys

import pytest

import retrograd as rg
from retrograd.utils.progress import (
    SECONDS_BETWEEN_DRAWINGS,
    WIDTH,
    PlainProgress,
    RichProgress,
    progress,
    track,
)


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_a_file_gets_a_line_for_every_quarter():
    stream = io.StringIO()
    bar = PlainProgress(8, "training", stream)
    for step in range(1, 9):
        bar.advance(f"step {step}")
    assert stream.getvalue().splitlines() == [
        f"training [{'#' * (WIDTH * i // 4):.<{WIDTH}}] {25 * i:3d} %  step {2 * i}" for i in range(1, 5)
    ]


@pytest.mark.parametrize("total", [1, 3, 5, 101])
def test_a_file_sees_the_end_once(total):
    stream = io.StringIO()
    bar = PlainProgress(total, "training", stream)
    for _ in range(total):
        bar.advance("")
    assert stream.getvalue().count("100 %") == 1
    assert len(stream.getvalue().splitlines()) <= 4


def test_a_terminal_is_redrawn_in_place_but_not_too_often():
    stream, clock = Terminal(), Clock()
    bar = PlainProgress(4, "training", stream, clock)
    bar.advance("unseen")
    clock.now += SECONDS_BETWEEN_DRAWINGS
    bar.advance("half")
    bar.advance("unseen")
    assert stream.getvalue() == f"\rtraining [{'#' * (WIDTH // 2):.<{WIDTH}}]  50 %  half\x1b[K"
    bar.advance("all")
    assert stream.getvalue().endswith("100 %  all\x1b[K\n")


def test_a_bar_that_breaks_off_ends_its_line():
    stream = Terminal()
    with pytest.raises(KeyError), PlainProgress(4, "training", stream) as bar:
        bar.advance()
        raise KeyError
    assert stream.getvalue().endswith("\n")


def test_a_loop_with_a_bar():
    stream = io.StringIO()
    assert list(track([1, 2, 3, 4], "reading", stream=stream)) == [1, 2, 3, 4]
    assert stream.getvalue().splitlines()[-1] == f"reading [{'#' * WIDTH}] 100 %"
    assert list(track(iter("ab"), total=2, stream=io.StringIO())) == ["a", "b"]
    with pytest.raises(TypeError, match="needs total= for a list_iterator"):
        next(track(iter([1])))


def test_a_loader_with_a_bar():
    data = rg.utils.data.TensorDataset(rg.arange(6))
    stream = io.StringIO()
    batches = [
        b[0].tolist() for b in track(rg.utils.data.DataLoader(data, batch_size=2), "training", stream=stream)
    ]
    assert batches == [[0, 1], [2, 3], [4, 5]]
    assert "100 %" in stream.getvalue()


def test_without_rich_a_terminal_gets_the_plain_bar(monkeypatch):
    monkeypatch.setitem(sys.modules, "rich", None)
    assert isinstance(progress(3, "training", Terminal()), PlainProgress)


def test_a_file_gets_the_plain_bar_in_any_case():
    assert isinstance(progress(3, "training", io.StringIO()), PlainProgress)


def test_with_rich_a_terminal_gets_its_bar():
    pytest.importorskip("rich")
    stream = Terminal()
    with progress(3, "training", stream) as bar:
        assert isinstance(bar, RichProgress)
        for step in range(3):
            bar.advance(f"step {step}")
    assert bar.done == 3
    assert "training" in stream.getvalue()
    assert "100%" in stream.getvalue()
    assert "step 2" in stream.getvalue()


def test_richs_bar_needs_no_block():
    pytest.importorskip("rich")
    stream = Terminal()
    bar = progress(1, "training", stream)
    bar.advance("done")
    assert "done" in stream.getvalue()
