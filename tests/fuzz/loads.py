"""Ctrl-C while names are used for the first time, and their modules loaded: later they can be used all the same."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from retrograd.__config__ import is_compiled

ROOT = Path(__file__).parents[2]
CALLS = """
rg.func.hessian(cube)(x)
rg.vmap(cube)(rg.ones(2, 3))
rg.func.jvp(cube, (x,), (x,))
rg.func.functional_call(rg.nn.Linear(2, 2), {}, rg.ones(2))
rg.linalg.svd(rg.ones(2, 2))
rg.fft.fft(x)
rg.special.i0(x)
x.erfinv()
rg.nn.LSTM(3, 3)(rg.ones(2, 1, 3))
rg.nn.TransformerEncoderLayer(4, 2)(rg.ones(1, 2, 4))
rg.nn.functional.conv2d(rg.ones(1, 1, 4, 4), rg.ones(1, 1, 3, 3))
rg.nn.functional.ctc_loss(rg.zeros(2, 1, 3), rg.tensor([[1]]), [2], [1])
rg.nn.functional.interpolate(rg.ones(1, 1, 2, 2), scale_factor=2)
rg.optim.Adam([x.clone().requires_grad_()]).step()
rg.distributions.Normal(0.0, 1.0).sample()
rg.randn(3).to(rg.bfloat16) + 1
rg.utils.checkpoint.checkpoint(cube, x.clone().requires_grad_(), use_reentrant=False).backward()
rg.autograd.gradcheck(cube, (rg.ones(2, dtype=rg.float64, requires_grad=True),))
rg.autograd.functional.jacobian(cube, x)
rg.ones(2, device='meta') + 1
rg.einsum('i,i->', x, x)
rg.quantile(x, 0.5)
rg.unique(x)
rg.save(x, io.BytesIO())
repr(x)
"""
PROGRAM = """
import io, random, signal, sys, warnings
import numpy.fft, numpy.linalg, numpy.random
import retrograd as rg
warnings.simplefilter("ignore")
rng, x, came = random.Random({seed}), rg.ones(3), 0
def cube(t): return (t * t * t).sum()
signal.signal(signal.SIGALRM, signal.default_int_handler)
for call in rng.sample({calls!r}, 6):
    for turn in range(rng.choice([1, 3, 8])):
        try:
            signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-5, rng.choice([5e-4, 5e-3, 3e-2])))
            eval(call)
        except KeyboardInterrupt:
            came += 1
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    eval(call)
print(came)
"""


def explore(count: int, seed: int) -> Iterator[str]:
    """Names that an interrupt has spoilt, in so many processes."""
    rng = random.Random(seed)
    if not is_compiled():
        return  # interpreted code may be interrupted anywhere
    for _ in range(count):
        program = PROGRAM.format(seed=rng.randrange(2**31), calls=CALLS.strip().splitlines())
        done = subprocess.run(
            [sys.executable, "-X", "faulthandler", "-c", program],
            capture_output=True, text=True, check=False, timeout=300, cwd=ROOT,
        )  # fmt: skip
        if done.returncode:
            yield f"ended with {done.returncode}: {done.stderr[-1500:]}\n{program}"
