"""all_reduce of 1 kB to 64 MB beside PyTorch's Gloo, on two ranks of this machine; and a model of more ranks.

    python benchmarks/distributed.py [--ranks 2] [--rounds 40]

Both libraries are in the same processes and take turns. What the slowest rank needs counts, and the best of all rounds.
"""

from __future__ import annotations

import argparse
import os
import socket
import sys
import time
from collections.abc import Callable
from math import ceil, log2
from typing import Any

SIZES = tuple(4**k * 1024 for k in range(9))  # bytes: 1 kB to 64 MB
# A cluster's network, as vendors give it: seconds for a message, bytes per second, and bytes per second that are added.
LATENCY, BANDWIDTH, ADDITION = 2e-6, 12.5e9, 8e9


def model(size: float, ranks: int, latency: float, bandwidth: float, addition: float) -> float:
    """Seconds for an all_reduce: Note [How numbers are added] says what is sent when."""
    if size <= 16384:
        return ceil(log2(ranks)) * (latency + size / bandwidth + size / addition)
    share = size * (ranks - 1) / ranks
    return 2 * (ranks - 1) * latency + 2 * share / bandwidth + share / addition


def measure(
    libraries: dict[str, tuple[Any, Callable[[Any], Any]]], size: int, rounds: int
) -> dict[str, float]:
    """Seconds of the best round for each library."""
    best = dict.fromkeys(libraries, float("inf"))
    tensors = {name: make(size // 4) for name, (_, make) in libraries.items()}
    for _ in range(rounds):
        for name, (dist, _) in libraries.items():
            tensors[name].fill_(1.0)
            dist.barrier()
            begun = time.perf_counter()
            dist.all_reduce(tensors[name])
            best[name] = min(best[name], time.perf_counter() - begun)
    return best


def compare(rounds: int) -> None:
    """What each rank runs."""
    import torch
    import torch.distributed as gloo

    import retrograd
    import retrograd.distributed as ours

    torch.set_num_threads(1)
    ours.init_process_group("mpi")
    rank, ranks = ours.get_rank(), ours.get_world_size()
    gloo.init_process_group("gloo", rank=rank, world_size=ranks)
    libraries = {"retrograd": (ours, retrograd.ones), "gloo": (gloo, torch.ones)}
    rows = []
    for size in SIZES:
        found = [measure(libraries, size, max(5, min(rounds, rounds * 2**20 // size)))]
        every: list[Any] = [None] * ranks
        ours.all_gather_object(every, found[0])
        rows.append((size, *(max(each[name] for each in every) for name in libraries)))
    if rank == 0:
        show(rows, ranks)
    gloo.destroy_process_group()


def show(rows: list[tuple[int, float, float]], ranks: int) -> None:
    print(f"all_reduce of float32 on {ranks} ranks of this machine, microseconds\n")
    print(f"{'bytes':>10} {'retrograd':>11} {'gloo':>11} {'ratio':>7}")
    for size, ours, theirs in rows:
        print(f"{size:>10} {ours * 1e6:>11.0f} {theirs * 1e6:>11.0f} {theirs / ours:>6.2f}x")
    print(f"\nA MODEL, not a measurement: milliseconds on a network of {LATENCY * 1e6:g} us and")
    print(f"{BANDWIDTH / 1e9:g} GB/s for each rank, with {ADDITION / 1e9:g} GB/s added\n")
    print(f"{'bytes':>10}" + "".join(f" {count:>5} ranks" for count in (2, 8, 64, 512)))
    for size in SIZES:
        times = [model(size, count, LATENCY, BANDWIDTH, ADDITION) * 1e3 for count in (2, 8, 64, 512)]
        print(f"{size:>10}" + "".join(f" {each:>11.3f}" for each in times))


def main() -> int:
    from retrograd.distributed.environment import seat_of_mpi

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=40)
    arguments = parser.parse_args()
    if seat_of_mpi() is not None:
        compare(arguments.rounds)
        return 0
    from retrograd.distributed.launching import Plan, launch

    with socket.create_server(("127.0.0.1", 0)) as free:
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free.getsockname()[1]))
    return launch(Plan(arguments.ranks, [__file__, *sys.argv[1:]], [], 1, False, None))


if __name__ == "__main__":
    sys.exit(main())
