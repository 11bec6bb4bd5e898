"""Ctrl-C at random moments, in every mode and transform and in backward: afterwards everything is as it was before."""

from __future__ import annotations

import random
import signal
import sys
import time
import warnings
from collections.abc import Iterator

from retrograd.__config__ import is_compiled
from tests.autograd.test_interrupts_of_modes import BLOCKS, CALLS, held, state


def explore(count: int, seed: int) -> Iterator[str]:
    """What an interrupt left on. Interpreted code may be interrupted anywhere: only the compiled build promises."""
    if not is_compiled() or sys.version_info >= (3, 14):
        return
    rng = random.Random(seed)
    before_handler = signal.signal(signal.SIGALRM, signal.default_int_handler)
    programs = {**{name: held(block) for name, block in BLOCKS.items()}, **CALLS}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for number in range(count):
                name = rng.choice(list(programs))
                before = state()
                try:
                    end = time.monotonic() + 0.2
                    signal.setitimer(signal.ITIMER_REAL, rng.uniform(2e-5, 6e-4))
                    while time.monotonic() < end:
                        programs[name]()
                except KeyboardInterrupt:
                    pass
                if state() != before:
                    yield f"interrupt {number} in {name}: {before} before, {state()} after"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before_handler)
