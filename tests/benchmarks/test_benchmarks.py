"""Benchmarks measure what they say: rows compute the same on both libraries, and tables can be read."""

from __future__ import annotations

import itertools
import subprocess
import sys

import numpy as np
import pytest

import retrograd as rg

from .conftest import FOLDER

SLOW = {"chain of 100,000 nodes"}  # as the chain of 1,000, only longer


def rows(script):
    sections = script("rows").SECTIONS
    return list(itertools.chain.from_iterable(section.rows for section in sections))


def test_rows_compute_the_same_on_both_libraries(script, torch):
    disagreement = script("measuring.compare").disagreement
    wrong = []
    for row in rows(script):
        if row.name not in SLOW:
            apart = disagreement(row.make(rg)(), row.make(torch)())
            wrong += [f"{row.name}: {apart}"] if apart else []
    assert not wrong, "\n".join(wrong)


def test_rows_can_be_called_by_name(script):
    names = [row.name for row in rows(script)]
    assert len(set(names)) == len(names)
    assert {row.name for row in rows(script)} >= SLOW


def test_results_that_differ_are_told_apart(script):
    disagreement = script("measuring.compare").disagreement
    assert not disagreement([1.0, 2.0], [1.0, 2.0 + 1e-6])
    assert "differ" in disagreement([1.0, 2.0], [1.0, 2.1])
    assert "shapes" in disagreement([1.0], [1.0, 2.0])


def test_every_program_is_timed_in_turns(script):
    clock, called = script("measuring.clock"), []
    programs = [lambda: called.append("a"), lambda: called.append("b")]
    times = clock.best_times(programs, seconds=0.0, blocks=3)
    assert all(0 < time < 1 for time in times)
    turns = [name for name, _ in itertools.groupby(called)]
    assert turns == ["a", "b"] * 4  # once to find out how many calls make a timing, then the blocks


def test_lost_rows_are_marked_and_coloured_on_a_terminal_only(script, capsys):
    report = script("measuring.report")
    made = report.Report(["header"])
    made.section("Title")
    made.add(report.Line("won", "1 µs", "6 µs", 6.0, "≥ 5×", True))
    made.add(report.Line("lost", "2 µs", "1 µs", 0.5, "≥ 5×", False))
    made.add(report.Line("below", "1 µs", "2 µs", 2.0, "≥ 5×", False))
    made.close()
    printed = capsys.readouterr().out
    assert "\033[" not in printed
    marks = [line.split("×")[1][0] for line in printed.splitlines() if line.startswith("  ")]
    assert marks == [" ", "<", "-"]
    assert "1 lost, 1 below the goal, of 3 rows" in printed
    page = made.page()
    assert "| won | 1 µs | 6 µs | 6.00× | ≥ 5× |" in page
    assert "**0.50× &lt;**" in page


def test_numbers_have_three_digits_and_a_unit(script):
    report = script("measuring.report")
    assert [report.duration(t) for t in (2.0, 1.5e-3, 2.25e-6, 3e-9)] == ["2 s", "1.5 ms", "2.25 µs", "3 ns"]
    assert report.megabytes(1_234_567) == "1.23 MB"


def test_the_description_names_the_build_and_no_host(script):
    import platform

    lines = script("measuring.machine").description(rg, 2)
    assert lines[0].startswith(f"retrograd {rg.__version__}")
    assert any("2 threads each" in line for line in lines)
    assert not any(platform.node() in line for line in lines if platform.node())


def test_peak_memory_sees_what_a_step_holds(script):
    peak = script("measuring.peak")
    found = peak.peak_of("retrograd", "elementwise 2M: tanh(x * w + b) * w", 1)
    three_gradients = 3 * 4 * 2_000_000
    assert three_gradients < found.steps < found.whole


def test_statements_to_take_out_are_there(script):
    """Benchmarks that take statements out of the source find them where they were."""
    taken_out = script("taken_out")
    cuts = (*script("diagnostics").CUTS, *script("threads").THREADING)
    if not taken_out.interpreted(cuts):
        pytest.skip("a compiled build has no statements to take out")
    for cut in cuts:
        assert callable(cut.without())


def test_the_table_is_printed(torch):
    command = [sys.executable, str(FOLDER / "run.py"), "--only", "trivial", "--seconds", "0", "--no-memory"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "trivial backward" in printed
    assert "of 1 rows" in printed


def test_kernels_are_compared_with_what_numpy_computes(script):
    kernels = script("kernels")
    if kernels.PACK is None:
        pytest.skip("the native pack is not built")
    with np.errstate(all="ignore"):
        found = {case.name: (case.ours(), case.theirs()) for case in kernels.cases(200, "float64")}
    assert {"np.sin", "np.argmax, axis 1", "elementwise.exponential.Log backward"} <= found.keys()
    for name, (ours, theirs) in found.items():
        for a, b in zip(*(x if isinstance(x, (tuple, list)) else (x,) for x in (ours, theirs)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12, err_msg=name)


def test_single_calls_are_timed_on_both_libraries(script, torch):
    calls = script("calls")
    found = {call.name: call for source in calls.SOURCES for call in source(1)}
    for name in (
        "tanh (function)",
        "tanh (in place)",
        "tanh (method), backward",
        "nn.Tanh(), backward",
        "t.tolist()",
    ):
        time = calls.measured(found[name], 0.0)
        assert time.ratio == time.theirs / time.ours > 0
    with pytest.raises(calls.NoCall):
        calls.measured(found["argmax (function), backward"], 0.0)
