"""Calls functions of a pack with hostile arguments, and says which before it does. For a process of its own:

python -m tests.native.hostile.program PATH             names all functions of the pack in that file
python -m tests.native.hostile.program PATH NAMES…      calls some
RETROGRAD_HOSTILE_VERBOSE=1 …                           says each call
"""

from __future__ import annotations

import importlib.util
import os
import random
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from . import calls, values

RANDOM = int(
    os.environ.get("RETROGRAD_HOSTILE_CALLS", "150")
)  # calls of a function with several wrong arguments
MEMORY = 2**30  # bytes that calls may ask for: more is refused at once, not filled
MOST = 2**24  # elements of an array that the pack hands on, for NumPy to go through one by one
HANDED_ON = {*calls.REDUCED, "matmul", "take", "tril", "triu"}


def load(path: str) -> Any:
    spec = importlib.util.spec_from_file_location("retrograd._native", path)
    assert spec is not None
    assert spec.loader is not None
    pack = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pack)
    calls.Loaded.pack = pack
    return pack


class Op:
    """What a fused kernel is bound to. Its parameters are anything."""

    given: Any = 1.0

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.given


def function(pack: Any, name: str) -> Any:
    kernels = pack.fused_kernels()
    return kernels[name].bind(Op) if name in kernels else getattr(pack, name)


def names(pack: Any) -> list[str]:
    """All functions of a pack, and its fused kernels."""
    own = [name for name in vars(pack) if not name.startswith("__")]
    # `launch` believes the address of a kernel, as the driver does.
    return [*[name for name in own if name != "launch"], *pack.fused_kernels()]


def make(pack: Any, name: str) -> values.Make:
    """What makes good arguments."""
    if name not in pack.fused_kernels():
        return calls.calls()[name]
    try:
        function(pack, name)()
    except TypeError as error:
        count = int(re.findall(r"takes (\d+)", str(error))[0])
    return lambda: (Op(), *[calls.floats(3, 4) for _ in range(count - 2)], 3)


def arguments_of(pack: Any, name: str) -> Iterator[values.Arguments]:
    yield from values.one_wrong(make(pack, name))
    yield from values.several_wrong(make(pack, name), random.Random(name), RANDOM)


def is_endless(name: str, arguments: values.Arguments) -> bool:
    """Whether NumPy might take hours."""
    extents = [np.prod([n or 1 for n in array.shape], dtype=object) for array in values.arrays_in(arguments)]
    return name in HANDED_ON and any(extent > MOST for extent in extents)


def describe(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{list(value.shape)}{list(value.strides)}"
    if isinstance(value, tuple | list):
        return f"{type(value).__name__}({', '.join(map(describe, value))})"
    return repr(value)[:60]


def call(pack: Any, name: str, arguments: values.Arguments, rng: random.Random) -> None:
    """One call. Any exception is an answer but the one that says that the pack has broken Python's rules."""
    values.Evil.arrays = values.arrays_in(arguments)
    Op.given = rng.choice([1.0, 2, None, "none", "tanh", float("nan"), 2**60, object()])
    before = values.arrays_in(arguments)
    try:
        result = function(pack, name)(*arguments)
    except SystemError:
        raise
    except Exception:
        result = None
    for array in values.arrays_in(result if isinstance(result, tuple) else (result,)):
        if array.size < MOST and not array.dtype.hasobject:
            array.tobytes()  # all of it can be read
    assert all(calls.is_guarded(array) for array in before), "memory beside an array has been written to"


def limit_memory() -> None:
    """Where the system can; sanitizers have their own way, and need all addresses for themselves."""
    status = Path("/proc/self/statm")
    if status.exists() and "ASAN_OPTIONS" not in os.environ:
        import resource

        used = int(status.read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))


def main(path: str, wanted: list[str]) -> None:
    pack = load(path)
    if not wanted:
        print(*names(pack))
    limit_memory()
    pack.set_metadata_maker(str)
    pack.set_size_class(calls.Sizes)
    pack.set_quiet(calls.VARIABLE, None, MOST)
    for name in wanted:
        print(name, flush=True)
        rng = random.Random(name)  # the same calls every time
        for arguments in arguments_of(pack, name):
            if is_endless(name, arguments):
                continue
            if "RETROGRAD_HOSTILE_VERBOSE" in os.environ:
                print(" ", name, describe(arguments), flush=True)
            call(pack, name, arguments, rng)
            pack.set_threads(2)
            pack.set_memory_limit(-1)
            pack.set_metadata_maker(str)
            pack.set_owner_test(bool)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    main(sys.argv[1], sys.argv[2:])
