"""Runs the cases of a module on several ranks, with one start of MPI for all of them."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import traceback
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

import retrograd.distributed as dist

ROOT = Path(__file__).resolve().parents[2]
# Where workers that run the tests together keep what one of them has found; None for a worker by itself.
SHARED: Path | None = None
LIMIT = 240  # seconds for all cases of a module: a rank that hangs is ended


def mpirun() -> str | None:
    """The starter of the MPI that mpi4py uses: the one beside this Python if there is one."""
    beside = Path(sys.executable).parent / "mpirun"
    return str(beside) if beside.exists() else shutil.which("mpirun")


def absent() -> str:
    """Why ranks cannot be started; empty if they can."""
    if importlib.util.find_spec("mpi4py") is None:
        return "mpi4py is not installed: pip install 'retrograd[mpi]'"
    return "" if mpirun() else "there is no mpirun"


def start(count: int, *arguments: str) -> tuple[int, str]:
    """Runs this module on some ranks; the status with which they ended, and what they said."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), *sys.path])
    command = [str(mpirun()), "-n", str(count), sys.executable, "-m", __name__, *arguments]
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, timeout=LIMIT, capture_output=True, text=True, check=False
        )
    except subprocess.TimeoutExpired as error:
        return 1, f"ended after {LIMIT} seconds\n{error.stdout!r}\n{error.stderr!r}"
    return done.returncode, done.stdout + done.stderr


@cache
def outcomes(module: str, count: int) -> dict[str, list[str | None]]:
    """For each case of a module, what went wrong on each of `count` ranks."""
    if SHARED is None:
        return found_on_ranks(module, count)
    import fcntl

    kept = SHARED / f"{module}-{count}.json"
    with kept.with_suffix(".lock").open("w") as lock:
        fcntl.flock(
            lock, fcntl.LOCK_EX
        )  # the others wait for the first one, whose ranks take the processors anyway
        if not kept.exists():
            kept.write_text(json.dumps(found_on_ranks(module, count)))
    found: dict[str, list[str | None]] = json.loads(kept.read_text())
    return found


def found_on_ranks(module: str, count: int) -> dict[str, list[str | None]]:
    """The same, by starting the ranks."""
    with tempfile.TemporaryDirectory() as folder:
        _, said = start(count, "cases", module, folder)
        files = [Path(folder, f"{rank}.json") for rank in range(count)]
        found = [json.loads(path.read_text()) if path.exists() else {} for path in files]
    lost = f"the case was not run to its end.\n{said}"
    return {name: [of_rank.get(name, lost) for of_rank in found] for name in cases(module)}


def run_on_ranks(count: int, function: str, argument: str) -> None:
    """Calls `module:function` with an argument on each of `count` ranks."""
    status, said = start(count, "call", function, argument)
    assert status == 0, said


def cases(module: str) -> dict[str, Any]:
    """The cases of a module: functions of the rank and the number of ranks."""
    found: dict[str, Any] = importlib.import_module(module).CASES
    return found


def run_cases(module: str, folder: str) -> None:
    """One rank: runs all cases, and writes down how each has ended."""
    rank, size = dist.get_rank(), dist.get_world_size()
    ended: dict[str, str | None] = {}
    for name, case in cases(module).items():
        try:
            case(rank, size)
            ended[name] = None
        except Exception:
            ended[name] = traceback.format_exc()
        Path(folder, f"{rank}.json").write_text(json.dumps(ended))
        dist.barrier()


def call(function: str, argument: str) -> None:
    """One rank: calls a function."""
    module, _, name = function.partition(":")
    getattr(importlib.import_module(module), name)(argument)


if __name__ == "__main__":
    dist.init_process_group("mpi", timeout=timedelta(seconds=60))
    {"cases": run_cases, "call": call}[sys.argv[1]](*sys.argv[2:])
