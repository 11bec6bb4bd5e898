"""Normalisation, attention, embedding, dropout: values, derivatives, graphs, bad input."""

from __future__ import annotations

from typing import Any

from .derivatives import derivatives, first_order, heads, ramp
from .harness import attempt, program

ROWS = [[1.0, -2.0, 0.5], [0.25, 1.5, -1.0]]
IMAGE = [[[1.0, -2.0, 0.5], [0.25, 1.5, -1.0]], [[0.0, 1.0, 3.0], [-1.0, 2.0, 0.75]]]
TABLE = [[1.0, 2.0], [-3.0, 4.0], [0.5, -0.5], [2.0, 2.0]]


def edges(torch: Any, out: Any) -> list[str | None]:
    """The names of the nodes that a result depends on directly."""
    return [
        None if node is None else node.name().rpartition("::")[2] for node, _ in out.grad_fn.next_functions
    ]


# -- normalisation ---------------------------------------------------------------------------------


@program()
def layer_norm(torch: Any) -> Any:
    f = torch.nn.functional.layer_norm
    return [
        derivatives(torch, lambda x: f(x, (3,)), ROWS),
        derivatives(torch, lambda x, w, b: f(x, (3,), w, b), ROWS, [1.0, 2.0, -1.0], [0.5, 0.0, 1.0]),
        derivatives(torch, lambda x, w, b: f(x, (2, 3), w, b, 0.1), IMAGE, ROWS, ROWS),
    ]


@program()
def layer_norm_graph_and_empty(torch: Any) -> Any:
    w = torch.ones(3, requires_grad=True)
    out = torch.layer_norm(torch.ones(0, 3, requires_grad=True), (3,), w, None)
    out.sum().backward()
    return out.detach(), out.grad_fn, edges(torch, out), w.grad, torch.layer_norm(torch.ones(3, 0), [0])


@program()
def layer_norm_of_constants_and_infinities(torch: Any) -> Any:
    x = torch.tensor([[2.0, 2.0, 2.0], [float("inf"), 1.0, 2.0], [1e30, -1e30, 0.0]], requires_grad=True)
    out = torch.nn.functional.layer_norm(x, (3,))
    out.sum().backward()
    return out.detach(), x.grad


@program()
def layer_norm_errors(torch: Any) -> Any:
    f, x = torch.nn.functional.layer_norm, torch.ones(2, 3)
    return [
        attempt("expected input with shape", f, x, (4,)),
        attempt("at least 1-dimensional", f, x, ()),
        attempt("must be tuple of ints", f, x, 3),
        attempt("Expected weight to be of same shape", f, x, (3,), torch.ones(4)),
        attempt("Expected bias to be of same shape", f, x, (3,), None, torch.ones(2)),
        attempt("not implemented for 'Long'", f, torch.ones(2, 3, dtype=torch.int64), (3,)),
        attempt("mixed dtype", f, x, (3,), torch.ones(3, dtype=torch.float64)),
    ]


@program()
def native_forms_of_norms_give_their_statistics(torch: Any) -> Any:
    x = torch.tensor(ROWS, dtype=torch.float64, requires_grad=True)
    image = torch.tensor(IMAGE, dtype=torch.float64, requires_grad=True)
    mean, var = torch.zeros(3, dtype=torch.float64), torch.ones(3, dtype=torch.float64)
    return [
        torch.native_layer_norm(x, (3,), None, None, 1e-5),
        [t.detach() for t in torch.native_group_norm(image, None, None, 2, 2, 3, 2, 1e-5)],
        torch.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5),
        torch.native_batch_norm(x, None, None, mean, var, False, 0.1, 1e-5),
    ]


@program()
def group_norm(torch: Any) -> Any:
    f = torch.nn.functional.group_norm
    return [
        derivatives(torch, lambda x: f(x, 1), IMAGE),
        derivatives(torch, lambda x, w, b: f(x, 2, w, b), IMAGE, [1.0, -2.0], [0.5, 0.0]),
    ]


