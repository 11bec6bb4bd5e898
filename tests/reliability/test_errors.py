"""Calls that used to end in an error of NumPy's or of Python's own: each has PyTorch's kind of error, or its result."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import retrograd as rg

REFUSED = [
    "nn.functional.softshrink(ones(2), 1j)",
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
    "nn.functional.max_pool2d(ones(1, 1, 4, 4), 2, stride=2**63)",
    "nn.functional.avg_pool1d(ones(1, 1, 4), 2, stride=2**63)",
    "nn.functional.adaptive_avg_pool2d(ones(1, 1, 4, 4), 2**63)",
    "repeat_interleave(ones(3), -2**63 - 1)",
    "nn.functional.interpolate(ones(1, 1, 4, 4), scale_factor=nan)",
    "nn.functional.interpolate(ones(1, 1, 4, 4), size=3, mode=[])",
    "cdist(ones(2, 2), ones(2, 2), compute_mode=[])",
    "bilinear(ones(3, 2), ones(3, 2), ones(2, 2, 2), tensor(1.0))",
    "nn.functional.multilabel_soft_margin_loss(tensor(1.0), ones(2, 3))",
    "rnn_relu_cell(tensor(1.0), ones(2, 2), ones(2, 3), ones(2, 2), ones(2), ones(2))",
    "linalg.householder_product(ones(3, 3), tensor(1.0))",
    "affine_grid_generator(ones(1, 2), (1, 1, 2, 2), False)",
]
# Each names the function and the argument, or says what is wrong with it; neither NumPy nor Python speaks for us.
WRONG_TYPES = [
    "nn.functional.layer_norm(ones(2, 5), (5,), weight=3)",
    "nn.functional.layer_norm(ones(2, 5), [None])",
    "nn.functional.rms_norm(ones(2, 5), (5,), weight=3)",
    "nn.functional.rms_norm(ones(2, 5), (5,), eps='x')",
    "nn.functional.group_norm(ones(2, 4), 2, bias='x')",
    "nn.functional.group_norm(ones(2, 4), None)",
    "nn.functional.local_response_norm(ones(1, 2, 3), None)",
    "nn.functional.batch_norm(ones(3, 2), None, None, weight=3, training=True)",
    "nn.functional.batch_norm(ones(3, 2), None, None, training=True, eps=None)",
    "nn.functional.instance_norm(ones(2, 2, 3), running_mean=3)",
    "bilinear(ones(3, 2), ones(3, 2), ones(2, 2, 2), 3)",
    "rnn_relu_cell(ones(2, 3), ones(2, 2), ones(2, 3), ones(2, 2), 3, ones(2))",
    "nn.functional.cross_entropy(ones(2, 3), zeros(2).long(), weight=3)",
    "nn.functional.cross_entropy(ones(2, 3), zeros(2).long(), label_smoothing=None)",
    "nn.functional.nll_loss(ones(2, 3), zeros(2).long(), weight='x')",
    "nn.functional.binary_cross_entropy(ones(2), ones(2), weight=3)",
    "nn.functional.binary_cross_entropy_with_logits(ones(2), ones(2), pos_weight=3)",
    "nn.functional.multilabel_soft_margin_loss(ones(2, 3), ones(2, 3), weight={})",
    "nn.functional.multi_margin_loss(ones(2, 3), zeros(2).long(), margin=None)",
    "nn.functional.margin_ranking_loss(ones(2), ones(2), ones(2), margin='x')",
    "nn.functional.cosine_embedding_loss(ones(2, 3), ones(2, 3), ones(2), margin=None)",
    "nn.functional.hinge_embedding_loss(ones(2), ones(2), margin=1j)",
    "nn.functional.triplet_margin_loss(ones(2, 3), ones(2, 3), ones(2, 3), eps=1j)",
    "nn.functional.poisson_nll_loss(ones(2), ones(2), eps=1j)",
    "nn.functional.gaussian_nll_loss(ones(2), ones(2), ones(2), eps=1j)",
    "nn.functional.smooth_l1_loss(ones(2), ones(2), beta=1j)",
    "nn.functional.huber_loss(ones(2), ones(2), delta=1j)",
    "nn.functional.hardtanh(ones(2), 1j)",
    "nn.functional.rrelu(ones(2), (0,))",
    "nn.functional.dropout(ones(2), 1j)",
    "nn.functional.dropout1d(ones(2, 3), None)",
    "nn.functional.cosine_similarity(ones(2, 3), ones(2, 3), eps=None)",
    "nn.functional.pairwise_distance(ones(2, 3), ones(2, 3), eps=1j)",
    "nn.functional.normalize(ones(2, 3), eps='x')",
    "nn.functional.max_unpool1d(ones(1, 1, 2), tensor([[[0, 1]]]), 2, output_size=0)",
    "nn.functional.affine_grid(ones(2, 2, 3), 0)",
    "embedding(ones(2, 2), tensor([0]), padding_idx='x')",
    "special.round(ones(2), decimals=nan)",
    "clamp(ones(2), min='x')",
    "atleast_1d(3)",
    "rot90(ones(2, 3), 1, 0)",
    "split_with_sizes(ones(5), 0)",
    "diagonal(ones(2, 3), dim1=None)",
    "linalg.tensorinv(ones(6, 2, 3), 0.5)",
    "linalg.tensorsolve(ones(2, 3, 6), ones(2, 3), dims=0)",
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
@pytest.mark.parametrize("call", WRONG_TYPES)
def test_an_argument_of_a_wrong_type_is_named(call: str) -> None:
    with pytest.raises(TypeError, match=r"^\w+\(\)(: argument '\w+'| received an invalid combination)"):
        eval(call, {}, Names(rg))


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


@pytest.mark.parametrize(
    "name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam"]
)
def test_state_of_another_shape_is_told_in_words_of_tensors(torch: Any, name: str) -> None:
    for lib in (torch, rg):
        options = {"momentum": 0.9} if name == "SGD" else {}
        large, small = (lib.ones(shape).requires_grad_() for shape in ((3, 2), (2, 2)))
        large.grad, small.grad = lib.ones(3, 2), lib.ones(2, 2)
        first, second = (
            getattr(lib.optim, name)([large], **options),
            getattr(lib.optim, name)([small], **options),
        )
        first.step()
        second.load_state_dict(first.state_dict())
        with pytest.raises(RuntimeError, match="The size of tensor a"):
            second.step()
        assert lib.is_grad_enabled()


@pytest.mark.parametrize(
    ("changes", "kind", "words"),
    [
        ({"input_lengths": None}, TypeError, "invalid combination of arguments"),
        ({"input_lengths": [5.0, 5.0]}, TypeError, "invalid combination of arguments"),
        ({"target_lengths": "ab"}, TypeError, "invalid combination of arguments"),
        ({"blank": None}, TypeError, "invalid combination of arguments"),
        ({"blank": 0.5}, TypeError, "invalid combination of arguments"),
        ({"zero_infinity": "x"}, TypeError, "invalid combination of arguments"),
        ({"targets": (2, 3, 1)}, RuntimeError, "Expected 1 to 2 dimensions, but got 3-dimensional"),
        ({"targets": ()}, RuntimeError, "Expected 1 to 2 dimensions, but got 0-dimensional"),
        ({"targets": (3, 3)}, RuntimeError, "size 2 at dimension 0, but got size 3"),
        ({"targets": (2, 2)}, RuntimeError, "size at least 3 at dimension 1, but got size 2"),
        ({"input_lengths": [6, 5]}, RuntimeError, "to have value at most 5, but got value 6"),
    ],
)
def test_ctc_loss_says_what_is_wrong_as_pytorch_does(
    torch: Any, changes: dict[str, Any], kind: type[Exception], words: str
) -> None:
    for lib in (torch, rg):
        given = {"targets": (2, 3), "input_lengths": [5, 5], "target_lengths": [3, 2], **changes}
        targets = lib.ones(given.pop("targets"), dtype=lib.int64)
        with pytest.raises(kind, match=words):
            lib.nn.functional.ctc_loss(lib.zeros(5, 2, 4), targets, **given)


def test_an_element_that_is_no_int_is_told_by_its_own_place() -> None:
    with pytest.raises(TypeError, match=r"found element of type float at pos 1"):
        rg.nn.functional.layer_norm(rg.ones(1, 1), (1, 1.0))
