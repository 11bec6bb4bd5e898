"""Attention with several heads: the projections, masks and options around `scaled_dot_product_attention`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from retrograd.backends.base import backend_of
from retrograd.backends.casts import maker_of
from retrograd.core.places import warn
from retrograd.core.tensor import Tensor
from retrograd.ops.common import require_tensor
from retrograd.ops.linalg.addmm import baddbmm, linear
from retrograd.ops.linalg.matmul import bmm
from retrograd.ops.nn.activation import dropout
from retrograd.ops.nn.attention import scaled_dot_product_attention
from retrograd.ops.nn.host import as_constant
from retrograd.ops.nn.pad import pad
from retrograd.ops.nn.softmax import softmax
from retrograd.ops.register import public
from retrograd.ops.shape.join import cat
from retrograd.values import DType


def _expect(held: bool, message: str) -> None:
    if not held:
        raise AssertionError(message)


def check_shapes(query: Any, key: Any, value: Any, padding: Any, mask: Any, num_heads: int) -> bool:
    """Whether there is a dimension for the batch; all of the arguments must agree on it."""
    if query.ndim not in (2, 3):
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor but received {query.ndim}-D query tensor"
        )
    batched = bool(query.ndim == 3)
    kind = "batched (3-D)" if batched else "unbatched (2-D)"
    _expect(
        key.ndim == value.ndim == query.ndim,
        f"For {kind} `query`, expected `key` and `value` to be {query.ndim}-D but found {key.ndim}-D and "
        f"{value.ndim}-D tensors respectively",
    )
    if padding is not None:
        _expect(
            padding.ndim == query.ndim - 1,
            f"For {kind} `query`, expected `key_padding_mask` to be `None` or {query.ndim - 1}-D but found "
            f"{padding.ndim}-D tensor instead",
        )
    if mask is not None:
        _expect(
            mask.ndim in (2, 3),
            f"For {kind} `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found {mask.ndim}-D tensor instead",
        )
        if not batched and mask.ndim == 3:
            wanted = (num_heads, query.shape[0], key.shape[0])
            _expect(
                tuple(mask.shape) == wanted,
                f"Expected `attn_mask` shape to be {wanted} but got {mask.shape}",
            )
    return batched


def additive_mask(mask: Any, name: str, other: Any, dtype: DType) -> Any:
    """A mask as numbers to add: -inf where a boolean one is true, that is, where nobody may look."""
    if mask is None:
        return None
    a = mask.array
    _expect(a.dtype.kind in "bf", f"only bool and floating types of {name} are supported")
    if other is not None and other.array.dtype != a.dtype:
        warn(
            f"Support for mismatched {name} and attn_mask is deprecated. Use same type for both instead.",
            UserWarning,
        )
    if a.dtype.kind != "b":
        return mask
    return Tensor(backend_of(a).where(a, dtype.type(-np.inf), dtype.type(0)), share=True)


def projected_together(q: Any, k: Any, v: Any, weight: Any, bias: Any = None) -> tuple[Any, Any, Any]:
    """Queries, keys and values by one weight of three parts, in as few products as they allow."""
    width = q.shape[-1]
    if k is v:
        if q is k:
            whole = linear(q, weight, bias)
            parts = whole.unflatten(-1, (3, width)).unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()
            return parts[0], parts[1], parts[2]
        weights = weight.split([width, 2 * width])
        biases = (None, None) if bias is None else bias.split([width, 2 * width])
        both = linear(k, weights[1], biases[1])
        pair = both.unflatten(-1, (2, width)).unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()
        return linear(q, weights[0], biases[0]), pair[0], pair[1]
    weights = weight.chunk(3)
    biases = (None, None, None) if bias is None else bias.chunk(3)
    first, second, third = [linear(x, w, b) for x, w, b in zip((q, k, v), weights, biases, strict=True)]
    return first, second, third


def _projected_apart(q: Any, k: Any, v: Any, weights: Any, bias: Any) -> tuple[Any, Any, Any]:
    """Queries, keys and values, each by a weight of its own."""
    for name, w in zip("qkv", weights, strict=True):
        _expect(w is not None, f"use_separate_proj_weight is True but {name}_proj_weight is None")
    width = q.shape[-1]
    for name, x, w in zip(("query", "key", "value"), (q, k, v), weights, strict=True):
        wanted = (width, x.shape[-1])
        _expect(
            tuple(w.shape) == wanted, f"expecting {name} weights shape of {wanted}, but got {tuple(w.shape)}"
        )
    biases = (None, None, None) if bias is None else bias.chunk(3)
    first, second, third = [linear(x, w, b) for x, w, b in zip((q, k, v), weights, biases, strict=True)]
    return first, second, third


def _three_dims(mask: Any, heads: int, queries: int, keys: int) -> Any:
    """A mask with a dimension for the heads of all samples."""
    if mask is None:
        return None
    wanted = (queries, keys) if mask.ndim == 2 else (heads, queries, keys)
    if mask.ndim not in (2, 3):
        raise RuntimeError(f"attn_mask's dimension {mask.ndim} is not supported")
    if tuple(mask.shape) != wanted:
        raise RuntimeError(
            f"The shape of the {mask.ndim}D attn_mask is {mask.shape}, but should be {wanted}."
        )
    return mask.unsqueeze(0) if mask.ndim == 2 else mask


def _in_heads(given: Any, static: Any, name: str, heads: int, width: int) -> Any:
    """Projected keys or values by head, or those that the caller has already."""
    if static is None:
        return given.reshape((given.shape[0], heads, width)).transpose(0, 1)
    for i, wanted in ((0, heads), (2, width)):
        _expect(
            static.shape[i] == wanted,
            f"expecting static_{name}.size({i}) of {wanted}, but got {static.shape[i]}",
        )
    return static


def _widened(mask: Any) -> Any:
    """A mask with one more key, which everybody may look at."""
    return None if mask is None else pad(mask, (0, 1))


@public("nn.functional.multi_head_attention_forward")
def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Attention with several heads, as `nn.MultiheadAttention` computes it: the output, and the weights or None.

    Args:
        query: of shape (L, N, E) or (L, E); `key` and `value` have S in place of L.
        in_proj_weight, in_proj_bias: the projections of all three, one below the other.
        bias_k, bias_v: one more key and value, the same for all samples.
        add_zero_attn: whether there is one more key and value of zeros.
        key_padding_mask: (N, S) booleans that say which keys to leave out, or numbers to add.
        attn_mask: (L, S) or (N * num_heads, L, S), likewise.
        need_weights: whether the weights are wanted; without them a fused operation can do the work.
        static_k, static_v: keys and values by head, in place of the projected ones.
        average_attn_weights: whether the weights are averaged over the heads.
        is_causal: a hint that `attn_mask` is the causal mask.
    """
    name = "multi_head_attention_forward"
    q, k = require_tensor(name, "query", 1, query), require_tensor(name, "key", 2, key)
    v = require_tensor(name, "value", 3, value)
    batched = check_shapes(q, k, v, key_padding_mask, attn_mask, num_heads)
    if not batched:
        q, k, v = _in_a_batch(q, k, v)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    length, batch, width = q.shape
    mask, padding, is_causal = _masks(q, attn_mask, key_padding_mask, is_causal, need_weights)
    _check_width(width, embed_dim_to_check, num_heads)
    weights = (q_proj_weight, k_proj_weight, v_proj_weight)
    q, k, v = _projected(q, k, v, in_proj_weight, in_proj_bias, weights, use_separate_proj_weight)
    heads, narrow = batch * num_heads, width // num_heads
    mask = _three_dims(mask, heads, length, k.shape[0])
    if bias_k is not None or bias_v is not None:
        _check_added(bias_k, bias_v, static_k, static_v)
        k, v = _with_bias(k, bias_k, batch), _with_bias(v, bias_v, batch)
        mask, padding = _widened(mask), _widened(padding)
    q = q.reshape((length, heads, narrow)).transpose(0, 1)
    k, v = _in_heads(k, static_k, "k", heads, narrow), _in_heads(v, static_v, "v", heads, narrow)
    if add_zero_attn:
        zeros = as_constant(maker_of(k.array.dtype).zeros((heads, 1, narrow), k.array.dtype), k)
        k, v = cat([k, zeros], 1), cat([v, zeros], 1)
        mask, padding = _widened(mask), _widened(padding)
    mask = _with_padding(mask, padding, batch, num_heads, k.shape[1])
    rate = dropout_p if training else 0.0
    attend = _weighed if need_weights else _fused
    out, found = attend(q, k, v, mask, rate, is_causal, num_heads)
    if found is not None and average_attn_weights:
        found = found.mean(dim=1)
    out = linear(out, out_proj_weight, out_proj_bias)
    out = out.view((length, batch, out.shape[1]))
    return (out, found) if batched else (out.squeeze(1), None if found is None else found.squeeze(0))


