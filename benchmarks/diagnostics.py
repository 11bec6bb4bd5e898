"""What the always-on diagnostics cost: small operations with their lines noted, and with that taken out, in turns.

python benchmarks/diagnostics.py [--repeat N]
"""

from __future__ import annotations

import argparse

from run import add_chain, chain
from taken_out import Cut, cost

import retrograd
from retrograd.core import apply

PROGRAMS = {
    "chain of mul, add, tanh (8 floats), forward": chain(100, 8, False),
    "chain of mul, add, tanh (8 floats), forward + backward": chain(100, 8, True),
    "chain of y + 1, forward": add_chain(300, False),
    "chain of y + 1, forward + backward": add_chain(300, True),
}
LINES = r"    try:\n        frame = getframe.*?made_lasti = frame.f_lasti\n"
REASONS = r"    elif type\(.\) is Tensor:\n.*?\n"
CUTS = (Cut(apply, "_link1", LINES), Cut(apply, "_link2", f"{LINES}|{REASONS}"))


def main() -> None:
    """Prints one line per program."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--repeat", type=int, default=300)
    repeat = parser.parse_args().repeat
    for name, make in PROGRAMS.items():
        print(f"{name:56}lines noted: {100 * cost(make(retrograd), CUTS, repeat):+5.1f} %")


if __name__ == "__main__":
    main()
