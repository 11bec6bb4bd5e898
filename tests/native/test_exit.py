"""The end of a process while kernels run on other threads."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import threading, time
import retrograd as rg

rg.set_num_threads({threads})
x = rg.rand(1000, 1000)

def work():
    while True:
        x.exp().sin().softmax(0)

for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.2)
print("end")
"""


@pytest.mark.parametrize("threads", [1, 2])
def test_daemon_threads_in_kernels_do_not_disturb_the_end(threads):
    for _ in range(3):
        program = PROGRAM.format(threads=threads)
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")
