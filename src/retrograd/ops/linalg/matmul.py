"""Products of matrices and vectors."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from retrograd.backends.dtypes import SCALAR_NAMES
from retrograd.backends.native import quick_layout
from retrograd.core.apply import apply1, apply2, apply_n
from retrograd.core.places import warn
from retrograd.core.tensor import Tensor
from retrograd.errors import DtypeError, ShapeError, broadcast_error, operand_error, sizes
from retrograd.ops.common import deliver, require_tensor, wrap_dim
from retrograd.ops.elementwise.arithmetic import mul
from retrograd.ops.linalg.products import (
    Addbmm,
    Addmm,
    Addmv,
    AddProduct,
    Addr,
    Baddbmm,
    Bmm,
    Dot,
    Mm,
    Mv,
    Squeezed,
    Vdot,
)
from retrograd.ops.register import public
from retrograd.ops.shape.reshape import UnsafeView
from retrograd.ops.shape.transpose import t
from retrograd.values import Array, Shape

# C++'s names for dtypes, which PyTorch's messages about matrix products use.
C_NAMES = {
    "bool": "bool", "uint8": "unsigned char", "int8": "signed char", "int16": "short int", "int32": "int",
    "int64": "long int", "float16": "c10::Half", "float32": "float", "float64": "double",
    "complex64": "c10::complex<float>", "complex128": "c10::complex<double>",
}  # fmt: skip


# -- checks --------------------------------------------------------------------------------------------------------


def _pair(function: str, input: Any, other: Any, name: str) -> tuple[Any, Any]:
    if not isinstance(input, Tensor):
        raise operand_error(function, "input", 1, input)
    if not isinstance(other, Tensor):
        raise operand_error(function, name, 2, other)
    return input, other


def _no_bool(kernel: str, x: Tensor) -> None:
    if x.array.dtype.kind == "b":
        raise NotImplementedError(
            f"\"{kernel}\" not implemented for 'Bool'. Convert the operands first: t.float()."
        )


def _by(shape: Shape) -> str:
    return "x".join(str(n) for n in shape)


def _check_mm(x: Tensor, y: Tensor) -> None:
    a, b = x.array, y.array
    if quick_layout(a, b):
        return
    if a.ndim != 2:
        raise ShapeError(f"self must be a matrix, but it has {a.ndim} dimensions; matmul() takes any number")
    if b.ndim != 2:
        raise ShapeError(f"mat2 must be a matrix, but it has {b.ndim} dimensions; matmul() takes any number")
    if a.shape[1] != b.shape[0]:
        raise ShapeError(
            f"mat1 and mat2 shapes cannot be multiplied ({_by(a.shape)} and {_by(b.shape)}): the columns of the first "
            "must be as many as the rows of the second"
        )
    if a.dtype != b.dtype:
        raise DtypeError(
            f"expected m1 and m2 to have the same dtype, but got: {C_NAMES.get(a.dtype.name, a.dtype.name)} != "
            f"{C_NAMES.get(b.dtype.name, b.dtype.name)}. Convert one of them with .to(dtype)."
        )
    _no_bool("addmm_impl_cpu_", x)


def _check_mv(x: Tensor, y: Tensor, rows: int) -> None:
    a, b = x.array, y.array
    if a.ndim != 2 or b.ndim != 1:
        raise ShapeError(f"vector + matrix @ vector expected, got 1, {a.ndim}, {b.ndim}")
    if a.shape[1] != b.shape[0] or rows not in (1, a.shape[0]):
        raise ShapeError(f"size mismatch, got input ({rows}), mat ({_by(a.shape)}), vec ({b.shape[0]})")
    if a.dtype != b.dtype:
        names = SCALAR_NAMES[b.dtype], SCALAR_NAMES[a.dtype], SCALAR_NAMES[b.dtype]
        raise DtypeError(
            f"addmv input tensors must have the same dtype, but got {names[0]}, {names[1]}, and {names[2]}. "
            "Convert one of them with .to(dtype)."
        )
    _no_bool("addmv_impl_cpu", x)


def _check_dot(x: Tensor, y: Tensor) -> None:
    a, b = x.array, y.array
    if a.ndim != 1 or b.ndim != 1:
        raise ShapeError(f"1D tensors expected, but got {a.ndim}D and {b.ndim}D tensors")
    if a.dtype != b.dtype:
        raise DtypeError(
            f"dot : expected both vectors to have same dtype, but found {SCALAR_NAMES[a.dtype]} and "
            f"{SCALAR_NAMES[b.dtype]}. Convert one of them with .to(dtype)."
        )
    if a.shape != b.shape:
        raise ShapeError(
            f"inconsistent tensor size, expected tensor [{a.shape[0]}] and src [{b.shape[0]}] to have the same number "
            f"of elements, but got {a.shape[0]} and {b.shape[0]} elements respectively"
        )
    _no_bool("dot", x)


def _check_bmm(x: Tensor, y: Tensor) -> None:
    a, b = x.array, y.array
    for name, v in (("batch1", a), ("batch2", b)):
        if v.ndim != 3:
            raise ShapeError(f"{name} must be a 3D tensor, but it has {v.ndim} dimensions")
    wanted = (a.shape[0], a.shape[2])
    if b.shape[:2] != wanted:
        raise ShapeError(
            f"Expected size for first two dimensions of batch2 tensor to be: {sizes(wanted)} but got: "
            f"{sizes(b.shape[:2])}."
        )
    if a.dtype != b.dtype:
        raise DtypeError(f"expected scalar type {SCALAR_NAMES[a.dtype]} but found {SCALAR_NAMES[b.dtype]}")
    _no_bool("bmm", x)


# -- functions -----------------------------------------------------------------------------------------------------


@public("dot", method=True)
def dot(input: Any, tensor: Any, *, out: Any = None) -> Any:
    """The sum of the products of two vectors' elements."""
    x, y = _pair("dot", input, tensor, "tensor")
    _check_dot(x, y)
    return deliver(apply2(Dot(), x, y), out)


