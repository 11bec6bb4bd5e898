"""Products over chosen dimensions, and of many matrices."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from retrograd.core.autocast import autocasting_on_gpu, widest
from retrograd.core.places import warn
from retrograd.core.tensor import Tensor
from retrograd.errors import DtypeError, ShapeError, sizes, type_name
from retrograd.ops.common import deliver, deliver_exact, wrap_dim
from retrograd.ops.elementwise.arithmetic import mul
from retrograd.ops.linalg.matmul import dot, mm
from retrograd.ops.linalg.product_arguments import check_mm, element_count, tensor_pair
from retrograd.ops.register import public
from retrograd.values import Shape

_WORDS = "tensordot: Expected the output tensor to have dtype {wanted}, but got an output tensor with dtype {given}"


@public("outer", "ger", method=True)
def outer(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The products of all elements of one vector with all of another.

    >>> import retrograd as rg
    >>> rg.outer(rg.tensor([1, 2]), rg.tensor([3, 4]))
    tensor([[3, 4],
            [6, 8]])
    """
    x, y = tensor_pair("outer", input, vec2, "vec2")
    for name, v in (("self", x), ("vec2", y)):
        if v.array.ndim != 1:
            raise ShapeError(f"outer: Expected 1-D argument {name}, but got {v.array.ndim}-D")
    return deliver(mul(x.reshape((x.array.shape[0], 1)), y), out)


