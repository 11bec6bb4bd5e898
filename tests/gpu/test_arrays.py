"""CuPy's arrays in tensors: the same memory, both ways."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd as rg


def test_a_tensor_holds_the_very_array(cupy: Any) -> None:
    x = cupy.arange(6.0).reshape(2, 3)
    t = rg.as_tensor(x)
    assert t.array is x
    assert str(t.device) == "cuda:0"
    t += 1
    assert float(x[0, 0]) == 1


def test_gradients_are_arrays_of_cupys(cupy: Any) -> None:
    x = rg.as_tensor(cupy.array([1.0, 2.0])).requires_grad_()
    (x.exp() * x).sum().backward()
    assert type(x.grad.array) is cupy.ndarray
    np.testing.assert_allclose(cupy.asnumpy(x.grad.array), np.exp([1.0, 2.0]) * [2.0, 3.0])


def test_there_and_back() -> None:
    t = rg.arange(5.0)
    for there in (t.cuda(), t.to("cuda"), t.to("cuda:0"), t.to(rg.device("cuda", 0)), t.cuda(0)):
        assert there.is_cuda
        assert rg.equal(there.cpu(), t)
    assert t.cuda().cuda().device == rg.device("cuda:0")
    assert rg.equal(rg.ones(2, device="cuda").to(rg.float64).cpu(), rg.ones(2, dtype=rg.float64))


def test_devices_do_not_mix_but_for_single_numbers() -> None:
    x = rg.ones(3, device="cuda", requires_grad=True)
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        x + rg.ones(3)
    y = x * rg.tensor(2.0)
    y.sum().backward()
    assert x.grad.cpu().tolist() == [2, 2, 2]


def test_dlpack_both_ways(cupy: Any) -> None:
    t = rg.arange(4.0, device="cuda")
    there = cupy.from_dlpack(t)
    there[0] = 7
    assert float(t[0]) == 7
    back = rg.from_dlpack(there)
    back[1] = 8
    assert float(there[1]) == 8
    assert back.is_cuda


def test_views_share_memory(cupy: Any) -> None:
    x = rg.zeros(4, 3, device="cuda")
    x.t()[1] = 5
    x[2:].add_(1)
    assert x.cpu().tolist() == [[0, 5, 0], [0, 5, 0], [1, 6, 1], [1, 6, 1]]
    s = x.as_strided((2, 2), (3, 1), 1)
    s.fill_(9)
    assert x.cpu().tolist()[0] == [0, 9, 9]
