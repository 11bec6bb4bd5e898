"""What the op table cannot say of matrices: free phases, missing derivatives, large matrices, batches with failures."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd as rg
from retrograd.ops.linalg.eigenvalues import LinalgEig, LinalgEigh, LinalgSvd

STEP = 1e-6


def some(*shape: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)


def eigh_of(a):
    values, vectors = np.linalg.eigh(a)
    return values, vectors


def eig_of(a):
    values, vectors = np.linalg.eig(a)
    order = np.argsort(values.real)
    return values[order], vectors[:, order]


def svd_of(a):
    return np.linalg.svd(a, full_matrices=False)


def invariant_eig(values, vectors):
    return values, np.abs(vectors)


def invariant_svd(u, s, vh):
    return s, np.abs(u), np.abs(vh), u @ vh


@pytest.mark.parametrize(
    ("op", "of", "invariant", "a", "t"),
    [
        (LinalgEigh("L"), eigh_of, invariant_eig, some(3, 3) + some(3, 3).conj().T, some(3, 3, seed=1)),
        (LinalgEig(), eig_of, invariant_eig, some(3, 3), some(3, 3, seed=1)),
        (LinalgSvd(False), svd_of, invariant_svd, some(4, 3), some(4, 3, seed=1)),
        (LinalgSvd(False), svd_of, invariant_svd, some(3, 4), some(3, 4, seed=1)),
        (LinalgSvd(False), svd_of, invariant_svd, some(3, 3), some(3, 3, seed=1)),
    ],
    ids=["eigh", "eig", "svd tall", "svd wide", "svd square"],
)
def test_forward_mode_of_complex_spectra(op, of, invariant, a, t):
    """The tangents of vectors have a phase of their own: what is compared does not depend on it."""
    if isinstance(op, LinalgEigh):
        t = t + t.conj().T
    outs = of(a)
    tangents = op.jvp([t], [a], list(outs))
    ends = [invariant(*[o + s * d for o, d in zip(outs, tangents, strict=True)]) for s in (STEP, -STEP)]
    wanted = [invariant(*of(a + s * t)) for s in (STEP, -STEP)]
    for plus, minus, up, down in zip(*ends, *wanted, strict=True):
        np.testing.assert_allclose(
            (plus - minus) / (2 * STEP), (up - down) / (2 * STEP), rtol=1e-5, atol=1e-7
        )


@pytest.mark.parametrize("n", [1, 7, 64])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_factors_multiply_back(n, dtype):
    a = rg.Tensor(some(2, n, n).real.astype(dtype) if dtype == "float64" else some(2, n, n), share=True)
    p, low, up = rg.linalg.lu(a)
    np.testing.assert_allclose((p @ low @ up).array, a.array, rtol=1e-9, atol=1e-9)
    lu, pivots = rg.linalg.lu_factor(a)
    np.testing.assert_allclose((a @ rg.linalg.lu_solve(lu, pivots, a)).array, a.array, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(
        rg.linalg.matrix_exp(a / n).det().array, np.exp(np.trace(a.array / n, axis1=1, axis2=2))
    )


def test_failures_in_a_batch_leave_the_others_alone():
    batch = rg.stack([rg.eye(2), rg.tensor([[1.0, 2.0], [2.0, 1.0]]), rg.eye(2) * 4])
    low, info = rg.linalg.cholesky_ex(batch)
    assert info.tolist() == [0, 2, 0]
    assert low[2].tolist() == [[2.0, 0.0], [0.0, 2.0]]
    inverse, info = rg.linalg.inv_ex(rg.stack([rg.eye(2) * 2, rg.zeros(2, 2)]))
    assert info.tolist() == [0, 1]
    assert inverse[0].tolist() == [[0.5, 0.0], [0.0, 0.5]]
    with pytest.raises(rg.linalg.LinAlgError, match=r"\(Batch element 1\).*leading minor of order 2"):
        rg.linalg.cholesky(batch)


def test_geqrf_has_no_derivative():
    a = rg.ones(3, 2, requires_grad=True)
    with pytest.raises(NotImplementedError, match="'geqrf' is not implemented"):
        rg.geqrf(a).tau.sum().backward()
    with pytest.raises(RuntimeError, match="complex dtype"):
        rg.geqrf(rg.Tensor(some(2, 2), share=True).requires_grad_())


def test_the_reflections_of_geqrf_make_the_q_of_qr():
    a = rg.Tensor(some(4, 3), share=True)
    np.testing.assert_allclose(rg.linalg.householder_product(*rg.geqrf(a)).array, rg.linalg.qr(a).Q.array)
    np.testing.assert_allclose(
        rg.ormqr(*rg.geqrf(a), a, transpose=True)[:3].array, rg.linalg.qr(a).R.array, atol=1e-12
    )


@pytest.mark.parametrize("rank", [0, 1, 2, 3])
def test_a_determinant_has_its_cofactors_for_gradient_at_any_rank(rank):
    a = rg.Tensor(np.diag([2.0, 3.0, 5.0]) * (np.arange(3) < rank), share=True).requires_grad_()
    cofactors = [np.prod(np.delete(np.diag(a.array), i)) for i in range(3)]
    (plain,) = rg.autograd.grad(rg.linalg.det(a), a)
    (recorded,) = rg.autograd.grad(rg.linalg.det(a), a, create_graph=True)
    np.testing.assert_allclose(plain.array, np.diag(cofactors), atol=1e-12)
    np.testing.assert_allclose(recorded.array, np.diag(cofactors), atol=1e-12)


def test_results_have_names_and_can_be_pickled():
    import pickle

    found = rg.linalg.qr(rg.eye(2))
    again = pickle.loads(pickle.dumps(found))
    assert type(again) is type(found)
    assert again.R.tolist() == found.R.tolist()
    assert repr(found).startswith("torch.return_types.linalg_qr(\nQ=tensor(")
