"""Tensors made of the elements of others: blocks on a diagonal, all pairs, all combinations; and indices."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np

from retrograd.backends.base import Backend, as_array, backend_of
from retrograd.backends.shortage import made
from retrograd.core.apply import apply1, apply_n
from retrograd.core.op import Variadic
from retrograd.core.tensor import Tensor
from retrograd.errors import NoTensorError, OutOfMemoryError, ShapeError, operand_error, sizes, type_name
from retrograd.ops.common import beside, deliver, require_tensor, tensor_of, zeros_beside
from retrograd.ops.elementwise.choose import dtype_of_all
from retrograd.ops.index.getitem import filled
from retrograd.ops.index.mask import MaskedSelect
from retrograd.ops.reduce.sums import sum as sum_all
from retrograd.ops.reduce.sums import sum_to
from retrograd.ops.register import public
from retrograd.ops.shape.join import meshgrid, stack
from retrograd.ops.shape.reshape import Alias, broadcasts_to, flatten, integer, sizes_of
from retrograd.values import Array


class BlockDiag(Variadic):
    """zeros with the operands, as matrices, along the diagonal"""

    def forward(self, xp: Backend, xs: Sequence[Any]) -> Any:
        self.shapes = [x.shape for x in xs]
        blocks = [xp.atleast_2d(x) for x in xs]
        self.places: list[tuple[slice, slice]] = []
        row = column = 0
        for block in blocks:
            height, width = block.shape
            self.places.append((slice(row, row + height), slice(column, column + width)))
            row, column = row + height, column + width
        out = xp.zeros((row, column), dtype_of_all(xs))
        for place, block in zip(self.places, blocks, strict=True):
            out[place] = block
        return out

    def vjp(self, gs: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Sequence[Any]:
        return [
            gs[0][place].reshape(shape) if self.needs(i) else None
            for i, (place, shape) in enumerate(zip(self.places, self.shapes, strict=True))
        ]

    def jvp(self, ts: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Any:
        return self.fresh().on(*filled(ts, self.shapes))


# -- functions -----------------------------------------------------------------------------------------------------


@public("block_diag")
def block_diag(*tensors: Tensor) -> Tensor:
    """A matrix with the tensors, of at most two dimensions, as blocks along its diagonal.

    >>> import retrograd as rg
    >>> rg.block_diag(rg.tensor([[1, 2]]), rg.tensor(3))
    tensor([[1, 2, 0],
            [0, 0, 3]])
    """
    for i, t in enumerate(tensors):
        if not isinstance(t, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type_name(t)}")
        if t.array.ndim > 2:
            raise ShapeError(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {i} has {t.array.ndim} "
                "dimensions"
            )
    if not tensors:
        return tensor_of(np.zeros((1, 0), np.float32))
    found: Tensor = apply_n(BlockDiag(), tensors)
    return found


@public("cartesian_prod")
def cartesian_prod(*tensors: Tensor) -> Tensor:
    """All tuples of one element of each vector, one row each.

    >>> import retrograd as rg
    >>> rg.cartesian_prod(rg.tensor([1, 2]), rg.tensor([3, 4]))
    tensor([[1, 3],
            [1, 4],
            [2, 3],
            [2, 4]])
    """
    for i, t in enumerate(tensors):
        if not isinstance(t, Tensor):
            raise NoTensorError(f"expected Tensor as element {i} in argument 0, but got {type_name(t)}")
        vector("cartesian_prod", t)
    if len(tensors) == 1:
        return tensors[0]
    if not tensors:
        raise ShapeError("meshgrid expects a non-empty TensorList: cartesian_prod() was given no vectors")
    return stack([flatten(grid) for grid in meshgrid(*tensors, indexing="ij")], 1)


def vector(function: str, x: Any) -> Tensor:
    """`x`, if it is a tensor of one dimension."""
    if not isinstance(x, Tensor):
        raise operand_error(function, "tensors", 1, x)
    if x.array.ndim != 1:
        raise ShapeError(f"Expect a 1D vector, but got shape {sizes(x.array.shape)}")
    return x


MOST_AT_ONCE: Final = 64  # elements of a combination: there are more combinations of more than bytes


@public("combinations")
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All choices of `r` elements of a vector, in their order, one row each.

    >>> import retrograd as rg
    >>> rg.combinations(rg.tensor([1, 2, 3]))
    tensor([[1, 2],
            [1, 3],
            [2, 3]])
    """
    x = vector("combinations", input)
    count = integer(r)
    if count < 0:
        raise ShapeError(f"Expect a non-negative number, but got {count}")
    if count == 0:
        found: Tensor = zeros_beside(x, (0,))
        return found
    if count > MOST_AT_ONCE:
        raise OutOfMemoryError(f"not enough memory: combinations of {count} elements of {x.array.size}")
    numbers = np.meshgrid(*[np.arange(x.array.size)] * count, indexing="ij", sparse=True)
    chosen = made(np.ones, (x.array.size,) * count, np.dtype(bool))
    for a, b in pairwise(numbers):
        chosen &= a <= b if with_replacement else a < b
    mask = beside(chosen, x.array)
    return stack([apply1(MaskedSelect(mask), grid) for grid in meshgrid(*[x] * count, indexing="ij")], 1)


