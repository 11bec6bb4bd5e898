"""Times of several programs, taken in turns in one process.

Each program runs in blocks: a few timings one after the other, then it is the next program's turn. So all of them meet
the same weather. Before its turn everything rests for a moment: the threads of the program before look for more work
for milliseconds (OpenMP's, which are PyTorch's, for five), and would take the processors from the next one. Caches full
of other data spoil the first timing of a block, so the best one counts. Python's collector stays on, as users have it.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from typing import Any

Program = Callable[[], Any]

LONG_ENOUGH = 1e-3  # seconds: shorter programs are called many times per timing
BLOCK = 5  # timings before the next program has its turn
REST = 0.01  # seconds before a turn, until no thread spins any more
SLOW = 0.1  # seconds: the blocks of longer programs have one timing

now = (
    time.perf_counter
)  # `time.thread_time` leaves out what others do to the processor, and other threads' work


def best_times(programs: Sequence[Program], seconds: float, blocks: int) -> list[float]:
    """The best time of one call of each, from at least `blocks` blocks each and as many as fit into `seconds`."""
    gc.collect()
    calls, best = [calls_per_timing(program) for program in programs], [float("inf")] * len(programs)
    end = time.perf_counter() + seconds
    done = 0
    while done < blocks or time.perf_counter() < end:
        for i, program in enumerate(programs):
            time.sleep(REST)
            for _ in range(1 if SLOW < best[i] < float("inf") else BLOCK):
                best[i] = min(best[i], timed(program, calls[i]) / calls[i])
        done += 1
    return best


def calls_per_timing(program: Program) -> int:
    """How many calls make a time that the clock can tell."""
    program()
    calls = 1
    while timed(program, calls) < LONG_ENOUGH:
        calls *= 2
    return calls


def timed(program: Program, calls: int) -> float:
    """The seconds that some calls take."""
    start = now()
    for _ in range(calls):
        program()
    return now() - start
