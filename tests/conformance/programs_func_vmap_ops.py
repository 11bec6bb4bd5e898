"""Operations inside of `vmap`, many to a program: views, indices, writes, reductions, matrices, networks, losses."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from .harness import attempt, program

Row = Callable[[Any, Any], Any]  # of the module and one sample


def mat(torch: Any) -> Any:
    return torch.tensor([[1.0, 2.0, 3.0], [4.0, -5.0, 6.0]], dtype=torch.float64)


def whole(torch: Any) -> Any:
    return torch.tensor([[3, 1, 2], [1, 1, 4]])


def square(torch: Any) -> Any:
    return torch.tensor([[2.0, 0.3, 0.1], [0.2, 3.0, 0.5], [-0.4, 0.6, 1.5]], dtype=torch.float64)


def squares(torch: Any) -> Any:
    return torch.stack([square(torch), square(torch) * 1.5 + 0.1, square(torch).t() - 0.2])


def images(torch: Any) -> Any:
    return torch.arange(3 * 2 * 5 * 5.0, dtype=torch.float64).reshape(3, 2, 5, 5).sin()


def kernel(torch: Any) -> Any:
    return torch.arange(4 * 2 * 3 * 3.0, dtype=torch.float64).reshape(4, 2, 3, 3).cos()


def rows(samples: Callable[[Any], Any], **functions: Row) -> None:
    """Makes each function, called on one sample, a program."""

    def make(row: Row) -> Callable[[Any], Any]:
        return lambda torch: torch.vmap(lambda x: row(torch, x))(samples(torch))

    for name, row in functions.items():
        made = make(row)
        made.__name__ = name
        made.__module__ = __name__
        program()(made)


rows(
    mat,
    slices=lambda t, x: (x[1:], x[::2], x[-1], x[None, ..., None], x[[0, 2]], x[t.tensor([True, False, True])]),
    broadcast=lambda t, x: (x[:, None] + x, t.broadcast_to(x, (2, 3)), t.atleast_2d(x)),
    from_shapes=lambda t, x: (x * x.size(0) * x.numel() * x.dim() * len(x), x.new_tensor(list(x.shape)) + x[0]),
    unpacked=lambda t, x: t.stack([*x][::-1]),
    made_alike=lambda t, x: (
        t.zeros_like(x), t.ones_like(x), t.full_like(x, 2.0), x.new_ones(2), x.new_full((2,), 3.0), t.arange(3) * x,
        t.eye(3, dtype=t.float64) @ x, t.linspace(0, 1, 3, dtype=t.float64) * x,
    ),
    converted=lambda t, x: (x.float(), x.to(t.float32), x.long(), x.type(t.float32), x.int(), x.bool(), x.clone()),
    ordered=lambda t, x: (x.sort(descending=True), x.argsort(), x.topk(2), x.kthvalue(2), x.median(0), x.mode()),
    running=lambda t, x: (x.cumsum(0), x.cumprod(-1), x.cummax(0), x.cummin(0), x.logcumsumexp(0)),
    extremes=lambda t, x: (x.max(), x.max(0), x.min(-1).values, x.argmax(), x.amax(), x.aminmax()),
    questions=lambda t, x: (
        t.isneginf(x), t.isposinf(x / 0), t.signbit(x), x.isnan(), x.sign(), x.all(), x.any(0), x.count_nonzero(),
        t.heaviside(x, x),
    ),
    clamped=lambda t, x: (
        x.clamp(-1, 1), x.clamp(min=x.mean()), x.lerp(x * 2, 0.5), t.addcmul(x, x, x), t.addcdiv(x, x, x), x.fmod(2),
        x.remainder(3), x // 2, x % 2, x.floor(), t.hypot(x, x), t.atan2(x, x + 1), t.maximum(x, -x), x.nan_to_num(),
        x.round(decimals=1), t.logaddexp(x, x),
    ),
    numbers_of_two_parts=lambda t, x: (
        t.complex(x, x), t.view_as_real(t.complex(x, x)), t.polar(x.abs(), x), t.complex(x, x).conj().angle(),
    ),
    activations=lambda t, x: [
        getattr(t.nn.functional, name)(x)
        for name in (
            "relu", "gelu", "silu", "elu", "selu", "softplus", "leaky_relu", "hardtanh", "hardswish", "mish",
            "logsigmoid", "tanhshrink", "softsign", "celu", "relu6", "hardsigmoid",
        )
    ],
    shares=lambda t, x: (
        t.softmax(x, 0), t.log_softmax(x, -1), t.nn.functional.softmin(x, 0), t.nn.functional.normalize(x, dim=0),
        t.nn.functional.glu(t.cat([x, -x, x, x]), 0), t.nn.functional.cosine_similarity(x, x * 2 + 1, 0),
    ),
    losses=lambda t, x: [
        t.nn.functional.mse_loss(x, x * 2), t.nn.functional.l1_loss(x, x * 2, reduction="none"),
        t.nn.functional.smooth_l1_loss(x, x * 2), t.nn.functional.huber_loss(x, x * 2),
        t.nn.functional.binary_cross_entropy_with_logits(x, x.sigmoid()), t.nn.functional.poisson_nll_loss(x, x.exp()),
    ],
    written=lambda t, x: (
        x.clone().index_add_(0, t.tensor([0, 0, 2]), x), x.clone().masked_fill_(x < 0, 0.0),
        t.zeros_like(x).scatter(0, t.tensor([2, 0]), x[:2]), x.masked_fill(x < 0, float("-inf")),
        t.where(x > 0, x, 0.0),
    ),
    padded=lambda t, x: (t.nn.functional.pad(x, (1, 2)), t.nn.functional.pad(x[None], (1, 1), mode="reflect")),
)  # fmt: skip

rows(
    whole,
    quotients_of_whole_numbers=lambda t, x: (x / 2, x / x, 1 / x, t.div(x, x), x // 2, t.true_divide(x, 3)),
    functions_of_whole_numbers=lambda t, x: (
        x.sin(), t.atan2(x, x), t.xlogy(x, x), t.copysign(x, x), t.ldexp(x, x), x.float().mean(), x.sqrt(),
    ),
    classes=lambda t, x: (t.nn.functional.one_hot(x, 5), t.nn.functional.one_hot(x[0], 6)),
    weights_of_classes=lambda t, x: t.nn.functional.embedding(x - 1, t.arange(12.0).reshape(4, 3)),
)  # fmt: skip

rows(
    squares,
    views=lambda t, x: (
        x.view(-1), x.reshape(9), x.t(), x.transpose(0, 1), x.permute(1, 0), x.unsqueeze(1), x.flatten(),
        x.expand(2, 3, 3),
        x.unfold(0, 2, 1), x.diagonal(), x.movedim(0, 1), x.swapaxes(0, 1), x.narrow(0, 1, 2), x.select(1, 0), x.mT,
    ),
    rearranged=lambda t, x: (
        x.flip(0), x.roll(1, 0), x.rot90(), x.tile(2), x.repeat(2, 1), x.repeat_interleave(2, 0), x.chunk(2),
        x.split([1, 2]), x.unbind(), x.tril(), x.triu(1), t.cat([x, x * 2]), t.stack([x, x], 1), t.hstack([x, x]),
        t.vstack([x, x]), t.block_diag(x, x), t.meshgrid(x[0], x[1], indexing="ij"),
    ),
    index_arrays=lambda t, x: (x[t.tensor([0, 2]), t.tensor([1, 1])], x[:, t.tensor([2, 0])], x[t.tensor([[0, 1]])]),
    reduced=lambda t, x: (
        x.mean(), x.var(), x.std(0), x.prod(), x.norm(), x.logsumexp(0), t.var_mean(x, 0), x.sum((0, 1)),
        x.mean(-1, keepdim=True), x.norm(1, dim=0), x.nansum(), x.diff(),
    ),
    products=lambda t, x: (
        x @ x, x @ x[0], x[0] @ x, t.mm(x, x), t.mv(x, x[0]), t.dot(x[0], x[1]), t.outer(x[0], x[1]),
        t.bmm(x[None], x[None]), t.addmm(x, x, x), t.addmv(x[0], x, x[1]), t.kron(x, x), t.inner(x, x),
        t.linalg.multi_dot([x, x, x]), t.tensordot(x, x, 1), t.einsum("ij,jk->ik", x, x), t.einsum("ii", x),
        t.einsum("ij,kl->ijkl", x, x),
    ),
    factors=lambda t, x: (
        t.linalg.inv(x), t.linalg.det(x), t.linalg.slogdet(x), t.linalg.solve(x, x[0]), t.linalg.matrix_norm(x),
        t.linalg.pinv(x), t.linalg.cholesky(x @ x.T + t.eye(3, dtype=t.float64)), t.linalg.eigvalsh(x + x.T),
        t.linalg.svdvals(x), t.linalg.matrix_power(x, 3), t.linalg.matrix_exp(x), t.linalg.matrix_rank(x), t.trace(x),
        t.linalg.cond(x), t.linalg.solve_triangular(x.triu(), x, upper=True),
    ),
    spectra=lambda t, x: (t.fft.fft(x), t.fft.rfft(x).abs(), t.fft.fft2(x), t.fft.fftshift(x)),
    distances=lambda t, x: (t.cdist(x, x + 1), t.nn.functional.pairwise_distance(x, x * 2)),
)  # fmt: skip

rows(
    images,
    convolutions=lambda t, x: (
        t.nn.functional.conv2d(x[None], kernel(t), t.arange(4.0, dtype=t.float64), padding=1),
        t.nn.functional.conv2d(x, kernel(t)), t.nn.functional.conv2d(x[None], kernel(t)[:, :1], groups=2, stride=2),
        t.nn.functional.conv_transpose2d(x[None], kernel(t).transpose(0, 1)),
        t.nn.functional.conv1d(x[:, 0], kernel(t)[:, :, 0]),
    ),
    windows=lambda t, x: (
        t.nn.functional.max_pool2d(x[None], 2), t.nn.functional.avg_pool2d(x, 2),
        t.nn.functional.adaptive_avg_pool2d(x[None], 2), t.nn.functional.max_pool2d(x[None], 2, return_indices=True)[1],
        t.nn.functional.max_pool1d(x[0], 2), t.nn.functional.unfold(x[None], 2),
    ),
    norms=lambda t, x: (
        t.nn.functional.layer_norm(x, (5, 5)), t.nn.functional.group_norm(x[None], 2),
        t.nn.functional.instance_norm(x[None]), t.nn.functional.batch_norm(x[None], None, None, training=True),
    ),
    resized=lambda t, x: (
        t.nn.functional.interpolate(x[None], scale_factor=2),
        t.nn.functional.interpolate(x[None], size=(7, 7), mode="bilinear"),
    ),
)  # fmt: skip


# -- weights, indices and targets of each sample -----------------------------------------------------------------------


@program()
def a_kernel_of_each_sample(torch: Any) -> Any:
    F, w = torch.nn.functional, torch.stack([kernel(torch), kernel(torch) * 2])
    bias = torch.tensor([[1.0, 2.0, 3.0, 4.0], [0.0, 1.0, 0.0, 1.0]], dtype=torch.float64)
    shared = torch.vmap(lambda w: F.conv2d(images(torch), w, stride=2))(w)
    return shared, torch.vmap(lambda x, w, b: F.conv2d(x[None], w, b, padding=1))(images(torch)[:2], w, bias)


@program()
def gradients_of_a_kernel_for_each_sample(torch: Any) -> Any:
    def loss(w: Any, b: Any, x: Any) -> Any:
        h = torch.nn.functional.conv2d(torch.stack([x, x * 2]), w, b, padding=1)
        return (torch.nn.functional.max_pool2d(h, 2) ** 2).sum()

    gradient = torch.func.grad(loss, argnums=(0, 1, 2))
    b = torch.ones(4, dtype=torch.float64)
    return torch.vmap(gradient, in_dims=(None, None, 0))(kernel(torch), b, images(torch))


@program()
def gradients_of_average_windows(torch: Any) -> Any:
    F = torch.nn.functional
    return torch.vmap(torch.func.grad(lambda x: (F.avg_pool2d(x, 2) ** 3).sum()))(images(torch))


@program()
def indices_of_each_sample(torch: Any) -> Any:
    i, j = torch.tensor([2, 0]), torch.tensor([[2, 0], [1, 1]])
    x, m = mat(torch), squares(torch)[:2]
    return (
        torch.vmap(lambda x, i: x[i])(x, i), torch.vmap(lambda x, j: x[j])(m, j), torch.vmap(lambda i: x[:, i])(i),
        torch.vmap(lambda x, j: x.gather(0, j))(x, j), torch.vmap(lambda x, j: x.index_select(0, j))(m, j),
        torch.vmap(lambda x, j: torch.zeros(4, dtype=torch.float64).scatter_add(0, j, x[:2]))(x, j),
        torch.vmap(lambda x: torch.take_along_dim(x, x.argsort(-1), -1))(m),
    )  # fmt: skip


@program()
def targets_of_each_sample(torch: Any) -> Any:
    F, y = torch.nn.functional, torch.tensor([0, 2])
    one = torch.vmap(lambda x, y: (F.cross_entropy(x, y), F.nll_loss(x.log_softmax(0), y)))(mat(torch), y)
    smooth = torch.vmap(lambda x, y: F.cross_entropy(x[None], y[None], label_smoothing=0.1))(mat(torch), y)
    ys, weight = (
        torch.tensor([[0, 2, 1], [1, 1, 0], [2, 2, 2]]),
        torch.tensor([1.0, 2.0, 0.5], dtype=torch.float64),
    )
    options: list[dict[str, Any]] = [{}, {"ignore_index": 1}, {"weight": weight}]
    return (
        one,
        smooth,
        [torch.vmap(lambda x, y, o=o: F.cross_entropy(x, y, **o))(squares(torch), ys) for o in options],
    )


@program()
def layer_norm_with_weights_and_without(torch: Any) -> Any:
    F, w = torch.nn.functional, torch.tensor([1.0, 2.0, 0.5], dtype=torch.float64)

    def loss(w: Any, x: Any) -> Any:
        return (F.layer_norm(x, (3,), w, w * 2) ** 3).sum() + F.layer_norm(x, (3,)).prod()

    return torch.vmap(torch.func.grad(loss, argnums=(0, 1)), in_dims=(None, 0))(w, squares(torch))


@program()
def products_where_one_side_is_shared(torch: Any) -> Any:
    dims = ((0, None), (None, 0), (1, 2), (0, 0))
    return [torch.vmap(torch.matmul, in_dims=d)(squares(torch), squares(torch)) for d in dims]


@program()
def index_put_at_indices_without_dimensions(torch: Any) -> Any:
    one, x, i = torch.tensor(1), mat(torch), torch.tensor([2, 0])

    def written(x: Any, i: Any, v: Any) -> Any:
        return x.index_put((i,), v), x.index_put((i,), v, accumulate=True)

    return [
        torch.vmap(lambda x: written(x, one, x[0] * 2))(x),
        torch.vmap(lambda x, i: written(x, i, x[0] * 2))(x, i),
        torch.vmap(lambda i: written(x[0], i, x[0, 1]))(i),
        torch.vmap(lambda v: x.index_put((one,), v))(x),
    ]


@program()
def embedding_with_a_row_for_padding(torch: Any) -> Any:
    table, i = squares(torch)[0], torch.tensor([[0, 1, 1], [2, 2, 2], [0, 0, 2]])

    def loss(w: Any, i: Any, padding: int) -> Any:
        return (torch.nn.functional.embedding(i, w, padding_idx=padding) ** 3).sum()

    def twice(w: Any, i: Any, padding: int) -> Any:
        return (torch.func.grad(loss)(w, i, padding) ** 2).sum()

    return [
        torch.vmap(torch.func.grad(f), in_dims=(dim, 0, None))(w, i, padding)
        for f in (loss, twice)
        for dim, w in ((None, table), (0, squares(torch)))
        for padding in (0, 2)
    ]


@program()
def unravelled_numbers(torch: Any) -> Any:
    return [torch.vmap(lambda i: torch.unravel_index(i, (3, 2)))(i) for i in (whole(torch), whole(torch)[0])]


def quiet(*functions: Callable[[], Any]) -> Any:
    """What functions give that go through the samples one by one on torch, with a warning, and not all of them here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [function() for function in functions]


