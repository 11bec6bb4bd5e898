"""`multiprocessing.spawn`: what it tells of processes that fail, and ranks that were started so, or by hand."""

from __future__ import annotations

import os
import pickle
import signal
import socket
import subprocess
import sys

import pytest

from retrograd import multiprocessing as mp
from tests.distributed.ranks import absent, mpirun

needs_mpi = pytest.mark.skipif(bool(absent()), reason=absent())
LIMIT = 60  # seconds after which a job counts as one that hangs

FAILS = """
import os, signal, sys, time
from datetime import timedelta
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

def fail(how):
    if how == "raises":
        raise ValueError("a bad batch")
    os._exit(5) if how == "leaves" else os.kill(os.getpid(), signal.SIGKILL)

def spawned(rank, how, port):
    address = f"tcp://127.0.0.1:{port}"
    dist.init_process_group("gloo", rank=rank, world_size=2, init_method=address)
    dist.barrier()
    fail(how) if rank == 1 else time.sleep(600)

def alone(how):
    dist.init_process_group("gloo", timeout=timedelta(seconds=2))
    dist.barrier()
    fail(how) if dist.get_rank() == 1 else dist.barrier()

if __name__ == "__main__":
    how, port = sys.argv[1:]
    alone(how) if "RANK" in os.environ else mp.spawn(spawned, (how, port), nprocs=2)
"""


class Process:
    """A process whose end is noticed before its exit code is there, as it happens."""

    pid = 7

    def __init__(self, code: int | None) -> None:
        self.sentinel, self.other_end = os.pipe()
        self.exitcode: int | None = None
        self._code = code
        if code is not None:
            os.close(self.other_end)

    def is_alive(self) -> bool:
        return self._code is None

    def terminate(self) -> None:
        os.close(self.other_end)
        self._code = -15

    def join(self, timeout: float | None = None) -> None:
        self.exitcode = self._code


class Nothing:
    def empty(self) -> bool:
        return True


@pytest.mark.skipif(os.name != "posix", reason="pipes stand for processes")
@pytest.mark.parametrize(("code", "told"), [(5, "exit code 5"), (-signal.SIGTERM, "signal SIGTERM")])
def test_a_failure_is_noticed_while_others_run(code, told):
    context = mp.ProcessContext([Process(None), Process(code)], Nothing())
    with pytest.raises(mp.ProcessExitedException, match=f"process 1 terminated with {told}") as found:
        context.join(timeout=LIMIT)
    again = pickle.loads(pickle.dumps(found.value))
    assert isinstance(again, mp.ProcessException)
    assert (again.error_index, again.error_pid, again.exit_code) == (1, 7, code)
    assert again.signal_name == (None if code > 0 else "SIGTERM")
    assert context.processes[0].exitcode == -15  # it was ended


@pytest.mark.skipif(os.name != "posix", reason="pipes stand for processes")
def test_all_have_ended():
    context = mp.SpawnContext([Process(0), Process(0)], Nothing())
    while not context.join(timeout=LIMIT):
        pass
    assert context.join()
    assert not context.sentinels


@pytest.fixture
def start(tmp_path):
    """Starts the script as a rank, or as what spawns two."""
    path = tmp_path / "fails.py"
    path.write_text(FAILS)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    settings = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "RETROGRAD_MPIRUN": str(mpirun())}

    def started(how: str, **variables: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "retrograd", "run", str(path), how, port],
            env={**settings, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    return started


@needs_mpi
@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("raises", "ValueError: a bad batch"),
        ("leaves", "process 1 terminated with exit code 5"),
        ("is killed", "process 1 terminated with signal SIGKILL"),
    ],
)
def test_a_spawned_rank_that_fails_ends_one_that_works(start, how, told):
    said = start(how).communicate(timeout=LIMIT)[0]
    if "Open MPI" in said:
        pytest.skip("Open MPI has no way to join ranks that its mpirun has not started")
    assert told in said


@needs_mpi
@pytest.mark.parametrize(
    ("how", "status", "told"),
    [
        ("raises", 1, "rank 1 has ended its program"),
        ("leaves", 5, "rank 1 has given no answer"),
        ("is killed", -9, "rank 1 has given no answer"),
    ],
)
def test_a_rank_started_by_hand_ends_when_another_has_failed(start, how, status, told):
    ranks = [start(how, RANK=str(rank), WORLD_SIZE="2") for rank in range(2)]
    said = [rank.communicate(timeout=LIMIT)[0] for rank in ranks]
    if "Open MPI" in said[0]:
        pytest.skip("Open MPI has no way to join ranks that its mpirun has not started")
    assert told in said[0]
    assert [rank.returncode for rank in ranks] == [1, status]
