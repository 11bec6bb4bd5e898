"""Helpers of tests, under PyTorch's names.

Names are loaded when they are first asked for: see Note [Loaded on demand] in lazy.py.
"""

import typing as _typing

from retrograd.lazy import lazily as _lazily

if _typing.TYPE_CHECKING:
    from retrograd.testing.comparison import assert_allclose, assert_close
    from retrograd.testing.creation import make_tensor
else:
    __getattr__, __dir__ = _lazily(
        __name__,
        {
            "retrograd.testing.comparison": "assert_allclose assert_close",
            "retrograd.testing.creation": "make_tensor",
        },
    )

__all__ = ["assert_allclose", "assert_close", "make_tensor"]
