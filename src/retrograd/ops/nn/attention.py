"""Scaled dot product attention: values averaged with weights that a softmax makes of queries and keys.

Where PyTorch runs its fused kernel (four dimensions, no dropout, a mask without gradient) one node does it all and
keeps inputs and result; else the product, the softmax and the average are nodes of their own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, Final

import numpy as np

from retrograd.backends.base import Backend, backend_of, common_backend, stands_for_many
from retrograd.backends.casts import cast
from retrograd.backends.dtypes import SCALAR_NAMES, promote_types
from retrograd.core.apply import apply1, apply_n
from retrograd.core.autocast import autocasting, lowered
from retrograd.core.families import added
from retrograd.core.op import OUT, X
from retrograd.core.tensor import Tensor
from retrograd.errors import DtypeError, ShapeError, broadcast_error, sizes
from retrograd.ops.common import joint_shape, require_tensor
from retrograd.ops.constants import WithConstants
from retrograd.ops.index.index_select import repeat_interleave
from retrograd.ops.nn.activation import dropout
from retrograd.ops.nn.host import as_constant
from retrograd.ops.nn.layer_norm import wide
from retrograd.ops.nn.softmax import Softmax
from retrograd.ops.reduce.sums import SumDim, float32
from retrograd.ops.register import public
from retrograd.ops.tensor.convert import convert
from retrograd.values import Array, DType, Shape


class SafeSoftmax(Softmax):
    """softmax, but 0 where all of a row is -inf"""

    def forward(self, xp: Backend, x: Array) -> Array:
        out = super().forward(xp, x)
        if xp.is_plain and np.isfinite(xp.sum(out)):  # such a row would be NaN
            return out
        empty = (x == -np.inf).all(axis=self.axis, keepdims=True)
        return xp.where(empty, x.dtype.type(0), out) if empty.any() else out


def lower_mask(queries: int, keys: int, dtype: DType) -> Array:
    """0 where a query may look at a key, that is, not later than itself; else -inf."""
    return np.where(np.tri(queries, keys, dtype=bool), dtype.type(0), dtype.type(-np.inf))


def dense(v: Any) -> Any:
    """`v` with its elements in memory: NumPy multiplies matrices that were expanded element by element."""
    return v.copy() if not isinstance(v, Tensor) and 0 in v.strides else v


def ordered_like(xp: Backend, x: Array, y: Array) -> Array:
    """`y` in the memory order of `x`, as PyTorch lays the output of attention out."""
    if y.strides == x.strides or x.strides[1] >= x.strides[2]:
        return y
    made = xp.empty_like(x, y.dtype)
    made[...] = y
    return made


class ScaledDotProductFlashAttentionForCpu(WithConstants):
    """softmax(scale * q @ k.mT + mask) @ v, for inputs (q, k, v, mask); several heads of q may share one of k and v

    Each of k's heads is one of dimension 1, the heads of q that share it are dimension 2.
    """

    keeps: ClassVar[int] = X | OUT
    tracked: ClassVar[int] = 3
    params: ClassVar[tuple[str, ...]] = ("is_causal", "scale")
    shown: ClassVar[dict[str, str]] = {
        "is_causal": "is_causal", "scale": "scale", "query": "x:0", "key": "x:1", "value": "x:2", "attn_mask": "x:3",
        "output": "out:0",
    }  # fmt: skip
    logs: Any = None  # what a forward's kernel noted for the backward's: a number for each query

    def __init__(self, is_causal: bool, scale: float) -> None:
        self.is_causal = is_causal
        self.scale = scale

    def grouped(self, v: Any) -> Any:
        """Queries (or a mask of theirs) by the head of k that they look at; keys and values likewise."""
        if v.ndim != 4:
            return v
        n, heads, rows, columns = v.shape
        shared = heads if heads in (1, self.heads) else self.heads
        return dense(wide(v)).reshape((n, shared, heads // shared, rows, columns))

    def weights(self, q: Any, k: Any, mask: Any) -> Any:
        """How much each query looks at each key."""
        scores = q @ k.swapaxes(-1, -2) * self.scale
        if mask is not None:
            scores = scores + self.grouped(mask)
        if self.is_causal:
            scores = scores + as_constant(
                lower_mask(scores.shape[-2], scores.shape[-1], scores.dtype), scores
            )
        return SafeSoftmax(-1).on(scores)

    def forward(self, xp: Backend, xs: Sequence[Any]) -> Any:
        self.in_shape, self.heads = xs[0].shape, xs[1].shape[1]
        return xp.attention(self, xs)

    def computed(self, xp: Backend, xs: Sequence[Any]) -> Any:
        """The result by the array library."""
        q, k, v = (self.grouped(x) for x in xs[:3])
        out = xp.asarray((self.weights(q, k, xs[3]) @ v).reshape(self.in_shape), xs[0].dtype)
        return out if xp.stands_for_many else ordered_like(xp, xs[0], out)

    def vjp(self, gs: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Sequence[Any]:
        wanted = sum(1 << i for i in range(3) if self.needs(i))
        xp = common_backend((gs[0], *xs))
        found: Sequence[Any] = xp.attention_backward(self, gs[0], xs, outs[0], wanted)
        return found

    def formula(self, g: Any, xs: Sequence[Any]) -> Sequence[Any]:
        """The gradients of q, k and v."""
        g, q, k, v = (self.grouped(x) for x in (g, *xs[:3]))
        p = self.weights(q, k, xs[3])
        grads: list[Any] = [None, None, p.swapaxes(-1, -2) @ g if self.needs(2) else None]
        if self.needs(0) or self.needs(1):
            s = Softmax(-1).product(g @ v.swapaxes(-1, -2), None, p) * self.scale
            grads[:2] = (s @ k if self.needs(0) else None, s.swapaxes(-1, -2) @ q if self.needs(1) else None)
        return [None if d is None else self.shared(i, d) for i, d in enumerate(grads)]

    def shared(self, i: int, d: Any) -> Any:
        """A gradient in the shape of its input: what several heads give to the one they share is summed."""
        if i == 0:
            return d.reshape(self.in_shape)
        return (SumDim((2,)).on(d) if d.shape[2] > 1 else d).reshape((*d.shape[:2], *d.shape[3:]))

    def jvp(self, ts: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Any:
        q, k, v = (self.grouped(x) for x in xs[:3])
        tq, tk, tv = (None if t is None else self.grouped(t) for t in ts[:3])
        p = self.weights(q, k, xs[3])
        by_q = None if tq is None else tq @ k.swapaxes(-1, -2)
        scores = added(by_q, None if tk is None else q @ tk.swapaxes(-1, -2))
        moved = None if scores is None else Softmax(-1).product(scores * self.scale, None, p) @ v
        return added(moved, None if tv is None else p @ tv).reshape(self.in_shape)


# -- functions -----------------------------------------------------------------------------------------------------

MATH, FUSED = 0, 1  # PyTorch's numbers of kernels


class _Kernels:
    """Which kernels may be used, in the whole process: see `nn.attention.sdpa_kernel`."""

    def __init__(self) -> None:
        self.allowed: frozenset[int] = frozenset(range(5))


KERNELS: Final = _Kernels()


@public("nn.functional.scaled_dot_product_attention")
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """`softmax(scale * query @ key.mT + attn_mask) @ value`.

    Args:
        query: of shape (..., L, E); `key` is (..., S, E), `value` (..., S, Ev).
        attn_mask: of a shape that broadcasts to (..., L, S); either booleans that say which keys a query sees, or
            numbers that are added.
        dropout_p: the probability with which each weight is zeroed.
        is_causal: whether a query sees no later keys.
        scale: 1 / sqrt(E) if not given.
        enable_gqa: whether heads (dimension -3) of `query` may share one of `key` and `value`.

    >>> import retrograd as rg
    >>> q, k, v = rg.zeros(1, 2), rg.eye(2), rg.tensor([[1.0], [3.0]])
    >>> rg.nn.functional.scaled_dot_product_attention(q, k, v)
    tensor([[2.]])
    """
    if is_causal and getattr(attn_mask, "variant", None) is not None:
        raise ValueError("CausalBias should not be used with causal=True: it is a causal mask itself")
    if autocasting():
        return lowered(
            scaled_dot_product_attention, query, key, value, attn_mask, dropout_p, is_causal, scale=scale,
            enable_gqa=enable_gqa,
        )  # fmt: skip
    name = "scaled_dot_product_attention"
    q, k = require_tensor(name, "query", 1, query), require_tensor(name, "key", 2, key)
    v = require_tensor(name, "value", 3, value)
    _check(q, k, v, attn_mask)
    if enable_gqa:
        _check_heads(q, k, v)
    samples = q.array.ndim == k.array.ndim == v.array.ndim == 3 and any(
        stands_for_many(t.array) for t in (q, k, v)
    )
    if samples:  # of heads: four dimensions with their batch, which is what the kernel takes
        if attn_mask is not None and attn_mask.array.ndim == 3:
            attn_mask = attn_mask.unsqueeze(0)
        q, k, v = q.unsqueeze(0), k.unsqueeze(0), v.unsqueeze(0)
    factor = 1 / math.sqrt(q.array.shape[-1] or 1) if scale is None else scale
    mask = None if attn_mask is None else _as_bias(attn_mask, q.array.dtype)
    found = _attention(q, k, v, mask, dropout_p, is_causal, factor, enable_gqa)
    return found.squeeze(0) if samples else found


def _attention(
    q: Any, k: Any, v: Any, mask: Any, dropout_p: float, is_causal: bool, factor: Any, enable_gqa: bool
) -> Tensor:
    """Attention by the fused kernel, or composed where that does not take it or is not allowed."""
    fused = FUSED in KERNELS.allowed and not dropout_p and _is_fused(q, k, v, mask, enable_gqa)
    if not fused and MATH not in KERNELS.allowed:
        raise RuntimeError(
            "No viable backend for scaled_dot_product_attention was found. This is likely due to turning off both the "
            "math kernel and the fused kernels. Allow SDPBackend.MATH, which takes everything."
        )
    if fused:
        _check_mask(mask, (*q.array.shape[:-1], k.array.shape[-2]))
        found: Tensor = apply_n(
            ScaledDotProductFlashAttentionForCpu(bool(is_causal), factor), (q, k, v, mask)
        )
        return found
    if q.array.dtype.itemsize == 2:  # computed in single precision
        q32, k32, v32 = (convert(t, float32) for t in (q, k, v))
        return convert(
            _composed(q32, k32, v32, mask, dropout_p, is_causal, factor, enable_gqa), q.array.dtype
        )
    return _composed(q, k, v, mask, dropout_p, is_causal, factor, enable_gqa)


def _composed(
    q: Any, k: Any, v: Any, mask: Any, dropout_p: float, is_causal: bool, scale: float, enable_gqa: bool
) -> Tensor:
    """Attention as a graph of products and a softmax."""
    if is_causal and mask is not None:
        raise RuntimeError(
            "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True. Put both into "
            "the mask."
        )
    if not 0 <= dropout_p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {dropout_p}")
    if q.array.dtype.kind in "biu":
        raise DtypeError(
            f"expected scalar type Float but found {SCALAR_NAMES[q.array.dtype]}. Convert with .float() first."
        )
    if enable_gqa:
        k, v = (repeat_interleave(t, q.array.shape[-3] // t.array.shape[-3], -3) for t in (k, v))
    # Both factors get the root, so that neither product overflows where the whole does not.
    root = math.sqrt(abs(scale))
    scores = (q * math.copysign(root, scale)) @ (k.transpose(-2, -1) * root)
    if is_causal:
        mask = as_constant(lower_mask(q.array.shape[-2], k.array.shape[-2], q.array.dtype), q)
    if mask is not None:
        scores = scores + mask
    p = apply1(SafeSoftmax(-1), scores)
    found: Tensor = (dropout(p, dropout_p) if dropout_p else p) @ v
    return found


def _is_fused(q: Tensor, k: Tensor, v: Tensor, mask: Any, enable_gqa: bool) -> bool:
    """Whether PyTorch would run its fused kernel."""
    a, b, c = q.array, k.array, v.array
    if not (a.ndim == b.ndim == c.ndim == 4 and a.dtype.kind == "f" and a.size and b.size):
        return False
    heads = a.shape[1] % b.shape[1] == 0 if enable_gqa else a.shape[1] == b.shape[1]
    if b.shape != c.shape or a.shape[0] != b.shape[0] or not heads or a.shape[3] != b.shape[3]:
        return False
    if mask is not None and (mask.requires_grad or mask.array.ndim not in (2, 4)):
        return False
    return all(x.strides[-1] == x.itemsize for x in (a, b, c))


def _check(q: Tensor, k: Tensor, v: Tensor, mask: Any) -> None:
    dtypes, ndims = [t.array.dtype for t in (q, k, v)], [t.array.ndim for t in (q, k, v)]
    if len(set(dtypes)) > 1:
        raise DtypeError(
            f"Expected query, key, and value to have the same dtype, but got query.dtype: {dtypes[0]} key.dtype: "
            f"{dtypes[1]} and value.dtype: {dtypes[2]} instead. Convert with .to(dtype)."
        )
    if min(ndims) < 2:
        raise ShapeError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
            f"{ndims[0]} key.dim: {ndims[1]} and value.dim: {ndims[2]} instead."
        )
    if mask is None:
        return
    found = require_tensor("scaled_dot_product_attention", "attn_mask", 4, mask).array.dtype
    allowed = found.kind == "b" or found == np.float32 or found == dtypes[0]
    if not allowed:
        raise DtypeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
            f"{found} and  query.dtype: {dtypes[0]} instead."
        )


def _check_heads(q: Tensor, k: Tensor, v: Tensor) -> None:
    for t in (k, v):
        if min(q.array.ndim, t.array.ndim) < 3 or q.array.shape[-3] % (t.array.shape[-3] or 1):
            raise ShapeError(
                "Number of heads in key and value must divide the number of heads in query, but got "
                f"query {sizes(q.array.shape)}, key {sizes(k.array.shape)}, value {sizes(v.array.shape)}"
            )


def _check_mask(mask: Any, shape: Shape) -> None:
    """The mask must broadcast to the scores."""
    if mask is not None:
        try:
            joint_shape(mask.array.shape, shape)
        except ValueError:
            raise broadcast_error(shape, mask.array.shape) from None


def _as_bias(mask: Tensor, dtype: DType) -> Tensor:
    """A mask as numbers to add: 0 where a boolean one is true, else -inf."""
    if mask.array.dtype.kind == "b":
        single = backend_of(mask.array).where(mask.array, np.float32(0), np.float32(-np.inf))
        return Tensor(cast(single, dtype, copy=False), share=True)
    wider = promote_types(mask.array.dtype, dtype)
    return mask if wider == mask.array.dtype else convert(mask, dtype)