@program()
def group_norm_errors(torch: Any) -> Any:
    f = torch.nn.functional.group_norm
    return [
        attempt("at least 2 dimensions", f, torch.ones(3), 1),
        attempt("divisible by num_groups", f, torch.ones(2, 3), 2),
        attempt("greater than 0", f, torch.ones(2, 3), -1),
        attempt("more than 1 value per channel", f, torch.ones(1, 2), 2),
        attempt("Expected weight to be a vector", f, torch.ones(2, 4), 2, torch.ones(3)),
        f(torch.ones(0, 4), 2),
    ]


@program()
def batch_norm_while_training(torch: Any) -> Any:
    f = torch.nn.functional.batch_norm
    mean, var = torch.zeros(2, dtype=torch.float64), torch.ones(2, dtype=torch.float64)
    made = derivatives(
        torch, lambda x, w, b: f(x, mean, var, w, b, True, 0.3), IMAGE, [1.0, -2.0], [0.5, 0.0]
    )
    return made, mean, var, mean._version


@program()
def batch_norm_with_running_statistics(torch: Any) -> Any:
    f = torch.nn.functional.batch_norm
    mean, var = (torch.tensor(v, dtype=torch.float64) for v in ([0.5, -1.0], [2.0, 0.25]))
    made = derivatives(torch, lambda x, w, b: f(x, mean, var, w, b), IMAGE, [1.0, -2.0], [0.5, 0.0])
    return made, mean, var


@program()
def batch_norm_errors(torch: Any) -> Any:
    f, x, zeros, ones = torch.nn.functional.batch_norm, torch.ones(2, 4), torch.zeros(4), torch.ones(4)
    return [
        attempt("more than 1 value per channel", f, torch.ones(1, 4), None, None, training=True),
        attempt("running_mean must be defined in evaluation mode", f, x, None, None),
        attempt("must be float|must be Number", f, x, zeros, ones, training=True, momentum=None),
        attempt("running_mean should contain 4 elements not 3", f, x, torch.zeros(3), ones),
        attempt("weight should contain 4 elements not 3", f, x, zeros, ones, torch.ones(3)),
        attempt("not implemented for 'Long'", f, x.long(), None, None, training=True),
        attempt(
            "not differentiable with respect to argument 'running_mean'", f, x, zeros.requires_grad_(), ones
        ),
    ]


@program(phrase="modified by an inplace operation")
def running_statistics_changed_before_backward(torch: Any) -> Any:
    mean, var = torch.zeros(2), torch.ones(2)
    out = torch.nn.functional.batch_norm(torch.ones(3, 2, requires_grad=True), mean, var)
    mean.add_(1)
    out.sum().backward()


@program()
def batch_norm_of_nothing(torch: Any) -> Any:
    x, w = torch.ones(0, 2, 3, requires_grad=True), torch.ones(2, requires_grad=True)
    return [
        torch.nn.functional.batch_norm(x, None, None, w, w, True),
        torch.nn.functional.batch_norm(x, None, None, training=True),
    ]


@program()
def instance_norm(torch: Any) -> Any:
    f = torch.nn.functional.instance_norm
    mean, var = torch.zeros(2, dtype=torch.float64), torch.ones(2, dtype=torch.float64)
    return [
        derivatives(torch, lambda x, w, b: f(x, None, None, w, b), IMAGE, [1.0, -2.0], [0.5, 0.0]),
        derivatives(torch, lambda x: f(x, mean, var, momentum=0.5), IMAGE),
        mean, var, mean._version,
        derivatives(torch, lambda x: f(x, mean, var, use_input_stats=False), IMAGE),
        attempt("more than 1 spatial element", f, torch.ones(2, 3, 1)),
        attempt("to be defined when use_input_stats is false", f, torch.ones(2, 3, 4), use_input_stats=False),
    ]  # fmt: skip


@program()
def rms_norm(torch: Any) -> Any:
    f = torch.nn.functional.rms_norm
    return [
        derivatives(torch, lambda x: f(x, (3,)), ROWS),
        derivatives(torch, lambda x, w: f(x, (2, 3), w, 0.1), IMAGE, ROWS),
        f(torch.zeros(2, 3), (3,)),
        f(torch.tensor(ROWS, dtype=torch.float16), [3]).dtype,
        attempt("expected input with shape", f, torch.ones(2, 3), (4,)),
        attempt("not implemented for 'Long'", f, torch.ones(2, 3).long(), (3,)),
    ]


@program()
def local_response_norm(torch: Any) -> Any:
    f = torch.nn.functional.local_response_norm
    return [derivatives(torch, lambda x, n=n: f(x, n, alpha=0.5, k=2.0), IMAGE) for n in (1, 2, 3)] + [
        attempt("3D or higher", f, torch.ones(2, 3), 2)
    ]


# -- attention -------------------------------------------------------------------------------------


@program()
def attention_in_one_node(torch: Any) -> Any:
    f = torch.nn.functional.scaled_dot_product_attention
    found = []
    for options in ({}, {"is_causal": True}, {"scale": 0.1}, {"attn_mask": heads(torch, 2, 3)}):
        q, k, v = (heads(torch, 1, 2, n, 4).requires_grad_() for n in (2, 3, 3))
        out = f(q, k, v, **options)
        found.append(
            (out, out.grad_fn, edges(torch, out), torch.autograd.grad(out, (q, k, v), ramp(torch, out)))
        )
    return found


@program()
def attention_keeps_its_result(torch: Any) -> Any:
    q, k, v = (heads(torch, 1, 2, n, 4).requires_grad_() for n in (2, 3, 3))
    out = torch.nn.functional.scaled_dot_product_attention(q, k, v)
    kept = [
        getattr(out.grad_fn, f"_saved_{name}") for name in ("output", "query", "key", "value", "attn_mask")
    ]
    out.mul_(2)
    return kept, attempt("has been modified by an inplace operation", torch.autograd.grad, out.sum(), q)


@program()
def attention_of_three_dimensions(torch: Any) -> Any:
    f = torch.nn.functional.scaled_dot_product_attention
    data = [heads(torch, 2, n, m).tolist() for n, m in ((2, 3), (4, 3), (4, 2))]
    bias = heads(torch, 2, 4).tolist()
    return [
        derivatives(torch, f, *data),
        derivatives(torch, lambda q, k, v: f(q, k, v, is_causal=True, scale=-0.5), *data),
        derivatives(torch, f, *data, bias),
    ]


@program()
def attention_with_nothing_to_see(torch: Any) -> Any:
    f = torch.nn.functional.scaled_dot_product_attention
    mask = torch.tensor([[True, False, True], [False, False, False]])
    found = []
    for shape in ((1, 2), (2,)):
        q, k, v = (heads(torch, *shape, n, 4).requires_grad_() for n in (2, 3, 3))
        out = f(q, k, v, mask)
        found.append((out.detach(), torch.autograd.grad(out.sum(), (q, k, v))))
    return found


@program()
def attention_with_shared_heads(torch: Any) -> Any:
    f = torch.nn.functional.scaled_dot_product_attention
    q, k, v = (heads(torch, 1, n, m, 2).requires_grad_() for n, m in ((4, 2), (2, 3), (2, 3)))
    out = f(q, k, v, enable_gqa=True)
    return out, torch.autograd.grad(out, (q, k, v), ramp(torch, out))


@program()
def attention_errors(torch: Any) -> Any:
    f, q, k = torch.nn.functional.scaled_dot_product_attention, torch.ones(2, 3, 4), torch.ones(2, 5, 4)
    return [
        attempt("should not be set when is_causal=True", f, q, k, k, torch.ones(3, 5), is_causal=True),
        attempt("must match the size", f, q, k, k, torch.ones(2, 5)),
        attempt("Expected attn_mask dtype", f, q, k, k, torch.ones(3, 5, dtype=torch.int64)),
        attempt("to have the same dtype", f, q, k.double(), k),
        attempt("at least 2 dimensional", f, q[0, 0], k, k),
        attempt(
            "must divide the number of heads", f, torch.ones(1, 3, 3, 4), k[None], k[None], enable_gqa=True
        ),
        attempt("dropout probability", f, q, k, k, dropout_p=1.5),
    ]


def projections(torch: Any) -> list[Any]:
    return [heads(torch, *s).requires_grad_() for s in ((12, 4), (12,), (4, 4), (4,))]


