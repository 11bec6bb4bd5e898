"""Attention whose scores are changed, and whose keys are chosen, by functions of positions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypedDict

from retrograd.backends.dtype_class import float32
from retrograd.core.places import warn
from retrograd.core.tensor import Tensor
from retrograd.nn.attention.block_mask import (
    BlockMask,
    and_masks,
    at_every_position,
    create_block_mask,
    create_mask,
    noop_mask,
    or_masks,
    positions,
)

__all__ = [
    "AuxOutput",
    "AuxRequest",
    "BlockMask",
    "FlexKernelOptions",
    "and_masks",
    "create_block_mask",
    "create_mask",
    "flex_attention",
    "noop_mask",
    "or_masks",
]


class AuxRequest(NamedTuple):
    """What `flex_attention` is to give beside its result."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """What was asked for: the logarithms of the sums of exponentials of scores, and the largest scores."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


class FlexKernelOptions(TypedDict, total=False):
    """How PyTorch's kernels share out their work; here nothing."""

    BACKEND: str
    BLOCK_M: int
    BLOCK_N: int
    num_warps: int
    num_stages: int


def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: Callable[..., Any] | None = None,
    block_mask: BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: FlexKernelOptions | None = None,
    *,
    return_aux: AuxRequest | None = None,
) -> Any:
    """Attention whose scores are changed by a function of positions, and masked by another.

    Every score is computed, also where the mask says no: this is for what a program means, not for its speed.

    Args:
        query: (samples, heads, queries, features); `key` and `value` have keys instead of queries.
        score_mod: takes a score and the numbers of its sample, head, query and key; gives the score that counts.
        block_mask: what each query looks at, of `create_block_mask`.
        scale: what products are multiplied by; 1 / sqrt(features) if None.
        enable_gqa: whether some heads of queries may share one of keys.
        return_lse: whether logarithms of sums of exponentials are given, too. Old: `return_aux`.
        kernel_options: accepted as PyTorch does.
        return_aux: what else is given.

    >>> import retrograd as rg
    >>> q = k = v = rg.ones(1, 1, 3, 2)
    >>> mask = create_block_mask(lambda b, h, q, kv: q >= kv, None, None, 3, 3, device="cpu")
    >>> flex_attention(q, k, v, lambda score, b, h, q, kv: score - (q - kv), mask).shape
    torch.Size([1, 1, 3, 2])
    """
    if return_lse and return_aux is not None:
        raise ValueError(
            "Cannot specify both return_lse and return_aux. return_lse is deprecated, please use "
            "return_aux=AuxRequest(lse=True) instead."
        )
    _check(query, key, value, block_mask, enable_gqa)
    scores, kept = _scores(query, key, score_mod, block_mask, scale)
    weights = scores.masked_fill(~kept, 0.0).softmax(-1).masked_fill(~kept, 0.0)
    heads = _per_query_head(value, query).to(weights.dtype)
    out = (weights @ heads).to(query.dtype)
    if return_lse:
        warn("return_lse is deprecated, please use return_aux=AuxRequest(lse=True) instead.", FutureWarning)
        return out, _log_sums(scores, kept)
    if return_aux is None:
        return out
    lse = _log_sums(scores, kept) if return_aux.lse else None
    return out, AuxOutput(lse, scores.amax(-1) if return_aux.max_scores else None)


def _scores(
    query: Tensor, key: Tensor, score_mod: Callable[..., Any] | None, block_mask: BlockMask | None, scale: Any
) -> tuple[Tensor, Tensor]:
    """The scores, minus infinity where nothing is looked at; and which queries look at anything."""
    wide = float32 if query.dtype.itemsize < 4 else query.dtype
    keys = _per_query_head(key, query).to(wide)
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = query.to(wide) @ keys.transpose(-2, -1) * factor
    numbers = positions(*scores.shape, device=query.device)
    if score_mod is not None:
        scores = at_every_position(score_mod, scores=True)(scores, *numbers).to(wide)
    if block_mask is not None:
        allowed = at_every_position(block_mask.mask_mod)(*numbers) & block_mask.covers()
        scores = scores.masked_fill(~allowed, -float("inf"))
    return scores, (scores != -float("inf")).any(-1, keepdim=True)


def _log_sums(scores: Tensor, kept: Tensor) -> Tensor:
    """The logarithm of the sum of exponentials of each query's scores; minus infinity if it looks at nothing."""
    found = scores.masked_fill(~kept, 0.0).logsumexp(-1)
    return found.masked_fill(~kept.squeeze(-1), -float("inf"))


def _per_query_head(keys: Tensor, query: Tensor) -> Tensor:
    """Keys or values for each head of the queries, and each sample."""
    shared = query.shape[1] // keys.shape[1]
    found = keys.repeat_interleave(shared, 1) if shared > 1 else keys
    return found.expand(query.shape[0], -1, -1, -1)


def _check(query: Tensor, key: Tensor, value: Tensor, block_mask: Any, enable_gqa: bool) -> None:
    """Refuses tensors that do not go together."""
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(
            "Expect query and key/value to have the same embedding dimension but got "
            f"E={query.shape[-1]} and E={key.shape[-1]}."
        )
    if query.dim() != 4 or key.dim() != 4 or value.dim() != 4:
        raise NotImplementedError("NYI: query, key, and value must be 4D tensors")
    if query.shape[0] != key.shape[0] and (block_mask is None or key.shape[0] != 1):
        raise ValueError(
            "Expect query and key/value to have the same batch size, or non-none block_mask, but got "
            f"block_mask={block_mask}, Bq={query.shape[0]}, and Bkv={key.shape[0]}."
        )
    if key.shape[-2] != value.shape[-2]:
        raise RuntimeError(f"Expected as many values as keys, but got {value.shape[-2]} and {key.shape[-2]}.")
    heads, of_keys = query.shape[1], key.shape[1]
    if not enable_gqa and heads != of_keys:
        raise ValueError(
            f"Expect query and key/value to have the same number of heads but got Hq={heads} and Hkv={of_keys}. Try "
            "setting enable_gqa=True for GQA."
        )
    if heads % of_keys:
        raise ValueError(
            "Expect number of query heads to be a multiple of kv heads for GQA but got "
            f"Hq={heads} and Hkv={of_keys}."
        )
    if block_mask is not None:
        _check_lengths(block_mask, query.shape[-2], key.shape[-2])


def _check_lengths(block_mask: BlockMask, queries: int, keys: int) -> None:
    """Refuses a mask of another size."""
    if block_mask.seq_lengths == (queries, keys):
        return
    lengths = f"q_len={queries} and kv_len={keys}"
    said = f"block_mask was created for block_mask.shape={block_mask.shape} but got {lengths}."
    if block_mask.seq_lengths[0] > queries or block_mask.seq_lengths[1] > keys:
        raise ValueError(
            f"{said} As the block mask was created for a larger length than you're using it for, create a new one with "
            "the correct length."
        )
    raise ValueError(
        f"{said} As the block mask was created for a smaller length than you're using it for, you likely need to "
        "create a new block mask."
    )
