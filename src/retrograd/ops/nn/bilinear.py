"""The bilinear map of two inputs: a product of each pair of their elements has a weight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from retrograd.backends.base import Backend
from retrograd.core.apply import apply_n
from retrograd.core.autocast import autocasting_on_gpu, widest
from retrograd.core.families import added, conjugate
from retrograd.core.op import Variadic, X
from retrograd.core.tensor import Tensor
from retrograd.errors import DimensionError, DtypeError, ShapeError, dimension_error
from retrograd.ops.common import optional_tensor, require_tensor
from retrograd.ops.register import public
from retrograd.ops.shape.reshape import reshape


class Trilinear(Variadic):
    """out[n, o] = sum of x[n, i] * w[o, i, j] * y[n, j], for inputs (x, w, y)"""

    keeps: ClassVar[int] = X
    shown: ClassVar[dict[str, str]] = {"i1": "x:0", "i2": "x:1", "i3": "x:2"}

    def keeps_input(self, i: int) -> bool:
        return any(self.needs(j) for j in range(3) if j != i)

    def forward(self, xp: Backend, xs: Sequence[Any]) -> Any:
        x, w, y = xs
        products = (x @ w) * y
        return xp.ascontiguousarray(products.sum(axis=-1, dtype=products.dtype).T)

    def vjp(self, gs: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Sequence[Any]:
        x, w, y = [conjugated(v) for v in xs]
        g = gs[0].swapaxes(0, 1).reshape((*gs[0].shape[::-1], 1))
        return [
            (g * (y @ w.swapaxes(1, 2))).sum(axis=0) if self.needs(0) else None,
            (g * x).swapaxes(1, 2) @ y if self.needs(1) else None,
            (g * (x @ w)).sum(axis=0) if self.needs(2) else None,
        ]

    def jvp(self, ts: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Any:
        found = None
        for i, t in enumerate(ts):
            if t is not None:
                found = added(found, Trilinear().on(*[t if j == i else x for j, x in enumerate(xs)]))
        return found


def conjugated(v: Any) -> Any:
    """The conjugate of an input, if it was kept."""
    return v if v is None else conjugate(v)


@public("bilinear", "nn.functional.bilinear")
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`input1 @ weight[o] @ input2` for each output o, plus `bias[o]`; the last dimension is the features.

    >>> import retrograd as rg
    >>> rg.bilinear(rg.tensor([1.0, 2.0]), rg.tensor([3.0]), rg.ones(1, 2, 1))
    tensor([9.])
    """
    if autocasting_on_gpu(input1):
        return widest(bilinear, input1, input2, weight, bias)
    x, y = require_tensor("bilinear", "input1", 1, input1), require_tensor("bilinear", "input2", 2, input2)
    w = require_tensor("bilinear", "weight", 3, weight)
    _check(x, y, w, bias)
    shape = x.array.shape
    op = Trilinear()
    found = apply_n(op, (reshape(x, (-1, shape[-1])), w, reshape(y, (-1, y.array.shape[-1]))))
    found = reshape(found, (*shape[:-1], w.array.shape[0]))
    result: Tensor = found if bias is None else found + bias
    return result


def _check(x: Tensor, y: Tensor, w: Tensor, bias: Any) -> None:
    a, b, c = x.array, y.array, w.array
    if not a.dtype == b.dtype == c.dtype:
        raise DtypeError(
            f"All tensors must have the same dtype, got input1: {a.dtype}, input2: {b.dtype}, weight: {c.dtype}"
        )
    if a.ndim != b.ndim:
        raise ShapeError(f"bilinear(): input dimensions do not match: got {a.ndim} and {b.ndim}")
    for i, (m, n) in enumerate(zip(a.shape[:-1], b.shape[:-1], strict=True)):
        if m != n:
            raise ShapeError(f"bilinear(): input batch dimensions do not match at dim {i}: got {m} and {n}")
    if c.ndim < 3 or not a.ndim:
        raise dimension_error(min(c.ndim, 2), c.ndim) if c.ndim < 3 else dimension_error(-1, 0)
    if c.ndim > 3:
        raise ShapeError(f"bilinear(): the weight has three dimensions, but it has {c.ndim}")
    for name, found, wanted in (("input1", a.shape[-1], c.shape[1]), ("input2", b.shape[-1], c.shape[2])):
        if found != wanted:
            raise ShapeError(
                f"bilinear(): {name} size does not match weight size: got {found} but expected {wanted}"
            )
    bias = optional_tensor("bilinear", "bias", 4, bias)
    if bias is not None and bias.array.ndim == 0:
        raise DimensionError(
            "Dimension specified as 0 but tensor has no dimensions: the bias of bilinear() is a vector"
        )
    if bias is not None and bias.array.shape[0] != c.shape[0]:
        raise ShapeError(
            f"bilinear(): bias size does not match weight size: got {bias.array.shape[0]} but expected {c.shape[0]}"
        )
