"""Calls that used to end in an error of NumPy's or of Python's own: each has PyTorch's kind of error, or its result."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import retrograd as rg

REFUSED = [
    "nn.functional.mse_loss(ones(2), ones(2), reduction=1)",
    "nn.functional.group_norm(ones(2, 2), 0)",
    "nn.functional.nll_loss(ones(3), ones(2).long())",
    "tensor(1.0).unflatten(0, (1, 1))",
    "ormqr(ones(3, 2), ones(2).double(), ones(3, 2))",
    "lu_solve(ones(2, 1), ones(2, 2), tensor([5, 7]).int())",
    "linalg.ldl_solve(ones(2, 2), tensor([5, 7]).int(), ones(2, 1))",
    "nn.functional.batch_norm(ones(()), None, None, training=True)",
    "index_add(ones(3), 0, tensor([5]), ones(1))",
    "addr(ones(2, 2) > 0, ones(2) > 0, ones(2) > 0, beta=2.0)",
    "nn.functional.interpolate(ones(1, 1, 2, 2), size=(-3, 3), mode='area')",
    "zeros(2**62)",
    "ones(1).expand(2**50).clone()",
    "arange(2**62)",
    "eye(2**40)",
    "ones(3).repeat(2, 2**62)",
    "nn.functional.pad(ones(2), (2**62, 2**62))",
    "nn.functional.conv2d(ones(1, 1, 4, 4), ones(1, 1, 3, 3), dilation=2**62, padding=2**62)",
]
GIVEN = [
    "embedding_renorm_(ones(3, 2), tensor([0, 1]), 1.0, 0.0)",
    "nn.functional.embedding(tensor([0, 1]), ones(3, 2), max_norm=1.0, norm_type=0.0)",
    "addr(ones(2, 2) > 0, ones(2), ones(2))",
    "addr(ones(2, 2), ones(2) > 0, ones(2) > 0)",
    "addr(ones(2, 2).long(), ones(2), ones(2))",
    "round(ones(2) * 1.5, decimals=10**9)",
    "diagonal(ones(3, 3), 2**40)",
    "ones(3).unfold(0, 2, 2**62)",
    "special.chebyshev_polynomial_t(tensor([0.5, 2.0, -1.0]), 1e30)",
    "special.chebyshev_polynomial_u(tensor([1.0, -1.0]), 1e8)",
    "special.hermite_polynomial_he(tensor([0.5, 0.0]), 1e8)",
    "special.laguerre_polynomial_l(tensor([0.5, 1.0, 2.0]), tensor([3.0, 40.0, 1000.0]))",
    "special.legendre_polynomial_p(tensor([0.5, 1.0, 2.0]), tensor([3.0, 40.0, 5000.0]))",
]


class Names(dict[str, Any]):
    def __init__(self, lib: Any) -> None:
        super().__init__()
        self.lib = lib

    def __missing__(self, name: str) -> Any:
        return getattr(self.lib, name)


def kind_of(lib: Any, call: str) -> type[BaseException]:
    """The built-in class of the error that a call raises."""
    with pytest.raises(Exception) as caught:
        eval(call, {}, Names(lib))
    return next(cls for cls in type(caught.value).__mro__ if cls.__module__ == "builtins")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", REFUSED)
def test_an_error_is_of_the_same_kind(torch: Any, call: str) -> None:
    assert kind_of(rg, call) is kind_of(torch, call)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", GIVEN)
def test_what_is_no_error_there_is_none_here(torch: Any, call: str) -> None:
    mine, theirs = eval(call, {}, Names(rg)), eval(call, {}, Names(torch))
    np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=1e-4, atol=1e-6)
    assert str(mine.dtype) == str(theirs.dtype)


def test_after_an_error_of_memory_all_goes_on() -> None:
    x = rg.ones(3, requires_grad=True)
    with pytest.raises(
        rg.OutOfMemoryError, match=r"sizes \[2, 1099511627776\] and dtype float32 needs 8.0 TiB"
    ):
        rg.zeros(2, 2**40)
    with pytest.raises(MemoryError):
        (x[0].expand(2**50) * 2).sum()
    (x * 2).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


def test_a_name_that_is_first_used_at_the_end_says_why_it_cannot_be_loaded() -> None:
    program = """
import sys, retrograd as rg
class Last:
    x = rg.ones(3)
    def __del__(self):
        try:
            rg.special.i0(self.x)
        except ImportError as error:
            sys.stderr.write(str(error))
sys.modules["last"] = Last()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "Python is shutting down: use it once before" in done.stderr
