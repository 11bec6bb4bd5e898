"""What the always-on diagnostics cost: the same chain with the lines noted and with that taken out, in turns.

    python benchmarks/diagnostics.py [--repeat N]

The statements that note lines and reasons are taken out of the source of `core.apply` and it is compiled again.
"""

from __future__ import annotations

import argparse
import gc
import inspect
import re
import time
from collections.abc import Callable
from typing import Any

from run import add_chain, chain

import retrograd
from retrograd.core import apply

PROGRAMS = {
    "chain of mul, add, tanh (8 floats), forward": chain(100, 8, False),
    "chain of mul, add, tanh (8 floats), forward + backward": chain(100, 8, True),
    "chain of y + 1, forward": add_chain(300, False),
    "chain of y + 1, forward + backward": add_chain(300, True),
}


NOTES = re.compile(
    r"    try:\n        frame = getframe.*?made_lasti = frame.f_lasti\n|    elif type\(.\) is Tensor:\n.*?\n", re.DOTALL
)


def without_notes(name: str) -> Any:
    """A function of `core.apply`, compiled anew without the statements that note lines and reasons."""
    source, count = NOTES.subn("", inspect.getsource(getattr(apply, name)))
    assert count, f"nothing to take out of {name}"
    namespace = dict(vars(apply))
    exec(compile("from __future__ import annotations\n" + source, apply.__file__, "exec"), namespace)
    return namespace[name]


LINKS = ("_link1", "_link2")
WITH = {name: getattr(apply, name) for name in LINKS}
WITHOUT = {name: without_notes(name) for name in LINKS}


def ratio_of(program: Callable[[], Any], repeat: int) -> float:
    """The best time with notes over the best without."""
    best = {True: float("inf"), False: float("inf")}
    for _ in range(repeat):
        for on, notes in ((True, WITH), (False, WITHOUT)):
            vars(apply).update(notes)
            start = time.perf_counter()
            program()
            best[on] = min(best[on], time.perf_counter() - start)
    vars(apply).update(WITH)
    return best[True] / best[False]


def main() -> None:
    """Prints one line per program."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--repeat", type=int, default=300)
    repeat = parser.parse_args().repeat
    for name, make in PROGRAMS.items():
        gc.collect()
        print(f"{name:56}lines noted: {100 * (ratio_of(make(retrograd), repeat) - 1):+5.1f} %")


if __name__ == "__main__":
    main()
