"""How the elements of a tensor are stored: `torch.layout`. All tensors are dense."""

from __future__ import annotations

from typing import Final


class layout(str):  # noqa: N801 - torch's name
    """A way to store elements.

    >>> strided, strided == "strided"
    (torch.strided, True)
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"torch.{str.__str__(self)}"

    __str__ = __repr__


strided: Final = layout("strided")
