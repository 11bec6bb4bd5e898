"""`torch._C._VariableFunctions`: the functions of `torch`, and operators of two operands."""

from __future__ import annotations

from operator import and_ as __and__
from operator import iand as __iand__
from operator import ilshift as __ilshift__
from operator import ior as __ior__
from operator import irshift as __irshift__
from operator import ixor as __ixor__
from operator import lshift as __lshift__
from operator import or_ as __or__
from operator import rshift as __rshift__
from operator import xor as __xor__
from typing import Any

from retrograd.lazy import load

__all__ = [
    "__and__", "__iand__", "__ilshift__", "__ior__", "__irshift__", "__ixor__", "__lshift__", "__or__", "__rshift__",
    "__xor__",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    return getattr(load("retrograd"), name)


def __dir__() -> list[str]:
    return [*__all__, *dir(load("retrograd"))]
