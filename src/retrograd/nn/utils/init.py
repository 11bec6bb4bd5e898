"""Modules whose initial values nobody needs."""

from __future__ import annotations

import inspect
from typing import Any

from retrograd.nn.module import Module


def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Any:
    """A module without initial values, for those who load others at once: nothing is drawn.

    >>> import retrograd as rg
    >>> rg.nn.utils.skip_init(rg.nn.Linear, 2, 3)
    Linear(in_features=2, out_features=3, bias=True)
    """
    if not (isinstance(module_cls, type) and issubclass(module_cls, Module)):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    where = kwargs.pop("device", "cpu")
    return module_cls(*args, **kwargs, device="meta").to_empty(device=where)
