"""Every function of the native pack on arrays that end where memory ends: the next byte belongs to nobody.

The arguments are those of tests/native/hostile, good ones and bad ones; a read or write beyond an array ends the
process, which names the function it was in.
"""

from __future__ import annotations

import ctypes
import mmap
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from retrograd.backends.pack import PACK
from tests.native.hostile import calls, program

PAGE = mmap.PAGESIZE
ROOT = Path(__file__).parents[2]


def at_the_end(values: Any) -> Any:
    """A copy of an array whose last byte is the last one of a page; the page behind it may not be touched."""
    values = np.asarray(values)
    pages = -(-max(values.nbytes, 1) // PAGE)
    memory = mmap.mmap(-1, (pages + 1) * PAGE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mprotect(ctypes.c_void_p(start + pages * PAGE), ctypes.c_size_t(PAGE), 0):
        raise OSError(ctypes.get_errno(), "mprotect")
    begin = pages * PAGE - values.nbytes
    made = np.frombuffer(memory, "uint8", values.nbytes, begin).view(values.dtype).reshape(values.shape)
    made[...] = values
    return made


def explore(count: int, seed: int) -> Iterator[str]:
    """The functions that touched what is not theirs; `count` random calls of each, beside those with one bad argument.

    Where there are to be none, only some of the functions are called.
    """
    if PACK is None or not hasattr(mmap, "MAP_ANONYMOUS"):
        return
    wanted = [name for name in program.names(PACK) if name in calls.calls() or name in PACK.fused_kernels()]
    if not count:
        wanted = wanted[seed % 40 :: 40]
    while wanted:
        done = subprocess.run(
            [sys.executable, "-X", "faulthandler", "-m", "tests.fuzz.arrays", PACK.__file__, str(count), *wanted],
            capture_output=True, text=True, check=False, cwd=ROOT,
        )  # fmt: skip
        if done.returncode == 0:
            return
        name = done.stdout.split()[-1]
        yield f"{name} ended with {done.returncode}: {done.stderr[-1000:]}"
        wanted = wanted[wanted.index(name) + 1 :]


if __name__ == "__main__":
    calls.guarded = at_the_end
    calls.is_guarded = lambda array: True
    program.RANDOM = int(sys.argv[2])
    np.seterr(all="ignore")
    program.main(sys.argv[1], sys.argv[3:])
