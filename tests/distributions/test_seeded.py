"""Every distribution under one seed: PyTorch's samples, how they move, and where the generator is then."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd as rg

from .table import ROWS, Row

torch = pytest.importorskip("torch")

# Whose samples move exactly here, and to three digits in PyTorch.
IMPLICIT = {"Beta", "Chi2", "Dirichlet", "FisherSnedecor", "Gamma", "InverseGamma", "StudentT"}


def drawn(lib: Any, row: Row, batch: tuple[int, ...], size: tuple[int, ...]) -> list[Any]:
    """Samples of a distribution, of its expansion and of a mixture, with derivatives."""
    lib.manual_seed(3)
    made, leaves = row.make(lib, row.arrays(batch, 3))
    seen = [made.sample(size)]
    if made.has_rsample:
        moving = made.rsample(size)
        seen.append(moving.detach())
        if row.name not in IMPLICIT:
            weights = lib.linspace(-1, 1, moving.numel(), dtype=moving.dtype).reshape(moving.shape)
            seen += lib.autograd.grad((moving * weights).sum(), leaves)
    wide = made.expand((3, *batch))
    seen += [wide.sample(), lib.distributions.Independent(wide, 1).sample(size)]
    if batch:
        weights = lib.linspace(0.1, 1, batch[-1], dtype=lib.float64).expand(batch)
        mixture = lib.distributions.MixtureSameFamily(lib.distributions.Categorical(weights), made)
        seen.append(mixture.sample(size))
    return [t.numpy() for t in [*seen, lib.rand(1)]]


@pytest.mark.parametrize("size", [(), (2, 20)], ids=str)
@pytest.mark.parametrize("row", [row for row in ROWS if row.name != "Wishart"], ids=str)
def test_samples_under_one_seed(row, size):
    for batch in ((), (2, 4)):
        theirs, ours = (drawn(lib, row, batch, size) for lib in (torch, rg))
        for one, other in zip(ours, theirs, strict=True):
            assert (one.shape, one.dtype) == (other.shape, other.dtype)
            np.testing.assert_allclose(one, other, rtol=2e-3 if row.dtype == "float32" else 1e-6, atol=1e-5)


def test_mixtures_of_matrices():
    """A value without more dimensions than a component's is one."""
    found = []
    for lib in (torch, rg):
        lib.manual_seed(3)
        parts = lib.distributions.LKJCholesky(3, lib.tensor([1.0, 2.0]))
        mixture = lib.distributions.MixtureSameFamily(lib.distributions.Categorical(lib.ones(2)), parts)
        found.append(mixture.log_prob(mixture.sample()).item())
    np.testing.assert_allclose(*found, rtol=1e-5)


TEXTS = """
Normal(tensor([1.5]), 2.0)
Normal(tensor(1.5), 2.0)
Normal(tensor([[1.5]], dtype=float64), tensor([1.0, 2.0]))
Poisson(tensor([3.0]))
Independent(Normal(tensor([1.5]), 2.0), 1)
MixtureSameFamily(Categorical(tensor([1.0])), Normal(tensor([1.5]), 2.0))
""".strip().splitlines()


@pytest.mark.parametrize("text", TEXTS)
def test_texts_of_single_parameters(text):
    texts = [
        repr(eval(text, {**vars(lib.distributions), "tensor": lib.tensor, "float64": lib.float64}))
        for lib in (torch, rg)
    ]
    assert texts[0].replace("torch.", "") == texts[1].replace("retrograd.", "").replace("torch.", "")
