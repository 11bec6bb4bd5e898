"""Where a program spends its time, under PyTorch's names.

Names are loaded when they are first asked for: see Note [Loaded on demand] in lazy.py.
"""

import typing as _typing

from retrograd.lazy import lazily as _lazily

if _typing.TYPE_CHECKING:
    from retrograd.profiler.recording import record_function
    from retrograd.profiler.session import (
        ProfilerAction,
        ProfilerActivity,
        kineto_available,
        profile,
        schedule,
        supported_activities,
        tensorboard_trace_handler,
    )
else:
    __getattr__, __dir__ = _lazily(
        __name__,
        {
            "retrograd.profiler.recording": "record_function",
            "retrograd.profiler.session": (
                "ProfilerAction ProfilerActivity kineto_available profile schedule supported_activities "
                "tensorboard_trace_handler"
            ),
        },
    )

__all__ = [
    "ProfilerAction",
    "ProfilerActivity",
    "kineto_available",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]
