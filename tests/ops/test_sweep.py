"""Every public function on the inputs that are easily forgotten: what PyTorch takes is taken, and gives the same.

Each function gets a tensor of each kind, alone and with a few usual arguments. Most such calls make no sense, and
PyTorch refuses them; what it does not refuse has its dtype, shape, values and, if it is contiguous there, its layout
here. That we take more than PyTorch is not the subject here.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd.__config__ import is_compiled
from tests.ops.test_single_numbers import at, functions

FLOATS = [[0.5, -1.5, 2.0], [1.0, 0.25, -0.75]]
INPUTS: dict[str, Callable[[Any], Any]] = {
    "0-d": lambda lib: lib.tensor(0.5),
    "empty": lambda lib: lib.zeros(0, 3),
    "strided": lambda lib: lib.tensor(FLOATS).repeat_interleave(2, 1)[:, ::2],
    "transposed": lambda lib: lib.tensor(FLOATS).t(),
    "integer": lambda lib: lib.tensor([[1, 2, 3], [3, 0, 1]]),
    "bool": lambda lib: lib.tensor([[True, False, True], [False, False, True]]),
    "complex": lambda lib: lib.tensor([[0.5 + 1j, -1.5, 2j], [1.0 - 2j, 0.25, -0.75 + 0.5j]]),
    "expanded": lambda lib: lib.tensor([[0.5], [-1.5]]).expand(2, 3),
    "conjugate": lambda lib: lib.tensor([[0.5 + 1j, -1.5], [1.0 - 2j, 0.25]]).conj(),
    "leaf": lambda lib: lib.tensor(FLOATS, requires_grad=True),
    "inference": lambda lib: in_inference_mode(lib),
}
ARGUMENTS: dict[str, Callable[[Any, Any], tuple[Any, ...]]] = {
    "x": lambda lib, x: (x,),
    "x, 0": lambda lib, x: (x, 0),
    "x, -1": lambda lib, x: (x, -1),
    "x, 2.5": lambda lib, x: (x, 2.5),
    "x, x": lambda lib, x: (x, x),
    "x, 0, 1": lambda lib, x: (x, 0, 1),
    "x, (0,)": lambda lib, x: (x, (0,)),
    "x, indices": lambda lib, x: (x, lib.tensor([0, 0])),
    "x, mask": lambda lib, x: (x, lib.ones(x.shape, dtype=lib.bool)),
    "x, shape": lambda lib, x: (x, tuple(x.shape)),
    "x, NumPy's 1": lambda lib, x: (x, np.int64(1)),
    "x, NumPy's 0.5": lambda lib, x: (x, np.float32(0.5)),
    "x, tensor 1": lambda lib, x: (x, lib.tensor(1)),
    "x, tensor 0.5": lambda lib, x: (x, lib.tensor(0.5, dtype=lib.float64)),
    "x, x, tensor 0.5": lambda lib, x: (x, x, lib.tensor(0.5)),
    "x, 1, tensor 1": lambda lib, x: (x, 1, lib.tensor(1)),
}
UNCHECKED = "PyTorch does not look at an argument that it does not need then"
LENIENT = "PyTorch's is made of others, which take what its name does not promise"
ROUNDING = "depends on rounding: the matrix is singular, or the sign of a vector is free"
BY_COLUMNS = "a view of what lies by columns in PyTorch, and by rows here"
ALIAS = "PyTorch reads what it has just written"
WRONG = "PyTorch reads memory that is not there"
# Of some inputs alone: the elimination of equal rows ends in a zero or in what rounding leaves, by the processor.
INPUT_EXCEPTIONS = dict.fromkeys(
    (("linalg.lu_factor", "expanded"), ("linalg.lu_factor_ex", "expanded")), ROUNDING
)
EXCEPTIONS = {
    **dict.fromkeys(("median", "nanmedian", "Tensor.median", "Tensor.nanmedian"), WRONG),
    **dict.fromkeys(("pinverse", "Tensor.pinverse", "linalg.pinv", "linalg.cond"), ROUNDING),
    **dict.fromkeys(("svd", "Tensor.svd", "linalg.svd", "svd_lowrank", "pca_lowrank"), ROUNDING),
    **dict.fromkeys(("linalg.matrix_rank",), BY_COLUMNS),
    **dict.fromkeys(("nn.functional.multilabel_soft_margin_loss", "nn.functional.multilabel_margin_loss"), LENIENT),
    **dict.fromkeys(("Tensor.to", "adaptive_avg_pool1d", "nn.functional.adaptive_avg_pool1d"), LENIENT),
    **dict.fromkeys(("nn.functional.elu_", "nn.functional.hardtanh_", "cholesky", "Tensor.cholesky"), LENIENT),
    **dict.fromkeys(("take_along_dim", "Tensor.take_along_dim", "threshold_", "nn.functional.threshold_"), UNCHECKED),
    **dict.fromkeys(("diff", "Tensor.diff", "roll", "Tensor.roll"), UNCHECKED),
    **dict.fromkeys(("Tensor.addmm_", "Tensor.masked_scatter_"), ALIAS),
    **dict.fromkeys(("cholesky_inverse", "Tensor.cholesky_inverse"), "PyTorch's reads the diagonal as if it were real"),
    **dict.fromkeys(("kthvalue", "Tensor.kthvalue"), "which of equal elements is free"),
    **dict.fromkeys(("repeat_interleave", "Tensor.repeat_interleave"), "PyTorch's of a conjugate is a conjugate"),
    **dict.fromkeys(("split", "Tensor.split"), UNCHECKED),
    "linalg.lstsq": "what a large rcond leaves depends on the method",
    "Tensor.new": "memory as it is found",
    "polar": "PyTorch's gradient has the wrong sign at negative radii",
    "Tensor.register_post_accumulate_grad_hook": "hooks must be callable when they are registered",
    "tensordot": "a product of conjugates of single numbers is a conjugate in PyTorch",
    "Tensor.is_set_to": "PyTorch's is not set to itself if it is a conjugate",
    "nn.functional.logsigmoid": "a function of each element keeps the layout of its input",
    "to_dlpack": "NumPy exports no array whose elements share memory",
    "unique_consecutive": "PyTorch has no place for the inverse, of which there is one",
}  # fmt: skip


def flat(result: Any) -> list[Any]:
    return [v for part in result for v in flat(part)] if isinstance(result, (tuple, list)) else [result]


def in_inference_mode(lib: Any) -> Any:
    with lib.inference_mode():
        return lib.tensor(FLOATS)


def outcome(lib: Any, path: str, kind: str, arguments: str) -> Any:
    """The results of a call and the gradient of its input, or the exception."""
    x = INPUTS[kind](lib)
    try:
        found = flat(at(lib, path)(*ARGUMENTS[arguments](lib, x)))
        outs = [t for t in found if getattr(t, "grad_fn", None) is not None]
        if outs and x.requires_grad:
            ones = [lib.full_like(t, 0.7) for t in outs]
            found += lib.autograd.grad(outs, [x], ones, allow_unused=True)
        return found
    except Exception as error:
        return error


def difference(mine: Any, hers: Any) -> str:
    """What of a result is otherwise than in PyTorch."""
    if not hasattr(hers, "is_contiguous"):
        same = not isinstance(hers, (int, float, complex, str)) or mine == hers or mine != mine
        return "" if same else f"{mine} instead of {hers}"
    facts = [(str(t.dtype), tuple(t.shape), t.is_conj(), t.is_neg()) for t in (mine, hers)]
    if facts[0] != facts[1]:
        return f"{facts[0]} instead of {facts[1]}"
    if hers.is_contiguous() and not mine.is_contiguous():
        return f"strides {mine.stride()} instead of {hers.stride()}"
    found, wanted = [np.asarray(t.detach().numpy(force=True)) for t in (mine, hers)]
    if np.allclose(found, wanted, rtol=1e-4, atol=1e-5, equal_nan=True):
        return ""
    return f"{found.tolist()} instead of {wanted.tolist()}"


@pytest.mark.parametrize("path", [path for path in functions() if path not in EXCEPTIONS])
def test_a_function_takes_what_pytorchs_takes(torch: Any, path: str) -> None:
    try:
        at(torch, path)
    except AttributeError:
        pytest.skip("PyTorch has no such function")
    wrong = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind in (kind for kind in INPUTS if (path, kind) not in INPUT_EXCEPTIONS):
            for arguments in ARGUMENTS:
                hers = outcome(torch, path, kind, arguments)
                if isinstance(hers, Exception):
                    continue
                mine = outcome(rg, path, kind, arguments)
                if is_compiled() and "expected bool, but got" in str(mine):
                    continue  # PyTorch's `inplace` may be anything
                if isinstance(mine, Exception):
                    found = f"raises {type(mine).__name__}: {mine}"
                else:
                    found = "; ".join(filter(None, map(difference, mine, hers)))
                if found:
                    wrong.append(f"{path}({arguments}) of {kind}: {found}")
    assert not wrong, "\n".join(wrong)
