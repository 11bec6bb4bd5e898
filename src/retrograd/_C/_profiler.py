"""`torch._C._profiler`: where a call was made, as PyTorch's tools note it and read it later."""

from __future__ import annotations

import traceback
from collections.abc import Iterable
from typing import Any


def gather_traceback(python: bool = True, script: bool = True, cpp: bool = True) -> traceback.StackSummary:
    """The frames of Python that are running; there are no others here."""
    frames = traceback.walk_stack(None) if python else iter(())
    return traceback.StackSummary.extract(frames, lookup_lines=False)


def symbolize_tracebacks(tracebacks: Iterable[traceback.StackSummary]) -> list[list[dict[str, Any]]]:
    """What `gather_traceback` gave, as the file, the line and the function of each frame, the innermost first."""
    return [
        [{"filename": frame.filename, "line": frame.lineno, "name": frame.name} for frame in frames]
        for frames in tracebacks
    ]
