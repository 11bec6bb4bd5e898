"""Rows of normalisation, attention, embedding, dropout, and the losses that are not in `cases_nn.py`."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special

import retrograd as rg
from tests.ops.case import Case
from tests.ops.samples import call_with, distinct, each, nonzero, positive

F = rg.nn.functional
REAL = {"complex": "not defined for complex numbers"}
SEVERAL = {**REAL, "jvp": "several nodes"}
REDUCTIONS = ({}, {"reduction": "sum"}, {"reduction": "none"})


def constant(values: Any, x: Any) -> Any:
    """A tensor without gradient, in the dtype of x and where x is."""
    return rg.Tensor(np.asarray(values).astype(x.dtype), share=True).to(x.device)


def near(indices: Any, x: Any) -> Any:
    """A tensor of indices where x is."""
    return rg.tensor(indices).to(x.device)


def reduced(function: Any) -> Any:
    def reference(*xs: Any, reduction: str = "mean", **options: Any) -> Any:
        losses = np.asarray(function(*xs, **options))
        return {"none": losses, "sum": losses.sum(), "mean": losses.mean()}[reduction]

    return reference


# -- normalisation ---------------------------------------------------------------------------------


def standard(x: Any, axes: Any, eps: float = 1e-5) -> Any:
    if not x.size:
        return x
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


def by_layer(x: Any, shape: Any, weight: Any = 1.0, bias: Any = 0.0, eps: float = 1e-5) -> Any:
    return standard(x, tuple(range(-len(shape), 0)), eps) * weight + bias


def by_group(x: Any, groups: int, weight: Any = 1.0, bias: Any = 0.0) -> Any:
    parts = x.reshape(x.shape[0], groups, x.size // (x.shape[0] * groups) if x.size else 0)
    return in_channels(standard(parts, 2).reshape(x.shape), weight, bias)


def in_channels(x: Any, weight: Any, bias: Any) -> Any:
    return np.moveaxis(np.moveaxis(x, 1, -1) * weight + bias, -1, 1)


def by_channel(x: Any, weight: Any = 1.0, bias: Any = 0.0) -> Any:
    return in_channels(standard(x, (0, *range(2, x.ndim))), weight, bias)


def by_rms(x: Any, shape: Any, weight: Any = 1.0, eps: float | None = None) -> Any:
    small = np.finfo(x.dtype).eps if eps is None else eps
    return x / np.sqrt((x**2).mean(tuple(range(-len(shape), 0)), keepdims=True) + small) * weight


def by_neighbours(x: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Any:
    squares = np.pad(x**2, [(0, 0), (size // 2, (size - 1) // 2)] + [(0, 0)] * (x.ndim - 2))
    means = sum(squares[:, i : i + x.shape[1]] for i in range(size)) / size
    return x / (k + alpha * means) ** beta


CHANNELS = ((4,), (4,))
NORMS = (
    Case("nn.functional.layer_norm",
         (call_with((2, 3), args=((3,),)), call_with((4,), args=((4,),)), call_with((2, 2, 3), args=((2, 3), None, None, 0.1)),
          call_with((0, 3), args=((3,),)), call_with((3, 4), args=((4,),), layout="transposed")),
         lambda x, shape, w=None, b=None, eps=1e-5: by_layer(x, shape, eps=eps), distinct, REAL),
    Case("nn.functional.layer_norm", (call_with((2, 3), (3,), (3,)), call_with((2, 2, 3), (3,), (3,), layout="transposed")),
         lambda x, w, b: by_layer(x, (3,), w, b), distinct, REAL,
         lambda x, w, b: F.layer_norm(x, (3,), w, b), "affine"),
    Case("native_layer_norm", (call_with((2, 3), (3,), (3,)),), lambda x, w, b: by_layer(x, (3,), w, b, 0.01), distinct,
         REAL, lambda x, w, b: rg.native_layer_norm(x, (3,), w, b, 0.01)[0]),
    Case("nn.functional.rms_norm", (call_with((2, 3), args=((3,),)), call_with((2, 2, 3), args=((2, 3), None, 0.1)),
                                    call_with((0, 3), args=((3,),))),
         lambda x, shape, w=None, eps=None: by_rms(x, shape, eps=eps), nonzero,
         {**SEVERAL, "float32": "the machine epsilon of the dtype is part of the result"}),
    Case("nn.functional.rms_norm", (call_with((2, 3), (3,)),), lambda x, w: by_rms(x, (3,), w), nonzero, SEVERAL,
         lambda x, w: F.rms_norm(x, (3,), w), "affine"),
    Case("nn.functional.group_norm",
         (call_with((2, 4), args=(2,)), call_with((2, 4, 3), args=(2,)), call_with((0, 4), args=(2,)),
          call_with((2, 4, 2), args=(1,), layout="strided")),
         by_group, distinct, REAL),
    Case("nn.functional.group_norm", (call_with((2, 4), *CHANNELS), call_with((1, 4, 2, 2), *CHANNELS)),
         lambda x, w, b: by_group(x, 2, w, b), distinct, REAL, lambda x, w, b: F.group_norm(x, 2, w, b), "affine"),
    Case("native_group_norm", (call_with((2, 4, 2), *CHANNELS),), lambda x, w, b: by_group(x, 2, w, b), distinct, REAL,
         lambda x, w, b: rg.native_group_norm(x, w, b, 2, 4, 2, 2, 1e-5)[0]),
    Case("nn.functional.batch_norm",
         (call_with((3, 2), args=(None, None), training=True), call_with((2, 2, 3), args=(None, None), training=True),
          call_with((4, 2), args=(None, None), training=True, layout="transposed")),
         lambda x, mean, var, training: by_channel(x), distinct, REAL),
    Case("nn.functional.batch_norm", (call_with((3, 4), *CHANNELS), call_with((2, 4, 2), *CHANNELS)),
         by_channel, distinct, REAL, lambda x, w, b: F.batch_norm(x, None, None, w, b, True), "affine"),
    Case("nn.functional.batch_norm", (call_with((3, 2), (2,), (2,)), call_with((2, 2, 2), (2,), (2,))),
         lambda x, w, b: in_channels((x - in_channels(0 * x + 1, [0.5, -1.0], 0)) / np.sqrt(4.00001), w, b), nonzero, REAL,
         lambda x, w, b: F.batch_norm(x, constant([0.5, -1.0], x), constant([4.0, 4.0], x), w, b), "running"),
    Case("native_batch_norm", (call_with((3, 4), *CHANNELS),), by_channel, distinct, REAL,
         lambda x, w, b: rg.native_batch_norm(x, w, b, None, None, True, 0.1, 1e-5)[0]),
    Case("nn.functional.instance_norm", (call_with((2, 2, 3)), call_with((1, 2, 2, 2))),
         lambda x: standard(x, tuple(range(2, x.ndim))), distinct, SEVERAL),
    Case("nn.functional.instance_norm", (call_with((2, 4, 3), *CHANNELS),),
         lambda x, w, b: in_channels(standard(x, (2,)), w, b), distinct, SEVERAL,
         lambda x, w, b: F.instance_norm(x, None, None, w, b), "affine"),
    Case("nn.functional.local_response_norm",
         each((call_with((2, 4, 3), args=(2,)), call_with((1, 5, 2, 2), args=(3,))), {"alpha": 0.5}, {"k": 2.0}),
         by_neighbours, nonzero, SEVERAL),
)  # fmt: skip


# -- attention -------------------------------------------------------------------------------------

VISIBLE = np.array([[True, False, True], [True, True, True]])


def attended(q: Any, k: Any, v: Any, mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False,
             scale: float | None = None, enable_gqa: bool = False) -> Any:  # fmt: skip
    if enable_gqa:
        k, v = (np.repeat(t, q.shape[-3] // t.shape[-3], -3) for t in (k, v))
    scores = q @ np.swapaxes(k, -1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if is_causal:
        mask = np.tri(*scores.shape[-2:], dtype=bool)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    return scipy.special.softmax(scores, -1) @ v


def in_heads(q: Any, k: Any, v: Any, w: Any, b: Any, out_w: Any, out_b: Any) -> Any:
    """Attention with two heads over (length, batch, 4)."""
    q, k, v = (x @ w[4 * i : 4 * i + 4].T + b[4 * i : 4 * i + 4] for i, x in enumerate((q, k, v)))
    apart = [np.moveaxis(x.reshape(*x.shape[:2], 2, 2), 0, 2) for x in (q, k, v)]
    return np.moveaxis(attended(*apart), 2, 0).reshape(q.shape) @ out_w.T + out_b


FOUR = call_with((1, 2, 2, 2), (1, 2, 3, 2), (1, 2, 3, 2))
THREE = call_with((2, 2, 2), (2, 3, 2), (2, 3, 3))
HEADS = ((2, 1, 4), (3, 1, 4), (3, 1, 4), (12, 4), (12,), (4, 4), (4,))
ATTENTION = (
    Case("nn.functional.scaled_dot_product_attention",
         (*each((FOUR,), {}, {"is_causal": True}, {"scale": 0.3}),
          call_with(*FOUR.shapes, args=(VISIBLE,)),
          call_with((1, 4, 2, 2), (1, 2, 3, 2), (1, 2, 3, 2), enable_gqa=True)),
         attended, nonzero, REAL),
    Case("nn.functional.scaled_dot_product_attention",
         (*each((THREE,), {}, {"is_causal": True}, {"scale": -0.3}), call_with((2, 2), (3, 2), (3, 2), args=(VISIBLE,)),
          call_with((2, 2, 2), (1, 3, 2), (1, 3, 3), enable_gqa=True), call_with((2, 2), (3, 2), (3, 2), (2, 3))),
         attended, nonzero, {**SEVERAL, "name": "the last product has the name of its shapes"}, form="composed"),
    Case("nn.functional.multi_head_attention_forward", (call_with(*HEADS),), in_heads, nonzero, SEVERAL,
         lambda q, k, v, w, b, ow, ob: F.multi_head_attention_forward(
             q, k, v, 4, 2, w, b, None, None, False, 0.0, ow, ob)[0]),
    Case("nn.functional.multi_head_attention_forward", (call_with(*HEADS),), in_heads, nonzero, SEVERAL,
         lambda q, k, v, w, b, ow, ob: F.multi_head_attention_forward(
             q, k, v, 4, 2, w, b, None, None, False, 0.0, ow, ob, need_weights=False)[0], "fused"),
)  # fmt: skip


# -- embedding -------------------------------------------------------------------------------------

INDICES, OFFSETS = np.array([1, 0, 3, 3, 2]), np.array([0, 2, 2])


def bags(table: Any, reduce: Any, factors: Any = None) -> Any:
    rows = table[INDICES] if factors is None else table[INDICES] * factors[:, None]
    nothing = np.zeros(table.shape[1])
    return np.array([reduce(rows[:2]), nothing, reduce(rows[2:])])


def bag(mode: str, reduce: Any) -> Case:
    return Case("nn.functional.embedding_bag", (call_with((4, 3)), call_with((4, 3), layout="transposed")),
                lambda w: bags(w, reduce), distinct, REAL,
                lambda w: F.embedding_bag(near(INDICES, w), w, near(OFFSETS, w), mode=mode), mode)  # fmt: skip


EMBEDDING = (
    Case("nn.functional.embedding", (call_with((4, 3), args=(INDICES,)), call_with((4, 2), args=(INDICES.reshape(1, 5),)),
                                     call_with((4, 3), args=(np.array(2),)), call_with((4, 3), args=(INDICES[:0],))),
         lambda w, i: w[i], call=lambda w, i: F.embedding(i, w)),
    Case("embedding", (call_with((4, 3), args=(INDICES,)), call_with((4, 3), args=(INDICES,), layout="transposed")),
         lambda w, i: w[i], nonzero, {"complex": "PyTorch has no complex gradient"}),
    bag("sum", lambda rows: rows.sum(0)),
    bag("mean", lambda rows: rows.mean(0)),
    bag("max", lambda rows: rows.max(0)),
    Case("nn.functional.embedding_bag", (call_with((4, 3), (5,)),), lambda w, p: bags(w, lambda r: r.sum(0), p), nonzero,
         REAL, lambda w, p: F.embedding_bag(near(INDICES, w), w, near(OFFSETS, w), mode="sum", per_sample_weights=p),
         "factors"),
)  # fmt: skip


# -- dropout, and linear maps ----------------------------------------------------------------------


def seeded(function: Any) -> Any:
    """The same random numbers in every call."""

    def call(*args: Any, **kwargs: Any) -> Any:
        rg.manual_seed(0)
        return function(*args, **kwargs)

    return call


def off(name: str, *shapes: tuple[int, ...]) -> Case:
    return Case(f"nn.functional.{name}", tuple(call_with(s, training=False) for s in shapes), lambda x, training: x,
                excuses={"jvp": "does nothing"})  # fmt: skip


RANDOM = {"complex": "not defined for complex numbers", "numpy": "random", "float32": "draws other numbers"}
DROPOUT = (
    off("dropout1d", (2, 3), (1, 2, 3)),
    off("dropout2d", (1, 2, 2, 2)),
    off("dropout3d", (1, 2, 1, 2, 2)),
    off("alpha_dropout", (2, 3), ()),
    off("feature_alpha_dropout", (2, 3)),
    Case("feature_dropout", (call_with((4, 3, 2)),), None, nonzero, RANDOM, seeded(lambda x: rg.feature_dropout(x, 0.5, True))),
    Case("alpha_dropout", (call_with((4, 3)),), None, nonzero, {**RANDOM, "jvp": "several nodes"},
         seeded(lambda x: rg.alpha_dropout(x, 0.5, True)), "on"),
    Case("feature_alpha_dropout", (call_with((4, 3, 2)),), None, nonzero, {**RANDOM, "jvp": "several nodes"},
         seeded(lambda x: rg.feature_alpha_dropout(x, 0.5, True)), "on"),
    Case("native_dropout", (call_with((2, 3), args=(0.5, False)), call_with((3,), args=(0.0, True))),
         lambda x, p, train: (x, np.ones(x.shape, bool)), nonzero, {"complex": "not supported for complex numbers"}),
    Case("native_dropout", (call_with((4, 3)),), None, nonzero, RANDOM, seeded(lambda x: rg.native_dropout(x, 0.5, True)[0]), "on"),
    Case("nn.functional.gumbel_softmax", each((call_with((2, 3)), call_with((3,))), {}, {"tau": 0.5}, {"dim": 0}), None,
         nonzero, {**RANDOM, "jvp": "several nodes"}, seeded(F.gumbel_softmax)),
    Case("bilinear", (call_with((3, 2), (3, 2), (2, 2, 2)), call_with((2, 1, 2), (2, 1, 3), (2, 2, 3)),
                      call_with((2,), (3,), (2, 2, 3)), call_with((3, 2), (3, 3), (2, 2, 3), (2,))),
         lambda x, y, w, b=0.0: np.einsum("...i,oij,...j->...o", x, w, y) + b, nonzero,
         {"jvp": "several nodes", "complex": "PyTorch has no complex gradient"}),
)  # fmt: skip


# -- losses ----------------------------------------------------------------------------------------

CLASSES = np.array([2, 0])
LABELS = np.array([[2, 0, -1], [1, -1, 0]])
SIGNS = np.array([[1.0, -1.0, 1.0], [-1.0, -1.0, 1.0]])
PAIR = call_with((2, 3), (2, 3))
TRIPLE = call_with((2, 3), (2, 3), (2, 3))


def excess(x: Any, target: Any, p: int = 1, margin: float = 1.0) -> Any:
    right = np.take_along_axis(x, target[:, None], 1)
    over = np.maximum(margin - right + x, 0) ** p
    return (over.sum(1) - margin**p) / x.shape[1]


def label_excess(x: Any, target: Any) -> Any:
    losses = []
    for row, labels in zip(x, target, strict=True):
        right = labels[: list(labels).index(-1)]
        wrong = [j for j in range(len(row)) if j not in right]
        losses.append(sum(max(0, 1 - row[i] + row[j]) for i in right for j in wrong) / len(row))
    return np.array(losses)


def triplet(a: Any, near: Any, far: Any, margin: float = 1.0, p: float = 2, swap: bool = False) -> Any:
    to_near, to_far, across = (
        np.linalg.norm(x - y + 1e-6, p, -1) for x, y in ((a, near), (a, far), (near, far))
    )
    return np.maximum(to_near - (np.minimum(to_far, across) if swap else to_far) + margin, 0)


def cosine(x: Any, y: Any, target: Any, margin: float = 0.0) -> Any:
    c = (x * y).sum(1) / np.sqrt(((x * x).sum(1) + 1e-12) * ((y * y).sum(1) + 1e-12))
    return np.where(target == 1, 1 - c, np.maximum(c - margin, 0))


def counts(x: Any, t: Any, log_input: bool = True, full: bool = False, eps: float = 1e-8) -> Any:
    losses = np.exp(x) - t * x if log_input else x - t * np.log(x + eps)
    stirling = np.where(t > 1, t * np.log(t) - t + 0.5 * np.log(2 * np.pi * t), 0)
    return losses + stirling if full else losses


def normal_numbers(x: Any, t: Any, var: Any, full: bool = False) -> Any:
    return 0.5 * (np.log(var) + (x - t) ** 2 / var) + (0.5 * np.log(2 * np.pi) if full else 0.0)


def by_alignments(logits: Any) -> Any:
    """The loss of targets (1, 1) and (2) in 3 steps of 3 classes, class 0 the blank: each path by itself."""
    p = scipy.special.softmax(logits, 2)
    paths = (((1, 0, 1),), ((2, 2, 2), (2, 2, 0), (2, 0, 0), (0, 2, 2), (0, 2, 0), (0, 0, 2)))
    return -np.log([sum(np.prod([p[t, n, c] for t, c in enumerate(path)]) for path in found)
                    for n, found in enumerate(paths)])  # fmt: skip


ALIGNED = (rg.tensor([[1, 1], [2, 0]]), (3, 3), (2, 1))

LOSSES = (
    Case("nn.functional.multi_margin_loss",
         each((call_with((2, 3), args=(CLASSES,)),), *REDUCTIONS, {"p": 2}, {"margin": 0.4}), reduced(excess), distinct, REAL),
    Case("nn.functional.multilabel_margin_loss", each((call_with((2, 3), args=(LABELS,)),), *REDUCTIONS),
         reduced(label_excess), distinct, REAL),
    Case("nn.functional.soft_margin_loss", each((call_with((2, 3), args=(SIGNS,)),), *REDUCTIONS),
         reduced(lambda x, t: np.log1p(np.exp(-t * x))), nonzero, {**REAL, "float32": "the target is float64"}),
    Case("nn.functional.multilabel_soft_margin_loss", each((PAIR,), *REDUCTIONS),
         reduced(lambda x, t: -(t * np.log(scipy.special.expit(x)) + (1 - t) * np.log(scipy.special.expit(-x))).mean(1)),
         nonzero, SEVERAL),
    Case("nn.functional.hinge_embedding_loss", each((call_with((2, 3), args=(SIGNS,)),), *REDUCTIONS, {"margin": 0.15}),
         reduced(lambda x, t, margin=1.0: np.where(t == 1, x, np.maximum(margin - x, 0))), nonzero, SEVERAL),
    Case("nn.functional.margin_ranking_loss", each((TRIPLE,), *REDUCTIONS, {"margin": 0.15}),
         reduced(lambda x, y, t, margin=0.0: np.maximum(-t * (x - y) + margin, 0)), nonzero, SEVERAL),
    Case("nn.functional.triplet_margin_loss", each((TRIPLE,), *REDUCTIONS, {"p": 3}, {"swap": True}), reduced(triplet),
         nonzero, SEVERAL),
    Case("nn.functional.triplet_margin_with_distance_loss", each((TRIPLE,), *REDUCTIONS, {"swap": True}),
         reduced(triplet), nonzero, SEVERAL),
    Case("nn.functional.cosine_embedding_loss",
         each((call_with((2, 3), (2, 3), args=(np.array([1, -1]),)),), *REDUCTIONS, {"margin": -0.9}),
         reduced(cosine), nonzero, SEVERAL),
    Case("nn.functional.poisson_nll_loss",
         each((PAIR,), *REDUCTIONS, {"log_input": False}), reduced(counts), positive, SEVERAL),
    Case("nn.functional.poisson_nll_loss", each((PAIR,), {"full": True}), reduced(counts),
         (nonzero, lambda rng, n: 1.5 + positive(rng, n)), SEVERAL, form="full"),
    Case("nn.functional.gaussian_nll_loss", each((TRIPLE,), *REDUCTIONS, {"full": True}), reduced(normal_numbers),
         positive, SEVERAL),
    Case("nn.functional.linear_cross_entropy", each((call_with((2, 4), (3, 4), args=(CLASSES,)),), *REDUCTIONS),
         reduced(lambda x, w, t: -np.take_along_axis(scipy.special.log_softmax(x @ w.T, 1), t[:, None], 1)[:, 0]),
         nonzero, SEVERAL),
    Case("nn.functional.ctc_loss", each((call_with((3, 2, 3)),), *REDUCTIONS[1:]), reduced(by_alignments), nonzero,
         SEVERAL, lambda x, **options: F.ctc_loss(x.log_softmax(2), *ALIGNED, **options)),
)  # fmt: skip

NETWORK = (*NORMS, *ATTENTION, *EMBEDDING, *DROPOUT, *LOSSES)
