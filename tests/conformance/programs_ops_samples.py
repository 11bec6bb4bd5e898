"""Programs that PyTorch's own samples led to: half precision in other layouts, numbers given as tensors, names."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .harness import attempt, program


def bfloat16(torch: Any, count: int) -> Any:
    return torch.linspace(-1.3, 2.1, count).to(torch.bfloat16)


# -- bfloat16 ------------------------------------------------------------------------------------------------------


@program()
def gradients_through_strided_views_of_bfloat16(torch: Any) -> Any:
    found = []
    for size, stride in (((2, 2), (1, 2)), ((2, 2, 2), (1, 1, 1)), ((3,), (0,))):
        x = bfloat16(torch, 9).reshape(3, 3).requires_grad_()
        y = x.as_strided(size, stride, 0)
        found.append(torch.autograd.grad(y, x, torch.full(size, 0.3).to(torch.bfloat16))[0].float())
    written = bfloat16(torch, 9).requires_grad_()
    whole = (written * 1).reshape(3, 3)
    whole.t()[1].mul_(0.7)
    return [*found, torch.autograd.grad((whole * 0.3).sum(), written)[0].float()]


@program()
def bfloat16_in_memory_formats(torch: Any) -> Any:
    image, wanted = torch.ones(2, 3, 2, 3), torch.channels_last
    made = [
        image.bfloat16(memory_format=wanted),
        image.bfloat16().to(torch.bfloat16, memory_format=wanted, copy=True),
        image.to(torch.bfloat16).clone(memory_format=wanted),
    ]
    strided = bfloat16(torch, 18).reshape(3, 6)[:, ::2]
    copied = torch.as_strided_copy(strided, (2, 2), (1, 2), 1)
    joined = torch.vstack([strided.t(), strided.t()])
    return [(str(t.dtype), t.stride(), t.float()) for t in (*made, copied, joined)]


@program()
def derivatives_of_bfloat16_that_are_recorded(torch: Any) -> Any:
    x = bfloat16(torch, 5).requires_grad_()
    return [
        torch.autograd.grad(f(x).sum(), x, create_graph=True)[0].float()
        for f in (torch.max, torch.min, torch.amax, torch.exp, torch.sigmoid)
    ]


@program()
def statistics_of_bfloat16(torch: Any) -> Any:
    x = bfloat16(torch, 12).reshape(2, 6)
    found = [
        *torch.native_layer_norm(x, (6,), None, None, 1e-5),
        *torch.native_group_norm(x, None, None, 2, 6, 1, 2, 1e-5),
        *torch.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5)[1:],
    ]
    return [(str(t.dtype), t.shape) for t in found]


# -- layouts -------------------------------------------------------------------------------------------------------


@program()
def copies_of_what_as_strided_expands(torch: Any) -> Any:
    x = torch.arange(12.0).as_strided((3, 4), (0, 1), 2)
    made = [x.clone(), x.int(), torch.asin(x.int()), x.int() / 2, x.clamp(x.int(), None), x.double()]
    refused = [
        attempt("single memory location", f, x)
        for f in (lambda x: x.add_(1), lambda x: x.zero_(), lambda x: x.copy_(x.clone()))
    ]
    row = torch.arange(6.0)
    row.as_strided((2, 3), (0, 2), 0)[0].add_(10)
    return [[t.stride() for t in made], refused, row]


@program()
def shuffles_are_copies(torch: Any) -> Any:
    x = torch.arange(8.0).reshape(1, 2, 2, 2)
    made = [torch.pixel_shuffle(x, 1), torch.pixel_unshuffle(x, 1), torch.channel_shuffle(x, 1)]
    for t in made:
        t.zero_()
    empty = torch.ones(1, 0, 1, 1, requires_grad=True)
    shuffled = torch.pixel_shuffle(empty, 1)
    shuffled.sum().backward()
    return [x, shuffled.shape, empty.grad]


# -- dtypes --------------------------------------------------------------------------------------------------------


@program()
def products_of_integers(torch: Any) -> Any:
    def ones(*shape: int) -> Any:
        return torch.ones(shape, dtype=torch.int32)

    equations = {"ik,j->ij": ((2, 3), (3,)), "ij,ik->i": ((2, 3), (2, 4)), "ij,jk->ik": ((2, 3), (3, 2))}
    sums = [torch.einsum(e, *(ones(*s) for s in shapes)) for e, shapes in equations.items()]
    return [
        *sums,
        torch.tensordot(ones(1, 2), ones(3, 3), dims=([0], [0])),
        torch.tensor(5, dtype=torch.uint8).index_add(
            0, torch.tensor([0]), torch.tensor(1, dtype=torch.uint8), alpha=-1
        ),
        torch.tensor(True).sum_to_size(()),
        torch.nn.functional.avg_pool2d(torch.arange(16).reshape(1, 1, 4, 4), 2, divisor_override=-3),
        torch.nn.functional.local_response_norm(torch.arange(18).reshape(1, 6, 3), 2),
        torch.logspace(0, 2.9, 3, dtype=torch.int64),
    ]


@program()
def what_has_no_kernel(torch: Any) -> Any:
    half, whole, truth = torch.ones(2).half(), torch.tensor([1, 2]), torch.tensor([True, False])
    special = torch.special
    calls = [
        lambda: special.bessel_j0(half), lambda: special.erfcx(half.bfloat16()), lambda: special.zeta(2, half),
        lambda: special.chebyshev_polynomial_t(half, 2), lambda: special.log_ndtr(half),
        lambda: torch.round(whole, decimals=1), lambda: special.round(whole), lambda: truth.clamp(truth, truth),
        lambda: torch.nn.functional.pad(truth.reshape(1, 2), (1, 1), "reflect"),
        lambda: torch.nn.functional.max_unpool1d(whole.reshape(1, 1, 2), whole.reshape(1, 1, 2), 2),
    ]  # fmt: skip
    return [attempt("not implemented for", call) for call in calls]


# -- arguments -----------------------------------------------------------------------------------------------------


@program()
def numbers_given_as_tensors(torch: Any) -> Any:
    x, number = torch.arange(6.0).reshape(2, 3), torch.tensor
    image = torch.arange(4.0).reshape(1, 1, 2, 2)
    functional = torch.nn.functional
    return [
        torch.var(x, dim=1, correction=number(1.5)),
        *torch.std_mean(x, dim=1, correction=number(0)),
        functional.pad(x, (1, 1), "constant", number(2.5)),
        torch.constant_pad_nd(x * 1j, (1, 0), 1j),
        functional.interpolate(image, scale_factor=np.float32(1.5), mode="bilinear"),
        torch.logspace(number(0), number(2), number(3), number(2.0)),
        x.index_add(0, number([0]), x[:1], alpha=number(2.0)),
        *torch.max(x, number(1), True),
        *torch.hsplit(x, number(3, dtype=torch.int32)),
        functional.local_response_norm(
            x.reshape(1, 2, 3), 2, alpha=number(0.5), beta=number(0.75), k=number(1.0)
        ),
    ]


@program()
def arguments_by_their_names(torch: Any) -> Any:
    x = torch.tensor([[4.0, 1.0], [1.0, 3.0]])
    linalg = torch.linalg
    alike = [
        linalg.cholesky(input=x), linalg.norm(input=x), linalg.eigvalsh(input=x), linalg.cond(input=x),
        linalg.matrix_norm(input=x), linalg.pinv(input=x), linalg.matrix_exp(input=x * 0),
        linalg.tensorinv(input=x, ind=1), linalg.lstsq(input=x, b=x).solution,
        linalg.tensorsolve(input=x, other=x[0]), linalg.solve_triangular(input=x, B=x, upper=True),
        torch.special.airy_ai(x=x), *torch.split(tensor=x, split_size_or_sections=1), *torch.hsplit(x, sections=2),
        *torch.vsplit(x, indices=[1]), *torch.tensor_split(x, tensor_indices_or_sections=torch.tensor([1])),
        x.clone().copy_(other=x), x.clone().swapaxes_(axis0=0, axis1=1), x.sum_to_size(size=(1, 2)),
        x.clone().resize_(size=(1, 2)),
        linalg.vander(torch.tensor(3.0), N=3),
    ]  # fmt: skip
    refused = [attempt("", linalg.cholesky, A=x), attempt("", torch.split, input=x, split_size_or_sections=1)]
    return [alike, str(torch.result_type(tensor=x, other=1)), refused]


@program()
def places_for_results(torch: Any) -> Any:
    x = torch.arange(16.0).reshape(1, 1, 4, 4)
    pooled, copied, scattered = torch.empty(1, 1, 2, 2), torch.empty(2, 2), torch.empty(1, 1, 4, 4)
    return [
        torch.nn.functional.avg_pool2d(x, 2, out=pooled) is pooled,
        torch.as_strided_copy(x, (2, 2), (1, 4), out=copied) is copied,
        torch.slice_scatter(x, x[..., :2], 3, 2, 4, out=scattered) is scattered,
        pooled, copied, scattered,
    ]  # fmt: skip


@program()
def faults_of_arguments(torch: Any) -> Any:
    functional, x = torch.nn.functional, torch.ones(2, 2)
    return [
        attempt("at least 3", functional.adaptive_avg_pool2d, x, (2, 2)),
        attempt("at least 4", functional.adaptive_max_pool3d, torch.ones(2, 2, 2), (2, 2, 2)),
        attempt(
            "one-dimensional", functional.multi_margin_loss, x, torch.tensor([0, 1]), weight=torch.tensor(1.0)
        ),
        attempt("must match", functional.soft_margin_loss, torch.ones(5, 4), torch.ones(5)),
        attempt("0-dim integral", torch.narrow, x, 0, torch.tensor([1]), 1),
        torch.gather(x, 0, torch.ones(0, dtype=torch.uint8)),
    ]


# -- graphs --------------------------------------------------------------------------------------------------------


@program()
def nodes_of_numbers(torch: Any) -> Any:
    x = torch.tensor([[1.26, 2.5]], requires_grad=True)
    functional = torch.nn.functional
    weight, bias = torch.ones(1, 3, requires_grad=True), torch.ones(1)
    return [
        x.round(), x.round(decimals=0), torch.special.round(x, decimals=1), torch.special.ndtr(x),
        functional.cross_entropy(x, torch.tensor([[0.3, 0.7]])),
        functional.linear(torch.ones(3, 4).t(), weight, bias),
    ]  # fmt: skip


@program()
def gradients_of_the_statistics_of_groups(torch: Any) -> Any:
    x = torch.arange(12.0, dtype=torch.float64).reshape(2, 6).sin().requires_grad_()
    out, mean, scale = torch.native_group_norm(x, None, None, 2, 6, 1, 2, 1e-5)
    return torch.autograd.grad((out * 0.5).sum() + (mean * 3).sum() + (scale * 2).sum(), x)


@program()
def batches_of_bags_with_padding(torch: Any) -> Any:
    tables, indices = torch.arange(50.0).reshape(2, 5, 5), torch.tensor([4, 1, 1, 0, 4, 4])

    def bags(table: Any, mode: str, padding: Any) -> Any:
        offsets = torch.tensor([0, 2, 3])
        return torch.nn.functional.embedding_bag(indices, table, offsets, mode=mode, padding_idx=padding)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [
            torch.vmap(lambda t: bags(t, mode, padding))(tables)
            for mode in ("sum", "mean", "max")
            for padding in (None, -1, 4)
        ]


@program()
def dimensions_by_numpys_name(torch: Any) -> Any:
    x = torch.arange(6.0).reshape(1, 2, 3)
    functions = [
        torch.squeeze, torch.unsqueeze, torch.unbind, torch.aminmax, torch.trapezoid, torch.trapz,
        torch.cumulative_trapezoid, torch.linalg.norm,
    ]  # fmt: skip
    return [f(x, axis=0) for f in functions], torch.gradient(x, axis=1), torch.clamp(x, 1, torch.tensor(3.0))


# -- windows -------------------------------------------------------------------------------------------------------


@program()
def windows_of_signals(torch: Any) -> Any:
    windows = torch.signal.windows
    made = [
        function(count, sym=sym, dtype=torch.float64, **more)
        for function, more in (
            (windows.bartlett, {}), (windows.blackman, {}), (windows.cosine, {}), (windows.exponential, {"tau": 1.5}),
            (windows.gaussian, {"std": 0.9}), (windows.general_cosine, {"a": [0.5, 0.3, 0.2]}), (windows.hann, {}),
            (windows.general_hamming, {"alpha": 0.6}), (windows.hamming, {}), (windows.kaiser, {"beta": 3.0}),
            (windows.nuttall, {}),
        )
        for count in (0, 1, 2, 5, 6)
        for sym in (True, False)
    ]  # fmt: skip
    refused = [
        attempt("non-negative", windows.hann, -1),
        attempt("float32 or float64", windows.hann, 3, dtype=torch.int64),
        attempt("positive", windows.gaussian, 3, std=-1.0),
        attempt("Center", windows.exponential, 3, center=1.0),
        attempt("empty", windows.general_cosine, 3, a=[]),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [made, windows.exponential(4, center=1.0, sym=False), refused]
