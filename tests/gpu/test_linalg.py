"""Decompositions on the GPU: what does not depend on the signs of vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

import retrograd as rg


def pair(seed: int, *shape: int) -> tuple[Any, Any]:
    """The same numbers on the CPU and on the GPU."""
    numbers = np.random.default_rng(seed).normal(size=shape)
    return rg.tensor(numbers, requires_grad=True), rg.tensor(numbers, device="cuda", requires_grad=True)


def agree(f: Any, *shape: int) -> None:
    here, there = pair(0, *shape)
    a, b = f(here), f(there)
    np.testing.assert_allclose(b.detach().cpu().numpy(), a.detach().numpy(), rtol=1e-8, atol=1e-8)
    a.sum().backward()
    b.sum().backward()
    np.testing.assert_allclose(there.grad.cpu().numpy(), here.grad.numpy(), rtol=1e-7, atol=1e-7)


def test_eigh() -> None:
    def f(x: Any) -> Any:
        values, vectors = rg.linalg.eigh(x @ x.mT)
        return values.cos().sum(-1)[..., None, None] + vectors @ rg.diag_embed(values.sin()) @ vectors.mT

    agree(f, 4, 4)
    agree(f, 2, 3, 3)


def test_svd() -> None:
    def f(x: Any) -> Any:
        u, s, vh = rg.linalg.svd(x, full_matrices=False)
        return u @ rg.diag_embed(s.sin()) @ vh

    agree(f, 4, 3)
    agree(f, 2, 3, 4)


def test_qr_and_cholesky() -> None:
    agree(lambda x: rg.linalg.cholesky(x @ x.mT + rg.eye(3, dtype=x.dtype, device=x.device)), 3, 3)
    agree(lambda x: rg.linalg.qr(x)[1].abs(), 4, 3)
