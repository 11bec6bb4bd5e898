"""Modules with several configurations each, and inputs for them: the same rows for both libraries.

A row is a call of a class of `nn`, as text, and what its module is called with: arrays, or things that are made of a
library by a function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np


class Row(NamedTuple):
    text: str
    inputs: tuple[Any, ...]
    options: dict[str, Any]


class Made(NamedTuple):
    """An input that each library makes itself, of arrays."""

    make: Callable[..., Any]
    arrays: tuple[np.ndarray, ...]


def x(*shape: int) -> np.ndarray:
    """Numbers around 0, of which no two are equal."""
    rng = np.random.default_rng(sum(shape) + 17 * len(shape))
    return rng.permutation(np.linspace(-2, 2, int(np.prod(shape)) + 1)[:-1] + 0.013).reshape(shape)


def near(*shape: int) -> np.ndarray:
    """Other numbers of the same shape, for what compares two inputs."""
    return np.random.default_rng(3 + sum(shape)).normal(size=shape)


def chance(*shape: int) -> np.ndarray:
    """Numbers between 0 and 1."""
    return 1 / (1 + np.exp(-x(*shape)))


def sign(*shape: int) -> np.ndarray:
    """1 and -1."""
    return np.where(near(*shape) > 0, 1.0, -1.0)


def ints(high: int, *shape: int) -> np.ndarray:
    """Integers below a bound."""
    return np.random.default_rng(5 + high).integers(0, high, shape)


def logs(*shape: int) -> np.ndarray:
    """Logarithms of probabilities along dimension 1."""
    a = x(*shape)
    return a - np.log(np.exp(a).sum(1, keepdims=True))


def row(text: str, *inputs: Any, **options: Any) -> Row:
    return Row(text, inputs, options)


def packed(*lengths: int, width: int = 3, enforce_sorted: bool = False) -> Made:
    """Sequences of different length, packed."""

    def make(library: Any, *sequences: Any) -> Any:
        return library.nn.utils.rnn.pack_sequence(list(sequences), enforce_sorted=enforce_sorted)

    return Made(make, tuple(x(n, width) for n in lengths))


def linear_rows() -> Iterator[Row]:
    yield row("Identity()", x(2, 3))
    yield row("Linear(3, 4)", x(5, 3))
    yield row("Linear(3, 4, bias=False)", x(2, 5, 3))
    yield row("Linear(3, 2)", x(3))
    yield row("Bilinear(3, 4, 5)", x(2, 3), x(2, 4))
    yield row("Bilinear(3, 4, 5, bias=False)", x(2, 3), x(2, 4))
    yield row("LazyLinear(4)", x(5, 3))
    yield row("Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))", x(5, 3))


def conv_rows() -> Iterator[Row]:
    for dims, size in ((1, (7,)), (2, (6, 5)), (3, (4, 4, 5))):
        a = x(2, 4, *size)
        yield row(f"Conv{dims}d(4, 6, 3)", a)
        yield row(f"Conv{dims}d(4, 6, 2, stride=2, padding=1, dilation=2, groups=2, bias=False)", a)
        yield row(f"Conv{dims}d(4, 2, 3, padding='same', dilation=2)", a)
        yield row(f"Conv{dims}d(4, 2, 3, padding='valid')", x(4, *size))
        for mode in ("reflect", "replicate", "circular"):
            yield row(f"Conv{dims}d(4, 2, 3, padding=1, padding_mode='{mode}')", a)
        yield row(f"Conv{dims}d(4, 2, 2, padding='same', padding_mode='circular')", a)
        yield row(f"ConvTranspose{dims}d(4, 6, 3)", a)
        yield row(
            f"ConvTranspose{dims}d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2, bias=False, dilation=2)",
            a,
        )
        wanted = [2 * n for n in size]
        yield row(f"ConvTranspose{dims}d(4, 2, 3, stride=2, padding=1)", a, output_size=wanted)
        yield row(f"LazyConv{dims}d(6, 3, padding=1)", a)
        yield row(f"LazyConvTranspose{dims}d(6, 3)", a)


def pooling_rows() -> Iterator[Row]:
    for dims, size in ((1, (9,)), (2, (7, 6)), (3, (6, 5, 6))):
        a = x(2, 3, *size)
        yield row(f"MaxPool{dims}d(2)", a)
        yield row(f"MaxPool{dims}d(3, stride=2, padding=1, ceil_mode=True, return_indices=True)", a)
        yield row(f"MaxPool{dims}d(2, dilation=2, stride=1)", a)
        yield row(f"AvgPool{dims}d(2)", a)
        yield row(f"AvgPool{dims}d(3, stride=2, padding=1, ceil_mode=True, count_include_pad=False)", a)
        yield row(f"LPPool{dims}d(2, 2)", a)
        yield row(f"LPPool{dims}d(3, 2, stride=1, ceil_mode=True)", np.abs(a) + 0.1)
        yield row(f"AdaptiveAvgPool{dims}d(3)", a)
        yield row(f"AdaptiveMaxPool{dims}d(3, return_indices=True)", a)

        def pooled(library: Any, t: Any, dims: int = dims) -> Any:
            return getattr(library.nn.functional, f"max_pool{dims}d")(t, 2, return_indices=True)

        yield row(f"MaxUnpool{dims}d(2)", Made(pooled, (x(2, 3, *(n - n % 2 for n in size)),)))
    yield row("AvgPool2d((2, 3), divisor_override=5)", x(1, 3, 6, 6))
    yield row("AdaptiveAvgPool2d((None, 2))", x(1, 3, 6, 6))
    yield row("AdaptiveMaxPool2d((3, 2))", x(1, 3, 6, 6))
    draws = "tensor([[[0.25, 0.75], [0.5, 0.125]]])"
    yield row(f"FractionalMaxPool2d(2, output_size=3, _random_samples={draws})", x(1, 2, 7, 7))
    yield row(
        f"FractionalMaxPool2d(2, output_ratio=0.5, return_indices=True, _random_samples={draws})",
        x(1, 2, 7, 7),
    )
    draws = "tensor([[[0.25, 0.75, 0.5], [0.5, 0.125, 0.9]]])"
    yield row(f"FractionalMaxPool3d(2, output_size=3, _random_samples={draws})", x(1, 2, 6, 6, 6))


def padding_rows() -> Iterator[Row]:
    for dims, size in ((1, (5,)), (2, (5, 4)), (3, (4, 5, 6))):
        sides = tuple(range(1, 3)) * dims
        for kind in ("Zero", "Reflection", "Replication", "Circular"):
            yield row(f"{kind}Pad{dims}d(1)", x(1, 2, *size))
            yield row(f"{kind}Pad{dims}d({sides})", x(1, 2, *size))
        yield row(f"ConstantPad{dims}d(2, 3.5)", x(1, 2, *size))
        yield row(f"ConstantPad{dims}d({sides}, -1)", x(1, 2, *size))


def norm_rows() -> Iterator[Row]:
    for dims, size in ((1, (5,)), (2, (3, 4)), (3, (2, 3, 2))):
        a = x(4, 3, *size)
        for kind in ("BatchNorm", "InstanceNorm"):
            yield row(f"{kind}{dims}d(3)", a)
            yield row(f"{kind}{dims}d(3, eps=0.1, momentum=0.3, affine=True, track_running_stats=True)", a)
            yield row(f"{kind}{dims}d(3, affine=False, track_running_stats=False)", a)
            yield row(f"{kind}{dims}d(3, affine=True, bias=False)", a)
            yield row(f"Lazy{kind}{dims}d()", a)
        yield row(f"BatchNorm{dims}d(3, momentum=None)", a)
        yield row(f"InstanceNorm{dims}d(3, affine=True)", x(3, *size))
    yield row("BatchNorm1d(3)", x(5, 3))
    yield row("LayerNorm(4)", x(2, 3, 4))
    yield row("LayerNorm((3, 4), eps=0.1, bias=False)", x(2, 3, 4))
    yield row("LayerNorm([4], elementwise_affine=False)", x(2, 3, 4))
    yield row("GroupNorm(2, 4)", x(2, 4, 3))
    yield row("GroupNorm(4, 4, affine=False)", x(2, 4, 3, 3))
    yield row("GroupNorm(1, 4, eps=0.1, bias=False)", x(2, 4, 3))
    yield row("RMSNorm(4)", x(2, 3, 4))
    yield row("RMSNorm((3, 4), eps=0.1, elementwise_affine=False)", x(2, 3, 4))
    yield row("LocalResponseNorm(2)", x(2, 4, 3))
    yield row("LocalResponseNorm(3, alpha=0.5, beta=0.5, k=2.0)", x(2, 4, 3, 3))


def activation_rows() -> Iterator[Row]:
    a = x(3, 4)
    for text in (
        "ReLU()", "ReLU6()", "Sigmoid()", "Tanh()", "SiLU()", "Mish()", "Hardswish()", "Hardsigmoid()", "SELU()",
        "ELU()", "ELU(0.5)", "CELU()", "CELU(2.0)", "GELU()", "GELU('tanh')", "GLU()", "GLU(dim=0)", "Hardshrink()",
        "Hardshrink(1.0)", "LeakyReLU()", "LeakyReLU(0.3)", "LogSigmoid()", "Softplus()", "Softplus(2.0, 1.0)",
        "Softshrink()", "Softshrink(0.1)", "PReLU()", "PReLU(4, init=0.1)", "Softsign()", "Tanhshrink()",
        "Softmin(1)", "Softmax(0)", "Softmax(dim=-1)", "LogSoftmax(1)", "Threshold(0.5, 9.0)", "Hardtanh()",
        "Hardtanh(-0.5, 1.5)", "RReLU(0.25, 0.25)",
    ):  # fmt: skip
        yield row(text, a if text != "GLU(dim=0)" else x(4, 3))
    yield row("Softmax2d()", x(2, 3, 2, 2))
    yield row("Softmax2d()", x(3, 2, 2))
    for kind in ("Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout"):
        dims = int(kind[-2]) if kind[-1] == "d" else 1
        yield row(f"{kind}(0.0)", x(2, 3, *(2,) * dims))
    yield row("Dropout(1.0)", a)


def shape_rows() -> Iterator[Row]:
    yield row("Flatten()", x(2, 3, 4))
    yield row("Flatten(0, 1)", x(2, 3, 4))
    yield row("Unflatten(1, (2, 3))", x(2, 6))
    yield row("Unflatten(-1, [3, -1])", x(2, 6))
    yield row("Fold((4, 5), (2, 2))", x(2, 12, 12))
    yield row("Fold(4, 2, stride=2)", x(2, 8, 4))
    yield row("Unfold(2)", x(2, 3, 4, 5))
    yield row("Unfold((2, 3), dilation=1, padding=1, stride=2)", x(2, 3, 4, 5))
    yield row("PixelShuffle(2)", x(1, 8, 3, 2))
    yield row("PixelUnshuffle(2)", x(1, 2, 4, 6))
    yield row("ChannelShuffle(2)", x(2, 6, 2, 2))
    yield row("Upsample(scale_factor=2)", x(1, 2, 3))
    yield row("Upsample(size=(5, 7), mode='bilinear')", x(1, 2, 3, 4))
    yield row("Upsample(scale_factor=(2.0, 1.5), mode='bicubic', align_corners=True)", x(1, 2, 4, 4))
    yield row("Upsample(scale_factor=2, mode='trilinear')", x(1, 2, 2, 3, 2))
    yield row("UpsamplingNearest2d(scale_factor=2)", x(1, 2, 3, 4))
    yield row("UpsamplingBilinear2d(size=(5, 5))", x(1, 2, 3, 4))
    yield row("CosineSimilarity()", x(3, 4), near(3, 4))
    yield row("CosineSimilarity(dim=0, eps=1e-3)", x(3, 4), near(3, 4))
    yield row("PairwiseDistance()", x(3, 4), near(3, 4))
    yield row("PairwiseDistance(p=1.0, eps=0.1, keepdim=True)", x(3, 4), near(3, 4))


def embedding_rows() -> Iterator[Row]:
    yield row("Embedding(7, 3)", ints(7, 2, 4))
    yield row("Embedding(7, 3, padding_idx=2)", ints(7, 5))
    yield row("Embedding(7, 3, padding_idx=-1, scale_grad_by_freq=True)", ints(7, 9))
    yield row("Embedding(7, 3, max_norm=1.0, norm_type=1.0)", ints(7, 4))
    for mode in ("sum", "mean", "max"):
        yield row(f"EmbeddingBag(7, 3, mode='{mode}')", ints(7, 2, 4))
        yield row(f"EmbeddingBag(7, 3, mode='{mode}', padding_idx=1)", ints(7, 6), np.array([0, 2]))
    yield row("EmbeddingBag(7, 3, mode='sum', include_last_offset=True)", ints(7, 6), np.array([0, 2, 6]))
    yield row("EmbeddingBag(7, 3, mode='sum')", ints(7, 2, 4), per_sample_weights=near(2, 4))


def loss_rows() -> Iterator[Row]:
    for reduction in ("mean", "sum", "none"):
        r = f"reduction='{reduction}'"
        a, b = x(3, 4), near(3, 4)
        yield row(f"L1Loss({r})", a, b)
        yield row(f"MSELoss({r})", a, b)
        yield row(f"SmoothL1Loss({r}, beta=0.5)", a, b)
        yield row(f"HuberLoss({r}, delta=0.5)", a, b)
        yield row(f"NLLLoss({r})", logs(3, 4), ints(4, 3))
        yield row(
            f"NLLLoss(weight=tensor([1.0, 2.0, 3.0, 4.0]), ignore_index=1, {r})", logs(3, 4), ints(4, 3)
        )
        yield row(f"CrossEntropyLoss({r})", a, ints(4, 3))
        yield row(f"CrossEntropyLoss(tensor([1.0, 2.0, 3.0, 4.0]), {r}, label_smoothing=0.2)", a, ints(4, 3))
        yield row(f"CrossEntropyLoss({r})", a, chance(3, 4))
        yield row(f"LinearCrossEntropyLoss(4, 5, {r}, bias=True)", a, ints(5, 3))
        yield row(f"BCELoss({r})", chance(3, 4), chance(3, 4)[::-1].copy())
        yield row(f"BCELoss(tensor([1.0, 2.0, 3.0, 4.0]), {r})", chance(3, 4), chance(3, 4)[::-1].copy())
        yield row(f"BCEWithLogitsLoss({r}, pos_weight=tensor([1.0, 2.0, 3.0, 4.0]))", a, chance(3, 4))
        yield row(f"KLDivLoss({r})", logs(3, 4), chance(3, 4))
        yield row(f"KLDivLoss({r}, log_target=True)", logs(3, 4), logs(3, 4)[::-1].copy())
        yield row(f"PoissonNLLLoss({r})", a, chance(3, 4))
        yield row(f"PoissonNLLLoss(log_input=False, full=True, eps=0.1, {r})", chance(3, 4), 3 * chance(3, 4))
        yield row(f"GaussianNLLLoss(full=True, {r})", a, b, chance(3, 4))
        yield row(
            f"CTCLoss({r})",
            logs(6, 5, 2).transpose(0, 2, 1).copy(),
            ints(4, 2, 3) + 1,
            np.array([6, 6]),
            np.array([3, 2]),
        )
        yield row(f"HingeEmbeddingLoss({r}, margin=0.5)", a, sign(3, 4))
        yield row(f"MultiLabelMarginLoss({r})", a, np.array([[1, 0, -1, 2], [3, -1, 0, 0], [0, 1, 2, 3]]))
        yield row(f"SoftMarginLoss({r})", a, sign(3, 4))
        yield row(f"MultiLabelSoftMarginLoss({r})", a, (sign(3, 4) + 1) / 2)
        yield row(f"CosineEmbeddingLoss({r}, margin=0.2)", a, b, sign(3))
        yield row(f"MarginRankingLoss({r}, margin=0.2)", x(5), near(5), sign(5))
        yield row(f"MultiMarginLoss({r})", a, ints(4, 3))
        yield row(
            f"MultiMarginLoss(p=2, margin=0.5, weight=tensor([1.0, 2.0, 3.0, 4.0]), {r})", a, ints(4, 3)
        )
        yield row(f"TripletMarginLoss({r}, p=1.0, swap=True)", a, b, near(4, 3).T.copy())
        yield row(f"TripletMarginWithDistanceLoss({r}, swap=True)", a, b, near(4, 3).T.copy())
    yield row("KLDivLoss(reduction='batchmean')", logs(3, 4), chance(3, 4))
    yield row("AdaptiveLogSoftmaxWithLoss(8, 20, [4, 10], div_value=2.0)", x(5, 8), ints(20, 5))
    yield row("AdaptiveLogSoftmaxWithLoss(8, 20, [5], div_value=2.0, head_bias=True)", x(8), np.array(7))


def recurrent_rows() -> Iterator[Row]:
    a = x(5, 2, 3)
    for kind in ("RNN", "LSTM", "GRU"):
        states = 2 if kind == "LSTM" else 1
        yield row(f"{kind}(3, 4)", a)
        yield row(f"{kind}(3, 4)", x(5, 3))
        yield row(f"{kind}(3, 4, num_layers=2, bidirectional=True)", a)
        yield row(f"{kind}(3, 4, num_layers=2, bias=False, batch_first=True)", x(2, 5, 3))
        yield row(f"{kind}(3, 4, 2, dropout=1.0)", a)
        first = near(4, 2, 4)
        yield row(
            f"{kind}(3, 4, num_layers=2, bidirectional=True)", a, first if states == 1 else (first, first + 1)
        )
        yield row(f"{kind}(3, 4, num_layers=2, bidirectional=True)", packed(2, 5, 3))
        yield row(f"{kind}(3, 4)", packed(5, 3, 3, enforce_sorted=True))
        first = near(2, 3, 4)
        yield row(
            f"{kind}(3, 4, bidirectional=True)", packed(2, 5, 3), first if states == 1 else (first, first + 1)
        )
        yield row(f"{kind}Cell(3, 4)", x(2, 3))
        yield row(f"{kind}Cell(3, 4, bias=False)", x(3))
        yield row(
            f"{kind}Cell(3, 4)", x(2, 3), near(2, 4) if states == 1 else (near(2, 4), near(4, 2).T.copy())
        )
    yield row("RNN(3, 4, nonlinearity='relu')", a)
    yield row("RNNCell(3, 4, nonlinearity='relu')", x(2, 3))
    yield row("LSTM(3, 4, num_layers=2, proj_size=2)", a)
    yield row("LSTM(3, 4, proj_size=2, bidirectional=True)", a, (near(2, 2, 2), near(2, 2, 4)))
    yield row("LSTM(3, 4, proj_size=2, bidirectional=True)", packed(2, 5, 3))


def attention_rows() -> Iterator[Row]:
    q, k, v = x(4, 2, 8), near(5, 2, 8), near(2, 5, 8).transpose(1, 0, 2).copy()
    padding = np.array([[False] * 4 + [True], [False] * 5])
    mask = np.triu(np.ones((4, 5), bool), 2)
    yield row("MultiheadAttention(8, 2)", q, k, v)
    yield row("MultiheadAttention(8, 2, bias=False, add_bias_kv=True, add_zero_attn=True)", q, k, v)
    yield row("MultiheadAttention(8, 4, kdim=6, vdim=5)", q, x(5, 2, 6), x(5, 2, 5))
    yield row("MultiheadAttention(8, 2, batch_first=True)", x(2, 4, 8), near(2, 5, 8), x(2, 5, 8))
    yield row("MultiheadAttention(8, 2)", q, k, v, key_padding_mask=padding, attn_mask=mask)
    yield row("MultiheadAttention(8, 2)", q, k, v, key_padding_mask=padding, need_weights=False)
    yield row("MultiheadAttention(8, 2)", q, k, v, average_attn_weights=False)
    yield row("MultiheadAttention(8, 2)", x(4, 8), near(5, 8), x(5, 8))
    src, tgt = x(5, 2, 8), near(3, 2, 8)
    causal = np.where(np.triu(np.ones((5, 5)), 1) > 0, -np.inf, 0.0)
    for first in (False, True):
        options = f"8, 2, 16, dropout=0.0, norm_first={first}"
        yield row(f"TransformerEncoderLayer({options})", src)
        yield row(f"TransformerEncoderLayer({options}, activation='gelu', bias=False)", src, src_mask=causal)
        yield row(
            f"TransformerEncoderLayer({options}, batch_first=True)", x(2, 5, 8), src_key_padding_mask=padding
        )
        yield row(f"TransformerDecoderLayer({options})", tgt, src)
        yield row(f"TransformerDecoderLayer({options}, batch_first=True)", x(2, 3, 8), x(2, 5, 8))
        yield row(f"Transformer(8, 2, 2, 1, 16, dropout=0.0, norm_first={first})", src, tgt)
    layer = "nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0)"
    yield row(f"TransformerEncoder({layer}, 2, enable_nested_tensor=False)", src, mask=causal)
    yield row(f"TransformerEncoder({layer}, 2, norm=nn.LayerNorm(8), enable_nested_tensor=False)", src)
    layer = "nn.TransformerDecoderLayer(8, 2, 16, dropout=0.0)"
    yield row(f"TransformerDecoder({layer}, 2, norm=nn.LayerNorm(8))", tgt, src, tgt_mask=causal[:3, :3])
    yield row("Transformer(8, 2, 1, 1, 16, dropout=0.0, batch_first=True)", x(2, 5, 8), x(2, 3, 8))


ROWS = [
    row_
    for rows in (
        linear_rows, conv_rows, pooling_rows, padding_rows, norm_rows, activation_rows, shape_rows, embedding_rows,
        loss_rows, recurrent_rows, attention_rows,
    )
    for row_ in rows()
]  # fmt: skip
