"""Transformers: encoder and decoder layers, stacks of them, and the whole."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, ClassVar

from retrograd.backends.flags import mha
from retrograd.core.autocast import setting
from retrograd.core.tensor import Tensor
from retrograd.nn import functional as F
from retrograd.nn import init
from retrograd.nn.activation import GELU, ReLU
from retrograd.nn.containers import ModuleList
from retrograd.nn.dropout import Dropout
from retrograd.nn.linear import Linear
from retrograd.nn.module import Module
from retrograd.nn.multihead_attention import MultiheadAttention
from retrograd.nn.normalization import LayerNorm
from retrograd.ops.nn.multi_head_attention import additive_mask
from retrograd.ops.shape.diagonals import triu
from retrograd.ops.tensor.create import arange, full

Activation = str | Callable[[Tensor], Tensor]


def _get_activation_fn(given: Activation) -> Callable[[Tensor], Tensor]:
    if not isinstance(given, str):
        return given
    if given not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {given}")
    return F.relu if given == "relu" else F.gelu


def _get_clones(module: Module, count: int) -> ModuleList:
    return ModuleList([copy.deepcopy(module) for _ in range(count)])


def _causal_mask(size: int, device: Any = None, dtype: Any = None) -> Tensor:
    """Minus infinity where a query may not look: at the keys after its own."""
    return triu(full((size, size), float("-inf"), device=device, dtype=dtype), diagonal=1)


def _is_causal(mask: Tensor | None, is_causal: bool | None, size: int | None) -> bool:
    """Whether a mask is the causal one, if nobody has said so."""
    if is_causal is not None or mask is None:
        return bool(is_causal)
    if size is None or tuple(mask.shape) != (size, size):
        return False
    causal = _causal_mask(size, mask.device, mask.dtype if mask.is_floating_point() else None)
    return bool(
        (
            (mask if mask.is_floating_point() else additive_mask(mask, "mask", None, causal.array.dtype))
            == causal
        ).all()
    )


def _length(x: Tensor, batch_first: bool) -> int | None:
    """The length of the sequences, if there is no doubt about it."""
    if x.dim() == 2:
        return x.shape[0]
    return x.shape[1 if batch_first else 0]


class _Layer(Module):
    """What encoder and decoder layers share: attention, two linear layers, norms and dropouts."""

    activation: Callable[[Tensor], Tensor]
    _attentions: ClassVar[tuple[str, ...]] = ("self_attn",)

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        place = {"device": device, "dtype": dtype}
        for name in self._attentions:
            made = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **place)
            setattr(self, name, made)
        self.linear1: Linear = Linear(d_model, dim_feedforward, bias, **place)
        self.dropout: Dropout = Dropout(dropout)
        self.linear2: Linear = Linear(dim_feedforward, d_model, bias, **place)
        self.norm_first = norm_first
        parts = range(1, len(self._attentions) + 2)  # the attentions, and the linear layers
        for i in parts:
            setattr(self, f"norm{i}", LayerNorm(d_model, layer_norm_eps, bias=bias, **place))
        for i in parts:
            setattr(self, f"dropout{i}", Dropout(dropout))
        self.activation = _get_activation_fn(activation)

    # The parts by PyTorch's names, under which subclasses override them.

    def _sa_block(self, x: Tensor, attn_mask: Any, key_padding_mask: Any, is_causal: bool = False) -> Tensor:
        return self._attend(self.self_attn, x, x, attn_mask, key_padding_mask, is_causal, self.dropout1)

    def _ff_block(self, x: Tensor) -> Tensor:
        hidden = self.dropout(self.activation(self.linear1(x)))
        last = getattr(self, f"dropout{len(self._attentions) + 1}")
        return last(self.linear2(hidden))  # type: ignore[no-any-return]

    def _attend(
        self,
        attention: Module,
        x: Tensor,
        memory: Tensor,
        mask: Any,
        padding: Any,
        is_causal: bool,
        drop: Module,
    ) -> Tensor:
        found = attention(
            x,
            memory,
            memory,
            attn_mask=mask,
            key_padding_mask=padding,
            is_causal=is_causal,
            need_weights=False,
        )
        return drop(found[0])  # type: ignore[no-any-return]

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "activation" not in self.__dict__ and "activation" not in self._modules:
            self.activation = F.relu


class TransformerEncoderLayer(_Layer):
    """Self-attention and two linear layers, each with a way around it and a norm.

    Args:
        d_model: features of the input.
        nhead: heads of the attention.
        dim_feedforward: features between the two linear layers.
        dropout: of every part.
        activation: between the two linear layers: "relu", "gelu" or a function.
        layer_norm_eps: of the norms.
        batch_first: whether tensors are (batch, sequence, feature), not (sequence, batch, feature).
        norm_first: whether norms come before the parts, not after.
        bias: whether layers and norms have one.
        device, dtype: of the parameters.

    >>> import retrograd as rg
    >>> rg.nn.TransformerEncoderLayer(8, nhead=2, dim_feedforward=16)(rg.ones(5, 1, 8)).shape
    torch.Size([5, 1, 8])
    """

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """The sequence after this layer; the masks are those of MultiheadAttention."""
        padding = additive_mask(src_key_padding_mask, "src_key_padding_mask", src_mask, src.array.dtype)
        mask = additive_mask(src_mask, "src_mask", None, src.array.dtype)
        x = src
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), mask, padding, is_causal=is_causal)
            return x + self._ff_block(self.norm2(x))
        x = self.norm1(x + self._sa_block(x, mask, padding, is_causal=is_causal))
        return self.norm2(x + self._ff_block(x))  # type: ignore[no-any-return]


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to what the encoder gave, and two linear layers, each with a way around it and a norm.

    The arguments are those of TransformerEncoderLayer.

    >>> import retrograd as rg
    >>> layer = rg.nn.TransformerDecoderLayer(8, nhead=2, dim_feedforward=16)
    >>> layer(rg.ones(3, 1, 8), rg.ones(5, 1, 8)).shape
    torch.Size([3, 1, 8])
    """

    _attentions = ("self_attn", "multihead_attn")

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The sequence after this layer; `memory` is what the encoder gave."""
        own = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        other = (memory_mask, memory_key_padding_mask, memory_is_causal)
        x = tgt
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), *own)
            x = x + self._mha_block(self.norm2(x), memory, *other)
            return x + self._ff_block(self.norm3(x))
        x = self.norm1(x + self._sa_block(x, *own))
        x = self.norm2(x + self._mha_block(x, memory, *other))
        return self.norm3(x + self._ff_block(x))  # type: ignore[no-any-return]

    def _mha_block(
        self, x: Tensor, mem: Tensor, attn_mask: Any, key_padding_mask: Any, is_causal: bool = False
    ) -> Tensor:
        return self._attend(
            self.multihead_attn, x, mem, attn_mask, key_padding_mask, is_causal, self.dropout2
        )


def _can_leave_out(layer: Module) -> bool:
    """Whether PyTorch has a way to compute encoder layers like this one without padding."""
    return (
        isinstance(layer, TransformerEncoderLayer)
        and not layer.norm_first
        and layer.self_attn.batch_first
        and layer.self_attn.in_proj_bias is not None
        and (layer.activation in (F.relu, F.gelu) or isinstance(layer.activation, (ReLU, GELU)))
        and layer.norm1.eps == layer.norm2.eps
        and layer.self_attn.num_heads % 2 == 0
    )


class TransformerEncoder(Module):
    """Several encoder layers, one after the other.

    Args:
        encoder_layer: what they are copies of.
        num_layers: how many there are.
        norm: what comes after the last.
        enable_nested_tensor: whether padding at the ends of sequences is left out in evaluation without gradients, so
            that the last layer gives zeros there.
        mask_check: accepted for PyTorch's sake: what is no padding at an end is never left out.

    >>> import retrograd as rg
    >>> layer = rg.nn.TransformerEncoderLayer(8, nhead=2, dim_feedforward=16)
    >>> rg.nn.TransformerEncoder(layer, num_layers=2)(rg.ones(5, 1, 8)).shape
    torch.Size([5, 1, 8])
    """

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers: ModuleList = _get_clones(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        self.mask_check = mask_check
        self.use_nested_tensor: bool = enable_nested_tensor and _can_leave_out(encoder_layer)

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        """The sequence after all layers."""
        padding = additive_mask(src_key_padding_mask, "src_key_padding_mask", mask, src.array.dtype)
        mask = additive_mask(mask, "mask", None, src.array.dtype)
        batch_first = self.layers[0].self_attn.batch_first
        causal = _is_causal(mask, is_causal, _length(src, batch_first))
        for layer in self.layers:
            src = layer(src, src_mask=mask, is_causal=causal, src_key_padding_mask=padding)
        if padding is not None and mask is None and self._leaves_out(src, padding):
            src = src.masked_fill((padding != 0).unsqueeze(-1), 0.0)
        return src if self.norm is None else self.norm(src)

    def _leaves_out(self, x: Tensor, padding: Tensor) -> bool:
        """Whether PyTorch computes without the padding of a batch, which is zeros then."""
        first = self.layers[0]
        if not getattr(self, "use_nested_tensor", False) or first.training or x.dim() != 3:
            return False
        if x.requires_grad or setting("cuda")[0] or not mha.get_fastpath_enabled():
            return False
        real = padding == 0
        return bool((real.sum(-1, keepdim=True) > arange(real.shape[-1], device=real.device)).eq(real).all())


class TransformerDecoder(Module):
    """Several decoder layers, one after the other.

    Args:
        decoder_layer: what they are copies of.
        num_layers: how many there are.
        norm: what comes after the last.

    >>> import retrograd as rg
    >>> layer = rg.nn.TransformerDecoderLayer(8, 2, batch_first=True)
    >>> decoder = rg.nn.TransformerDecoder(layer, 2)
    >>> decoder(rg.zeros(1, 4, 8), rg.zeros(1, 6, 8)).shape
    torch.Size([1, 4, 8])
    """

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers: ModuleList = _get_clones(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The sequence after all layers; `memory` is what the encoder gave."""
        batch_first = self.layers[0].self_attn.batch_first
        causal = _is_causal(tgt_mask, tgt_is_causal, _length(tgt, batch_first))
        for layer in self.layers:
            tgt = layer(
                tgt,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=causal,
                memory_is_causal=memory_is_causal,
            )
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder and a decoder.

    Args:
        d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias, device,
            dtype: as TransformerEncoderLayer has them.
        num_encoder_layers, num_decoder_layers: how many layers there are.
        custom_encoder, custom_decoder: what to take in the place of those.

    >>> import retrograd as rg
    >>> model = rg.nn.Transformer(8, 2, 1, 1, dim_feedforward=16)
    >>> model(rg.ones(5, 1, 8), rg.ones(3, 1, 8)).shape
    torch.Size([3, 1, 8])
    """

    encoder: TransformerEncoder
    decoder: TransformerDecoder

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        options: tuple[Any, ...] = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps)
        options += (batch_first, norm_first, bias, device, dtype)

        def norm() -> LayerNorm:
            return LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype)

        if custom_encoder is not None:
            self.encoder = custom_encoder
        else:
            self.encoder = TransformerEncoder(TransformerEncoderLayer(*options), num_encoder_layers, norm())
        if custom_decoder is not None:
            self.decoder = custom_decoder
        else:
            self.decoder = TransformerDecoder(TransformerDecoderLayer(*options), num_decoder_layers, norm())
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def _reset_parameters(self) -> None:
        """Draws new initial values of the matrices."""
        for param in self.parameters():
            if param.dim() > 1:
                init.xavier_uniform_(param)

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """A mask to add to scores: minus infinity where a query would look at a later key.

        >>> Transformer.generate_square_subsequent_mask(2)
        tensor([[0., -inf],
                [0., 0.]])
        """
        return _causal_mask(sz, device, dtype)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """What the decoder makes of `tgt` and of what the encoder makes of `src`."""
        batch = 0 if self.batch_first else 1
        if src.dim() == 3 and src.shape[batch] != tgt.shape[batch]:
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(
            src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal
        )
        return self.decoder(  # type: ignore[no-any-return]
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )
