"""Every row of the op table on the device: results, gradients and their gradients are those of the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd as rg
from tests.devices.exempt import EXEMPT
from tests.devices.place import HERE, KIND, TOLERANCE
from tests.ops.cases import CASES
from tests.ops.checks import differentiable, some


def run(case: Any, sample: Any, arrays: list[Any], where: str) -> tuple[list[Any], list[Any], list[Any]]:
    """Results, gradients and gradients of gradients as NumPy arrays."""
    inputs = [rg.Tensor(a, share=True).to(where).detach().requires_grad_() for a in arrays]
    args = [moved(a, where) for a in sample.args]
    kwargs = {k: moved(v, where) for k, v in sample.kwargs.items()}
    found = (case.call or _function(case.name))(*inputs, *args, **kwargs)
    outs = [t for t in differentiable(found) if t.requires_grad]
    if not outs:
        return [t.cpu().numpy() for t in differentiable(found)], [], []
    gs = [rg.Tensor(g, share=True).to(where) for g in some([o.detach().cpu().array for o in outs], 3)]
    first = rg.autograd.grad(outs, inputs, gs, create_graph=True, allow_unused=True)
    again = [f for f in first if f is not None and f.requires_grad]
    more: list[Any] = []
    if again:
        hs = [rg.Tensor(h, share=True).to(where) for h in some([f.detach().cpu().array for f in again], 4)]
        more = list(rg.autograd.grad(again, inputs, hs, allow_unused=True))
    return [host(o) for o in outs], [host(f) for f in first], [host(m) for m in more]


def _function(path: str) -> Any:
    found: Any = rg
    for name in path.split("."):
        found = getattr(found, name)
    return found


def moved(value: Any, where: str) -> Any:
    return rg.Tensor(value, share=True).to(where) if isinstance(value, np.ndarray) else value


def host(t: Any) -> Any:
    return None if t is None else t.detach().cpu().resolve_conj().resolve_neg().numpy()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_row(case: Any) -> None:
    reason = EXEMPT[KIND].get(str(case))
    if reason:
        pytest.skip(reason)
    for sample in case.samples:
        for dtype in case.dtypes:
            arrays = case.arrays(sample, dtype)
            wanted = run(case, sample, [a.copy() for a in arrays], "cpu")
            found = run(case, sample, [a.copy() for a in arrays], HERE)
            for ours, theirs in zip(found, wanted, strict=True):
                for a, b in zip(ours, theirs, strict=True):
                    assert (a is None) == (b is None)
                    if a is not None:
                        t = TOLERANCE.get(a.dtype.char, 1e-9)
                        np.testing.assert_allclose(a, b, rtol=t, atol=t, err_msg=f"{case} {sample} {dtype}")
