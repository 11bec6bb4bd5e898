"""The engine's threads and the process they live in: fork, spawn, and the end of the interpreter."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import Any

import pytest

from tests.engine.together import LIMIT, real_stderr, watchdog

__all__ = ["real_stderr", "watchdog"]

# Every program begins with this. `forked` runs a function in a child and gives its exit status.
PRELUDE = """
import os, signal, sys, threading, time, warnings
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell may have switched off for what it starts
warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of fork with threads: it is the subject here
import numpy as np
import retrograd as rg
from tests.devices import fake
from retrograd.engine import parallel
from tests.engine.together import Step, step, leaf, workers
fake.install()
parallel.LARGE = 0
rg.set_num_threads(3)

def train():
    x = leaf([1.0, 2.0])
    for _ in range(3):
        x.grad = None
        (x.sin().sum() + (x * x).sum() + x.to("fake:0").cos().to("cpu").sum()).backward()
    assert np.allclose(x.grad.numpy(), np.cos([1, 2]) + [2, 4] - np.sin([1, 2]))
    return True

def forked(function):
    pid = os.fork()
    if pid == 0:
        code = 99
        try:
            function()
            code = 0
        except BaseException as error:
            print("child:", type(error).__name__, error, flush=True)
            code = 1
        finally:
            os._exit(code)
    return waited(pid)

def waited(pid, limit=30):
    end = time.monotonic() + limit
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    return "stuck"
"""

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")


def run(program: str, expected: int | None = 0, **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs a program in a fresh interpreter; it must end by itself, with the expected status."""
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", PRELUDE + program],
        capture_output=True, text=True, timeout=LIMIT, check=False, **options,
    )  # fmt: skip
    if expected is not None:
        assert done.returncode == expected, done.stdout + done.stderr
    return done


# -- fork ------------------------------------------------------------------------------------------------------------


@needs_fork
def test_a_child_has_workers_of_its_own():
    done = run("""
train()
before = sorted(workers())
assert before, "there is nothing to lose"
def child():
    assert workers() == []
    train()
    print(sorted(workers()) == before, flush=True)
print(forked(child), train())
""")
    assert done.stdout.split() == ["True", "0", "True"]


@needs_fork
def test_a_child_may_fork_again():
    done = run("""
def child():
    train()
    if forked(train) != 0:
        raise SystemExit
train()
print(forked(child))
""")
    assert done.stdout.split() == ["0"]


@needs_fork
def test_a_child_is_not_held_up_by_what_other_threads_were_at():
    """Whatever lock another thread holds at the fork, the child can train, on the very same leaf."""
    done = run("""
x = leaf(np.ones(1000))
stop = threading.Event()
def hammer():
    while not stop.is_set():
        (x * 2 + x.sin() + x.to("fake:0").to("cpu")).sum().backward()
threads = [threading.Thread(target=hammer, daemon=True) for _ in range(3)]
for t in threads: t.start()
def child():
    train()
    for _ in range(5):
        (x * 1 + x.cos()).sum().backward()
statuses = [forked(child) for _ in range(12)]
stop.set()
for t in threads: t.join(30)
print(set(statuses), train())
""")
    assert done.stdout.split() == ["{0}", "True"]


@needs_fork
def test_locks_that_were_held_at_the_fork_are_free_in_the_child():
    done = run("""
from retrograd.core import accumulate
from retrograd.engine import threads
train()
held, leave = threading.Event(), threading.Event()
def hold():
    with accumulate.LOCKS[0], threads.THREADS.cpu.starting:
        for lock in accumulate.LOCKS: lock.acquire()
        held.set()
        leave.wait()
        for lock in accumulate.LOCKS: lock.release()
t = threading.Thread(target=hold)
t.start()
held.wait()
print(forked(train))
leave.set()
t.join()
print(train())
""")
    assert done.stdout.split() == ["0", "True"]


@needs_fork
def test_what_is_registered_while_a_fork_waits_is_called_at_that_fork():
    """A module that another thread is just importing may have locks of its own, and hold them right after."""
    done = run("""
from retrograd.forks import at_fork
log = []
def late():
    at_fork(before=lambda: log.append("before"), after_in_parent=lambda: log.append("after"))
at_fork(before=late)
print(forked(lambda: None), *log[:2])
""")
    assert done.stdout.split() == ["0", "before", "after"]


