"""What the op table has no rows for, on the strict device: results without a derivative, verdicts, and defaults."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import retrograd as rg
from tests.devices.place import HERE

SQUARE = [[4.0, 1.0, -2.0], [1.0, 2.0, 0.5], [-2.0, 0.5, -3.0]]
TALL = [[1.0, 2.0], [3.0, -1.0], [0.5, 4.0]]
SINGULAR = [[1.0, 2.0], [2.0, 4.0]]


def on(where: str, values: Any) -> Any:
    return rg.tensor(values, dtype=rg.float64).to(where)


FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "ldl_factor": lambda a, b: rg.linalg.ldl_factor(a),
    "ldl_solve": lambda a, b: [rg.linalg.ldl_solve(*rg.linalg.ldl_factor(a), b)],
    "geqrf": lambda a, b: rg.geqrf(b),
    "matrix_rank": lambda a, b: [rg.linalg.matrix_rank(a), rg.linalg.matrix_rank(b, atol=0.5)],
    "matrix_rank, hermitian": lambda a, b: [rg.linalg.matrix_rank(a, hermitian=True)],
    "matrix_rank by a tensor": lambda a, b: [rg.linalg.matrix_rank(a, atol=a[0, 0])],
    "matrix_power 0": lambda a, b: [rg.matrix_power(a, 0)],
    "cond of nothing": lambda a, b: [rg.linalg.cond(a[:0, :0])],
    "svd without vectors": lambda a, b: rg.svd(b, compute_uv=False),
    "lstsq, gelsd": lambda a, b: rg.linalg.lstsq(b, b[:, :1], driver="gelsd"),
    "lstsq, gels": lambda a, b: rg.linalg.lstsq(b, b[:, :1], driver="gels"),
    "lu_unpack without data": lambda a, b: rg.lu_unpack(*rg.linalg.lu_factor(a), unpack_data=False),
    "lu_unpack without pivots": lambda a, b: rg.lu_unpack(*rg.linalg.lu_factor(a), unpack_pivots=False),
    "inv_ex of a singular one": lambda a, b: [rg.linalg.inv_ex(a * 0).info],
    "cholesky_ex of an indefinite one": lambda a, b: rg.linalg.cholesky_ex(a),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_result_is_that_of_the_cpu(name: str) -> None:
    wanted = FUNCTIONS[name](on("cpu", SQUARE), on("cpu", TALL))
    found = FUNCTIONS[name](on(HERE, SQUARE), on(HERE, TALL))
    for ours, theirs in zip(found, wanted, strict=True):
        assert str(ours.device) == HERE
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours.cpu().numpy(), theirs.numpy(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("where", ["cpu", HERE])
def test_singular_matrix_is_named(where: str) -> None:
    batch = rg.stack([on(where, TALL)[:2], on(where, SINGULAR)])
    with pytest.raises(rg.linalg.LinAlgError, match=r"\(Batch element 1\): The diagonal element 2 is zero"):
        rg.linalg.inv(batch)


@pytest.mark.parametrize("where", ["cpu", HERE])
@pytest.mark.filterwarnings("ignore:A window was not provided")
def test_signal_comes_back_without_a_window(where: str) -> None:
    signal = on(where, [0.5, -1.0, 2.0, 0.25, 1.5, -0.75, 3.0, 1.0])
    spectrum = rg.stft(signal, 4, win_length=2, hop_length=1, return_complex=True)
    found = rg.istft(spectrum, 4, win_length=2, hop_length=1)
    assert found.device == signal.device
    np.testing.assert_allclose(found.cpu().numpy(), signal.cpu().numpy(), atol=1e-12)


def test_factors_of_all_samples_are_those_of_each() -> None:
    several = on("cpu", [SQUARE, np.add(SQUARE, np.eye(3)).tolist()])
    found = rg.vmap(lambda a: tuple(rg.linalg.ldl_factor(a)))(several)
    for ours, theirs in zip(found, rg.linalg.ldl_factor(several), strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy())
