"""Interrupting a call from within: how soon it ends after a signal whose handler raises."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

needs_timer = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer that sends signals")
PATIENCE = 5.0  # seconds, generous for a machine that is busy; calls that hear of no signal take many more


def interrupted(call: Callable[[], Any], after: float) -> float:
    """How long a call goes on after a signal that is sent after so many seconds; one that ends before is made again."""

    def handler(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, handler)
    try:
        began = time.monotonic()
        signal.setitimer(signal.ITIMER_REAL, after)
        with pytest.raises(KeyboardInterrupt):
            while True:
                call()
        return time.monotonic() - began - after
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        _wait_for_others()


def _wait_for_others() -> None:
    """What was interrupted may go on in another thread, whose memory the next test would take for its own."""
    for thread in threading.enumerate():
        if thread.name == "retrograd-long-call":
            while thread in threading.enumerate() and not thread.is_alive():  # it is only starting
                time.sleep(0.01)
            thread.join()
