"""`retrograd launch`, `torch.distributed.run`, and ranks that a script starts itself."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from retrograd.distributed.start_ranks import NoMPI, Plan, command, environment, find_mpirun
from tests.distributed.ranks import absent, mpirun

needs_mpi = pytest.mark.skipif(bool(absent()), reason=absent())
LIMIT = 60  # seconds after which a job counts as one that hangs

SCRIPT = """
import os, sys
import torch
import torch.distributed as dist
dist.init_process_group(backend="gloo")
x = torch.ones(2) * int(os.environ["RANK"])
dist.all_reduce(x)
assert os.path.isabs(__file__)
print("sum", x.tolist(), sys.argv[1:], "threads", os.environ["OMP_NUM_THREADS"], flush=True)
dist.destroy_process_group()
"""

SPAWNS = """
import os, sys
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

def work(rank, size):
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "127.0.0.1", sys.argv[1]
    dist.init_process_group("gloo", rank=rank, world_size=size)
    x = torch.ones(100_000) * rank
    dist.all_reduce(x)
    if rank == 1 and sys.argv[2:]:
        raise ValueError("a bad batch")
    dist.barrier()
    assert (x == 3).all()
    dist.destroy_process_group()

if __name__ == "__main__":
    mp.spawn(work, args=(3,), nprocs=3, join=True)
    print("done")
"""


def run(*arguments: str) -> tuple[int, str]:
    settings = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "RETROGRAD_MPIRUN": str(mpirun())}
    settings.pop("OMP_NUM_THREADS", None)
    done = subprocess.run(
        [sys.executable, "-m", "retrograd", *arguments],
        env=settings,
        timeout=LIMIT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    return str(path)


@needs_mpi
def test_a_script_on_two_ranks(script):
    here = os.path.relpath(script)  # Python makes a whole path of it, for __file__
    status, said = run("launch", "-n", "2", "--torch", "--threads", "3", here, "--epochs", "3")
    assert status == 0, said
    lines = [line for line in said.splitlines() if "sum" in line]
    assert len(lines) == 2
    for rank, line in enumerate(sorted(lines)):
        assert str(rank) in line.partition("sum")[0], "the rank is in front"
        assert line.endswith("sum [1.0, 1.0] ['--epochs', '3'] threads 3")


@needs_mpi
def test_the_name_that_torchrun_has(script):
    status, said = run(
        "run", "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2", script, "-x"
    )
    assert status == 0, said
    assert said.count("sum [1.0, 1.0] ['-x']") == 2


TOLD = """
import os, sys
names = "RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE GROUP_RANK GROUP_WORLD_SIZE ROLE_RANK ROLE_WORLD_SIZE ROLE_NAME"
print("told", *[os.environ.get(name) for name in names.split()], *sys.argv[1:])
"""


@needs_mpi
@pytest.mark.parametrize(("name", "argument"), [("run", ""), ("launch", "--local-rank=1 ")])
def test_what_torchrun_tells_a_script(name, argument, tmp_path):
    path = tmp_path / "told.py"
    path.write_text(TOLD)
    options = (
        "--nnodes=1:1 --nproc_per_node 2 --rdzv_id 7 --log-dir logs --role trainer -t 3 --monitor-interval 5"
    )
    status, said = run("run", "-m", f"torch.distributed.{name}", *options.split(), str(path), "-x")
    assert status == 0, said
    assert f"told 1 1 2 2 0 1 1 2 trainer {argument}-x" in said
    assert "left out" not in said


def test_torchrun_on_several_machines_says_what_to_do(script):
    status, said = run("run", "-m", "torch.distributed.run", "--nnodes=2", "--nproc_per_node=2", script)
    assert status == 1
    assert "--hosts a,b" in said


@needs_mpi
@pytest.mark.parametrize("fails", [False, True])
def test_ranks_that_a_script_spawns(fails, tmp_path):
    path = tmp_path / "spawns.py"
    path.write_text(SPAWNS)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    status, said = run("run", str(path), port, *(["fail"] if fails else []))
    if "Open MPI" in said:
        pytest.skip("Open MPI has no way to join ranks that its mpirun has not started")
    assert (status == 0) is not fails, said
    assert ("ValueError: a bad batch" if fails else "done") in said


def program(folder: Path, name: str, version: str) -> str:
    path = folder / name
    path.write_text(f"#!/bin/sh\necho '{version}'\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.skipif(os.name != "posix", reason="programs are made as shell scripts")
def test_the_systems_mpirun_comes_first(tmp_path, monkeypatch):
    monkeypatch.delenv("RETROGRAD_MPIRUN", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = program(tmp_path, "mpirun", "mpirun (Open MPI) 5.0.3")
    assert find_mpirun() == found
    plan = Plan(4, ["train.py", "-x"], ["a", "b"], None, True, None)
    assert command(plan)[:6] == [
        found,
        "--oversubscribe",
        "--bind-to",
        "none",
        "--tag-output",
        *command(plan)[5:6],
    ]
    assert command(plan)[-4:] == ["-m", "retrograd.distributed.rank_main", "train.py", "-x"]
    assert command(plan)[command(plan).index("--host") + 1] == "a,b"
    program(tmp_path, "mpirun", "HYDRA build details: Version: 4.2")
    assert command(plan)[:6] == [found, "-prepend-rank", "-hosts", "a,b", "-n", "4"]


def test_nothing_to_start_ranks_with(tmp_path, monkeypatch):
    monkeypatch.delenv("RETROGRAD_MPIRUN", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    with pytest.raises(NoMPI, match=r"pip install 'retrograd\[mpi\]'"):
        find_mpirun()
    with pytest.raises(NoMPI, match="no 'smoke'"):
        find_mpirun("smoke")


def test_threads_are_shared_out(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setenv("MKL_NUM_THREADS", "5")
    threads = environment(Plan(3, [], [], None, False, None))
    assert (threads["OMP_NUM_THREADS"], threads["MKL_NUM_THREADS"]) == ("2", "5")
    assert environment(Plan(4, [], ["a", "b"], None, False, None))["OMP_NUM_THREADS"] == "4"
    assert environment(Plan(99, [], [], None, False, None))["OMP_NUM_THREADS"] == "1"
    assert environment(Plan(2, [], [], 7, False, None))["MKL_NUM_THREADS"] == "7"
