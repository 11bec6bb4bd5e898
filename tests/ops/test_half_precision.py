"""The op table in bfloat16 and float16 beside PyTorch: dtypes exactly, numbers and gradients to rounding."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd.errors import DtypeError
from tests.ops.case import Case
from tests.ops.cases import CASES
from tests.ops.checks import about
from tests.ops.samples import Array, Sample

pytest.importorskip("ml_dtypes")

ROWS = [c for c in CASES if c.call is None and "real" not in c.excuses]
CLOSE = {"bfloat16": {"rtol": 2e-2, "atol": 1e-2}, "float16": {"rtol": 1e-2, "atol": 2e-3}}
# What PyTorch takes and we do not, with the reason.
NO_COMPLEX32 = "NumPy has no complex32"
EMPTY = "PyTorch does not look at the dtype of empty matrices"
REFUSED = {
    ("complex", "float16"): NO_COMPLEX32,
    ("view_as_complex", "float16"): NO_COMPLEX32,
    **{
        (f"{name}", dtype): EMPTY
        for dtype in CLOSE
        for name in (
            *("det", "linalg.cholesky", "linalg.cholesky_ex", "linalg.det", "linalg.eigvalsh", "linalg.lu_factor"),
            *("linalg.lu_factor_ex", "linalg.solve", "linalg.solve_ex", "linalg.svdvals"),
        )
    },
}  # fmt: skip


def run(
    library: Any, case: Case, sample: Sample, dtype: str, wide: bool = False
) -> tuple[list[Any], list[Any]]:
    """Results and leaves in a dtype; `wide` computes with the same numbers in float64."""

    def given(value: Any) -> Any:
        if isinstance(value, (list, tuple)) and any(isinstance(v, np.ndarray) for v in value):
            return type(value)(given(v) for v in value)
        if not isinstance(value, np.ndarray):
            return value
        made = library.tensor(value)
        if value.dtype.kind != "f":
            return made
        made = made.to(getattr(library, dtype))
        return made.double() if wide else made

    function = functools.reduce(getattr, case.name.split("."), library)
    xs = [given(np.array(a, order="C")).requires_grad_() for a in case.arrays(sample, "float64")]
    made = function(*xs, *[given(a) for a in sample.args], **{k: given(v) for k, v in sample.kwargs.items()})
    return [made] if isinstance(made, library.Tensor) else list(made), xs


def gradients(library: Any, outs: Sequence[Any], xs: Sequence[Any]) -> list[Any]:
    outs = [o for o in outs if o.requires_grad]
    if not outs:
        return []
    ones = [library.ones_like(o) for o in outs]
    return list(library.autograd.grad(outs, xs, ones, materialize_grads=True))


def numbers(t: Any) -> Array:
    t = t.detach()
    if str(t.dtype) == "torch.bfloat16":
        t = t.float()
    return np.array((t + 0).resolve_conj().numpy())  # PyTorch's may be a pending conjugate, or zero


def names(tensors: Sequence[Any]) -> list[str]:
    return [str(t.dtype) for t in tensors]


def compare(mine: Sequence[Any], hers: Sequence[Any], exact: Any, dtype: str) -> None:
    """Ours are PyTorch's, or nearer to what float64 gives: PyTorch rounds in between in some kernels."""
    assert names(mine) == names(hers)
    for i, (f, w) in enumerate(zip(mine, hers, strict=True)):
        if not np.allclose(numbers(f), numbers(w), equal_nan=True, **CLOSE[dtype]):
            np.testing.assert_allclose(numbers(f), numbers(exact()[i]), **CLOSE[dtype])


def one_sample(torch: Any, case: Case, sample: Sample, dtype: str) -> None:
    try:
        wanted, ys = run(torch, case, sample, dtype)
    except (RuntimeError, NotImplementedError):
        return  # nothing to compare with
    try:
        found, xs = run(rg, case, sample, dtype)
    except (NotImplementedError, DtypeError):
        assert (case.name, dtype) in REFUSED
        return
    if (case.name, dtype) == ("complex", "float16"):
        return

    @functools.cache
    def exact() -> tuple[list[Any], list[Any]]:
        outs, zs = run(torch, case, sample, dtype, wide=True)
        return outs, gradients(torch, outs, zs)

    compare(found, wanted, lambda: exact()[0], dtype)
    assert all(type(f.array).__name__ == "BFloat16Array" for f in found if f.dtype is rg.bfloat16)
    try:
        hers = gradients(torch, wanted, ys)
    except (RuntimeError, NotImplementedError):
        return
    compare(gradients(rg, found, xs), hers, lambda: exact()[1], dtype)


@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize("case", ROWS, ids=str)
def test_pytorch_computes_the_same(torch, case, dtype):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for sample in case.samples:
            with about(case, sample, dtype):
                one_sample(torch, case, sample, dtype)