@program()
def multi_head_attention_with_all_masks(torch: Any) -> Any:
    f = torch.nn.functional.multi_head_attention_forward
    found = []
    for need_weights in (True, False):
        w, b, ow, ob = projections(torch)
        q, k, v = (heads(torch, n, 2, 4).requires_grad_() for n in (2, 3, 3))
        padding, mask = torch.tensor([[False] * 3, [False, False, True]]), torch.zeros(2, 3, dtype=torch.bool)
        mask[0, 1] = True
        out, weights = f(
            q, k, v, 4, 2, w, b, heads(torch, 1, 1, 4), heads(torch, 1, 1, 4), True, 0.0, ow, ob,
            key_padding_mask=padding, attn_mask=mask, need_weights=need_weights, average_attn_weights=False,
        )  # fmt: skip
        found.append((out, weights, torch.autograd.grad(out, (q, k, v, w, b, ow, ob), ramp(torch, out))))
    return found


@program()
def multi_head_attention_of_one_sample_with_itself(torch: Any) -> Any:
    f = torch.nn.functional.multi_head_attention_forward
    w, b, ow, ob = projections(torch)
    x = heads(torch, 3, 4).requires_grad_()
    causal = torch.ones(3, 3, dtype=torch.bool).triu(1)
    found = []
    for need_weights in (True, False):
        out, weights = f(
            x, x, x, 4, 2, w, b, None, None, False, 0.0, ow, ob, attn_mask=causal, is_causal=True,
            need_weights=need_weights,
        )  # fmt: skip
        found.append((out, weights, torch.autograd.grad(out, (x, w, b), ramp(torch, out))))
    return found


@program()
def multi_head_attention_errors(torch: Any) -> Any:
    f = torch.nn.functional.multi_head_attention_forward
    w, b, ow, ob = projections(torch)
    q = heads(torch, 3, 2, 4)
    rest = (w, b, None, None, False, 0.0, ow, ob)
    return [
        attempt("was expecting embedding dimension", f, q, q, q, 5, 2, *rest),
        attempt("not divisible", f, q, q, q, 4, 3, *rest),
        attempt("does not match value shape", f, q, q, heads(torch, 2, 2, 4), 4, 2, *rest),
        attempt("2D attn_mask", f, q, q, q, 4, 2, *rest, attn_mask=torch.zeros(2, 2)),
        attempt("Need attn_mask", f, q, q, q, 4, 2, *rest, is_causal=True),
        attempt("only bool and floating types", f, q, q, q, 4, 2, *rest, attn_mask=torch.zeros(3, 3).long()),
        attempt(
            r"key_padded_mask.shape\[1\] to be 3, but got 5",
            f,
            q,
            q,
            q,
            4,
            2,
            *rest,
            key_padding_mask=torch.zeros(2, 5),
        ),
        attempt("query should be", f, q[0, 0], q, q, 4, 2, *rest),
    ]


# -- embedding -------------------------------------------------------------------------------------


@program()
def embedding(torch: Any) -> Any:
    f, i = torch.nn.functional.embedding, torch.tensor([[1, 0], [3, 3]])
    return [
        derivatives(torch, lambda w: f(i, w), TABLE),
        derivatives(torch, lambda w: f(i, w, padding_idx=3), TABLE),
        derivatives(torch, lambda w: f(i, w, padding_idx=-1), TABLE),
        first_order(torch, lambda w: f(i, w, scale_grad_by_freq=True), TABLE),
        derivatives(torch, lambda w: torch.embedding(w, i.int(), 1), TABLE),
        f(torch.tensor(1), torch.tensor(TABLE)), f(i[:0], torch.tensor(TABLE)),
    ]  # fmt: skip


@program()
def embedding_with_a_largest_norm(torch: Any) -> Any:
    found = []
    for norm_type in (2.0, 1.0, float("inf")):
        table = torch.tensor(TABLE, requires_grad=True)
        out = torch.nn.functional.embedding(torch.tensor([1, 2, 1]), table, max_norm=1.5, norm_type=norm_type)
        found.append((out, table, table._version, torch.autograd.grad(out.sum(), table)))
    renormed = torch.embedding_renorm_(torch.tensor(TABLE), torch.tensor([0, 3]), 1.0, 2.0)
    return found, renormed


@program()
def embedding_errors(torch: Any) -> Any:
    f, i, w = torch.nn.functional.embedding, torch.tensor([0, 1]), torch.tensor(TABLE)
    return [
        attempt("index out of range in self", f, torch.tensor([4]), w),
        attempt("index out of range in self", f, torch.tensor([-1]), w),
        attempt("one of the following scalar types: Long, Int", f, i.float(), w),
        attempt("'weight' must be 2-D", f, i, w[0]),
        attempt("Padding_idx must be within num_embeddings", f, i, w, padding_idx=4),
        attempt("leaf Variable", torch.embedding_renorm_, w.clone().requires_grad_(), i, 1.0, 2.0),
    ]


