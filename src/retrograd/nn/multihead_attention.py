"""MultiheadAttention: each query looks at all keys, in several ways at once."""

from __future__ import annotations

from typing import Any, ClassVar

from retrograd.core.tensor import Tensor
from retrograd.nn import functional as F
from retrograd.nn import init
from retrograd.nn.linear import NonDynamicallyQuantizableLinear
from retrograd.nn.module import Module
from retrograd.nn.parameter import Parameter
from retrograd.ops.tensor.create import empty


class MultiheadAttention(Module):
    """Attention with several heads, each of which sees a part of the projected queries, keys and values.

    Args:
        embed_dim: features of the queries and of the output.
        num_heads: among how many heads they are divided.
        dropout: of the weights.
        bias: whether the projections have one.
        add_bias_kv: whether there is one more key and value, which are learned.
        add_zero_attn: whether there is one more key and value of zeros.
        kdim, vdim: features of keys and values, by default those of the queries.
        batch_first: whether tensors are (batch, sequence, feature), not (sequence, batch, feature).
        device, dtype: of the parameters.

    >>> import retrograd as rg
    >>> x = rg.ones(5, 2, 8)
    >>> out, weights = rg.nn.MultiheadAttention(8, num_heads=2)(x, x, x)
    >>> out.shape, weights.shape
    (torch.Size([5, 2, 8]), torch.Size([2, 5, 5]))
    """

    bias_k: Tensor | None
    bias_v: Tensor | None
    _added_later: ClassVar[dict[str, Any]] = {"_qkv_same_embed_dim": True}

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and "
                f"num_heads={num_heads} instead"
            )
        self.embed_dim = embed_dim
        self.kdim: int = embed_dim if kdim is None else kdim
        self.vdim: int = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim: int = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError(
                f"embed_dim must be divisible by num_heads, but got {embed_dim} and {num_heads}"
            )
        self.add_zero_attn = add_zero_attn
        self._make_parameters(bias, add_bias_kv, device, dtype)
        self._reset_parameters()

    def _make_parameters(self, bias: bool, add_bias_kv: bool, device: Any, dtype: Any) -> None:
        width, same = self.embed_dim, self._qkv_same_embed_dim

        def made(wanted: bool, *shape: int) -> Parameter | None:
            return Parameter(empty(shape, device=device, dtype=dtype)) if wanted else None

        self.register_parameter("q_proj_weight", made(not same, width, width))
        self.register_parameter("k_proj_weight", made(not same, width, self.kdim))
        self.register_parameter("v_proj_weight", made(not same, width, self.vdim))
        self.register_parameter("in_proj_weight", made(same, 3 * width, width))
        self.register_parameter("in_proj_bias", made(bias, 3 * width))
        self.out_proj: NonDynamicallyQuantizableLinear = NonDynamicallyQuantizableLinear(
            width, width, bias, device, dtype
        )
        self.register_parameter("bias_k", made(add_bias_kv, 1, 1, width))
        self.register_parameter("bias_v", made(add_bias_kv, 1, 1, width))

    def _reset_parameters(self) -> None:
        """Draws new initial values."""
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """The output for each query, and the weights of the keys, or None.

        Args:
            query: of shape (L, N, E) or (L, E); `key` and `value` have S in the place of L.
            key_padding_mask: (N, S) booleans that say which keys to leave out, or numbers to add.
            need_weights: whether the weights are wanted; without them a fused operation does the work.
            attn_mask: (L, S) or (N * num_heads, L, S), likewise.
            average_attn_weights: whether the weights are averaged over the heads.
            is_causal: a hint that `attn_mask` is the causal mask.
        """
        turned = self.batch_first and query.dim() == 3
        if turned:
            query, key, value = _turned(query, key, value)
        out, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return (out.transpose(0, 1) if turned else out), weights

    def merge_masks(
        self, attn_mask: Tensor | None, key_padding_mask: Tensor | None, query: Tensor
    ) -> tuple[Tensor | None, int | None]:
        """Both masks as one of shape (N, num_heads, L, S), and PyTorch's number for its kind; `query` is (N, L, E).

        The kind is 1 for a mask of keys alone, which stays as it is, 2 for any other, and None for no mask.
        """
        if attn_mask is None:
            return key_padding_mask, None if key_padding_mask is None else 1
        batch, length = query.shape[0], query.shape[1]
        if attn_mask.dim() == 3:
            merged = attn_mask.view(batch, -1, length, length)
        else:
            merged = attn_mask.view(1, 1, length, length).expand(batch, self.num_heads, -1, -1)
        if key_padding_mask is not None:
            keys = key_padding_mask.view(batch, 1, 1, length).expand(-1, self.num_heads, -1, -1)
            merged = merged + keys
        return merged, 2


def _turned(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Batch and sequence exchanged; tensors that are one stay one, so that they are projected together."""
    queries = query.transpose(0, 1)
    keys = queries if key is query else key.transpose(0, 1)
    values = keys if value is key else queries if value is query else value.transpose(0, 1)
    return queries, keys, values
