"""One op under several names: PyTorch numbers the nodes of in-place and other forms."""

from __future__ import annotations

from typing import Any, TypeVar, cast

from retrograd.core.op import Op

T = TypeVar("T", bound=Op)


def variant(cls: type[T], node_name: str, what: str, **attributes: Any) -> type[T]:
    """The op class `cls` under another of PyTorch's names; `what` is its docstring.

    The build makes a class statement of the assignment, so that compiled variants are as quick as any op.
    """
    members = {
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "__doc__": what,
        "same_as": cls,
    }
    return cast("type[T]", type(cls.__name__, (cls,), {**members, "node_name": node_name, **attributes}))
