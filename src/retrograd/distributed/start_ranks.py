"""Starting ranks: finding an `mpirun`, and what it is to be told."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
MPIRUN = "RETROGRAD_MPIRUN"
_NONE = (
    "there is no `mpirun`: neither of the system nor beside this Python. Install one from PyPI, with mpi4py: pip "
    "install 'retrograd[mpi]'. On a cluster, load its MPI first, as in `module load openmpi`."
)
_PATIENCE = 5  # seconds that ranks have to end after a signal


class Plan(NamedTuple):
    """What is to be started."""

    ranks: int
    program: list[str]
    """The script and its arguments, with `-m` in front for a module."""
    hosts: list[str]
    threads: int | None
    label: bool
    """Whether each line of output begins with the rank."""
    mpirun: str | None


class NoMPI(RuntimeError):
    """There is nothing to start ranks with."""


def find_mpirun(named: str | None = None) -> str:
    """The `mpirun` that is named, or the system's, or the one that is installed beside this Python."""
    named = named or os.environ.get(MPIRUN)
    if named:
        found = shutil.which(named)
        if found is None:
            raise NoMPI(f"there is no {named!r} to start ranks with")
        return found
    beside = str(Path(sys.prefix, "Scripts" if os.name == "nt" else "bin"))
    others = os.pathsep.join(part for part in os.get_exec_path() if part != beside)
    for path in (others, beside):
        for name in ("mpirun", "mpiexec"):
            found = shutil.which(name, path=path)
            if found is not None:
                return found
    raise NoMPI(_NONE)


def flavour(mpirun: str) -> str:
    """Whose it is: "openmpi", or "mpich" for MPICH and what descends from it."""
    told = subprocess.run([mpirun, "--version"], capture_output=True, text=True, check=False)  # noqa: S603
    text = (told.stdout + told.stderr).lower()
    return "openmpi" if "open mpi" in text or "openrte" in text or "prrte" in text else "mpich"


def command(plan: Plan) -> list[str]:
    """The command that starts all ranks."""
    mpirun = find_mpirun(plan.mpirun)
    if flavour(mpirun) == "openmpi":
        options = ["--oversubscribe", "--bind-to", "none", *(["--tag-output"] if plan.label else [])]
        options += ["--allow-run-as-root"] if hasattr(os, "getuid") and os.getuid() == 0 else []
        options += ["--host", ",".join(plan.hosts)] if plan.hosts else []
    else:
        options = ["-prepend-rank"] if plan.label else []
        options += ["-hosts", ",".join(plan.hosts)] if plan.hosts else []
    program = [sys.executable, "-m", "retrograd.distributed.rank_main", *plan.program]
    return [mpirun, *options, "-n", str(plan.ranks), *program]


def environment(plan: Plan) -> dict[str, str]:
    """The variables that ranks see: as many threads for each that all together use the cores, unless they are set."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    on_each = -(-plan.ranks // max(1, len(plan.hosts)))
    threads = plan.threads or max(1, cores // on_each)
    wanted = {name: str(threads) for name in THREADS if plan.threads or name not in os.environ}
    return {**os.environ, **wanted}


def launch(plan: Plan) -> int:
    """Starts the ranks and waits for them; Ctrl-C and SIGTERM end them all. The exit status of `mpirun`."""
    process = subprocess.Popen(command(plan), env=environment(plan), start_new_session=True)  # noqa: S603

    def end(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, end)
    try:
        return process.wait()
    except KeyboardInterrupt:
        _end(process)
        sys.stderr.write("\nretrograd launch: stopped, with all ranks\n")
        return 130
    finally:
        signal.signal(signal.SIGTERM, before)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends `mpirun` and with it the ranks: politely, and in the end by force, with all that it has started here."""
    for number in (signal.SIGINT, signal.SIGTERM):
        process.send_signal(number)
        try:
            process.wait(_PATIENCE)
            return
        except subprocess.TimeoutExpired:
            continue
    if hasattr(os, "killpg"):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()