@public("Tensor.sum_to_size")
def sum_to_size(input: Tensor, *given: int | Sequence[int], size: Sequence[int] | None = None) -> Tensor:
    """`input` summed over the dimensions along which `size` would be broadcast to its shape.

    >>> import retrograd as rg
    >>> rg.ones(2, 3).sum_to_size(1, 3)
    tensor([[2., 2., 2.]])
    """
    x = require_tensor("sum_to_size", "input", 1, input)
    wanted = sizes_of("sum_to_size", "size", given if size is None else (size,))
    if not broadcasts_to(wanted, x.array.shape):
        raise ShapeError(f"size {{{sizes(wanted)}}} is not expandable to size {{{sizes(x.array.shape)}}}.")
    if not wanted:
        return sum_all(x)
    return x if wanted == x.array.shape else sum_to(x, wanted)


# -- indices -------------------------------------------------------------------------------------------------------


@public("unravel_index")
def unravel_index(indices: Tensor, shape: int | Sequence[int]) -> tuple[Tensor, ...]:
    """The coordinates, one tensor per dimension, of elements given by their number in the flattened order.

    >>> import retrograd as rg
    >>> rg.unravel_index(rg.tensor([1, 5]), (2, 3))
    (tensor([0, 1]), tensor([1, 2]))
    """
    numbers = require_tensor("unravel_index", "indices", 1, indices).array
    if numbers.dtype.kind not in "iu":
        raise TypeError(f"expected 'indices' to be integer dtype, but got torch.{numbers.dtype}")
    for n in shape if isinstance(shape, (tuple, list)) else (shape,):
        if not hasattr(n, "__index__"):
            what = (
                "'shape' sequence to only contain ints"
                if n is not shape
                else "'shape' to be int or sequence of ints"
            )
            raise TypeError(f"expected {what}, but got {type(n)}")
    size = sizes_of("unravel_index", "shape", (shape if isinstance(shape, (tuple, list)) else (shape,),))
    if any(n < 0 for n in size):
        raise ValueError(f"'shape' cannot have negative values, but got {size}")
    if 0 in size and numbers.size:
        raise RuntimeError(f"ZeroDivisionError: a tensor of shape {sizes(size)} has no elements")
    found: list[Array] = []
    numbers = numbers.astype(np.int64)
    for n in reversed(size):
        found.append(as_array(numbers % n))
        numbers = numbers // n
    return tuple([tensor_of(a) for a in reversed(found)])


@public("nonzero_static", method=True)
def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1, out: Tensor | None = None) -> Tensor:
    """`nonzero` of a fixed number of rows: the first ones, filled up with rows of `fill_value`."""
    a = require_tensor("nonzero_static", "input", 1, input).array
    count = integer(size)
    if count < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    xp = backend_of(a)
    found = made(xp.empty, (count, a.ndim), np.dtype(np.int64))
    found.fill(integer(fill_value))
    rows = xp.argwhere(a)[:count]
    found[: len(rows)] = rows
    return deliver(tensor_of(found), out)


@public("detach")
def detach(input: Tensor) -> Tensor:
    """`input.detach()`: the same memory, cut off from the graph.

    >>> import retrograd as rg
    >>> x = rg.ones(2, requires_grad=True)
    >>> (x * 2).detach().requires_grad
    False
    """
    return require_tensor("detach", "input", 1, input).detach()


@public("detach_")
def detach_(input: Tensor) -> Tensor:
    """`input.detach_()`: the tensor itself, cut off from its graph."""
    return require_tensor("detach_", "input", 1, input).detach_()


@public("Tensor.__reversed__")
def reversed_(self: Tensor) -> Tensor:
    """What `reversed(t)` goes through: a copy with dimension 0 in reverse order."""
    return self.flip(0) if self.array.ndim else apply1(Alias(), self)
