"""Kernels as texts in C++, as `torch.cuda.jiterator`: they can be declared and not run, since nothing compiles them."""

from __future__ import annotations

import re
from typing import Any, NoReturn


class _Kernel:
    """A function whose body is a text: it can be named, not called."""

    def __init__(self, code: str) -> None:
        found = re.search(r"(\w+)\s*\(", code)
        self.kernel_name = found[1] if found else ""
        self.code_string = code

    def __call__(self, *tensors: Any, **named: Any) -> NoReturn:
        raise NotImplementedError(
            f"torch.cuda.jiterator: the kernel {self.kernel_name!r} cannot be run, because no C++ is compiled here. "
            "Write it with functions of tensors."
        )


def _create_jit_fn(code_string: str, **kwargs: Any) -> _Kernel:
    """A function of the text of a kernel with one output."""
    return _Kernel(code_string)


def _create_multi_output_jit_fn(code_string: str, num_outputs: int, **kwargs: Any) -> _Kernel:
    """A function of the text of a kernel with several outputs."""
    return _Kernel(code_string)