@program()
def embedding_bag(torch: Any) -> Any:
    f, i, offsets = torch.nn.functional.embedding_bag, torch.tensor([1, 0, 3, 3, 2]), torch.tensor([0, 2, 2])
    return [
        [first_order(torch, lambda w, m=m: f(i, w, offsets, mode=m), TABLE) for m in ("sum", "mean", "max")],
        [
            first_order(torch, lambda w, m=m: f(i, w, offsets, mode=m, padding_idx=3), TABLE)
            for m in ("sum", "mean")
        ],
        first_order(
            torch,
            lambda w, p: f(i, w, offsets, mode="sum", per_sample_weights=p),
            TABLE,
            [1.0, -2.0, 0.5, 0.0, 3.0],
        ),
        first_order(torch, lambda w: f(i[:4].reshape(2, 2), w), TABLE),
        f(i, torch.tensor(TABLE), torch.tensor([0, 2, 5]), mode="sum", include_last_offset=True),
        torch.embedding_bag(torch.tensor(TABLE), i, offsets, False, 1),
        torch.embedding_bag(torch.tensor(TABLE), i, offsets, False, 2),
    ]


@program()
def embedding_bag_errors(torch: Any) -> Any:
    f, i, w, zero = (
        torch.nn.functional.embedding_bag,
        torch.tensor([0, 1]),
        torch.tensor(TABLE),
        torch.tensor([0]),
    )
    return [
        attempt("offsets has to be a 1D Tensor", f, i, w),
        attempt("offsets has to be None", f, i[None], w, zero),
        attempt("has to be 1D or 2D", f, i[None, None], w),
        attempt(r"offsets\[0\] has to be 0", f, i, w, zero + 1),
        attempt("can not be greater than input's length", f, i, w, torch.tensor([0, 3])),
        attempt("mode has to be one of", f, i, w, zero, mode="product"),
        attempt("only supported for mode='sum'", f, i, w, zero, per_sample_weights=torch.ones(2)),
        attempt("must have the same shape", f, i, w, zero, mode="sum", per_sample_weights=torch.ones(3)),
        attempt("max mode does not support", f, i, w, zero, mode="max", scale_grad_by_freq=True),
        attempt("not in the valid range", f, torch.tensor([4]), w, zero, mode="sum"),
        attempt("padding_idx must be within", f, i, w, zero, padding_idx=7),
    ]


@program()
def one_hot(torch: Any) -> Any:
    f = torch.nn.functional.one_hot
    return [
        f(torch.tensor([[0, 2], [1, 1]])), f(torch.tensor(1), 4), f(torch.zeros(0, 2, dtype=torch.int64), 3),
        attempt("non-negative", f, torch.tensor([-1])),
        attempt("smaller than num_classes", f, torch.tensor([3]), 2),
        attempt("LongTensor", f, torch.tensor([1.0])),
        attempt("Can not infer", f, torch.zeros(0, dtype=torch.int64)),
    ]  # fmt: skip


# -- dropout and bilinear --------------------------------------------------------------------------


@program()
def dropout_of_everything_or_nothing(torch: Any) -> Any:
    f = torch.nn.functional
    found = []
    for name in ("dropout", "dropout1d", "alpha_dropout", "feature_alpha_dropout"):
        for p in (0.0, 1.0):
            x = torch.ones(2, 3, requires_grad=True)
            out = getattr(f, name)(x, p, True)
            found.append((out.abs(), torch.autograd.grad(out.sum(), x)))
        found.append(getattr(f, name)(torch.ones(2, 3), 0.5, False))
    return (
        found,
        torch.native_dropout(torch.ones(2), 1.0, True),
        torch.native_dropout(torch.ones(2), 0.5, False),
    )


