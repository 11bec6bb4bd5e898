"""What the always-on diagnostics cost: small operations with their lines noted, and with that taken out, in turns.

python benchmarks/diagnostics.py [--repeat N]
"""

from __future__ import annotations

import argparse

from rows.chains import add_scalar, chain, mixed
from taken_out import Cut, check_interpreted, cost

import retrograd
from retrograd.core import apply

PROGRAMS = {
    "chain of mul, add, tanh (8 floats), forward": chain(mixed, 100, False, 8),
    "chain of mul, add, tanh (8 floats), forward + backward": chain(mixed, 100, True, 8),
    "chain of y + 0.5, forward": chain(add_scalar, 300, False, 8),
    "chain of y + 0.5, forward + backward": chain(add_scalar, 300, True, 8),
}
LINES = r"    op._made = spot\(\w+\)\n"
REASONS = r"    elif . is not None:\n.*?\n"
CUTS = (Cut(apply, "link1", LINES), Cut(apply, "link2", f"{LINES}|{REASONS}"))


def main() -> None:
    """Prints one line per program."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--repeat", type=int, default=300)
    repeat = parser.parse_args().repeat
    check_interpreted(CUTS)
    for name, make in PROGRAMS.items():
        print(f"{name:56}lines noted: {100 * cost(make(retrograd), CUTS, repeat):+5.1f} %")


if __name__ == "__main__":
    main()
