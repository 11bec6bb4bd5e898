"""How the elements of a tensor are stored: `torch.layout`. All tensors are dense; the others have names."""

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
# Layouts that no tensor has, to compare with: programs ask whether a tensor is sparse.
sparse_coo: Final = layout("sparse_coo")
sparse_csr: Final = layout("sparse_csr")
sparse_csc: Final = layout("sparse_csc")
sparse_bsr: Final = layout("sparse_bsr")
sparse_bsc: Final = layout("sparse_bsc")
jagged: Final = layout("jagged")
