"""Tensors with another one written in the place of a view: a diagonal, an element or a range of a dimension."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from retrograd.backends.base import Backend
from retrograd.core.apply import apply_n
from retrograd.core.families import Linear
from retrograd.core.op import Variadic
from retrograd.core.tensor import Tensor
from retrograd.errors import ShapeError, sizes
from retrograd.ops.common import deliver, require_tensor, wrap_dim, zeros_beside
from retrograd.ops.index.getitem import filled
from retrograd.ops.register import public
from retrograd.ops.shape.diagonals import Diagonal, diagonal
from retrograd.ops.shape.reshape import integer
from retrograd.ops.shape.split import Select, Slice, select


class ViewScatter(Variadic):
    """x with a source written to what a view of it shows."""

    def part(self) -> Linear:
        """The op that makes the view."""
        raise NotImplementedError

    def forward(self, xp: Backend, xs: Sequence[Any]) -> Any:
        x, source = xs
        self.shapes = x.shape, source.shape
        out = x.copy("C")
        hole = self.part().forward(xp, out)
        if hole.shape != source.shape:
            raise ShapeError(
                f"expected src to have a size equal to the slice of self. src size = {sizes(source.shape)}, slice size "
                f"= {sizes(hole.shape)}"
            )
        hole[...] = source
        return out

    def vjp(self, gs: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Sequence[Any]:
        g = gs[0]
        zeros = zeros_beside(g, self.shapes[1])
        return [
            self.fresh().on(g, zeros) if self.needs(0) else None,
            self.part().on(g) if self.needs(1) else None,
        ]

    def jvp(self, ts: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Any:
        return self.fresh().on(*filled(ts, self.shapes))


class DiagonalScatter(ViewScatter):
    """x with a source on a diagonal"""

    params: ClassVar[tuple[str, ...]] = ("offset", "dim1", "dim2")
    shown: ClassVar[dict[str, str]] = {"offset": "offset", "dim1": "dim1", "dim2": "dim2"}

    def __init__(self, offset: int, dim1: int, dim2: int) -> None:
        self.offset = offset
        self.dim1 = dim1
        self.dim2 = dim2

    def part(self) -> Linear:
        return Diagonal(self.offset, self.dim1, self.dim2)


class SelectScatter(ViewScatter):
    """x with a source in the place of one element of a dimension"""

    params: ClassVar[tuple[str, ...]] = ("dim", "index")
    shown: ClassVar[dict[str, str]] = {"dim": "dim", "index": "index"}

    def __init__(self, dim: int, index: int) -> None:
        self.dim = dim
        self.index = index

    def part(self) -> Linear:
        return Select(self.dim, self.index)


class SliceScatter(ViewScatter):
    """x with a source in the place of a range of a dimension"""

    params: ClassVar[tuple[str, ...]] = ("dim", "start", "end", "step")
    shown: ClassVar[dict[str, str]] = {"dim": "dim", "start": "start", "end": "end", "step": "step"}

    def __init__(self, dim: int, start: Any, end: Any, step: int) -> None:
        self.dim = dim
        self.start = start
        self.end = end
        self.step = step

    def part(self) -> Linear:
        return Slice(self.dim, self.start, self.end, self.step)


# -- functions -----------------------------------------------------------------------------------------------------


@public("diagonal_scatter", method=True)
def diagonal_scatter(input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A copy of `input` with `src` on one of its diagonals.

    >>> import retrograd as rg
    >>> rg.diagonal_scatter(rg.zeros(2, 2), rg.tensor([1.0, 2.0]))
    tensor([[1., 0.],
            [0., 2.]])
    """
    x = require_tensor("diagonal_scatter", "input", 1, input)
    y = require_tensor("diagonal_scatter", "src", 2, src)
    diagonal(x.detach(), offset, dim1, dim2)  # complains about the arguments
    ndim = x.array.ndim
    found: Tensor = apply_n(
        DiagonalScatter(integer(offset), wrap_dim(dim1, ndim), wrap_dim(dim2, ndim)), (x, y)
    )
    return found


@public("select_scatter", method=True)
def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """A copy of `input` with `src` in the place of `input.select(dim, index)`.

    >>> import retrograd as rg
    >>> rg.select_scatter(rg.zeros(2, 2), rg.tensor([1.0, 2.0]), 0, 1)
    tensor([[0., 0.],
            [1., 2.]])
    """
    x = require_tensor("select_scatter", "input", 1, input)
    y = require_tensor("select_scatter", "src", 2, src)
    select(x.detach(), dim, index)  # complains about the arguments
    found: Tensor = apply_n(SelectScatter(wrap_dim(dim, x.array.ndim), integer(index)), (x, y))
    return found


@public("slice_scatter", method=True)
def slice_scatter(
    input: Tensor,
    src: Tensor,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """A copy of `input` with `src` in the place of the elements from `start` to `end` of dimension `dim`.

    >>> import retrograd as rg
    >>> rg.zeros(4).slice_scatter(rg.ones(2), 0, 1, 3)
    tensor([0., 1., 1., 0.])
    """
    x = require_tensor("slice_scatter", "input", 1, input)
    y = require_tensor("slice_scatter", "src", 2, src)
    return deliver(
        apply_n(SliceScatter(wrap_dim(dim, x.array.ndim), *slice_of(start, end, step)), (x, y)), out
    )


def slice_of(start: Any, end: Any, step: Any) -> tuple[Any, Any, int]:
    """The bounds and the step of a slice, checked."""
    if integer(step) <= 0:
        raise ShapeError("slice step must be positive")
    return None if start is None else integer(start), None if end is None else integer(end), integer(step)
