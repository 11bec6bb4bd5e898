"""Helpers under PyTorch's names.

Names are loaded when they are first asked for: see Note [Loaded on demand] in lazy.py.
"""

import typing as _typing

from retrograd.lazy import lazily as _lazily

if _typing.TYPE_CHECKING:
    from retrograd.utils import (
        _pytree,
        benchmark,
        checkpoint,
        data,
        deterministic,
        dlpack,
        hooks,
        progress,
        run_log,
    )
    from retrograd.utils.tools import cmake_prefix_path, set_module, swap_tensors
else:
    __getattr__, __dir__ = _lazily(
        __name__,
        {
            "retrograd.utils._pytree": "_pytree=",
            "retrograd.utils.benchmark": "benchmark=",
            "retrograd.utils.checkpoint": "checkpoint=",
            "retrograd.utils.data": "data=",
            "retrograd.utils.deterministic": "deterministic=",
            "retrograd.utils.dlpack": "dlpack=",
            "retrograd.utils.hooks": "hooks=",
            "retrograd.utils.progress": "progress=",
            "retrograd.utils.run_log": "run_log=",
            "retrograd.utils.tools": "cmake_prefix_path set_module swap_tensors",
        },
    )

__all__ = [
    "_pytree",
    "benchmark",
    "checkpoint",
    "cmake_prefix_path",
    "data",
    "deterministic",
    "dlpack",
    "hooks",
    "progress",
    "run_log",
    "set_module",
    "swap_tensors",
]
