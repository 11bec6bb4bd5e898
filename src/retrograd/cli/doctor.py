"""`retrograd doctor`: how this installation is built, whether it works, and what is slow here and why."""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
import shutil
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

import retrograd as rg
from retrograd import __config__
from retrograd.backends.pack import PACK

SMALL_OP = 2e-6  # seconds that an operation on a few numbers takes at most where everything is compiled


def add(commands: Any) -> None:
    """Adds the command to the parser."""
    found = commands.add_parser(
        "doctor",
        help="say how this installation is built, check that it works, and what is slow here",
        description="Says how this installation is built, whether gradients come out right, and what is slow and why.",
        epilog="The exit status is 0 if the self-check passes, 1 if it does not. Slowness is no failure.",
    )
    found.set_defaults(call=examine)


def examine(arguments: argparse.Namespace) -> int:
    """Prints what is found; 1 if a gradient comes out wrong."""
    print(__config__.show())
    print(f"python      {platform.python_version()} on {platform.platform()}, {os.cpu_count()} processors")
    print(f"threads     {rg.get_num_threads()} for the engine and the native pack")
    for name in ("numpy", "scipy", "torch", "rich", "safetensors"):
        print(f"{name:<12}{_version(name)}")
    print(f"{'graphviz':<12}{'dot is on the path' if shutil.which('dot') else 'none: svg() needs it'}")
    faults = self_check()
    print("\nself-check  " + ("passed" if not faults else "FAILED"))
    for fault in faults:
        print(f"  {fault}")
    print("\nspeed")
    slow = []
    for what, seconds, expected, why in measured():
        mark = "  slow" if seconds > expected else ""
        print(f"  {what:<36}{1e6 * seconds:>12,.1f} µs{mark}")
        slow += [why] if mark else []
    for why in dict.fromkeys(slow):
        print(f"\n{why}")
    return 1 if faults else 0


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def self_check() -> list[str]:
    """What is wrong with this installation: gradients that differ from numeric ones, a backward that fails."""
    faults = []
    programs: dict[str, Callable[[Any], Any]] = {
        "elementwise": lambda x: (x.exp() * x.sin()).sum(),
        "matrix product": lambda x: (x @ x.t()).tanh().sum(),
        "softmax": lambda x: (x.softmax(-1) ** 2).sum(),
        "indexing": lambda x: (x[1:] * x[:-1]).sum(),
    }
    for name, program in programs.items():
        x = rg.tensor(np.linspace(0.1, 1.2, 12).reshape(3, 4), requires_grad=True)
        try:
            rg.autograd.gradcheck(program, (x,))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is reported
            faults.append(f"{name}: {type(error).__name__}: {str(error).splitlines()[0]}")
    return faults


def measured() -> list[tuple[str, float, float, str]]:
    """Times of a few programs, what they take where all is well, and why they may take longer."""
    small = rg.ones(4, requires_grad=True)
    large = rg.ones(1 << 20, requires_grad=True)
    matrix = rg.ones(256, 256, requires_grad=True)
    kind = (
        "Small operations cost more than they need to: "
        + ("the native pack is missing" if PACK is None else "this is the interpreted form")
        + ". `pip install .` in a checkout compiles it, where there is a C++ compiler."
    )
    arrays = "Large arrays are slow: the native pack is missing, so NumPy computes on one thread and in many passes."
    blas = "Matrix products are slow: `python -c 'import numpy; numpy.show_config()'` shows which BLAS NumPy has."
    return [
        ("x * x, 4 numbers", best(lambda: small * small), SMALL_OP, kind),
        ("(x * x).sum().backward()", best(lambda: (small * small).sum().backward()), 5 * SMALL_OP, kind),
        ("x.exp(), a million numbers", best(large.exp), 3e-3, arrays),
        ("x @ x, 256 × 256", best(lambda: matrix @ matrix), 3e-3, blas),
    ]


def best(program: Callable[[], Any], seconds: float = 0.15) -> float:
    """The least time that a call takes, of as many as fit into some time."""
    least, end = float("inf"), perf_counter() + seconds
    while perf_counter() < end:
        start = perf_counter()
        program()
        least = min(least, perf_counter() - start)
    return least