def _in_a_batch(q: Any, k: Any, v: Any) -> tuple[Any, Any, Any]:
    """One sample as a batch; tensors that are one stay one, so that they are projected together."""
    queries = q.unsqueeze(1)
    keys = queries if k is q else k.unsqueeze(1)
    return queries, keys, keys if v is k else v.unsqueeze(1)


def _check_width(width: int, wanted: int, num_heads: int) -> None:
    _expect(width == wanted, f"was expecting embedding dimension of {wanted}, but got {width}")
    _expect(width % num_heads == 0, f"embed_dim {width} not divisible by num_heads {num_heads}")


def _with_bias(t: Any, bias: Any, batch: int) -> Any:
    """Keys or values with one more, the same for all samples."""
    return cat([t, bias.repeat(1, batch, 1)])


def _check_added(bias_k: Any, bias_v: Any, static_k: Any, static_v: Any) -> None:
    _expect(bias_k is not None and bias_v is not None, "bias_k and bias_v must be given together")
    _expect(static_k is None, "bias cannot be added to static key.")
    _expect(static_v is None, "bias cannot be added to static value.")


def _masks(
    q: Any, attn_mask: Any, key_padding_mask: Any, is_causal: bool, need_weights: bool
) -> tuple[Any, Any, bool]:
    """The two masks as numbers to add, and whether the fused operation is to make the causal mask itself."""
    padding = additive_mask(key_padding_mask, "key_padding_mask", attn_mask, q.array.dtype)
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. The hint says what the mask is, it does not replace it."
        )
    if is_causal and padding is None and not need_weights:
        return None, None, True
    return additive_mask(attn_mask, "attn_mask", None, q.array.dtype), padding, False


