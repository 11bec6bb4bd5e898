"""The GPT of char_gpt.py, trained by several processes: each reads other pieces of the text, and all learn from all.

    retrograd launch -n 2 examples/char_gpt_ranks.py        or: mpirun -n 2 python examples/char_gpt_ranks.py

It runs by itself too, as one rank. What it has learned is kept in build/examples/char_gpt_ranks: started again with
`--resume`, by any number of ranks, it goes on from there.
"""

import sys
from pathlib import Path

from char_gpt import GPT, LETTERS, TEXT, loss_of, written

import retrograd as rg
from retrograd import distributed as dist
from retrograd.distributed import checkpoint
from retrograd.distributed.optim import ZeroRedundancyOptimizer
from retrograd.nn.parallel import DistributedDataParallel

FOLDER = Path("build/examples/char_gpt_ranks")


def mean(value: rg.Tensor) -> float:
    """The mean of what the ranks have."""
    total = value.detach().reshape(1).clone()
    dist.all_reduce(total, dist.ReduceOp.AVG)
    return total.item()


def main(quick: bool, resume: bool) -> int:
    """Train, save, and write."""
    dist.init_process_group()
    rank, size = dist.get_rank(), dist.get_world_size()
    rg.manual_seed(0)
    model = DistributedDataParallel(GPT())  # every rank begins with what the first one has
    optimizer = ZeroRedundancyOptimizer(
        model.parameters(), rg.optim.AdamW, lr=3e-3
    )  # and keeps a part of its state
    program = {"model": model, "optimizer": optimizer}
    if resume:
        checkpoint.load(program, checkpoint_id=FOLDER)
    rg.manual_seed(1 + rank)  # other pieces of the text on each rank
    data = rg.tensor([LETTERS.index(c) for c in TEXT])
    losses = []
    for step in range(40 if quick else 3000):
        loss = loss_of(model, data)
        optimizer.zero_grad()
        loss.backward()  # gradients are averaged here, while it runs
        optimizer.step()
        losses.append(mean(loss))
        if rank == 0 and step % 100 == 0:
            print(f"step {step}: loss {losses[-1]:.3f}", flush=True)
    checkpoint.save(program, checkpoint_id=FOLDER)
    first, last = losses[0], sum(losses[-10:]) / 10
    if rank == 0:
        print(f"{size} ranks: loss before {first:.3f}, after {last:.3f}")
        print(f"\n{written(model.module, 'Shall I ', 40 if quick else 300)}\n")
    dist.destroy_process_group()
    return 0 if resume or last < 0.75 * first else 1


if __name__ == "__main__":
    sys.exit(main("--quick" in sys.argv, "--resume" in sys.argv))
