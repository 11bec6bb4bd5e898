"""Words for how a tensor lies on the ranks of a mesh: whole on each, cut, or as parts of a sum."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Partial", "Placement", "Replicate", "Shard"]


class Placement:
    """How a tensor lies along one dimension of a mesh."""

    def is_replicate(self) -> bool:
        """Whether every rank has all of it."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Whether the ranks' tensors must be combined; with `reduce_op`, whether by that operation."""
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether every rank has a piece; with `dim`, whether it was cut along that dimension."""
        return isinstance(self, Shard) and dim in (None, self.dim)


@dataclass(frozen=True)
class Replicate(Placement):
    """Every rank has the whole tensor.

    >>> Replicate()
    Replicate()
    """

    def __str__(self) -> str:
        return "R"


@dataclass(frozen=True)
class Shard(Placement):
    """The tensor is cut along `dim`, and every rank has a piece.

    >>> Shard(0), Shard(0) == Shard(dim=0), Shard(0).is_shard(1)
    (Shard(dim=0), True, False)
    """

    dim: int

    def __str__(self) -> str:
        return f"S({self.dim})"


@dataclass(frozen=True)
class Partial(Placement):
    """Every rank has a tensor of the full shape, and `reduce_op` of them all is the tensor.

    >>> Partial(), Partial("avg").reduce_op
    (Partial(sum), 'avg')
    """

    reduce_op: str = "sum"

    def __repr__(self) -> str:
        return f"Partial({self.reduce_op})"

    def __str__(self) -> str:
        return f"P({self.reduce_op})"


@dataclass(frozen=True, repr=False)
class _StridedShard(Placement):
    """Cut along `dim` in the order of several dimensions of a mesh; no `Shard`, as in PyTorch."""

    dim: int
    split_factor: int = field(kw_only=True)

    def __repr__(self) -> str:
        return f"_StridedShard(dim={self.dim}, sf={self.split_factor})"

    def __str__(self) -> str:
        return f"_S({self.dim}, {self.split_factor})"