@public("vdot", method=True)
def vdot(input: Any, other: Any, *, out: Any = None) -> Any:
    """`dot` with the first vector conjugated."""
    x, y = _pair("vdot", input, other, "other")
    _check_dot(x, y)
    return deliver(apply2(Vdot(), x, y), out)


@public("mv", method=True)
def mv(input: Any, vec: Any, *, out: Any = None) -> Any:
    """A matrix times a vector."""
    x, y = _pair("mv", input, vec, "vec")
    _check_mv(x, y, x.array.shape[0] if x.array.ndim else 1)
    return deliver(apply2(Mv(), x, y), out)


@public("mm", method=True)
def mm(input: Any, mat2: Any, *, out: Any = None) -> Any:
    """A matrix times a matrix."""
    x, y = _pair("mm", input, mat2, "mat2")
    _check_mm(x, y)
    return deliver(apply2(Mm(), x, y), out)


@public("bmm", method=True)
def bmm(input: Any, mat2: Any, *, out: Any = None) -> Any:
    """Matrices times matrices: the first dimension numbers the pairs."""
    x, y = _pair("bmm", input, mat2, "mat2")
    _check_bmm(x, y)
    return deliver(apply2(Bmm(), x, y), out)


@public("matmul", "linalg.matmul", method=True)
def matmul(input: Any, other: Any, *, out: Any = None) -> Any:
    """The product `input @ other` of vectors, matrices, and batches of matrices, which broadcast.

    >>> import retrograd as rg
    >>> rg.matmul(rg.ones(4, 2, 3), rg.ones(3)).shape
    torch.Size([4, 2])
    """
    x, y = _pair("matmul", input, other, "other")
    return deliver(_matmul(x, y), out)


