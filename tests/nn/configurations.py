"""Random configurations of every module, good and bad, and inputs for them.

`KINDS` has, for each class, the arguments that it may be given, each with values to choose from, and the inputs that it
may be called with. Bad values are among them: then both libraries must refuse.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from .table import Made, chance, ints, logs, near, packed, sign, x

Inputs = Callable[[], tuple[Any, ...]]


class Kind(NamedTuple):
    """The arguments of a class, by name: those it needs, those it may have; and inputs with their options."""

    needed: dict[str, list[Any]]
    optional: dict[str, list[Any]]
    inputs: list[tuple[Any, ...]]
    call: dict[str, list[Any]] = {}


class Tensor(NamedTuple):
    """An argument that is a tensor of the library."""

    array: np.ndarray


class Configuration(NamedTuple):
    """One call of a class, and one of the module that it makes."""

    name: str
    arguments: dict[str, Any]
    inputs: tuple[Any, ...]
    options: dict[str, Any]
    training: bool
    dtype: str

    def __str__(self) -> str:
        shapes = [getattr(a, "shape", a) if not isinstance(a, Made) else "packed" for a in self.inputs]
        options = {key: getattr(value, "shape", value) for key, value in self.options.items()}
        return f"{self.name}({self.arguments})({shapes}, {options}) training={self.training} {self.dtype}"


KINDS: dict[str, Kind] = {}


def kind(names: str, needed: Any = None, optional: Any = None, inputs: Any = (), call: Any = None) -> None:
    """Notes the arguments and inputs of classes."""
    for name in names.split():
        KINDS[name] = Kind(needed or {}, optional or {}, list(inputs), call or {})


def one(*values: Any) -> list[tuple[Any, ...]]:
    """Calls with a single input each."""
    return [(value,) for value in values]


YES_NO = [False, True]
WEIGHTS = [None, Tensor(np.array([1.0, 2.0, 0.5, 3.0]))]


def _linear() -> None:
    kind("Identity", {}, {"unused": [3]}, one(x(2, 3), x()))
    kind(
        "Linear",
        {"in_features": [3, 0], "out_features": [4, 0]},
        {"bias": YES_NO},
        one(x(5, 3), x(3), x(2, 5, 3), x(2, 4), x(0, 3), ints(5, 2, 3)),
    )
    kind("LazyLinear", {"out_features": [4, 2]}, {"bias": YES_NO}, one(x(5, 3), x(3), x(2, 5, 3)))
    kind(
        "Bilinear",
        {"in1_features": [3, 2], "in2_features": [4], "out_features": [5, 1]},
        {"bias": YES_NO},
        [(x(2, 3), x(2, 4)), (x(3), x(4)), (x(2, 2, 3), x(2, 2, 4)), (x(2, 3), x(3, 4)), (x(2, 2), x(2, 4))],
    )


def _convolutions() -> None:
    for dims, size in ((1, (7,)), (2, (6, 5)), (3, (4, 4, 5))):
        inputs = one(
            x(2, 4, *size), x(4, *size), x(1, 4, *size[:-1], 3), x(2, 3, *size), x(0, 4, *size), x(4)
        )
        kernel = [1, 2, 3, (2,) * dims, tuple(range(1, dims + 1)), 9]
        common = {
            "stride": [1, 2, (1,) * (dims - 1) + (2,), 0], "groups": [1, 2, 4, 3, 0], "bias": YES_NO,
            "dilation": [1, 2, (1,) * (dims - 1) + (2,)],
        }  # fmt: skip
        padding = [0, 1, (1,) * (dims - 1) + (0,), "same", "valid", "other", -1]
        modes = ["zeros", "reflect", "replicate", "circular", "other"]
        kind(
            f"Conv{dims}d",
            {"in_channels": [4], "out_channels": [2, 4, 6], "kernel_size": kernel},
            {**common, "padding": padding, "padding_mode": modes},
            inputs,
        )
        kind(
            f"LazyConv{dims}d",
            {"out_channels": [4, 8], "kernel_size": [1, 2]},
            {**common, "padding": padding, "padding_mode": modes},
            inputs[:3],
        )
        around = {**common, "padding": [0, 1, (1,) * dims], "output_padding": [0, 1, (1,) * dims]}
        kind(
            f"ConvTranspose{dims}d",
            {"in_channels": [4], "out_channels": [2, 4], "kernel_size": kernel[:5]},
            {**around, "padding_mode": ["zeros", "reflect"]},
            inputs[:4],
            {"output_size": [None, [2 * n for n in size]]},
        )
        kind(f"LazyConvTranspose{dims}d", {"out_channels": [4], "kernel_size": [2, 3]}, around, inputs[:3])


def _pools() -> None:
    for dims, size in ((1, (9,)), (2, (7, 6)), (3, (6, 5, 6))):
        inputs = one(x(2, 3, *size), x(3, *size), x(0, 3, *size), x(2, 3, *(2,) * dims), x(3))
        window = {
            "stride": [None, 1, 2, (2,) * dims], "padding": [0, 1, (1,) * dims, 3], "ceil_mode": YES_NO,
        }  # fmt: skip
        kernel = {"kernel_size": [1, 2, 3, (2,) * dims, (3,) * (dims - 1) + (2,)]}
        kind(f"MaxPool{dims}d", kernel, {**window, "dilation": [1, 2], "return_indices": YES_NO}, inputs)
        more = {"divisor_override": [None, 3, -2]} if dims > 1 else {}
        kind(f"AvgPool{dims}d", kernel, {**window, "count_include_pad": YES_NO, **more}, inputs)
        # PyTorch's LPPool1d cannot take a tuple.
        windows = kernel if dims > 1 else {"kernel_size": [1, 2, 3]}
        kind(
            f"LPPool{dims}d",
            {"norm_type": [1, 2, 3.0], **windows},
            {"stride": [None, 1, 2], "ceil_mode": YES_NO},
            one(np.abs(x(2, 3, *size)) + 0.1, np.abs(x(3, *size)) + 0.1),
        )
        sizes = [1, 3, (2,) * dims, (None,) * (dims - 1) + (2,), 8, (1, 2, 3, 4)]
        kind(f"AdaptiveAvgPool{dims}d", {"output_size": sizes}, {}, inputs)
        kind(f"AdaptiveMaxPool{dims}d", {"output_size": sizes}, {"return_indices": YES_NO}, inputs)


def _pads() -> None:
    for dims, size in ((1, (5,)), (2, (5, 4)), (3, (4, 5, 6))):
        sides = [1, 2, 0, (1, 2) * dims, (0, 1) * dims, (1,) * (2 * dims - 1), 7, -1]
        inputs = one(x(1, 2, *size), x(2, *size), x(3), x(2, 2, 2, *size))
        for name in ("Zero", "Reflection", "Replication", "Circular"):
            kind(f"{name}Pad{dims}d", {"padding": sides}, {}, inputs)
        kind(f"ConstantPad{dims}d", {"padding": sides, "value": [0, 3.5, -1]}, {}, inputs)


def _norms() -> None:
    for dims, size in ((1, (5,)), (2, (3, 4)), (3, (2, 3, 2))):
        more = {
            "eps": [1e-5, 0.1], "momentum": [0.1, None, 0.5, 1.0], "affine": YES_NO, "track_running_stats": YES_NO,
        }  # fmt: skip
        inputs = one(
            x(4, 3, *size), x(3, *size), x(1, 3, *(1,) * dims), x(4, 2, *size), x(4, 3), x(0, 3, *size)
        )
        for name in ("BatchNorm", "InstanceNorm"):
            # Of no sample at all, PyTorch's instance norm has no statistics.
            kind(f"{name}{dims}d", {"num_features": [3]}, more, inputs if name == "BatchNorm" else inputs[:5])
            kind(f"Lazy{name}{dims}d", {}, more, inputs[:2])
    kind(
        "LayerNorm",
        {"normalized_shape": [4, (3, 4), [4], (2, 3, 4), 5]},
        {"eps": [1e-5, 0.1], "elementwise_affine": YES_NO, "bias": YES_NO},
        one(x(2, 3, 4), x(4), x(0, 3, 4)),
    )
    kind(
        "RMSNorm",
        {"normalized_shape": [4, (3, 4), 5]},
        {"eps": [None, 0.1], "elementwise_affine": YES_NO},
        one(x(2, 3, 4), x(4), x(0, 3, 4)),
    )
    kind(
        "GroupNorm",
        {"num_groups": [1, 2, 4, 3], "num_channels": [4]},
        {"eps": [1e-5, 0.1], "affine": YES_NO},
        one(x(2, 4, 3), x(2, 4), x(2, 4, 2, 2), x(4), x(2, 3, 3), x(0, 4, 2)),
    )
    kind(
        "LocalResponseNorm",
        {"size": [1, 2, 3]},
        {"alpha": [1e-4, 0.5], "beta": [0.75, 0.5], "k": [1.0, 2.0]},
        one(x(2, 4, 3), x(2, 4, 3, 3), x(2, 4), x(0, 4, 3)),
    )


def _activations() -> None:
    inputs = one(x(3, 4), x(), x(0, 4), x(2, 3, 4), ints(4, 3, 4))
    inplace = {"inplace": [False]}
    kind("ReLU ReLU6 SELU SiLU Mish Hardswish Hardsigmoid", {}, inplace, inputs)
    kind("Sigmoid Tanh LogSigmoid Softsign Tanhshrink", {}, {}, inputs)
    kind("ELU CELU", {}, {"alpha": [1.0, 0.5, -1.0, 0.0], **inplace}, inputs)
    kind("GELU", {}, {"approximate": ["none", "tanh", "other"]}, inputs)
    kind("GLU", {}, {"dim": [-1, 0, 1, 2, 5]}, one(x(4, 4), x(3, 4), x(2, 4, 2), x()))
    kind("Hardshrink Softshrink", {}, {"lambd": [0.5, 0.0, 1.0, -1.0]}, inputs)
    kind("LeakyReLU", {}, {"negative_slope": [0.01, 0.3, -0.5], **inplace}, inputs)
    kind("Softplus", {}, {"beta": [1.0, 2.0, 3], "threshold": [20.0, 1.0, 0]}, inputs)
    kind("PReLU", {}, {"num_parameters": [1, 4, 3], "init": [0.25, 0.1]}, one(x(3, 4), x(4), x(), x(2, 3, 4)))
    kind("Softmax LogSoftmax Softmin", {}, {"dim": [None, 0, -1, 1, 2, 5]}, [*inputs[:4], (x(2, 3, 4, 2),)])
    kind("Softmax2d", {}, {}, one(x(2, 3, 2, 2), x(3, 2, 2), x(3, 2)))
    kind("Threshold", {"threshold": [0.5, -1, 0], "value": [9.0, 0]}, inplace, inputs)
    kind("Hardtanh", {}, {"min_val": [-1.0, -0.5, 2], "max_val": [1.0, 0.5], **inplace}, inputs)
    kind("RReLU", {"lower": [0.25, 0.1], "upper": [0.25, 0.3]}, inplace, inputs)
    kind("Dropout AlphaDropout", {"p": [0.0, 0.5, 1.5, -0.1]}, inplace, inputs[:4])
    for dims in (1, 2, 3):
        kind(f"Dropout{dims}d", {"p": [0.0, 0.3, 2]}, inplace, one(x(2, 3, *(2,) * dims), x(3, *(2,) * dims)))
    kind("FeatureAlphaDropout", {"p": [0.0, 0.3, 1.5]}, {}, one(x(2, 3, 2), x(2, 3, 2, 2)))


def _shapes() -> None:
    kind("Flatten", {}, {"start_dim": [0, 1, 2, -1, 4], "end_dim": [-1, 1, 0, 2]}, one(x(2, 3, 4), x(), x(5)))
    kind(
        "Unflatten",
        {"dim": [1, 0, -1], "unflattened_size": [(2, 3), [3, -1], (4, 2), (-1, -1), 6]},
        {},
        one(x(2, 6), x(6, 6), x(6)),
    )
    window = {"dilation": [1, 2, (1, 2)], "padding": [0, 1, (1, 0)], "stride": [1, 2, (2, 1)]}
    kind(
        "Fold",
        {"output_size": [4, (4, 5)], "kernel_size": [2, (2, 2)]},
        window,
        one(x(2, 12, 12), x(2, 8, 9), x(2, 8, 4), x(8, 9), x(2, 7, 9), x(1, 4, 12)),
    )
    kind(
        "Unfold",
        {"kernel_size": [2, (2, 3), (1, 1)]},
        window,
        one(x(2, 3, 4, 5), x(3, 4, 5), x(4, 5), x(0, 3, 4, 5)),
    )
    kind(
        "PixelShuffle", {"upscale_factor": [1, 2, 3]}, {}, one(x(1, 8, 3, 2), x(8, 3, 2), x(9, 1, 1), x(3, 2))
    )
    kind(
        "PixelUnshuffle",
        {"downscale_factor": [1, 2, 3]},
        {},
        one(x(1, 2, 4, 6), x(2, 4, 6), x(4, 6), x(2, 3, 3)),
    )
    kind("ChannelShuffle", {"groups": [1, 2, 3, 4]}, {}, one(x(2, 6, 2, 2), x(6, 2, 2), x(2, 6, 3)))
    kind("Upsample", {}, {
        "size": [None, 5, (5, 7), (3, 4, 5)], "scale_factor": [None, 2, 1.5, (2.0, 1.5)],
        "align_corners": [None, *YES_NO],
        "mode": ["nearest", "linear", "bilinear", "bicubic", "trilinear", "nearest-exact", "area"],
        "recompute_scale_factor": [None, True],
    }, one(x(1, 2, 3), x(1, 2, 3, 4), x(1, 2, 2, 3, 2), x(2, 3)))  # fmt: skip
    kind(
        "UpsamplingNearest2d UpsamplingBilinear2d",
        {},
        {"size": [None, 5, (5, 3)], "scale_factor": [None, 2, (2, 3)]},
        one(x(1, 2, 3, 4), x(2, 3, 4)),
    )
    pairs = [
        (x(3, 4), near(3, 4)),
        (x(4), near(4)),
        (x(3, 4), near(1, 4)),
        (x(3, 4), near(4)),
        (x(2, 3, 4), near(3, 4)),
    ]
    kind("CosineSimilarity", {}, {"dim": [1, 0, -1, 3], "eps": [1e-8, 1e-3]}, pairs)
    kind(
        "PairwiseDistance",
        {},
        {"p": [2.0, 1.0, 3.5, float("inf"), 0.0], "eps": [1e-6, 0.1], "keepdim": YES_NO},
        pairs,
    )


def _embeddings() -> None:
    table = {"num_embeddings": [7], "embedding_dim": [3, 1]}
    norms = {"max_norm": [None, 1.0, 0.1], "norm_type": [2.0, 1.0]}
    kind(
        "Embedding",
        table,
        {"padding_idx": [None, 2, -1, 9], "scale_grad_by_freq": YES_NO, **norms},
        one(
            ints(7, 2, 4),
            ints(7, 5),
            np.array(3),
            ints(7, 0),
            x(2, 3),
            np.array([8]),
            ints(7, 4).astype("int32"),
        ),
    )
    kind("EmbeddingBag", table, {
        **norms, "mode": ["mean", "sum", "max", "other"], "padding_idx": [None, 1, -2], "include_last_offset": YES_NO,
    }, [(ints(7, 2, 4),), (ints(7, 6), np.array([0, 2, 6])), (ints(7, 6), np.array([0, 2, 2, 6])), (ints(7, 6),),
        (ints(7, 6), np.array([1, 6])), (ints(7, 2, 3), np.array([0, 1])), (ints(7, 0), np.array([0]))],
        {"per_sample_weights": [None, None, near(2, 4), near(6), near(3)]})  # fmt: skip


def _losses() -> None:
    means = {"reduction": ["mean", "sum", "none", "other"]}
    pairs = [
        (x(3, 4), near(3, 4)),
        (x(4), near(4)),
        (x(), near()),
        (x(2, 3, 4), near(2, 3, 4)),
        (x(3, 4), near(3, 1)),
        (x(0, 4), near(0, 4)),
        (x(3, 4), near(2, 4)),
    ]
    classes = [
        (x(3, 4), ints(4, 3)),
        (x(4), np.array(2)),
        (x(2, 4, 3), ints(4, 2, 3)),
        (x(3, 4), ints(4, 2)),
        (x(2, 4, 3, 2), ints(4, 2, 3, 2)),
        (x(0, 4), ints(4, 0)),
        (x(3, 4), np.array([1, 7, 0])),
        (x(3, 4), np.array([1, -100, 0])),
        (x(3, 4), near(3)),
    ]
    kind("L1Loss MSELoss", {}, means, pairs)
    kind("SmoothL1Loss", {}, {**means, "beta": [1.0, 0.5, 0.0, -1.0]}, pairs)
    kind("HuberLoss", {}, {**means, "delta": [1.0, 0.5, 0.0]}, pairs)
    kind(
        "NLLLoss",
        {},
        {**means, "weight": WEIGHTS, "ignore_index": [-100, 1, 2]},
        [(logs(*a.shape) if a.ndim > 1 and a.size else a, b) for a, b in classes],
    )
    kind("CrossEntropyLoss", {}, {
        **means, "weight": WEIGHTS, "ignore_index": [-100, 1, 2], "label_smoothing": [0.0, 0.2, 1.0, 1.5],
    }, [*classes, (x(3, 4), chance(3, 4)), (x(4), chance(4)), (x(2, 4, 3), chance(2, 4, 3))])  # fmt: skip
    kind(
        "BCELoss",
        {},
        {**means, "weight": WEIGHTS},
        [
            (chance(3, 4), chance(3, 4)[::-1].copy()),
            (chance(4), chance(4)[::-1].copy()),
            (chance(3, 4), chance(3, 1)),
            (x(3, 4), chance(3, 4)),
            (chance(0, 4), chance(0, 4)),
            (chance(3, 4), ints(2, 3, 4)),
        ],
    )
    kind(
        "BCEWithLogitsLoss",
        {},
        {**means, "weight": WEIGHTS, "pos_weight": WEIGHTS},
        [
            (x(3, 4), chance(3, 4)),
            (x(4), chance(4)),
            (x(3, 4), chance(3, 1)),
            (x(0, 4), chance(0, 4)),
            (x(), chance()),
        ],
    )
    kind(
        "KLDivLoss",
        {},
        {"reduction": ["mean", "sum", "none", "batchmean"], "log_target": YES_NO},
        [(logs(3, 4), chance(3, 4)), (logs(2, 3), chance(3)), (logs(3, 4), chance(3, 4) * 0)],
    )
    kind(
        "PoissonNLLLoss",
        {},
        {**means, "log_input": YES_NO, "full": YES_NO, "eps": [1e-8, 0.1]},
        [(chance(3, 4), 3 * chance(3, 4)), (chance(4), 3 * chance(4)), (chance(3, 4), chance(4))],
    )
    kind(
        "GaussianNLLLoss",
        {},
        {**means, "full": YES_NO, "eps": [1e-6, 0.3]},
        [
            (x(3, 4), near(3, 4), chance(3, 4)),
            (x(3, 4), near(3, 4), chance(3, 1)),
            (x(3, 4), near(3, 4), chance(3)),
            (x(3, 4), near(3, 4), -chance(3, 4)),
            (x(3, 4), near(4), chance(3, 4)),
            (x(3, 4), near(3, 4), 2.0),
        ],
    )
    kind(
        "CTCLoss",
        {},
        {**means, "blank": [0, 1, 4], "zero_infinity": YES_NO},
        [
            (logs(6, 5, 2).transpose(0, 2, 1).copy(), ints(3, 2, 3) + 2, np.array([6, 6]), np.array([3, 2])),
            (logs(6, 5, 2).transpose(0, 2, 1).copy(), ints(3, 5) + 2, np.array([6, 5]), np.array([3, 2])),
            (logs(6, 5), ints(3, 3) + 2, np.array(6), np.array(3)),
            (logs(2, 5, 2).transpose(0, 2, 1).copy(), ints(3, 2, 3) + 2, np.array([2, 2]), np.array([3, 2])),
        ],
    )
    kind(
        "HingeEmbeddingLoss",
        {},
        {**means, "margin": [1.0, 0.5]},
        [(x(3, 4), sign(3, 4)), (x(4), sign(4)), (x(3, 4), sign(4))],
    )
    kind(
        "MultiLabelMarginLoss",
        {},
        means,
        [
            (x(3, 4), np.array([[1, 0, -1, 2], [3, -1, 0, 0], [0, 1, 2, 3]])),
            (x(4), np.array([3, 0, -1, 1])),
            (x(3, 4), ints(4, 2, 4)),
        ],
    )
    kind("SoftMarginLoss", {}, means, [(x(3, 4), sign(3, 4)), (x(4), sign(4)), (x(), sign())])
    kind(
        "MultiLabelSoftMarginLoss",
        {},
        {**means, "weight": WEIGHTS},
        [(x(3, 4), (sign(3, 4) + 1) / 2), (x(4), chance(4))],
    )
    kind(
        "CosineEmbeddingLoss",
        {},
        {**means, "margin": [0.0, 0.2]},
        [
            (x(3, 4), near(3, 4), sign(3)),
            (x(4), near(4), sign()),
            (x(3, 4), near(3, 4), sign(4)),
            (x(4), near(4), sign(1)),
        ],
    )
    kind(
        "MarginRankingLoss",
        {},
        {**means, "margin": [0.0, 0.2]},
        [
            (x(5), near(5), sign(5)),
            (x(3, 4), near(3, 4), sign(3, 4)),
            (x(3, 4), near(3, 4), sign(4)),
            (x(5), near(5), sign(1)),
        ],
    )
    kind(
        "MultiMarginLoss",
        {},
        {**means, "p": [1, 2, 3], "margin": [1.0, 0.5], "weight": WEIGHTS},
        [(x(3, 4), ints(4, 3)), (x(4), np.array(1)), (x(3, 4), ints(4, 2)), (x(4), np.array([1]))],
    )
    three = [
        (x(3, 4), near(3, 4), near(4, 3).T.copy()),
        (x(4), near(4), x(4)[::-1].copy()),
        (x(2, 3, 4), near(2, 3, 4), x(2, 3, 4)[::-1].copy()),
    ]
    kind(
        "TripletMarginLoss",
        {},
        {**means, "margin": [1.0, 0.5, 0.0], "p": [2.0, 1.0], "eps": [1e-6, 0.1], "swap": YES_NO},
        three,
    )
    kind("TripletMarginWithDistanceLoss", {}, {**means, "margin": [1.0, 0.5], "swap": YES_NO}, three)
    kind(
        "AdaptiveLogSoftmaxWithLoss",
        {"in_features": [8], "n_classes": [20], "cutoffs": [[4, 10], [5], [10, 4], [30], []]},
        {"div_value": [4.0, 2.0], "head_bias": YES_NO},
        [(x(5, 8), ints(20, 5)), (x(8), np.array(7)), (x(5, 8), ints(20, 4)), (x(5, 7), ints(20, 5))],
    )


def _recurrent() -> None:
    more = {
        "num_layers": [1, 2, 3, 0],
        "bias": YES_NO,
        "batch_first": YES_NO,
        "dropout": [0.0, 1.0, 2.0],
        "bidirectional": YES_NO,
    }
    states = [near(2, 2, 4), near(1, 2, 4), near(4, 2, 4), near(2, 4), near(1, 4), near(2, 3, 4)]
    inputs = [
        (x(5, 2, 3),),
        (x(2, 5, 3),),
        (x(5, 3),),
        (packed(2, 5, 3),),
        (packed(5, 3, 3, enforce_sorted=True),),
        (x(5, 2, 4),),
        (x(3),),
    ]
    both = [*inputs, *[(a, h) for (a,) in inputs[:3] for h in states]]
    kind(
        "RNN",
        {"input_size": [3], "hidden_size": [4]},
        {**more, "nonlinearity": ["tanh", "relu", "other"]},
        both,
    )
    kind("GRU", {"input_size": [3], "hidden_size": [4]}, more, both)
    pairs = [(a, (h, np.cos(h))) for (a,) in inputs[:3] for h in states]
    kind(
        "LSTM",
        {"input_size": [3], "hidden_size": [4]},
        {**more, "proj_size": [0, 2, 4]},
        [*inputs, *pairs, (x(5, 2, 3), (near(1, 2, 2), near(1, 2, 4)))],
    )
    cells = [
        (x(2, 3),),
        (x(3),),
        (x(2, 3), near(2, 4)),
        (x(3), near(4)),
        (x(2, 3), near(3, 4)),
        (x(2, 4),),
        (x(1, 2, 3),),
    ]
    kind(
        "RNNCell",
        {"input_size": [3], "hidden_size": [4]},
        {"bias": YES_NO, "nonlinearity": ["tanh", "relu", "other"]},
        cells,
    )
    kind("GRUCell", {"input_size": [3], "hidden_size": [4]}, {"bias": YES_NO}, cells)
    kind(
        "LSTMCell",
        {"input_size": [3], "hidden_size": [4]},
        {"bias": YES_NO},
        [(a[0], (a[1], np.cos(a[1]))) if len(a) > 1 else a for a in cells],
    )


def _attention() -> None:
    triples = [
        (x(4, 2, 8), near(5, 2, 8), x(5, 2, 8)),
        (x(2, 4, 8), near(2, 5, 8), x(2, 5, 8)),
        (x(4, 8), near(5, 8), x(5, 8)),
        (x(4, 2, 8), x(5, 2, 6), x(5, 2, 5)),
        (x(4, 2, 8),) * 3,
        (x(4, 2, 6),) * 3,
    ]
    padding = np.array([[False] * 4 + [True], [False] * 5])
    kind("MultiheadAttention", {"embed_dim": [8], "num_heads": [1, 2, 3]}, {
        "dropout": [0.0, 0.2], "bias": YES_NO, "add_bias_kv": YES_NO, "add_zero_attn": YES_NO, "kdim": [None, 6],
        "vdim": [None, 5], "batch_first": YES_NO,
    }, triples, {
        "key_padding_mask": [None, None, padding, padding[0]], "need_weights": YES_NO, "average_attn_weights": YES_NO,
        "attn_mask": [None, None, np.triu(np.ones((4, 5), bool), 2), near(4, 5), near(4, 4)],
        "is_causal": [False, False, True],
    })  # fmt: skip
    layer = {
        "dim_feedforward": [16],
        "activation": ["relu", "gelu", "other"],
        "norm_first": YES_NO,
        "bias": YES_NO,
        "batch_first": YES_NO,
        "layer_norm_eps": [1e-5, 0.1],
    }
    square = np.triu(np.ones((5, 5), bool), 1)
    sizes = {"d_model": [8], "nhead": [2, 4, 3], "dropout": [0.0, 0.0, 0.2]}
    kind(
        "TransformerEncoderLayer",
        sizes,
        {**layer, "dim_feedforward": [16, 8]},
        one(x(5, 2, 8), x(2, 5, 8), x(5, 8), x(5, 2, 6)),
        {
            "src_mask": [None, square, near(5, 5)],
            "src_key_padding_mask": [None, padding],
            "is_causal": [False, False, True],
        },
    )
    pairs = [(near(3, 2, 8), x(5, 2, 8)), (near(2, 3, 8), x(2, 5, 8)), (near(3, 8), x(5, 8))]
    kind(
        "TransformerDecoderLayer",
        sizes,
        layer,
        pairs,
        {
            "tgt_mask": [None, square[:3, :3]],
            "memory_key_padding_mask": [None, padding],
            "memory_mask": [None, square[:3]],
        },
    )
    whole = {"num_encoder_layers": [1, 2], "num_decoder_layers": [1], **layer}
    kind(
        "Transformer",
        sizes,
        whole,
        [(b, a) for a, b in pairs],
        {
            "tgt_mask": [None, square[:3, :3]],
            "src_mask": [None, square],
            "src_key_padding_mask": [None, padding],
        },
    )


for fill in (
    _linear,
    _convolutions,
    _pools,
    _pads,
    _norms,
    _activations,
    _shapes,
    _embeddings,
    _losses,
    _recurrent,
    _attention,
):
    fill()


def configurations(name: str, count: int, seed: int = 0) -> Iterator[Configuration]:
    """Some of the configurations of a class; the same for the same seed."""
    chance_of = random.Random(f"{name} {seed}")
    found = KINDS[name]
    for _ in range(count):
        arguments = {key: chance_of.choice(values) for key, values in found.needed.items()}
        for key, values in found.optional.items():
            if chance_of.random() < 0.4:
                arguments[key] = chance_of.choice(values)
        options = {
            key: chance_of.choice(values) for key, values in found.call.items() if chance_of.random() < 0.5
        }
        inputs = chance_of.choice(found.inputs if chance_of.random() < 0.5 else found.inputs[:2])
        training = chance_of.random() < 0.7 and not _draws(arguments)
        # In float32 the gradients of a whole transformer are far from what they are, in both libraries.
        dtypes = ["float64"] if name.startswith("Transformer") else ["float64", "float32"]
        yield Configuration(name, arguments, inputs, options, training, chance_of.choice(dtypes))


def _draws(arguments: dict[str, Any]) -> bool:
    """Whether a module draws random numbers in training, of which no two libraries draw the same."""
    share = arguments.get("dropout", arguments.get("p", 0))
    return 0 < share < 1 or arguments.get("lower") != arguments.get("upper")
