"""all_reduce and a training step on one GPU: NCCL with one rank, beside PyTorch's; two ranks over MPI.

    python benchmarks/distributed_gpu.py                  # one rank: NCCL here and in PyTorch, in turns
    mpirun -n 2 python benchmarks/distributed_gpu.py      # two ranks, staged through the CPU's memory

One rank sends nothing: what is measured is what a call costs, and what DistributedDataParallel adds to a step.
The best of all rounds counts, of the slowest rank.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import retrograd as rg
import retrograd.distributed as dist

SIZES = tuple(4**k * 1024 for k in range(9))  # bytes: 1 kB to 64 MB


def best(
    acts: dict[str, Callable[[], object]], finish: Callable[[], object], rounds: int
) -> dict[str, float]:
    """Microseconds of the best round of each, on the slowest rank."""
    found = dict.fromkeys(acts, float("inf"))
    for _ in range(rounds):
        for name, act in acts.items():
            finish()
            dist.barrier()
            begun = time.perf_counter()
            act()
            finish()
            taken = rg.tensor([time.perf_counter() - begun])
            dist.all_reduce(taken, dist.ReduceOp.MAX)
            found[name] = min(found[name], 1e6 * taken.item())
    return found


def torch_beside() -> Any:
    """PyTorch with NCCL and one rank; None where it is not."""
    try:
        import torch

        torch.distributed.init_process_group(
            "nccl", init_method="tcp://127.0.0.1:29511", rank=0, world_size=1
        )
    except Exception as error:  # noqa: BLE001 - whatever is missing
        print("PyTorch beside: no,", error)
        return None
    return torch


def step_of(lib: Any, wrap: bool) -> Callable[[], object]:
    """One training step of an MLP of width 1024."""
    nn = lib.nn
    net = nn.Sequential(*[m for _ in range(4) for m in (nn.Linear(1024, 1024), nn.ReLU())]).to("cuda")
    model = nn.parallel.DistributedDataParallel(net) if wrap else net
    optimizer = lib.optim.SGD(net.parameters(), lr=1e-4)
    x = lib.ones(64, 1024, device="cuda")

    def step() -> None:
        for _ in range(5):
            optimizer.zero_grad()
            model(x).pow(2).mean().backward()
            optimizer.step()

    return step


def main() -> None:
    """The tables."""
    parser = argparse.ArgumentParser(description="all_reduce and a training step on one GPU")
    parser.add_argument("--rounds", type=int, default=20)
    rounds = parser.parse_args().rounds
    dist.init_process_group()
    torch = torch_beside() if dist.get_world_size() == 1 else None
    libraries = {"retrograd": rg, **({} if torch is None else {"PyTorch": torch})}

    def finish() -> None:
        for lib in libraries.values():
            lib.cuda.synchronize()

    rows: list[tuple[str, dict[str, float]]] = []
    for size in SIZES:
        tensors = {name: lib.ones(size // 4, device="cuda") for name, lib in libraries.items()}
        acts = {name: partial(lib.distributed.all_reduce, tensors[name]) for name, lib in libraries.items()}
        rows.append((f"all_reduce of {size} bytes", best(acts, finish, rounds)))
    steps = {name: step_of(lib, True) for name, lib in libraries.items()}
    steps |= {f"{name}, no DDP": step_of(lib, False) for name, lib in libraries.items()}
    rows.append(("5 training steps", best(steps, finish, rounds)))
    if dist.get_rank() == 0:
        print(f"{dist.get_world_size()} ranks, {dist.get_backend()}, microseconds")
        for name, times in rows:
            print(f"{name:>28}: " + ", ".join(f"{column} {each:.0f}" for column, each in times.items()))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
