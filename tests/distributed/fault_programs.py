"""Programs in which a rank fails. `python -m tests.distributed.fault_programs NAME` runs one of them."""

from __future__ import annotations

import os
import signal
import sys
import time
from datetime import timedelta

import retrograd as rg
import retrograd.distributed as dist

SECOND = 1  # the rank that fails


def raises() -> None:
    dist.init_process_group("mpi")
    if dist.get_rank() == SECOND:
        raise ValueError("a bad batch")
    dist.all_reduce(rg.ones(3))


def is_killed() -> None:
    dist.init_process_group("mpi")
    if dist.get_rank() == SECOND:
        os.kill(os.getpid(), signal.SIGKILL)
    dist.all_reduce(rg.ones(3))


def never_comes() -> None:
    dist.init_process_group("mpi", timeout=timedelta(seconds=2))
    dist.barrier()
    if dist.get_rank() == SECOND:
        time.sleep(600)
    dist.all_reduce(rg.ones(3))


def never_waits() -> None:
    dist.init_process_group("mpi", timeout=timedelta(seconds=2))
    if dist.get_rank() == SECOND:
        time.sleep(600)
    work = dist.broadcast(rg.ones(100_000), SECOND, async_op=True)
    assert work is not None
    work.wait()


def ends_early() -> None:
    dist.init_process_group("mpi")
    dist.barrier()
    if dist.get_rank() == SECOND:
        sys.exit(0)
    dist.all_reduce(rg.ones(3))


def does_something_else() -> None:
    dist.init_process_group("mpi")
    if dist.get_rank() == SECOND:
        dist.broadcast(rg.ones(3), 0)
    else:
        dist.all_reduce(rg.ones(3))
    dist.barrier()


def has_another_shape() -> None:
    dist.init_process_group("mpi")
    dist.all_reduce(rg.ones(100_000 + dist.get_rank()))


def sends_nothing() -> None:
    dist.init_process_group("mpi", timeout=timedelta(seconds=2))
    if dist.get_rank() == SECOND:
        time.sleep(600)
    dist.recv(rg.ones(3), SECOND)


def hangs_without_the_interpreter() -> None:
    """A rank that is stopped gives no answer."""
    dist.init_process_group("mpi", timeout=timedelta(seconds=2))
    dist.barrier()
    if dist.get_rank() == SECOND:
        os.kill(os.getpid(), signal.SIGSTOP)
    dist.all_reduce(rg.ones(3))


def comes_to_no_start() -> None:
    """Fails before it has joined the others."""
    if os.environ.get("RANK") == str(SECOND):
        raise ValueError("no such file")
    dist.init_process_group("mpi")
    dist.all_reduce(rg.ones(3))


def has_other_parameters() -> None:
    dist.init_process_group("mpi")
    model = rg.nn.Linear(4, 3 if dist.get_rank() == SECOND else 2)
    dist.verify_agreement(model.named_parameters())


def waits_for_ctrl_c() -> None:
    dist.init_process_group("mpi")
    dist.barrier()
    print(f"pid {os.getpid()}", flush=True)
    if dist.get_rank() == SECOND:
        time.sleep(600)
    dist.all_reduce(rg.ones(3))


if __name__ == "__main__":
    globals()[sys.argv[1]]()
