"""Modules that are built and trained under one seed: PyTorch's initial values, draws, gradients and generator."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import retrograd as rg

from .table import Row, near, packed, row, x
from .test_configurations import TOLERANCE, as_value, differences, tensors_in

torch = pytest.importorskip("torch")
pytest.importorskip("torch.nn.utils.prune")  # PyTorch's package does not load it

Q, K = x(4, 2, 8), near(5, 2, 8)

ROWS = [
    row("Sequential(Linear(5, 6), Dropout(0.4), Linear(6, 2))", x(7, 5)),
    row("Sequential(Linear(5, 6), AlphaDropout(0.3, inplace=True), Linear(6, 2))", x(7, 5)),
    row("Sequential(Conv1d(3, 4, 2), Dropout1d(0.5), FeatureAlphaDropout(0.2))", x(2, 3, 9)),
    row("Sequential(Conv2d(3, 4, 2, bias=False), Dropout2d(0.5), BatchNorm2d(4))", x(2, 3, 5, 6)),
    row("Sequential(ConvTranspose3d(3, 4, 2), Dropout3d(0.5))", x(2, 3, 3, 4, 3)),
    row("Sequential(Linear(5, 20), RReLU())", x(7, 5)),
    row("FractionalMaxPool2d(2, output_ratio=(0.4, 0.7), return_indices=True)", x(2, 3, 9, 10)),
    row("FractionalMaxPool3d((2, 1, 3), output_size=4)", x(3, 9, 10, 8)),
    row("RNN(3, 4, 3, dropout=0.3)", x(5, 4, 3)),
    row("GRU(3, 4, 2, dropout=0.3, bidirectional=True, batch_first=True)", x(5, 4, 3)),
    row("LSTM(3, 20, 2, dropout=0.7, bidirectional=True)", packed(2, 5, 3, 3)),
    row("LSTM(3, 5, 3, dropout=0.4, proj_size=2)", x(6, 3)),
    row("MultiheadAttention(8, 2, dropout=0.4, add_bias_kv=True)", Q, K, K),
    row("MultiheadAttention(8, 2, dropout=0.4)", Q, K, K, need_weights=False),
    row("TransformerEncoderLayer(8, 2, 16)", Q),
    row("TransformerDecoderLayer(8, 2, 16, norm_first=True)", Q, K),
    row("Transformer(8, 2, 1, 2, 16, dropout=0.2)", K, Q),
    row("Sequential(LazyLinear(4), LazyBatchNorm1d())", x(5, 3)),
    row("LazyConv2d(6, 2, groups=3)", x(2, 3, 5, 5)),
    row("Bilinear(3, 4, 5)", x(2, 3), x(2, 4)),
    row("Embedding(30, 20, padding_idx=3)", np.array([1, 3, 29])),
    row("EmbeddingBag(30, 20)", np.array([[1, 3, 29]])),
    row("AdaptiveLogSoftmaxWithLoss(40, 200, [10, 100])", x(5, 40), np.array([0, 11, 150, 199, 3])),
]


def numbers(named: Any) -> list[Any]:
    """Names and arrays; what is not there yet has none."""
    return [
        (name, None if t is None or "Uninitialized" in type(t).__name__ else t.detach().numpy())
        for name, t in named
    ]


def leaves(inputs: Any, library: Any) -> list[Any]:
    return [t for t in tensors_in(inputs, library.Tensor) if t.is_leaf]


def run(library: Any, case: Row, dtype: str, training: bool) -> dict[str, Any]:
    """Everything that can be seen of a module that is built, called twice and reset under one seed."""
    library.manual_seed(11)
    module = eval(case.text, {**{name: getattr(library.nn, name) for name in dir(library.nn)}})
    module = module.to(getattr(library, dtype)).train(training)
    seen: dict[str, Any] = {"text": repr(module), "first": numbers(module.named_parameters())}
    for step in range(2):
        inputs = [as_value(library, value, dtype, True) for value in case.inputs]
        outputs = tensors_in(module(*inputs, **case.options), library.Tensor)
        wanting = [t for t in outputs if t.requires_grad]
        weights = [np.cos(np.arange(t.numel())).reshape(tuple(t.shape)).astype(dtype) for t in wanting]
        library.autograd.backward(wanting, [library.from_numpy(w) for w in weights])
        seen[f"outputs {step}"] = [t.detach().numpy() for t in outputs]
        seen[f"of inputs {step}"] = numbers((str(i), t.grad) for i, t in enumerate(leaves(inputs, library)))
        seen[f"gradients {step}"] = numbers((n, p.grad) for n, p in module.named_parameters())
        seen[f"state {step}"] = numbers(module.state_dict().items())
        seen[f"next {step}"] = library.rand(1).numpy()
    for part in module.modules():
        if hasattr(part, "reset_parameters"):
            part.reset_parameters()
    seen["reset"] = numbers(module.state_dict().items())
    seen["last"] = library.rand(1).numpy()
    return seen


@pytest.mark.parametrize("training", [True, False], ids=["training", "evaluation"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", ROWS, ids=lambda case: case.text)
def test_modules_under_one_seed(case, dtype, training):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = (run(library, case, dtype, training) for library in (rg, torch))
    # Initial numbers that logarithms and cosines went into agree to seven digits, in double precision too.
    tolerance = {"rtol": 1e-4, "atol": 1e-5} if dtype == "float64" else TOLERANCE[dtype]
    assert not differences(ours, theirs, tolerance)


PARAMETRIZED = [
    "utils.parametrizations.spectral_norm(nn.Linear(20, 10))",
    "utils.parametrizations.spectral_norm(nn.Conv2d(3, 4, 3), n_power_iterations=3, dim=1)",
    "utils.parametrizations.weight_norm(nn.Linear(20, 10), dim=None)",
    "utils.parametrizations.orthogonal(nn.Linear(6, 6), orthogonal_map='cayley')",
    "utils.parametrizations.orthogonal(nn.Linear(6, 4), orthogonal_map='householder')",
    "utils.parametrizations.orthogonal(nn.Linear(4, 6), use_trivialization=False)",
    "utils.spectral_norm(nn.ConvTranspose1d(3, 4, 2), n_power_iterations=2)",
    "utils.weight_norm(nn.Linear(20, 10), dim=1)",
    "utils.prune.random_unstructured(nn.Linear(10, 8), 'weight', amount=0.3)",
    "utils.prune.random_unstructured(nn.Linear(10, 8), 'weight', amount=0)",
    "utils.prune.random_unstructured(nn.Conv2d(4, 6, 3), 'bias', amount=3)",
    "utils.prune.random_structured(nn.Linear(10, 8), 'weight', amount=0.4, dim=1)",
    "utils.prune.random_structured(utils.prune.l1_unstructured(nn.Linear(9, 8), 'weight', 5), 'weight', 0.3, 0)",
]


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("text", PARAMETRIZED)
def test_parts_of_modules_that_are_drawn(text):
    found = []
    for library in (rg, torch):
        library.manual_seed(11)
        module = eval(text, {"nn": library.nn, "utils": library.nn.utils})
        state = [*module.state_dict().items(), ("weight", module.weight)]
        found.append([*numbers(state), library.rand(1).numpy()])
    assert not differences(*found, {"rtol": 1e-4, "atol": 1e-5})


@pytest.mark.parametrize(
    "text",
    [
        "nn.utils.skip_init(nn.Linear, 3, 4)",
        "nn.Linear(3, 4, device='meta')",
        "torch.bernoulli(torch.ones(3, device='meta'))",
        "torch.poisson(torch.ones(3, device='meta'))",
        "torch.multinomial(torch.ones(3, device='meta'), 2)",
        "torch.normal(torch.ones(3, device='meta'), torch.ones(3, device='meta'))",
    ],
)
def test_what_has_no_values_draws_none(text):
    for library in (rg, torch):
        library.manual_seed(5)
        wanted = library.rand(1)
        library.manual_seed(5)
        eval(text, {"nn": library.nn, "torch": library})
        assert library.rand(1) == wanted
