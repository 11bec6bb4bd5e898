"""Reductions: sums, means, products, extrema, variances, norms."""

from __future__ import annotations

from typing import Any, ClassVar

from retrograd.backends.dtypes import as_dtype
from retrograd.core.apply import apply1
from retrograd.core.op import Linear
from retrograd.core.tensor import Tensor
from retrograd.ops.common import deliver, require_tensor, wrap_dims
from retrograd.ops.convert import convert
from retrograd.values import Array, Axis


def restored_axes(v: Any, axis: Axis, keepdims: bool, ndim: int) -> Any:
    """A reduced value with the reduced dimensions back as size 1, ready to broadcast."""
    if keepdims or ndim == 0:
        return v
    axes = range(ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    shape = list(v.shape)
    for a in sorted(axes):
        shape.insert(a, 1)
    return v.reshape(tuple(shape))


class Sum(Linear):
    """the sum over all elements"""

    params = ("axis", "keepdims")
    shown: ClassVar[dict[str, str]] = {"self_sym_sizes": "in_shape"}

    def __init__(self, axis: Axis = None, keepdims: bool = False) -> None:
        self.axis = axis
        self.keepdims = keepdims

    def forward(self, xp: Any, x: Array) -> Array:
        self.in_shape = x.shape
        return x.sum(axis=self.axis, keepdims=self.keepdims)

    def transpose(self, g: Any) -> Any:
        from retrograd.ops.shape import Expand

        return Expand(self.in_shape).on(restored_axes(g, self.axis, self.keepdims, len(self.in_shape)))


class SumDim(Sum):
    """the sum over some dimensions"""

    node_name = "SumBackward1"
    shown: ClassVar[dict[str, str]] = {"self_sym_sizes": "in_shape", "dim": "axis", "keepdim": "keepdims"}


def sum_to(v: Any, shape: tuple[int, ...]) -> Any:
    """Sums a value down to the shape it was broadcast from."""
    extra = v.ndim - len(shape)
    axes = tuple(i for i in range(v.ndim) if i < extra or (shape[i - extra] == 1 and v.shape[i] != 1))
    if axes:
        v = v.sum(axis=axes, keepdims=True)
    return v.reshape(tuple(shape)) if tuple(v.shape) != tuple(shape) else v


def sum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None, **numpy: Any) -> Any:
    """The sum of the elements, over all dimensions or those in `dim`.

    Args:
        dim: a dimension, several, or None for all (`axis` is accepted too).
        keepdim: keep reduced dimensions with size 1 (`keepdims` is accepted too).
        dtype: compute in this dtype.

    >>> import retrograd as rg
    >>> rg.sum(rg.ones(2, 3), dim=1)
    tensor([3., 3.])
    """
    dim, keepdim = numpy.pop("axis", dim), numpy.pop("keepdims", keepdim)
    x = require_tensor("sum", "input", 1, input)
    wanted = as_dtype(dtype) if dtype is not None else "int64" if x.array.dtype.kind in "biu" else x.array.dtype
    x = convert(x, wanted)
    axis = wrap_dims(dim, x.array.ndim)
    if x.array.ndim == 0:
        axis = None
    op = Sum() if axis is None and not keepdim and dim is None else SumDim(axis, keepdim)
    return deliver(apply1(op, x), out)


FUNCTIONS: tuple[Any, ...] = (sum,)


