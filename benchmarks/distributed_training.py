"""A training step on several ranks: DistributedDataParallel here over MPI, beside PyTorch's over Gloo.

    mpirun -n 2 python benchmarks/distributed_training.py [--rounds N] [--only WORD] [--bind]

Both libraries run in the same processes, in turns, with one thread each; the slowest rank counts. A step is forward,
loss, backward with its reductions, and SGD. "one message" sends all gradients at the end of backward, so that nothing
overlaps; "alone" is the step of one rank without any reduction. The best step of all rounds counts. On a machine that
others use, `--bind` keeps a rank from being put onto the core of the one it waits for.
"""

from __future__ import annotations

import argparse
import os
import socket
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import retrograd as rg
import retrograd.distributed as dist

Step = Callable[[], Any]
STEPS = 5  # in a row, each timed by itself


def mlp(lib: Any, width: int) -> tuple[Any, tuple[int, ...]]:
    """Four layers; a batch of 32."""
    nn = lib.nn
    layers = [m for _ in range(3) for m in (nn.Linear(width, width), nn.ReLU())]
    return nn.Sequential(*layers, nn.Linear(width, 10)), (32, width)


def convnet(lib: Any, width: int) -> tuple[Any, tuple[int, ...]]:
    """Two convolutions and two layers; a batch of 16 images of 28 x 28."""
    nn = lib.nn
    net = nn.Sequential(
        nn.Conv2d(1, width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(width, 2 * width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(2 * width * 49, 128), nn.ReLU(), nn.Linear(128, 10),
    )  # fmt: skip
    return net, (16, 1, 28, 28)


MODELS = {
    "MLP of width 64": (mlp, 64),
    "MLP of width 512": (mlp, 512),
    "MLP of width 1024": (mlp, 1024),
    "convnet of width 16": (convnet, 16),
    "convnet of width 32": (convnet, 32),
}


def step_of(lib: Any, model: Any, shape: tuple[int, ...]) -> Step:
    """One training step."""
    x = lib.from_numpy(np.random.default_rng(0).standard_normal(shape).astype(np.float32))
    target = lib.from_numpy(np.arange(shape[0]) % 10)
    optimizer = lib.optim.SGD(model.parameters(), lr=1e-3)

    def step() -> None:
        optimizer.zero_grad()
        lib.nn.functional.cross_entropy(model(x), target).backward()
        optimizer.step()

    return step


def steps_of(torch: Any, make: Callable[..., Any], width: int) -> dict[str, Step]:
    """The programs of a row, by column."""

    def program(lib: Any, wrap: Callable[[Any], Any]) -> Step:
        model, shape = make(lib, width)
        return step_of(lib, wrap(model), shape)

    ours, theirs = rg.nn.parallel.DistributedDataParallel, torch.nn.parallel.DistributedDataParallel
    return {
        "here": program(rg, ours),
        "views": program(rg, lambda model: ours(model, gradient_as_bucket_view=True)),
        "one message": program(rg, lambda model: ours(model, bucket_cap_mb=10_000)),
        "alone": program(rg, lambda model: model),
        "PyTorch": program(torch, theirs),
        "PyTorch alone": program(torch, lambda model: model),
    }


def measured(steps: dict[str, Step], rounds: int) -> dict[str, float]:
    """The best time of each, in seconds: that of the slowest rank."""
    best = dict.fromkeys(steps, float("inf"))
    order = list(steps.items())
    for _ in range(rounds):
        order.append(order.pop(0))  # nobody always comes after the same one
        for name, step in order:
            dist.barrier()
            times = []
            for _ in range(STEPS):
                begin = time.perf_counter()
                step()
                times.append(time.perf_counter() - begin)
            slowest = rg.tensor(times)
            dist.all_reduce(slowest, dist.ReduceOp.MAX)
            best[name] = min(best[name], slowest.min().item())
    return best


def start_torch(rank: int, size: int) -> Any:
    """PyTorch with a Gloo group of the same ranks."""
    import torch

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = [free.getsockname()[1]]
    dist.broadcast_object_list(port)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port[0]))
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", rank=rank, world_size=size)
    return torch


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser(description="A training step on several ranks, beside PyTorch's")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--only", default="")
    parser.add_argument("--bind", action="store_true", help="each rank keeps to a core of its own")
    arguments = parser.parse_args()
    rg.set_num_threads(1)
    dist.init_process_group("mpi")
    rank, size = dist.get_rank(), dist.get_world_size()
    if arguments.bind:
        os.sched_setaffinity(0, {rank})
    torch = start_torch(rank, size)
    for name, (make, width) in MODELS.items():
        if arguments.only not in name:
            continue
        best = measured(steps_of(torch, make, width), arguments.rounds)
        if rank == 0:
            times = ", ".join(f"{column} {1e3 * seconds:.2f} ms" for column, seconds in best.items())
            ratio, gain = best["PyTorch"] / best["here"], best["one message"] / best["here"]
            print(f"{name}, {size} ranks: {ratio:.2f} x; overlap {gain:.2f} x. {times}", flush=True)
    torch.distributed.destroy_process_group()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