def _matmul(x: Any, y: Any) -> Any:
    layout = quick_layout(x.array, y.array)
    if layout:
        op = Mm()
        op.layout = layout
        return apply2(op, x, y)
    m, n = x.array.ndim, y.array.ndim
    if m == 2 and n == 2:
        _check_mm(x, y)
        return apply2(Mm(), x, y)
    if m == 0 or n == 0:
        raise ShapeError(f"both arguments to matmul need to be at least 1D, but they are {m}D and {n}D")
    if m == 1 and n == 1:
        return dot(x, y)
    if m == 2 and n == 1:
        return mv(x, y)
    if m == 1 and n == 2:
        return apply1(Squeezed(), mm(x.unsqueeze(0), y))
    if m == 3 and n == 3 and (x.array.shape[0] == 1) != (y.array.shape[0] == 1):
        # One matrix against many is a fold, below, and not a batch of copies.
        x, y = (x.squeeze(0), y) if x.array.shape[0] == 1 else (x, y.squeeze(0))
        m, n = x.array.ndim, y.array.ndim
    if n <= 2 and (y.requires_grad or _rows_in_step(x.array)):
        return _folded(x, y)
    if m <= 2 and (x.requires_grad or (m == 1 and _rows_in_step(y.array.swapaxes(-2, -1)))):
        return _folded_right(x, y)
    return _batched(x, y)


def _rows_in_step(a: Array) -> bool:
    """Whether all rows of a batch can be seen as the rows of one matrix, without a copy."""
    return not a.size or all(a.strides[i] == a.strides[i + 1] * a.shape[i + 1] for i in range(a.ndim - 2))


def _folded(x: Any, y: Any) -> Any:
    """A batch of matrices times one matrix (or vector): all their rows are the rows of one large matrix."""
    shape = x.array.shape
    rows = x.reshape((_count(shape[:-1]), shape[-1]))
    if y.array.ndim == 1:
        return apply1(UnsafeView(shape[:-1]), mv(rows, y))
    return apply1(UnsafeView((*shape[:-1], y.array.shape[1])), mm(rows, y))


def _folded_right(x: Any, y: Any) -> Any:
    """One matrix (or vector) times a batch of matrices: the same, transposed."""
    product = _folded(y.transpose(-1, -2), x if x.array.ndim == 1 else x.t())
    return product if x.array.ndim == 1 else product.transpose(-1, -2).contiguous()


def _batched(x: Any, y: Any) -> Any:
    """A batch of matrices times a batch of matrices, their batch dimensions broadcast."""
    rows, columns = x.array.shape[-2:-1], y.array.shape[-1:]
    if x.array.ndim == 1:
        x = x.unsqueeze(0)
    if y.array.ndim == 1:
        y, columns = y.unsqueeze(1), ()
    a, b = x.array.shape, y.array.shape
    try:
        batch = np.broadcast_shapes(a[:-2], b[:-2])
    except ValueError:
        raise broadcast_error(a[:-2], b[:-2]) from None
    count = _count(batch)
    left = x.expand((*batch, *a[-2:])).reshape((count, *a[-2:]))
    right = y.expand((*batch, *b[-2:])).reshape((count, *b[-2:]))
    return apply1(UnsafeView((*batch, *rows, *columns)), bmm(left, right))


def _count(shape: Shape) -> int:
    n = 1
    for size in shape:
        n *= size
    return n


@public("linear", "nn.functional.linear")
def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """`input @ weight.T + bias`: the rows of `weight` are the outputs.

    >>> import retrograd as rg
    >>> rg.linear(rg.ones(2, 3), rg.ones(1, 3), rg.tensor([0.5]))
    tensor([[3.5000],
            [3.5000]])
    """
    x, w = _pair("linear", input, weight, "weight")
    turned = t(w)
    if bias is None:
        return _matmul(x, turned)
    if w.array.ndim != 2 or x.array.ndim == 0 or not x.array.flags.c_contiguous:
        return _matmul(x, turned) + bias
    if x.array.ndim == 2:
        return addmm(bias, x, turned)
    shape = x.array.shape
    rows = x.reshape((_count(shape[:-1]), shape[-1]))
    return addmm(bias, rows, turned).view((*shape[:-1], w.array.shape[0]))


