"""The progress bar, on a terminal and off it."""

from __future__ import annotations

import io

import pytest

from retrograd.cli.progress import SECONDS_BETWEEN_DRAWINGS, WIDTH, Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_a_file_gets_a_line_for_every_quarter():
    stream = io.StringIO()
    progress = Progress(8, "training", stream)
    for step in range(1, 9):
        progress.advance(f"step {step}")
    assert stream.getvalue().splitlines() == [
        f"training [{'#' * (WIDTH * i // 4):.<{WIDTH}}] {25 * i:3d} %  step {2 * i}" for i in range(1, 5)
    ]


@pytest.mark.parametrize("total", [1, 3, 5, 101])
def test_a_file_sees_the_end_once(total):
    stream = io.StringIO()
    progress = Progress(total, "training", stream)
    for _ in range(total):
        progress.advance("")
    assert stream.getvalue().count("100 %") == 1
    assert len(stream.getvalue().splitlines()) <= 4


def test_a_terminal_is_redrawn_in_place_but_not_too_often():
    stream, clock = Terminal(), Clock()
    progress = Progress(4, "training", stream, clock)
    progress.advance("unseen")
    clock.now += SECONDS_BETWEEN_DRAWINGS
    progress.advance("half")
    progress.advance("unseen")
    assert stream.getvalue() == f"\rtraining [{'#' * (WIDTH // 2):.<{WIDTH}}]  50 %  half\x1b[K"
    progress.advance("all")
    assert stream.getvalue().endswith("100 %  all\x1b[K\n")