@needs_fork
def test_a_child_draws_though_another_thread_was_about_to():
    done = run("""
for turn in range(6):
    threads = [threading.Thread(target=rg.rand, args=(3,)) for _ in range(3)]
    rg.manual_seed(turn)
    for t in threads: t.start()
    assert forked(lambda: rg.rand(3)) == 0
    for t in threads: t.join()
print("good")
""")
    assert done.stdout.split() == ["good"]


FORK_IN_A_HOOK = """
x = leaf()
parent = os.getpid()
pids = []
def hook(g):
    pid = os.fork()
    if pid: pids.append(pid)
y = LOSS
y.register_hook(hook)
try:
    (y * 2).backward()
except RuntimeError as error:
    assert os.getpid() != parent
    assert "fork() happened in the middle of a backward" in str(error), error
    assert train()  # the child works on
    os._exit(7)
assert os.getpid() == parent, "the child went on with its parent's backward"
print([waited(pid) for pid in pids], x.grad is not None, train())
"""


@needs_fork
@pytest.mark.parametrize(
    "loss",
    ["x * 2", "x.sin() + x.cos() * x.exp()", "x.to('fake:0').sin().to('cpu') + x.cos()"],
    ids=["alone", "shared", "device"],
)
def test_a_fork_in_the_middle_of_a_backward_is_an_error_in_the_child_alone(loss):
    done = run(FORK_IN_A_HOOK.replace("LOSS", loss))
    assert done.stdout.split() == ["[7]", "True", "True"], done.stderr


@needs_fork
def test_a_fork_while_workers_are_busy_is_an_error_in_the_child_alone():
    """The hook forks while a worker is in the middle of a node."""
    done = run("""
running = threading.Barrier(2)
parent = os.getpid()
pids = []
def slow():
    running.wait(30)
    time.sleep(0.1)
def hook(g):
    running.wait(30)
    pid = os.fork()
    if pid: pids.append(pid)
x = leaf()
y = x * 3
y.register_hook(hook)
try:
    (step(x.to('fake:0'), slow).to('cpu') + y + x.sin()).backward()
except RuntimeError as error:
    assert os.getpid() != parent and "fork() happened" in str(error)
    os._exit(7 if train() else 8)
print([waited(pid) for pid in pids], abs(x.grad.item() - 4 - np.cos(2)) < 1e-12)
""")
    assert done.stdout.split() == ["[7]", "True"], done.stderr


@needs_fork
def test_a_child_forked_in_a_hook_may_train_before_it_returns():
    done = run("""
x = leaf()
def child():
    with rg.enable_grad():
        train()
statuses = []
x.register_hook(lambda g: statuses.append(forked(child)))
(x.sin() + x.cos() + x.to("fake:0").to("cpu")).backward()
print(statuses, train())
""")
    assert done.stdout.split() == ["[0]", "True"], done.stderr


@needs_fork
def test_a_fork_on_a_fresh_stack_ends_the_child_with_the_error():
    done = run("""
pids = []
def descend(depth):
    with rg.enable_grad():
        y = leaf() * 1
    def hook(g):
        if depth: return descend(depth - 1)
        pid = os.fork()
        if pid: pids.append(pid)
    y.register_hook(hook)
    y.backward()
descend(70)
print([waited(pid) for pid in pids], train())
""")
    assert done.stdout.split() == ["[1]", "True"], done.stderr
    assert "fork() happened in the middle of a backward" in done.stderr


