"""Programs whose calls no overload of PyTorch's takes, or that it takes where there is nothing to compute."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

import numpy as np

from tests.conformance.harness import attempt, program


@program()
def arguments_of_other_overloads(torch: Any) -> Any:
    x = torch.arange(6.0).reshape(2, 3)
    return [
        attempt("hsplit", torch.hsplit, x, indices_or_sections=3),
        attempt("argument:? 'split_size", torch.split, x, split_size=1),
        attempt("argument:? 'split_size", x.split, split_size_or_sections=1),
        attempt("permute", torch.permute, x, 1, 0),
        attempt("argument 'size' .* must be tuple of ints, not int", torch.broadcast_to, x, 1),
        attempt("must be tuple of ints, not int", torch.as_strided, x, (2,), 1),
        attempt("must be tuple of ints, not int", torch.expand_copy, x, 1),
        attempt("must be tuple of ints, not int", x.unflatten, 1, 3),
        attempt("invalid combination of arguments - got .int, float.", torch.bitwise_and, 2, 0.5),
        attempt("must be torch.device, not bool", x.cuda, True),
        attempt("must be str, not NoneType", torch.get_autocast_dtype, None),
        attempt("invalid combination", torch.clamp_min, x, None),
        attempt("the same dtype", torch.linalg.solve_triangular, x[:, :2], x[:, :2].double(), upper=True),
        attempt("invalid combination", torch.result_type, [], x),
        torch.hsplit(x, sections=3),
        torch.hsplit(x, indices=[1]),
        x.hsplit(1, 2),
        x.split(split_size=1),
        torch.permute(x, dims=(1, 0)),
        x.permute(1, 0),
        x.broadcast_to(2, 2, 3),
    ]


@program()
def a_wrong_combination_is_told_before_a_wrong_shape(torch: Any) -> Any:
    x = torch.arange(6.0).reshape(2, 3)
    return [
        attempt("padding_idx", torch.embedding_bag, x, x, x, sparse=True, padding_idx=1),
        attempt("invalid combination", torch.rnn_relu, x, x, [x], True, 1, -1.5, True, object(), False),
        attempt("argument 'ceil_mode'", torch.max_pool2d, torch.zeros(()), 2, ceil_mode=-1),
        attempt("argument 'pad' .* must be tuple of ints", torch.nn.functional.pad, x, 2, "nowhere"),
        attempt("only be set with", torch.nn.functional.interpolate, 1, scale_factor=2, align_corners=True),
        attempt("tuple index out of range", torch.nn.functional.max_unpool3d, x, x.long(), 2),
        attempt("not enough values to unpack", torch.nn.functional.lp_pool2d, x, 2, (1,)),
    ]


@program()
def complex_numbers_where_real_ones_are_used(torch: Any) -> Any:
    x, f = torch.ones(2, 2), torch.nn.functional
    phrase = "value cannot be converted to type"
    return [
        *[attempt(phrase, call, x, 1j) for call in (f.celu, f.elu, f.leaky_relu, f.softplus, f.softshrink)],
        *[attempt(phrase, call, x, correction=1j) for call in (torch.var, torch.std, torch.var_mean)],
        attempt("Expected a non-complex scalar", torch.dist, x, x, 1j),
        attempt("Unsupported input type", torch.isin, x, 1j),
        attempt("var_mean only support floating point", torch.var_mean, torch.tensor([1])),
    ]


@program()
def in_place_forms(torch: Any) -> Any:
    x, f = torch.tensor([-1.0, 0.5, 3.0]), torch.nn.functional
    return [
        f.hardtanh_(x.clone(), 2.0, 1.0),
        f.elu_(x.clone(), 0.5, scale=2.0, input_scale=3.0),
        attempt("Bad in-place call", x.clone().cumsum_, 0, dtype=torch.float64),
        x.clone().cumprod_(0, dtype=torch.float32),
    ]


@program()
def indices_that_go_around(torch: Any) -> Any:
    x = torch.arange(6).reshape(2, 3)
    return [
        torch.take_along_dim(x, torch.tensor([[5, -1, -7]]), 0),
        attempt("has no dimensions", torch.tensor(1.0).take_along_dim, torch.tensor(0), 0),
        attempt("only accept 1D vector", torch.repeat_interleave, torch.tensor(3)),
        attempt("without overflow", x.to(torch.uint8).__setitem__, (0, 0, 0), -1.5),
    ]


@program()
def nothing_to_compute(torch: Any) -> Any:
    empty = torch.zeros(0, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cholesky = torch.cholesky(empty)
        shapes = ((0, 0), (2, 0, 0), (0, 3, 3))
        recorded = [torch.cholesky(torch.zeros(shape, requires_grad=True)) for shape in shapes]
    return [
        cholesky.shape,
        [(found.grad_fn.name(), found.shape) for found in recorded],
        empty.int().softmax(0).dtype,
        empty.to(torch.complex64).log_softmax(1).dtype,
        torch.searchsorted(empty.bool(), empty.bool()).shape,
        torch.hann_window(1, dtype=torch.complex64),
        torch.kaiser_window(0, dtype=torch.complex64),
        torch.var(empty, correction=-1),
    ]


@program()
def bfloat16_of_no_elements(torch: Any) -> Any:
    leaf, x = torch.zeros(0, dtype=torch.bfloat16, requires_grad=True), torch.zeros(0, dtype=torch.bfloat16)
    x[:].copy_(leaf)
    x.sum().backward()
    return leaf.grad.dtype, leaf.grad.shape


@program()
def copies_of_views_made_without_recording(torch: Any) -> Any:
    leaf = torch.ones(3, requires_grad=True)
    with torch.no_grad():
        part = leaf[1:]
    copies = [copy.deepcopy(part), pickle.loads(pickle.dumps(part)), copy.copy(part)]
    return [part.requires_grad, *[c.requires_grad for c in copies]]


@program()
def gradients_of_a_mean_may_be_written(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0, 4.0], requires_grad=True)
    (found,) = torch.autograd.grad(x.mean() ** 2, x, create_graph=True)
    return found.stride(), found.tanh_()


@program()
def arguments_that_do_not_fit(torch: Any) -> Any:
    f, x, one = torch.nn.functional, torch.ones(2, 3), torch.ones(())
    zero = torch.zeros(1, dtype=torch.long)
    pixels, small = torch.ones(1, 1, 3, 3), torch.ones(2, dtype=torch.uint8)
    empty = torch.ones(3, 0, 2)
    return [
        attempt("the input must be 1D or 2D. Got 0D", torch.linalg.norm, one, 2),
        attempt("Got 0D", torch.linalg.norm, one, "fro"),
        attempt("unsigned type with negative limits", f.hardtanh_, small, 0.5, -1.5),
        attempt("mat2 must be a matrix, got 1-D tensor", f.linear, x, x[0], torch.ones(1)),
        attempt("mat2 must be a matrix, got 1-D tensor", f.linear, x, x[0], one),
        [f.linear(x[0], x[0], one), f.linear(x[None], x[0], one), f.linear(x, x[0])],
        attempt("It is expected kernel_size equals to 2, but got size 1", f.unfold, pixels, (2,)),
        attempt("It is expected stride equals to 2, but got size 1", f.unfold, pixels, 2, stride=(1,)),
        attempt(
            "It is expected padding equals to 2, but got size 1", f.fold, x[None], (2, 2), 1, padding=[0]
        ),
        attempt("doesn't match the broadcast shape", f.soft_margin_loss, one, x[0]),
        f.soft_margin_loss(x, one, reduction="none"),
        *[
            attempt("got .Tensor, int, ", g, x, 0, 1)
            for g in (torch.var, torch.std, torch.var_mean, torch.std_mean)
        ],
        attempt(
            "received an invalid combination", torch.zeros(1).scatter, 0, zero, src=torch.ones(1), value=1.0
        ),
        attempt("reduction dim 1 to have non-zero size", torch.hash_tensor, empty, (0, 1)),
        torch.hash_tensor(empty, (0, 2)).shape,
        attempt("received an invalid combination", x.to, x, 2.5),
        attempt("received an invalid combination", x.to, torch.float64, 1),
        x.to(torch.float64, True).dtype,
        attempt("window", torch.stft, x[0], 2, window=2.5, return_complex=True),
        attempt("window", torch.istft, x.to(torch.complex64), 4, window=2.5),
    ]


@program(warns="Using a target size")
def weights_of_losses_that_are_broadcast(torch: Any) -> Any:
    f, x = torch.nn.functional, torch.ones(2, 3)
    losses = (f.huber_loss, f.mse_loss, f.l1_loss)
    return [
        *[attempt("must have the same size", loss, x[0], x, weight=x) for loss in losses],
        *[loss(x, x[0] * 2, weight=x * 3, reduction="none") for loss in losses],
    ]


@program(warns="This overload of")
def numbers_in_tensors_before_tensors(torch: Any) -> Any:
    two, three, x, v = torch.tensor(2.0), torch.tensor(3.0), torch.ones(2, 2), torch.ones(2)
    return [
        torch.addcmul(v, two, v, v),
        torch.addcdiv(two, three, two, two),
        v.clone().addcdiv_(two, v, v),
        torch.addmm(two, x, x, x),
        torch.addmm(two, x, three, x, x),
        torch.addmm(2, x, three, x, x),
        x.addmm(two, three, x, x),
        x.addmm(two, 3, x, x),
        torch.addr(two, x, v, v),
        torch.tensor(1.0).addr(2, v, v),
        attempt("addmm", torch.addmm, torch.tensor(2.0, requires_grad=True), x, x, x),
        attempt("addcmul", torch.addcmul, v, torch.tensor([2.0]), v, v),
    ]


@program()
def numbers_of_numpy_for_both_operands(torch: Any) -> Any:
    return [
        torch.mul(np.float32(0.5), np.int64(2)),
        torch.mul(np.int64(3), 2),
        torch.add(1, np.int64(2)),
        torch.div(1, np.int64(2)),
        torch.sub(0.5, np.float32(0.5)),
        torch.floor_divide(7, np.int64(2)),
    ]


@program()
def truth_values_times_a_factor(torch: Any) -> Any:
    yes, no, bytes_ = torch.tensor([True]), torch.tensor([False]), torch.ones(1, dtype=torch.uint8)
    return [
        *[x.add(y, alpha=a) for x in (yes, no) for y in (True, False, yes, no) for a in (2, 0, True, False)],
        no.clone().add_(True, alpha=2),
        bytes_.clone().add_(True, alpha=2),
        torch.ones(1).add_(True, alpha=2),
        torch.ones(1).add(True, alpha=2.5),
        torch.add(True, True, alpha=2),
        attempt("Boolean alpha only supported", bytes_.add, True, alpha=True),
    ]


@program()
def right_sides_of_lstsq(torch: Any) -> Any:
    a = torch.eye(3, 2).expand(2, 3, 2) * 2
    square = torch.tensor([[[2.0, 0.0], [0.0, 4.0]], [[1.0, 0.0], [0.0, 8.0]]], dtype=torch.float64)
    sides = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=torch.float64)
    return [
        torch.linalg.lstsq(a, torch.ones(2, 3)).solution,
        torch.linalg.lstsq(square, sides).solution.round(decimals=9),
        attempt("should match other.size.-2.", torch.linalg.lstsq, a, torch.ones(1, 3)),
        attempt("should match other.size.-2.", torch.linalg.lstsq, a, torch.ones(2, 5)),
    ]


@program()
def copies_keep_the_layout(torch: Any) -> Any:
    whole = torch.arange(6).reshape(2, 3).t()
    functions = (torch.ceil, torch.floor, torch.round, torch.trunc, torch.fix, torch.fliplr, torch.flipud)
    cube = torch.arange(24.0).reshape(2, 3, 4).transpose(0, 2)
    return [
        *[f(whole).stride() for f in functions],
        [cube.flip(0, 2), cube.flip(0, 2).stride()],
        cube[::2].flip(1).stride(),
    ]


@program()
def sums_and_means_over_nothing_named(torch: Any) -> Any:
    x = torch.ones(2, 3, requires_grad=True)
    found = [f(x, *args, **named) for f in (torch.sum, torch.mean) for args, named in (
        ((), {}), ((None,), {}), ((), {"dim": None}), ((), {"axis": None}), ((None, True), {}), (((),), {}),
        ((), {"dtype": torch.float64}), ((), {"dim": None, "dtype": torch.float64}),
    )]  # fmt: skip
    found += [x.sum(None), x.mean(dim=None), x.sum()]
    nodes = [(y.grad_fn.name(), y.shape, y.dtype, getattr(y.grad_fn, "_saved_keepdim", None)) for y in found]
    counts = [y.grad_fn._saved_self_sym_numel for y in (x.mean(), x.mean(0), x.mean(None))]
    return [nodes, counts, [torch.autograd.grad(y.sum(), x)[0].dtype for y in found]]
