"""Rows of activations and losses."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special

import retrograd as rg
from tests.ops.case import Case
from tests.ops.samples import ONE, call_with, each, nonzero

REAL = {"complex": "not defined for complex numbers"}
CLASSES = np.array([2, 0])


def activation(name: str, reference: Any, samples: Any = ONE, excuses: Any = REAL, **options: Any) -> Case:
    return Case(f"nn.functional.{name}", samples, reference, excuses=excuses, **options)


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def softplus(x: Any, beta: float = 1, threshold: float = 20) -> Any:
    return np.where(x * beta > threshold, x, np.log1p(np.exp(beta * x)) / beta)


def gelu_by_tanh(x: Any, approximate: str) -> Any:
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


ACTIVATIONS = (
    activation("relu", lambda x: np.maximum(x, 0)),
    activation("relu6", lambda x: np.clip(x, 0, 6)),
    activation("threshold", lambda x, t, v: np.where(x > t, x, v),
         tuple(call_with(s.shapes[0], args=(0.1, 2.5), layout=s.layout) for s in ONE)),
    activation("hardtanh", lambda x, min_val=-1, max_val=1: np.clip(x, min_val, max_val),
         (*ONE, *each(ONE[:2], {"min_val": -0.5, "max_val": 0.7}))),
    activation("leaky_relu", lambda x, negative_slope=0.01: np.where(x > 0, x, negative_slope * x),
         (*ONE, *each(ONE[:2], {"negative_slope": 0.3}))),
    activation("hardsigmoid", lambda x: np.clip(x / 6 + 0.5, 0, 1)),
    activation("hardswish", lambda x: x * np.clip(x / 6 + 0.5, 0, 1)),
    activation("elu", lambda x, alpha=1: np.where(x > 0, x, alpha * np.expm1(x)),
         (*ONE, *each(ONE[:2], {"alpha": 1.7}))),
    activation("selu", lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x))),
    activation("celu", lambda x, alpha=1: np.where(x > 0, x, alpha * np.expm1(x / alpha)),
         (*ONE, *each(ONE[:2], {"alpha": 1.7}))),
    activation("softplus", softplus, (*ONE, *each(ONE[:2], {"beta": 2.0}, {"threshold": 0.5}))),
    activation("logsigmoid", lambda x: np.log(sigmoid(x))),
    activation("silu", lambda x: x * sigmoid(x)),
    activation("mish", lambda x: x * np.tanh(np.log1p(np.exp(x)))),
    activation("gelu", lambda x: x * 0.5 * scipy.special.erfc(-x / np.sqrt(2))),
    activation("gelu", gelu_by_tanh, each(ONE, {"approximate": "tanh"}), form="tanh"),
    activation("softsign", lambda x: x / (1 + np.abs(x)), excuses={**REAL, "jvp": "several nodes"}),
    activation("tanhshrink", lambda x: x - np.tanh(x), excuses={**REAL, "jvp": "several nodes"}),
    activation("dropout", lambda x, p, training: x, each(ONE, {"p": 0.5, "training": False}),
         excuses={"jvp": "does nothing"}, form="off"),
    Case("erf", ONE, scipy.special.erf, excuses=REAL),
    Case("erfc", ONE, scipy.special.erfc, excuses=REAL),
)  # fmt: skip


def reduced(function: Any) -> Any:
    def reference(*xs: Any, reduction: str = "mean", **options: Any) -> Any:
        losses = function(*xs, **options)
        return {"none": losses, "sum": losses.sum(), "mean": losses.mean()}[reduction]

    return reference


REDUCTIONS = ({}, {"reduction": "sum"}, {"reduction": "none"})
SAME_SHAPE = (call_with((2, 3), (2, 3)), call_with((), ()), call_with((2, 3), (2, 3), layout="transposed"))


def pairwise(name: str, function: Any, *options: dict[str, Any], **more: Any) -> Case:
    return Case(f"nn.functional.{name}", (*each(SAME_SHAPE, *REDUCTIONS), *each(SAME_SHAPE[:1], *options)),
    reduced(function),
                (nonzero, lambda rng, n: 3.0 + nonzero(rng, n) * 0.3), **more)  # fmt: skip


def huber(x: Any, y: Any, delta: float = 1.0) -> Any:
    d = np.abs(x - y)
    return np.where(d < delta, 0.5 * d * d, delta * (d - 0.5 * delta))


def negative_log(x: Any, target: Any) -> Any:
    return -np.take_along_axis(x, target[:, None], 1)[:, 0]


def log_softmax(x: Any) -> Any:
    return scipy.special.log_softmax(x, axis=1)


def probability(rng: Any, count: int) -> Any:
    return rng.uniform(0.1, 0.9, count)


def binary(x: Any, y: Any) -> Any:
    return -(y * np.log(x) + (1 - y) * np.log(1 - x))


ENTROPIES = (
    Case("nn.functional.binary_cross_entropy", each(SAME_SHAPE, *REDUCTIONS), reduced(binary), probability, REAL),
    Case("nn.functional.binary_cross_entropy_with_logits", each(SAME_SHAPE, *REDUCTIONS),
         reduced(lambda x, y: binary(sigmoid(x), y)),
         (nonzero, probability), REAL),
    Case("nn.functional.kl_div", each(SAME_SHAPE, *REDUCTIONS[1:]), reduced(lambda x, y: y * (np.log(y) - x)),
         (nonzero, probability),
         {**REAL, "jvp": "several nodes"}),
    Case("nn.functional.kl_div", each(SAME_SHAPE[:1], {"log_target": True, "reduction": "batchmean"}),
         lambda x, y, log_target, reduction: (np.exp(y) * (y - x)).sum() / len(x), nonzero,
         {**REAL, "jvp": "several nodes"}, form="log"),
)  # fmt: skip
IMAGES = np.array([[[0, 2], [1, 1]]])
WEIGHTS = np.array([0.5, 1.0, 2.0])

LOSSES = (
    pairwise("mse_loss", lambda x, y: (x - y) ** 2, excuses=REAL),
    pairwise("l1_loss", lambda x, y: np.abs(x - y), excuses={**REAL, "jvp": "several nodes"}),
    pairwise("smooth_l1_loss", lambda x, y, beta=1.0: huber(x, y, beta) / beta, {"beta": 0.5}, excuses=REAL),
    pairwise("huber_loss", huber, {"delta": 0.5}, excuses=REAL),
    Case("nn.functional.nll_loss", each((call_with((2, 3), args=(CLASSES,)),), *REDUCTIONS),
         reduced(negative_log), excuses=REAL),
    Case("nn.functional.nll_loss", (call_with((1, 3, 2, 2), args=(IMAGES,)),),
         lambda x, t: -np.mean([x[0, t[0, i, j], i, j] for i in range(2) for j in range(2)]), excuses=REAL,
         form="images"),
    Case("nn.functional.nll_loss", (call_with((2, 3), args=(CLASSES,)),),
         lambda x, t: (negative_log(x, t) * WEIGHTS[t]).sum() / WEIGHTS[t].sum(),
         call=lambda x, t: rg.nn.functional.nll_loss(x, t, rg.Tensor(WEIGHTS.astype(x.dtype), share=True).to(x.device)), excuses=REAL,
         form="weights"),
    Case("nn.functional.cross_entropy", each((call_with((2, 3), args=(CLASSES,)),), *REDUCTIONS),
         reduced(lambda x, t: negative_log(log_softmax(x), t)),
         excuses={**REAL, "jvp": "a log_softmax and a loss"}),
    Case("nn.functional.cross_entropy", each((call_with((2, 3), (2, 3)),), *REDUCTIONS),
         reduced(lambda x, y: -(y * log_softmax(x)).sum(1)),
         form="probabilities", excuses={**REAL, "jvp": "several nodes",
         "name": "PyTorch divides by a number of its own"}),
)  # fmt: skip

NN = (*ACTIVATIONS, *ENTROPIES, *LOSSES)
