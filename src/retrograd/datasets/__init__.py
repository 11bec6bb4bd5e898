"""Data that ships with the package. Nothing is read before it is asked for.

Names are loaded when they are first asked for: see Note [Loaded on demand] in lazy.py.
"""

import typing as _typing

from retrograd.lazy import lazily as _lazily

if _typing.TYPE_CHECKING:
    from retrograd.datasets.digits import Digits, DigitsSplit, load_digits, split_digits
else:
    __getattr__, __dir__ = _lazily(
        __name__,
        {
            "retrograd.datasets.digits": "Digits DigitsSplit load_digits split_digits",
        },
    )

__all__ = ["Digits", "DigitsSplit", "load_digits", "split_digits"]
