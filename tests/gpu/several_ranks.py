"""Ranks on one real GPU: all collectives and DistributedDataParallel, over NCCL alone and over MPI with two ranks.

    python -m tests.gpu.several_ranks [--ranks 2]

Prints a line for each part, and the whole traceback of what fails. The ranks of the second half are started by `mpirun`
where there is one, and find each other by MASTER_ADDR where there is none, which MPICH can. They share the GPU, so NCCL
refuses them, and their tensors are copied through the CPU's memory unless the MPI library reaches GPUs.
"""

from __future__ import annotations

import argparse
import os
import platform
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import retrograd as rg
import retrograd.distributed as dist
from retrograd.distributed import mpi
from retrograd.distributed.cuda_aware import is_cuda_aware
from retrograd.distributed.start_ranks import NoMPI, find_mpirun
from tests.distributed import gpu_cases

DTYPES = (*gpu_cases.DTYPES, rg.bfloat16, rg.int32, rg.complex128)
LIMIT = 240  # seconds for the ranks of one run
ROLE = "RETROGRAD_TEST_BACKEND"


def say(*words: object) -> None:
    print(*words, flush=True)


def attempt(name: str, act: Callable[[], object]) -> bool:
    """Whether something succeeds; says so, or why not."""
    begun = time.perf_counter()
    try:
        act()
    except Exception:
        say(f"FAILED {name}\n{traceback.format_exc()}")
        return False
    say(f"passed {name} ({time.perf_counter() - begun:.2f} s)")
    return True


def check_world(backend: str | None) -> bool:
    """One rank: everything, on one backend."""
    if not attempt(
        f"init_process_group({backend!r})",
        partial(dist.init_process_group, backend, timeout=timedelta(seconds=60)),
    ):
        return False
    rank, count = dist.get_rank(), dist.get_world_size()
    where = f"{dist.get_backend()}, rank {rank} of {count}"
    parts: list[tuple[str, Callable[..., Any]]] = [
        *((f"reductions of {dtype}", partial(gpu_cases.check_reductions, dtype=dtype)) for dtype in DTYPES),
        *((f"movements of {dtype}", partial(gpu_cases.check_movements, dtype=dtype)) for dtype in DTYPES),
        ("strides, means, works", gpu_cases.check_others),
        ("messages", gpu_cases.check_messages),
        ("DistributedDataParallel", gpu_cases.check_training),
    ]
    fine = [attempt(f"{where}: {name}", partial(check, rank, count)) for name, check in parts]
    return attempt(f"{where}: the end", dist.destroy_process_group) and all(fine)


def describe() -> None:
    """What there is."""
    say("Python", platform.python_version(), "mpi4py", mpi.is_installed(), "NCCL", dist.is_nccl_available())
    try:
        import cupy

        say("CuPy", cupy.__version__, "NCCL", cupy.cuda.nccl.get_version())
        say("GPU", cupy.cuda.runtime.getDeviceProperties(0)["name"].decode())
    except Exception:
        traceback.print_exc()


def start(count: int, backend: str) -> bool:
    """Starts ranks that run this module; whether all succeeded."""
    command = [sys.executable, "-m", "tests.gpu.several_ranks"]
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    environment = {**os.environ, **root, ROLE: backend}
    try:
        starter = [find_mpirun(), "-n", str(count)]
        say("ranks are started by", starter[0])
        return (
            subprocess.run([*starter, *command], env=environment, timeout=LIMIT, check=False).returncode == 0
        )
    except NoMPI:
        say("there is no mpirun: ranks find each other by MASTER_ADDR")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    environment.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=port, WORLD_SIZE=str(count))
    ranks = [subprocess.Popen(command, env={**environment, "RANK": str(rank)}) for rank in range(count)]
    try:
        return not any(rank.wait(LIMIT) for rank in ranks)
    finally:
        for rank in ranks:
            rank.kill()


def main() -> int:
    parser = argparse.ArgumentParser(description="Ranks on one GPU")
    parser.add_argument("--ranks", type=int, default=2)
    arguments = parser.parse_args()
    if ROLE in os.environ:
        fine = check_world(os.environ[ROLE])
        if mpi.is_installed():
            say(
                mpi.library_name(),
                "reaches GPUs" if is_cuda_aware() else "does not reach GPUs: copies by the CPU",
            )
        return not fine
    describe()
    fine = attempt("one rank, NCCL", partial(_succeed, 1, "nccl"))
    fine = (
        attempt(f"{arguments.ranks} ranks on one GPU, MPI", partial(_succeed, arguments.ranks, "mpi"))
        and fine
    )
    say("all passed" if fine else "something failed")
    return not fine


def _succeed(count: int, backend: str) -> None:
    """An error if ranks fail; one rank is a process of its own too, with no starter."""
    if count == 1:
        own = [sys.executable, "-m", "tests.gpu.several_ranks"]
        subprocess.run(own, env={**os.environ, ROLE: backend}, timeout=LIMIT, check=True)
    elif not start(count, backend):
        raise RuntimeError("a rank has failed: see above")


if __name__ == "__main__":
    sys.exit(main())