@public("inner", method=True)
def inner(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sums of products over the last dimension of both.

    >>> import retrograd as rg
    >>> rg.inner(rg.tensor([[1, 2], [3, 4]]), rg.tensor([1, 1]))
    tensor([3, 7])
    """
    if autocasting_on_gpu(input):
        return widest(inner, input, other, out=out)
    x, y = tensor_pair("inner", input, other, "other")
    a, b = x.array.shape, y.array.shape
    if not a or not b:
        return deliver_exact(mul(x, y), out, _WORDS)
    if a[-1] != b[-1]:
        raise ShapeError(
            f"inner() the last dimension must match on both input tensors but got shapes {sizes(a)} and {sizes(b)}"
        )
    return deliver_exact(_contracted(x, y, (len(a) - 1,), (len(b) - 1,)), out, _WORDS)


@public("tensordot")
def tensordot(
    a: Tensor, b: Tensor, dims: int | Tensor | Sequence[Sequence[int]] = 2, out: Tensor | None = None
) -> Tensor:
    """The sums of products over several dimensions of both.

    Args:
        dims: how many (the last of `a` with the first of `b`), or two lists that name them pair by pair.

    >>> import retrograd as rg
    >>> rg.tensordot(rg.ones(2, 3, 4), rg.ones(4, 3, 5), dims=([1, 2], [1, 0])).shape
    torch.Size([2, 5])
    """
    if autocasting_on_gpu(a):
        return widest(tensordot, a, b, dims, out=out)
    x, y = tensor_pair("tensordot", a, b, "b")
    first, second = _contracted_dims(dims, x.array.ndim, y.array.ndim)
    if x.array.dtype != y.array.dtype:
        raise DtypeError(
            "tensordot: both inputs should have same dtype. Convert one of them with .to(dtype)."
        )
    for i, j in zip(first, second, strict=True):
        n, m = x.array.shape[i], y.array.shape[j]
        if n != m and 1 not in (n, m):
            raise ShapeError(
                f"contracted dimensions need to match, but first has size {n} in dim {i} and second has size {m} in "
                f"dim {j}"
            )
        # A dimension of size 1 stretches to its partner: the sum over it comes first.
        x = x.sum(i, keepdim=True, dtype=x.dtype) if m == 1 != n else x
        y = y.sum(j, keepdim=True, dtype=y.dtype) if n == 1 != m else y
    return deliver_exact(_contracted(x, y, first, second), out, _WORDS)


def _contracted_dims(dims: Any, m: int, n: int) -> tuple[Shape, Shape]:
    """The dimensions of both operands over which `tensordot` sums."""
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(m, n):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        return tuple(range(m - dims, m)), tuple(range(dims))
    if not isinstance(dims, (tuple, list)) or len(dims) != 2:
        raise RuntimeError(
            "tensordot expects dims to be int or tuple[list[int], list[int]] or list[list[int]] containing two lists, "
            f"but got dims={dims}"
        )
    if not all(isinstance(d, (tuple, list)) for d in dims):
        raise TypeError("tensordot(): the two elements of 'dims' must be tuples of ints")
    if len(dims[0]) != len(dims[1]):
        raise RuntimeError("both dimension lists should have same length")
    found = tuple(wrap_dim(d, m) for d in dims[0]), tuple(wrap_dim(d, n) for d in dims[1])
    for chosen in found:
        for d in chosen:
            if chosen.count(d) > 1:
                raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    return found


def _contracted(x: Any, y: Any, first: Shape, second: Shape) -> Any:
    """Contracts by one matrix product: the contracted dimensions last in `x`, first in `y`."""
    a, b = x.array.shape, y.array.shape
    free_x = [d for d in range(len(a)) if d not in first]
    free_y = [d for d in range(len(b)) if d not in second]
    shape = tuple([a[d] for d in free_x] + [b[d] for d in free_y])
    length = element_count(tuple([a[d] for d in first]))
    if not shape and len(first) == len(a):
        left, right = x.permute(first), y.permute(second)
        if len(first) != 1:
            left, right = left.reshape((length,)), right.reshape((length,))
        return dot(left, right).reshape(())
    left = x.permute((*free_x, *first)).reshape((element_count(tuple([a[d] for d in free_x])), length))
    right = y.permute((*second, *free_y)).reshape((length, element_count(tuple([b[d] for d in free_y]))))
    return mm(left, right).reshape(shape)


@public("chain_matmul")
def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor:
    """The product of several matrices, multiplied in the order that costs least."""
    for i, matrix in enumerate(matrices):
        if not isinstance(matrix, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type_name(matrix)}")
    warn(
        "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use torch.linalg.multi_dot "
        "instead, which accepts a list of two or more tensors rather than multiple parameters.",
        UserWarning,
    )
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    chain: list[Any] = list(matrices)
    for m in chain:
        if m.array.ndim != 2:
            raise ShapeError(f"Tensor dimension is {m.array.ndim}, expected 2 instead.")
    if len(chain) == 1:
        return deliver_exact(
            chain[0].clone(),
            out,
            "multi_dot(): expected out tensor to have dtype {c_wanted} but got {c_given}",
        )
    for left, right in itertools.pairwise(chain):
        check_mm(left, right)
    return deliver_exact(
        chained(chain).view((chain[0].array.shape[0], chain[-1].array.shape[1])),
        out,
        "multi_dot(): expected out tensor to have dtype {c_wanted} but got {c_given}",
    )


def chained(chain: list[Any]) -> Any:
    """The product of several matrices, multiplied in the order that costs least."""
    return _multiplied(chain, _best_splits([m.array.shape for m in chain]), 0, len(chain) - 1)


def _best_splits(shapes: list[Shape]) -> dict[tuple[int, int], int]:
    """Where to split each stretch of the chain, by the number of multiplications."""
    sides = [s[0] for s in shapes] + [shapes[-1][1]]
    cost: dict[tuple[int, int], int] = {(i, i): 0 for i in range(len(shapes))}
    splits: dict[tuple[int, int], int] = {}
    for length in range(1, len(shapes)):
        for i in range(len(shapes) - length):
            j = i + length
            tries = [
                (cost[i, k] + cost[k + 1, j] + sides[i] * sides[k + 1] * sides[j + 1], k) for k in range(i, j)
            ]
            cost[i, j], splits[i, j] = min(tries)
    if len(shapes) == 3 and len({price for price, _ in tries}) == 1:
        splits[0, 2] = 1  # three matrices at equal cost go from left to right, as in PyTorch
    return splits


def _multiplied(chain: list[Any], splits: dict[tuple[int, int], int], i: int, j: int) -> Any:
    if i == j:
        return chain[i]
    k = splits[i, j]
    return mm(_multiplied(chain, splits, i, k), _multiplied(chain, splits, k + 1, j))
