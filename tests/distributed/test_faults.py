"""A rank that fails ends the job within seconds, and the first thing that is told is what has failed where.

`test_each_fault` prints how long each took, from the start of `mpirun` to its end: `pytest -s`.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.distributed.ranks import ROOT, absent, mpirun

pytestmark = pytest.mark.skipif(bool(absent()), reason=absent())
HANGS = 60  # seconds after which a job counts as one that hangs: far more than any machine needs

_LINE = r'File ".*fault_programs.py", line \d+, in {}'
# For each program, what its output has, in this order.
FAULTS = {
    "raises": ["rank 1 of 3 has failed", "Traceback", "ValueError: a bad batch"],
    "is_killed": [],
    "never_comes": [
        r"operation 2, all_reduce\(SUM\) of float32 \[3\], of rank [02] has waited for its timeout of 2 seconds",
        "rank [02] waits in it: " + _LINE.format("never_comes"),
        r"rank 1 has not called it; its last was operation 1, barrier, " + _LINE.format("never_comes"),
        "It is at " + _LINE.format("never_comes") + r": time.sleep\(600\)",
    ],
    "never_waits": [r"operation 1, broadcast\(from 1\)", "rank 1 has called no operation of this group"],
    "ends_early": ["waits in vain, for rank 1 has ended its program", "rank 1 has not called it"],
    "does_something_else": [
        "waits in vain, for rank [012] does something else",
        "does another operation instead",
    ],
    "has_another_shape": [r"operation 1, all_reduce\(SUM\).*has failed", "does another operation instead"],
    "sends_nothing": [r"irecv\(from 1, tag 0\) of float32 \[3\], of rank [02] has waited", "rank 1 is at"],
    "hangs_without_the_interpreter": [
        "has waited for its timeout of 2 seconds",
        "rank 1 has given no answer",
    ],
    "has_other_parameters": [
        "parameter 0 is not the same",
        r"rank 0: weight: float32 \[2, 4\]",
        r"rank 1: .*\[3, 4\]",
    ],
}


def environment() -> dict[str, str]:
    path = os.pathsep.join([str(ROOT), *sys.path])
    return {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": path}


def run(command: list[str]) -> tuple[int, str, float]:
    """The status of a job, what it has printed, and the seconds that it took."""
    begun = time.monotonic()
    with subprocess.Popen(
        command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as job:
        try:
            said, _ = job.communicate(timeout=HANGS)
        except subprocess.TimeoutExpired:
            job.terminate()
            pytest.fail(f"the job hangs; it has said:\n{job.communicate()[0]}")
    return job.returncode, said, time.monotonic() - begun


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault(name):
    module = "tests.distributed.fault_programs"
    status, said, seconds = run([str(mpirun()), "-n", "3", sys.executable, "-m", module, name])
    print(f"{name}: ended after {seconds:.1f} s")
    assert status != 0, said
    at = 0
    for pattern in FAULTS[name]:
        found = re.compile(pattern).search(said, at)
        assert found, f"{pattern!r} is not in (or not in its place in)\n{said}"
        at = found.end()
    if name == "never_comes":  # every rank that waits says so
        assert {"0", "2"} == set(re.findall(r"rank (\d) of 3 has failed", said))


def launch(name: str) -> list[str]:
    program = ["-m", "tests.distributed.fault_programs", name]
    return [sys.executable, "-m", "retrograd", "launch", "-n", "3", "--mpirun", str(mpirun()), *program]


def test_a_rank_that_fails_before_it_has_joined_ends_the_others():
    status, said, _ = run(launch("comes_to_no_start"))
    assert status != 0
    assert "rank 1 of 3 has failed" in said
    assert said.index("ValueError: no such file") < (said.find("Abort") if "Abort" in said else len(said))


def heard():
    """In a child: Ctrl-C is heard, even if whoever runs the tests does so in the background, where it is ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_ends_all_ranks(number):
    with subprocess.Popen(
        launch("waits_for_ctrl_c"),
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=heard,  # noqa: PLW1509 - the tests start no threads here
    ) as job:
        assert job.stdout is not None
        try:
            pids = [int(re.findall(r"pid (\d+)", job.stdout.readline())[0]) for _ in range(3)]
            job.send_signal(number)
            assert job.wait(HANGS) == 130
        finally:
            job.kill()
    end = time.monotonic() + HANGS
    while any(map(runs, pids)) and time.monotonic() < end:
        time.sleep(0.1)
    assert not any(map(runs, pids))


def runs(pid: int) -> bool:
    """Whether there is such a process, and not only what is left of it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