@program()
def dropout_errors(torch: Any) -> Any:
    f, x = torch.nn.functional, torch.ones(2, 3)
    names = ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout")
    return [
        [attempt("has to be between 0 and 1", getattr(f, name), x, 1.5) for name in names],
        [
            attempt("has to be between 0 and 1", getattr(torch, n), x, -0.5, True)
            for n in ("dropout", "feature_dropout")
        ],
        attempt("at least 2 dimensions", torch.feature_dropout, torch.ones(3), 0.5, True),
        attempt("Expected 2D or 3D input", f.dropout1d, torch.ones(2, 2, 2, 2)),
        attempt("can't be cast", f.alpha_dropout, x.long(), 0.5, True),
    ]


@program(warns="dropout2d: Received a|dropout3d: Received a")
def dropout_of_odd_shapes_warns(torch: Any) -> Any:
    f = torch.nn.functional
    return (
        f.dropout2d(torch.ones(2, 3, 2)).shape,
        f.dropout2d(torch.ones(2, 3)).shape,
        f.dropout3d(torch.ones(2, 3)).shape,
    )


@program(warns="`eps` parameter is deprecated")
def gumbel_softmax_chooses(torch: Any) -> Any:
    x = torch.tensor([[0.0, 100.0, 0.0]] * 3, requires_grad=True)
    soft, hard = (
        torch.nn.functional.gumbel_softmax(x, 0.5, eps=0.1),
        torch.nn.functional.gumbel_softmax(x, hard=True),
    )
    return soft.round().detach(), hard.round().detach(), soft.grad_fn, hard.grad_fn


@program()
def bilinear(torch: Any) -> Any:
    f = torch.nn.functional.bilinear
    x, y, w = (heads(torch, *s).tolist() for s in ((3, 2), (3, 4), (2, 2, 4)))
    return [
        derivatives(torch, f, x, y, w, [0.5, 1.0]),
        derivatives(torch, f, x[0], y[0], w),
        derivatives(torch, f, [x], [y], w),
        attempt("batch dimensions do not match", f, torch.ones(3, 2), torch.ones(2, 4), torch.ones(2, 2, 4)),
        attempt("input1 size does not match", f, torch.ones(3, 3), torch.ones(3, 4), torch.ones(2, 2, 4)),
        attempt(
            "must have the same dtype", f, torch.ones(3, 2), torch.ones(3, 4).double(), torch.ones(2, 2, 4)
        ),
    ]


@program(warns="Argument order of nn.functional.embedding_bag was changed")
def embedding_bag_in_the_order_of_old(torch: Any) -> Any:
    table, index = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([0, 1, 1])
    return torch.nn.functional.embedding_bag(table, index, torch.tensor([0, 1]))


@program()
def states_of_cells_in_one_tensor(torch: Any) -> Any:
    cell = torch.nn.LSTMCell(2, 3)
    torch.nn.init.constant_(cell.weight_ih, 0.5)
    refused = attempt("must be tuple of Tensors, not Tensor", cell, torch.ones(1, 2), torch.ones(2, 1, 3))
    return refused, [state.shape for state in cell(torch.ones(2), torch.ones(2, 3))]


@program()
def fractional_pools_of_nothing(torch: Any) -> Any:
    found = []
    for rank, pool in ((2, "fractional_max_pool2d"), (3, "fractional_max_pool3d")):
        function = getattr(torch.nn.functional, pool)
        for lead, size in (((0, 4), 2), ((2, 4), 0), ((0,), 2), ((2, 4), (0, *[1] * (rank - 1)))):
            x = torch.ones(*lead, *[6] * rank, requires_grad=True)
            values, indices = function(x, 2, output_size=size, return_indices=True)
            values.sum().backward()
            found += [values, indices, x.grad]
        x, draws = torch.ones(2, 4, *[6] * rank), torch.ones(2, 4, rank)
        found += [
            attempt(
                "Expected input to have non-zero size for non-batch dimensions", function, x[:, :0], 2, 2
            ),
            attempt("to have 3 dimensions, got 2", function, x, 2, 2, _random_samples=draws[0]),
            attempt("no less then input batch size", function, x, 2, 2, _random_samples=draws[:0]),
        ]
    return found


@program(warns="input's size at dim=0 does not match num_features")
def statistics_of_other_channels(torch: Any) -> Any:
    norm = torch.nn.InstanceNorm3d(3, track_running_stats=True)
    return attempt("is invalid for input of size 3", norm, torch.ones(0, 4, 5, 6))