# -- sums with a product -------------------------------------------------------------------------------------------


def _add_product(function: str, op: AddProduct, base: Any, x: Any, y: Any, shape: Shape, out: Any) -> Any:
    """`beta * base + alpha * product`, once the product itself has been checked."""
    a = require_tensor(function, "input", 1, base).array
    if a.dtype is not x.array.dtype and a.dtype != x.array.dtype:
        raise DtypeError(
            f"self and mat2 must have the same dtype, but got {SCALAR_NAMES[a.dtype]} and {SCALAR_NAMES[y.array.dtype]}"
        )
    _check_expands(a.shape, shape)
    if x.array.dtype.kind in "iu":
        op.beta, op.alpha = int(op.beta), int(op.alpha)
    return deliver(apply_n(op, (base, x, y)), out)


def _check_expands(shape: Shape, target: Shape) -> None:
    """Raises unless a tensor of this shape broadcasts to the shape of the product."""
    if len(shape) > len(target):
        raise ShapeError(
            f"expand({sizes(shape)}, size={sizes(target)}): the number of sizes provided ({len(target)}) must be "
            f"greater or equal to the number of dimensions in the tensor ({len(shape)})"
        )
    first = len(target) - len(shape)
    for dim, n in enumerate(shape, first):
        if n != 1 and n != target[dim]:
            raise ShapeError(
                f"The expanded size of the tensor ({target[dim]}) must match the existing size ({n}) at non-singleton "
                f"dimension {dim}.  Target sizes: {sizes(target)}.  Tensor sizes: {sizes(shape)}"
            )


@public("addmm", "Tensor.addmm_", method=True)
def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1, out: Any = None) -> Any:
    """`beta * input + alpha * (mat1 @ mat2)`."""
    x, y = _pair("addmm", mat1, mat2, "mat2")
    if x.array.ndim != 2:
        raise ShapeError(f"mat1 must be a matrix, got {x.array.ndim}-D tensor")
    _check_mm(x, y)
    return _add_product("addmm", Addmm(beta, alpha), input, x, y, (x.array.shape[0], y.array.shape[1]), out)


@public("addmv", "addmv_", method=True)
def addmv(input: Any, mat: Any, vec: Any, *, beta: Any = 1, alpha: Any = 1, out: Any = None) -> Any:
    """`beta * input + alpha * (mat @ vec)`."""
    x, y = _pair("addmv", mat, vec, "vec")
    a = require_tensor("addmv", "input", 1, input).array
    _check_mv(x, y, a.shape[0] if a.ndim else 1)
    return _add_product("addmv", Addmv(beta, alpha), input, x, y, (x.array.shape[0],), out)


@public("addr", "Tensor.addr_", method=True)
def addr(input: Any, vec1: Any, vec2: Any, *, beta: Any = 1, alpha: Any = 1, out: Any = None) -> Any:
    """`beta * input + alpha * outer(vec1, vec2)`."""
    x, y = _pair("addr", vec1, vec2, "vec2")
    if x.array.ndim != 1 or y.array.ndim != 1:
        raise ShapeError(
            f"addr: Expected 1-D arguments vec1 and vec2, but got {x.array.ndim}-D and {y.array.ndim}-D"
        )
    return _add_product("addr", Addr(beta, alpha), input, x, y, (x.array.shape[0], y.array.shape[0]), out)


@public("baddbmm", "Tensor.baddbmm_", method=True)
def baddbmm(input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1, out: Any = None) -> Any:
    """`beta * input + alpha * bmm(batch1, batch2)`."""
    x, y = _pair("baddbmm", batch1, batch2, "batch2")
    _check_bmm(x, y)
    shape = (*x.array.shape[:2], y.array.shape[2])
    return _add_product("baddbmm", Baddbmm(beta, alpha), input, x, y, shape, out)


