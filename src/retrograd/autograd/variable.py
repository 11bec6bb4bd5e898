"""Variable: PyTorch's old name for Tensor, and the place where it keeps its engine."""

from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.backends.dtypes import get_default_dtype
from retrograd.core.places import warn
from retrograd.core.tensor import Tensor
from retrograd.engine.engine import ENGINE, Engine


class VariableMeta(type):
    """Makes every Tensor an instance of Variable."""

    def __instancecheck__(cls, other: Any) -> bool:
        return isinstance(other, Tensor)


class Variable(metaclass=VariableMeta):
    """A Tensor; `Variable(t)` is `t` detached, with the given `requires_grad`."""

    _execution_engine: Engine = ENGINE

    def __new__(cls, data: Any = None, requires_grad: bool = False, volatile: bool = False) -> Any:
        if volatile:
            warn(
                "volatile was removed and now has no effect. Use `with torch.no_grad():` instead.",
                UserWarning,
            )
            if requires_grad:
                raise ValueError("Variable can't be volatile and require_grad at the same time!")
        if data is None:
            data = Tensor(np.empty(0, get_default_dtype()))
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        made = data.detach()
        return made.requires_grad_(requires_grad) if requires_grad else made
