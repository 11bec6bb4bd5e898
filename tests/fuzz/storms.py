"""Many threads, many children, and ends of processes in the middle of everything: each in a process of its own."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
SECONDS = 120

PRELUDE = """
import os, random, sys, threading, time, warnings
warnings.simplefilter("ignore")
import retrograd as rg
rng = random.Random({seed})
rg.set_num_threads(rng.choice([1, 2, 3]))
w = rg.ones(3, 3, requires_grad=True)

def work(rng):
    kind = rng.randrange(7)
    x = rg.ones(rng.choice([3, 300]), 3)
    if kind == 0:
        (x @ w).sum().backward()
    elif kind == 1:
        y = (x @ w) * 2; y[0] = 0; y.relu().sum().backward()
    elif kind == 2:
        rg.func.grad(lambda t: (t * t).sum())(x)
    elif kind == 3:
        with rg.no_grad(): (x @ w).softmax(0)
    elif kind == 4:
        rg.vmap(lambda t: t.sin() * 2)(x)
    elif kind == 5:
        rg.utils.checkpoint.checkpoint(lambda t: (t @ w).tanh(), x, use_reentrant=False).sum().backward()
    else:
        g, = rg.autograd.grad((x @ w).exp().sum(), [w], create_graph=True); g.sum().backward()

def together(count, turns):
    errors = []
    def run(seed):
        rng = random.Random(seed)
        try:
            for _ in range(turns): work(rng)
        except BaseException as error:
            errors.append(repr(error))
    threads = [threading.Thread(target=run, args=(rng.random(),)) for _ in range(count)]
    for t in threads: t.start()
    for t in threads: t.join(60)
    assert not errors, errors[:3]
    assert not any(t.is_alive() for t in threads), "stuck"
"""
STORMS = {
    "threads": """
together(rng.choice([2, 8, 20]), {turns})
assert rg.is_grad_enabled() and bool(w.grad.isfinite().all())
""",
    "forks": """
stop = threading.Event()
def hammer():
    while not stop.is_set(): work(random.Random(time.time()))
busy = [threading.Thread(target=hammer, daemon=True) for _ in range(2)]
for t in busy: t.start()
for _ in range({turns} // 10 + 1):
    pid = os.fork()
    if pid == 0:
        try:
            together(2, 3)
            os._exit(0)
        except BaseException as error:
            print(repr(error), flush=True)
            os._exit(1)
    end = time.monotonic() + 60
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done: break
        assert time.monotonic() < end, "a child is stuck"
        time.sleep(0.002)
    assert status == 0, status
stop.set()
for t in busy: t.join(60)
""",
    "ends": """
def endless():
    while True: work(random.Random(time.time()))
for _ in range(rng.choice([1, 3, 6])):
    threading.Thread(target=endless, daemon=True).start()
time.sleep(rng.uniform(0, 0.2))
""",
}


def explore(kind: str, count: int, seed: int) -> Iterator[str]:
    """Storms that did not end well. `count` is how many turns are taken in all."""
    if kind == "forks" and not hasattr(os, "fork"):
        return
    each = 20
    rng = random.Random(seed)
    for _ in range(max(count // each, 1)):
        number = rng.randrange(2**31)
        program = PRELUDE.format(seed=number) + STORMS[kind].format(turns=each)
        try:
            done = subprocess.run(
                [sys.executable, "-X", "faulthandler", "-c", program],
                capture_output=True, text=True, check=False, timeout=SECONDS, cwd=ROOT,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            yield f"{kind} {number} did not end\n{program}"
            continue
        if (done.returncode, done.stdout, done.stderr) != (0, "", ""):
            yield f"{kind} {number} ended with {done.returncode}: {done.stdout}{done.stderr[-1500:]}\n{program}"