@public("addbmm", "Tensor.addbmm_", method=True)
def addbmm(input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1, out: Any = None) -> Any:
    """`beta * input + alpha * bmm(batch1, batch2).sum(0)`."""
    x, y = _pair("addbmm", batch1, batch2, "batch2")
    _check_bmm(x, y)
    return _add_product("addbmm", Addbmm(beta, alpha), input, x, y, (x.array.shape[1], y.array.shape[2]), out)


# -- other products ------------------------------------------------------------------------------------------------


@public("outer", "ger", method=True)
def outer(input: Any, vec2: Any, *, out: Any = None) -> Any:
    """The products of all elements of one vector with all of another."""
    x, y = _pair("outer", input, vec2, "vec2")
    for name, v in (("self", x), ("vec2", y)):
        if v.array.ndim != 1:
            raise ShapeError(f"outer: Expected 1-D argument {name}, but got {v.array.ndim}-D")
    return deliver(mul(x.reshape((x.array.shape[0], 1)), y), out)


@public("inner", method=True)
def inner(input: Any, other: Any, *, out: Any = None) -> Any:
    """The sums of products over the last dimension of both."""
    x, y = _pair("inner", input, other, "other")
    a, b = x.array.shape, y.array.shape
    if not a or not b:
        return deliver(mul(x, y), out)
    if a[-1] != b[-1]:
        raise ShapeError(
            f"inner() the last dimension must match on both input tensors but got shapes {sizes(a)} and {sizes(b)}"
        )
    return deliver(_contracted(x, y, (len(a) - 1,), (len(b) - 1,)), out)


@public("tensordot")
def tensordot(a: Any, b: Any, dims: Any = 2, out: Any = None) -> Any:
    """The sums of products over several dimensions of both.

    Args:
        dims: how many (the last of `a` with the first of `b`), or two lists that name them pair by pair.

    >>> import retrograd as rg
    >>> rg.tensordot(rg.ones(2, 3, 4), rg.ones(4, 3, 5), dims=([1, 2], [1, 0])).shape
    torch.Size([2, 5])
    """
    x, y = _pair("tensordot", a, b, "b")
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
        x = x.sum(i, keepdim=True) if m == 1 != n else x
        y = y.sum(j, keepdim=True) if n == 1 != m else y
    return deliver(_contracted(x, y, first, second), out)


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
    length = _count(tuple([a[d] for d in first]))
    if not shape and len(first) == len(a):
        left, right = x.permute(first), y.permute(second)
        if len(first) != 1:
            left, right = left.reshape((length,)), right.reshape((length,))
        return dot(left, right).reshape(())
    left = x.permute((*free_x, *first)).reshape((_count(tuple([a[d] for d in free_x])), length))
    right = y.permute((*second, *free_y)).reshape((length, _count(tuple([b[d] for d in free_y]))))
    return mm(left, right).reshape(shape)


@public("chain_matmul")
def chain_matmul(*matrices: Any, out: Any = None) -> Any:
    """The product of several matrices, multiplied in the order that costs least."""
    if len(matrices) == 1 and isinstance(matrices[0], (tuple, list)):
        matrices = tuple(matrices[0])
    warn(
        "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use torch.linalg.multi_dot "
        "instead, which accepts a list of two or more tensors rather than multiple parameters.",
        UserWarning,
    )
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    chain: list[Any] = [require_tensor("chain_matmul", "matrices", i + 1, m) for i, m in enumerate(matrices)]
    for m in chain:
        if m.array.ndim != 2:
            raise ShapeError(f"Tensor dimension is {m.array.ndim}, expected 2 instead.")
    if len(chain) == 1:
        return deliver(chain[0].clone(), out)
    for left, right in itertools.pairwise(chain):
        _check_mm(left, right)
    return deliver(chained(chain).view((chain[0].array.shape[0], chain[-1].array.shape[1])), out)


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