def _projected(
    q: Any, k: Any, v: Any, weight: Any, bias: Any, weights: Any, apart: bool
) -> tuple[Any, Any, Any]:
    """Queries, keys and values after the input projection."""
    if apart:
        _expect(
            k.shape[:2] == v.shape[:2],
            f"key's sequence and batch dims {k.shape[:2]} do not match value's {v.shape[:2]}",
        )
        return _projected_apart(q, k, v, weights, bias)
    _expect(k.shape == v.shape, f"key shape {k.shape} does not match value shape {v.shape}")
    _expect(weight is not None, "use_separate_proj_weight is False but in_proj_weight is None")
    return projected_together(q, k, v, weight, bias)


def _with_padding(mask: Any, padding: Any, batch: int, num_heads: int, keys: int) -> Any:
    """The mask and the padding of the keys as one."""
    if padding is None:
        return mask
    for i, wanted in enumerate((batch, keys)):
        _expect(
            padding.shape[i] == wanted,
            f"Expected key_padded_mask.shape[{i}] to be {wanted}, but got {padding.shape[i]}",
        )
    wide = padding.view((batch, 1, 1, keys)).expand(-1, num_heads, -1, -1)
    wide = wide.reshape((batch * num_heads, 1, keys))
    return wide if mask is None else mask + wide


def _weighed(
    q: Any, k: Any, v: Any, mask: Any, rate: float, is_causal: bool, num_heads: int
) -> tuple[Any, Any]:
    """Attention of all heads, a row for each query of each sample, and its weights (batch, heads, queries, keys)."""
    length, narrow, batch = q.shape[1], q.shape[2], q.shape[0] // num_heads
    scaled = q * math.sqrt(1.0 / narrow)
    turned = k.transpose(-2, -1)
    scores = bmm(scaled, turned) if mask is None else baddbmm(mask, scaled, turned)
    weights = softmax(scores, -1)
    weights = dropout(weights, rate) if rate > 0 else weights
    out = bmm(weights, v).transpose(0, 1).contiguous().view((length * batch, num_heads * narrow))
    return out, weights.view((batch, num_heads, length, k.shape[1]))


def _fused(
    q: Any, k: Any, v: Any, mask: Any, rate: float, is_causal: bool, num_heads: int
) -> tuple[Any, None]:
    """Attention of all heads in one operation, a row for each query of each sample; its weights are not known."""
    length, narrow, batch = q.shape[1], q.shape[2], q.shape[0] // num_heads
    if mask is not None:
        mask = mask.unsqueeze(0) if mask.shape[0] == 1 else mask.view((batch, num_heads, -1, k.shape[1]))
    four = [t.view((batch, num_heads, t.shape[1], narrow)) for t in (q, k, v)]
    out = scaled_dot_product_attention(four[0], four[1], four[2], mask, rate, is_causal)
    return out.permute(2, 0, 1, 3).contiguous().view((batch * length, num_heads * narrow)), None
