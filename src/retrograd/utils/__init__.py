"""Helpers under PyTorch's names.

Names are loaded when they are first asked for: see Note [Loaded on demand] in lazy.py.
"""

import typing as _typing

from retrograd.lazy import lazily as _lazily

if _typing.TYPE_CHECKING:
    from retrograd.utils import (
        _mode_utils,
        _python_dispatch,
        _pytree,
        benchmark,
        checkpoint,
        data,
        deterministic,
        dlpack,
        flop_counter,
        hooks,
        module_tracker,
        progress,
        run_log,
        weak,
    )
    from retrograd.utils.tools import cmake_prefix_path, set_module
else:
    __getattr__, __dir__ = _lazily(
        __name__,
        {
            "retrograd.utils._mode_utils": "_mode_utils=",
            "retrograd.utils._python_dispatch": "_python_dispatch=",
            "retrograd.utils._pytree": "_pytree=",
            "retrograd.utils.benchmark": "benchmark=",
            "retrograd.utils.checkpoint": "checkpoint=",
            "retrograd.utils.data": "data=",
            "retrograd.utils.deterministic": "deterministic=",
            "retrograd.utils.dlpack": "dlpack=",
            "retrograd.utils.flop_counter": "flop_counter=",
            "retrograd.utils.hooks": "hooks=",
            "retrograd.utils.module_tracker": "module_tracker=",
            "retrograd.utils.progress": "progress=",
            "retrograd.utils.run_log": "run_log=",
            "retrograd.utils.tools": "cmake_prefix_path set_module",
            "retrograd.nn.swap_tensors": "swap_tensors",
            "retrograd.utils.weak": "weak=",
        },
    )

__all__ = [
    "_mode_utils",
    "_python_dispatch",
    "_pytree",
    "benchmark",
    "checkpoint",
    "cmake_prefix_path",
    "data",
    "deterministic",
    "dlpack",
    "flop_counter",
    "hooks",
    "module_tracker",
    "progress",
    "run_log",
    "set_module",
    "swap_tensors",
    "weak",
]
