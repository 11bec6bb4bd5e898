"""The op table against PyTorch: value, dtype, gradient and the name of the node."""

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy as np
import pytest

import retrograd as rg
from tests.ops.case import Case
from tests.ops.cases import CASES
from tests.ops.checks import about, differentiable, leaves, results, some
from tests.ops.samples import Array, Sample

# Rows that call the function in a way of their own do so with retrograd's functions.
ROWS = [c for c in CASES if c.call is None]
CLOSE = {"rtol": 1e-7, "atol": 1e-9}  # some of PyTorch's constants are single precision


def theirs(torch: Any, case: Case, sample: Sample, arrays: list[Array]) -> tuple[list[Any], list[Any]]:
    """PyTorch's results, and its leaves."""
    function = functools.reduce(getattr, case.name.split("."), torch)
    xs = [dense(torch, np.array(a, order="C")).requires_grad_() for a in arrays]
    args = [given(torch, a) for a in sample.args]
    kwargs = {k: given(torch, v) for k, v in sample.kwargs.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = function(*xs, *args, **kwargs)
    return [made] if isinstance(made, torch.Tensor) else list(made), xs


def dense(torch: Any, array: Array) -> Any:
    """A PyTorch tensor with strides of its own: from an empty array it would take NumPy's, which are all zero."""
    made = torch.tensor(array)
    return made if array.size else torch.zeros(array.shape, dtype=made.dtype)


def given(torch: Any, value: Any) -> Any:
    return torch.tensor(value) if isinstance(value, np.ndarray) else value


def plain(t: Any) -> Array:
    """The numbers of a PyTorch tensor, which may be a pending conjugate or zero."""
    return (t.detach() + 0).resolve_conj().numpy()


def ours(case: Case, sample: Sample, arrays: list[Array]) -> tuple[list[Any], list[Any]]:
    xs = leaves([np.array(a, order="C") for a in arrays])
    return results(case.run(sample, xs)), xs


def node_names(outs: list[Any]) -> list[str | None]:
    return [None if o.grad_fn is None else o.grad_fn.name() for o in outs]


@pytest.mark.parametrize("case", ROWS, ids=str)
def test_pytorch_computes_the_same_and_calls_it_the_same(torch, case):
    for dtype in case.dtypes:
        for sample in case.samples:
            arrays = case.arrays(sample, dtype)
            with about(case, sample, dtype):
                (found, xs), (wanted, ys) = ours(case, sample, arrays), theirs(torch, case, sample, arrays)
                assert [str(f.dtype) for f in found] == [str(w.dtype) for w in wanted]
                assert "name" in case.excuses or node_names(found) == node_names(wanted)
                for f, w in zip(found, wanted, strict=True):
                    np.testing.assert_allclose(f.detach().array, plain(w), **CLOSE)
                compare_gradients(
                    torch, differentiable(found), xs, [w for w in wanted if w.requires_grad], ys
                )


def compare_gradients(
    torch: Any, outs: list[Any], xs: list[Any], their_outs: list[Any], ys: list[Any]
) -> None:
    gs = some([o.detach().array for o in outs], seed=1)
    mine = rg.autograd.grad(outs, xs, [rg.Tensor(g, share=True) for g in gs], materialize_grads=True)
    hers = torch.autograd.grad(their_outs, ys, [dense(torch, g) for g in gs], materialize_grads=True)
    for f, w in zip(mine, hers, strict=True):
        np.testing.assert_allclose(f.array, plain(w), **CLOSE)
