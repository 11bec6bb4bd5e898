"""The classes of results that have several parts, as `torch.return_types`: `rg.return_types.max`.

They are defined in `ops/returns.py`; some of these names are Python's own.
"""

from typing import Any, Final

from retrograd.ops.returns import RETURN_TYPES

all_return_types: Final = list(RETURN_TYPES.values())


def __getattr__(name: str) -> Any:
    kind = name.removesuffix("_out")  # what PyTorch calls those of functions that write into `out`
    if kind not in RETURN_TYPES:
        raise AttributeError(f"module 'retrograd.return_types' has no attribute '{name}'")
    return RETURN_TYPES[kind]


def __dir__() -> list[str]:
    return ["all_return_types", *RETURN_TYPES]