@program()
def masked_scatter_with_masks_of_samples(torch: Any) -> Any:
    x, source = squares(torch)[0], squares(torch)[1]
    masks = torch.tensor([[True, False, True], [False, False, False], [True, True, True]])
    grad, over = torch.func.grad, torch.vmap

    def loss(x: Any, m: Any, s: Any) -> Any:
        return (torch.masked_scatter(x, m, s) ** 3).sum()

    return quiet(
        lambda: over(torch.masked_scatter)(x, masks, source),
        lambda: over(lambda x, m, s: x.clone().masked_scatter_(m, s))(x, masks, source),
        lambda: over(lambda m: torch.masked_scatter(x, m, source))(masks),
        lambda: over(grad(loss, argnums=(0, 2)))(x, masks, source),
        lambda: over(grad(loss, argnums=(0, 2)), in_dims=(None, 0, None))(x[0], masks, source[0]),
        lambda: attempt("elements of source <", over(torch.masked_scatter), x, masks, source[:, :1]),
    )


@program()
def functions_that_look_at_each_sample(torch: Any) -> Any:
    F, table = torch.nn.functional, squares(torch)[0]
    i, offsets = torch.tensor([[[0, 1], [2, 1]], [[2, 2], [0, 2]]]), torch.tensor([[0, 1], [0, 3]])
    logs, targets, size = (
        images(torch)[:2, 0, :4].log_softmax(-1),
        torch.tensor([[1, 2], [3, 3]]),
        torch.tensor(2),
    )

    def bags(w: Any, i: Any, mode: str) -> Any:
        return (F.embedding_bag(i, w, mode=mode) ** 3).sum()

    def ctc(x: Any, t: Any, size: Any = size) -> Any:
        return F.ctc_loss(x, t, size + 2, size)

    found = []
    for m in ("sum", "mean", "max"):
        found += quiet(
            lambda m=m: torch.vmap(torch.func.grad(lambda w, i: bags(w, i, m)), (None, 0))(table, i),
            lambda m=m: torch.vmap(lambda i, o: F.embedding_bag(i.reshape(-1), table, o, mode=m))(i, offsets),
            lambda m=m: torch.vmap(lambda i: F.embedding_bag(i, table, mode=m, padding_idx=1))(i),
        )
    repeats = torch.tensor([[1, 0, 2], [1, 1, 1]])
    return found, quiet(
        lambda: torch.vmap(ctc)(logs, targets),
        lambda: torch.vmap(torch.func.grad(ctc))(logs, targets),
        lambda: torch.vmap(lambda t: ctc(logs[0], t))(targets),
        lambda: torch.vmap(torch.repeat_interleave)(table[:2], repeats),
        lambda: torch.vmap(torch.repeat_interleave)(repeats),
        lambda: attempt(
            "expects each tensor to be equal size",
            torch.vmap(torch.repeat_interleave),
            table[:2],
            repeats.cumsum(0),
        ),
    )


# -- what has no answer for all samples ------------------------------------------------------------------------------


@program()
def answers_for_one_sample_only(torch: Any) -> Any:
    def over(f: Any) -> Any:
        return lambda: torch.vmap(f)(mat(torch))

    i = torch.tensor([[0, 1], [3, 2]])
    return (
        attempt("calling .item", over(lambda x: x if 1.0 in x else -x)),
        attempt("data-dependent control flow", over(lambda x: x[0].is_nonzero())),
        attempt("vmap over torch.allclose isn't supported", over(lambda x: torch.allclose(x, x))),
        attempt("Batching rule not implemented for aten::equal", over(lambda x: torch.equal(x, x))),
        attempt(
            "Attempted to vmap over `mask` in torch.masked_select",
            over(lambda x: torch.masked_select(x, x > 0)),
        ),
        attempt("explicit positive num_classes", lambda: torch.vmap(torch.nn.functional.one_hot)(i)),
    )