# -- other ways to start a process -----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes_of_multiprocessing_train(method, tmp_path):
    if method != "spawn" and not hasattr(os, "fork"):
        pytest.skip("this system cannot fork")
    program = tmp_path / "program.py"
    program.write_text(f"""
import multiprocessing, sys
exec({PRELUDE!r})
if __name__ == "__main__":
    train()
    context = multiprocessing.get_context({method!r})
    processes = [context.Process(target=train) for _ in range(2)]
    for p in processes: p.start()
    for p in processes: p.join(40)
    print([p.exitcode for p in processes], train())
""")
    done = subprocess.run(
        [sys.executable, str(program)],
        capture_output=True, text=True, timeout=LIMIT, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert done.stdout.split() == ["[0,", "0]", "True"], done.stderr


# -- the end ---------------------------------------------------------------------------------------------------------


def test_idle_workers_hold_up_no_exit_and_end_before_it():
    done = run("""
import atexit
from retrograd.engine import threads
train()
assert len(workers()) >= 2
class Last:  # freed after the exit handlers have run
    def __del__(self):
        print(*workers(), "gone", flush=True)
last = Last()
atexit._run_exitfuncs()
print("left:", *workers())
del last
""")
    assert done.stdout.split() == ["left:", "gone"], done.stdout
    assert done.stderr == ""


def test_a_busy_worker_holds_up_no_exit():
    done = run("""
running = threading.Barrier(3)
def slow():
    running.wait(30)
    time.sleep(1000)
threading.Thread(target=(step(leaf(), slow) + step(leaf().to("fake:0"), slow).to("cpu")).backward, daemon=True).start()
running.wait(30)
print("leaving", flush=True)
""")
    assert done.stdout.split() == ["leaving"]
    assert "Fatal" not in done.stderr


def test_a_thread_in_a_blocked_hook_holds_up_no_exit():
    done = run("""
blocked = threading.Event()
x = leaf()
x.register_hook(lambda g: (blocked.set(), threading.Event().wait()) and None)
threading.Thread(target=(x.sin() + x.cos()).backward, daemon=True).start()
blocked.wait(30)
print("leaving", flush=True)
""")
    assert done.stdout.split() == ["leaving"]
    assert "Fatal" not in done.stderr


def test_backward_works_in_exit_handlers_before_and_after_ours():
    early, last = (
        f"import atexit; atexit.register(lambda: print({n}, train(), flush=True))\n" for n in (1, 2)
    )
    late = subprocess.run(
        [sys.executable, "-c", last + PRELUDE + early + "train()"],
        capture_output=True, text=True, timeout=LIMIT, check=False,
    )  # fmt: skip
    assert late.stdout.split() == ["1", "True", "2", "True"], late.stderr


def test_backward_works_in_finalisers_after_all_exit_handlers():
    done = run("""
class Last:
    def __del__(self, say=os.write, ending=sys.is_finalizing):
        say(1, b"%s %s" % (str(ending()).encode(), str(train()).encode()))
train()  # because nothing can be imported then
last = Last()  # which lives until Python clears its modules
""")
    assert (done.stdout.split(), done.stderr) == (["True", "True"], "")


def test_backward_works_where_the_system_has_no_more_threads():
    done = run("""
threading.stack_size(1 << 50)  # more than there is
try:
    threading.Thread(target=print).start()
except RuntimeError as error:
    print("none", flush=True)
print(train(), *workers())
""")
    assert done.stdout.split() == ["none", "True"], done.stdout + done.stderr


def test_exit_inside_a_hook_ends_the_program_with_its_status():
    done = run(
        """
x = leaf()
x.register_hook(lambda g: sys.exit(5))
(x.sin() + x.cos() + x.to("fake:0").to("cpu")).backward()
""",
        expected=5,
    )
    assert done.stderr == ""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX")
@pytest.mark.parametrize("where", ["cpu", "fake:0"])
def test_control_c_ends_a_long_backward(where):
    program = f"""
y = leaf().to({where!r})
def slow():
    print("running", flush=True)
    time.sleep(0.02)
for _ in range(5000): y = step(y, slow)
try:
    (y.to("cpu") + leaf().sin()).backward()
except KeyboardInterrupt:
    print("interrupted", train(), flush=True)
    sys.exit(3)
"""
    with subprocess.Popen(
        [sys.executable, "-c", PRELUDE + program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "running\n"
            time.sleep(0.1)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=LIMIT)
        finally:
            process.kill()
    assert process.returncode == 3, err
    assert out.split()[-2:] == ["interrupted", "True"]
    assert out.count("running") < 200
